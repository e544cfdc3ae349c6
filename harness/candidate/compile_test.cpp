// SPDX-License-Identifier: Apache-2.0
// Real compilations with nvcc in the sandbox; a cold one takes seconds.
#include "harness/candidate/compile.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "harness/candidate/cache.h"
#include "harness/candidate/digest.h"
#include "harness/candidate/source.h"
#include "harness/error/error.h"

namespace pkb::candidate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kGood = R"(#include <pkb/allreduce.h>

__global__ void copy(const pkb::T* from, pkb::T* to, std::int64_t count) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i < count) to[i] = from[i];
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t count = args.M * args.N;
  copy<<<(count + 255) / 256, 256, 0, ctx.stream()>>>(args.tensor.as<pkb::T>(), args.out.as<pkb::T>(), count);
}
)";

// Without the CUDA headers, where the cache is the subject and not the compiler.
constexpr const char* kSmall = "int answer() { return 42; }\n";

class Compile : public testing::Test {
 protected:
  Compile() : x_folder(std::filesystem::temp_directory_path() / fmt::format("pkb_compile_{}", getpid())) {
    std::filesystem::create_directories(x_folder);
  }
  ~Compile() override { std::filesystem::remove_all(x_folder); }

  std::filesystem::path write(const std::string& text, const std::string& name = "my_kernel.cu") const {
    std::ofstream(x_folder / name, std::ios::binary) << text;
    return x_folder / name;
  }
  CompileRequest request(const std::string& text, const std::string& name = "my_kernel.cu") const {
    return {.source = write(text, name),
            .problem = 1,
            .include_folders = {PKB_GENERATED_HEADERS, PKB_CANDIDATE_HEADERS},
            .toolkit = {},
            .cache = x_folder / "cache",
            .limits = {}};
  }
  /// What is left of a compilation besides entries.
  std::vector<std::string> scratch_folders() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(x_folder / "cache"))
      if (entry.path().filename().string().starts_with("tmp.")) names.push_back(entry.path().filename());
    return names;
  }

  std::filesystem::path x_folder;
};

/// A library as the worker sees it: the CUDA runtime comes first, with its symbols for everyone.
class Library {
 public:
  explicit Library(const std::filesystem::path& path) {
    if (dlopen(PKB_CUDART, RTLD_NOW | RTLD_GLOBAL) != nullptr)
      x_handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (x_handle == nullptr) ADD_FAILURE() << dlerror();
  }
  Library(const Library&) = delete;
  ~Library() {
    if (x_handle != nullptr) dlclose(x_handle);
  }
  template <class Function>
  Function* function(const char* name) const {
    return x_handle == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(x_handle, name));
  }

 private:
  void* x_handle = nullptr;
};

TEST_F(Compile, GoodCandidateThenCacheHit) {
  const CompileRequest good = request(kGood);
  const CompileResult cold = compile(good);
  ASSERT_TRUE(cold.ok) << cold.text << cold.limit;
  EXPECT_FALSE(cold.cached);
  EXPECT_EQ(cold.source_hash, sha256(kGood));
  EXPECT_THAT(scratch_folders(), IsEmpty());

  const CompileResult warm = compile(good);
  EXPECT_TRUE(warm.ok && warm.cached);
  EXPECT_EQ(warm.library, cold.library);
  EXPECT_LT(warm.seconds, 0.1);

  // The PTX is there as text for the virtual GPU, with the candidate's lines.
  const std::string image = read_file(cold.library);
  EXPECT_THAT(image, HasSubstr(".visible .entry _Z4copyPK13__nv_bfloat16PS_l"));
  EXPECT_THAT(image, HasSubstr("/my_kernel.cu"));
}

TEST_F(Compile, WhatIsNotDefinedIsNull) {
  const CompileResult with_run = compile(request(R"(#include <pkb/allreduce.h>
void run(pkb::Context&, const pkb::Args&) {}
)"));
  const CompileResult without_run = compile(request("#include <pkb/allreduce.h>\n"));
  ASSERT_TRUE(with_run.ok && without_run.ok) << with_run.text << without_run.text;
  const Library with(with_run.library), without(without_run.library);
  ASSERT_NE(with.function<int()>("pkb_candidate_has_run"), nullptr);
  EXPECT_EQ(with.function<int()>("pkb_candidate_has_run")(), 1);
  EXPECT_EQ(without.function<int()>("pkb_candidate_has_run")(), 0);
  EXPECT_EQ(with.function<int()>("pkb_candidate_abi")(), 1);
  EXPECT_EQ(with.function<int()>("pkb_candidate_problem")(), 1);
  // Neither defines teardown: the glue must see the null pointer and not call it.
  with.function<void(void*)>("pkb_candidate_teardown")(nullptr);
}

TEST_F(Compile, GlueHandsTensorsAndScalarsOver) {
  CompileRequest broadcast = request(R"(#include <pkb/broadcast.h>
extern "C" [[gnu::visibility("default")]] long long seen[5];
long long seen[5];
void setup(pkb::Context&, const pkb::Args& args) {
  seen[0] = args.tensor.shape[0];
  seen[1] = args.out.shape[0];
  seen[2] = args.M;
  seen[3] = args.N;
  seen[4] = args.src;
}
void run(pkb::Context&, const pkb::Args&) {}
)");
  broadcast.problem = 3;
  const CompileResult result = compile(broadcast);
  ASSERT_TRUE(result.ok) << result.text;
  struct HostTensor {  // as pkb/candidate.h lays it out
    void* data;
    std::uint8_t dtype;
    int dims;
    std::int64_t shape[8];
  };
  const HostTensor tensors[2] = {{nullptr, 0, 1, {11}}, {nullptr, 0, 1, {12}}};
  const double parameters[3] = {97, 131, 2};
  const Library library(result.library);
  const auto setup = library.function<void(void*, const HostTensor*, const double*)>("pkb_candidate_setup");
  ASSERT_NE(setup, nullptr);
  HostTensor any{};
  setup(&any, tensors, parameters);
  const long long* seen = reinterpret_cast<long long*>(library.function<void()>("seen"));
  ASSERT_NE(seen, nullptr);
  EXPECT_THAT(std::vector<long long>(seen, seen + 5), testing::ElementsAre(11, 12, 97, 131, 2));
}

TEST_F(Compile, ErrorsNameTheCandidatesOwnLine) {
  const CompileResult result = compile(request(std::string(kGood) + "int broken = nothing;\n"));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.limit, IsEmpty());
  EXPECT_THAT(result.text, StartsWith("my_kernel.cu(12): error: "));
  EXPECT_THAT(result.text, HasSubstr("nothing"));
  EXPECT_THAT(scratch_folders(), IsEmpty());
}

TEST_F(Compile, HeaderOfAnotherProblemIsRefused) {
  CompileRequest other = request(kGood);
  other.problem = 13;
  const CompileResult result = compile(other);
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.text, HasSubstr("<pkb/allreduce.h> belongs to problem 1"));
}

TEST_F(Compile, KeyDependsOnSourceDtypeAndHeaders) {
  // Only keys are compared, with a compiler that fails at once.
  const std::string fails = "#error no\n";
  const std::string key = compile(request(fails)).key;
  EXPECT_EQ(compile(request(fails)).key, key);

  EXPECT_NE(compile(request(fails + "\n")).key, key);
  EXPECT_NE(compile(request(fails, "other.cu")).key, key);
  CompileRequest fp16 = request(fails);
  fp16.dtype = DType::f16;
  EXPECT_NE(compile(fp16).key, key);

  const std::filesystem::path headers = x_folder / "headers";
  std::filesystem::create_directories(headers);
  CompileRequest own = request(fails);
  own.include_folders = {headers};
  std::ofstream(headers / "a.h") << "// one";
  const std::string one = compile(own).key;
  std::ofstream(headers / "a.h") << "// two";
  EXPECT_NE(compile(own).key, one);
}

TEST_F(Compile, TornEntryIsCompiledAgain) {
  const CompileRequest good = request(kSmall);
  const CompileResult first = compile(good);
  ASSERT_TRUE(first.ok) << first.text;
  std::filesystem::resize_file(first.library, 100);
  const CompileResult second = compile(good);
  EXPECT_TRUE(second.ok);
  EXPECT_FALSE(second.cached);
  EXPECT_GT(std::filesystem::file_size(second.library), 100u);
}

TEST_F(Compile, ConcurrentWritersAgree) {
  const CompileRequest good = request(kSmall);
  CompileResult results[2];
  std::thread other([&] { results[0] = compile(good); });
  results[1] = compile(good);
  other.join();
  EXPECT_TRUE(results[0].ok && results[1].ok);
  EXPECT_EQ(results[0].library, results[1].library);
  EXPECT_TRUE(compile(good).cached);
  EXPECT_THAT(scratch_folders(), IsEmpty());
}

TEST_F(Compile, TheCacheForgetsWhatWasNotUsedForLongest) {
  const Cache cache(x_folder / "cache", 250);
  const auto store = [&](const std::string& key) {
    const ScratchFolder scratch(x_folder / "cache");
    std::ofstream(scratch.path() / "library") << std::string(100, 'x');
    cache.store(key, scratch, scratch.path() / "library", "");
  };
  const auto age = [&](const std::string& key, std::chrono::hours hours) {
    std::filesystem::last_write_time(x_folder / "cache" / key / "sha256",
                                     std::filesystem::file_time_type::clock::now() - hours);
  };
  for (const char* key : {"a", "b", "c"}) store(key);
  EXPECT_TRUE(cache.find("a") && cache.find("b") && cache.find("c")) << "all are in use, whatever they take";
  age("a", std::chrono::hours(3));
  age("b", std::chrono::hours(4));
  EXPECT_TRUE(cache.find("b"));  // used again
  store("d");
  EXPECT_FALSE(cache.find("a"));
  EXPECT_TRUE(cache.find("b") && cache.find("c") && cache.find("d"));
}

TEST_F(Compile, TimeLimit) {
  // Includes itself twice at each of 60 levels: 2^60 inclusions in constant memory.
  CompileRequest bomb =
      request("#if __INCLUDE_LEVEL__ < 60\n#include \"bomb.cu\"\n#include \"bomb.cu\"\n#endif\n", "bomb.cu");
  bomb.limits.time = std::chrono::seconds(2);
  const CompileResult result = compile(bomb);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.limit, "the compiler was stopped after 2 s");
  EXPECT_LT(result.seconds, 5);
  EXPECT_THAT(scratch_folders(), IsEmpty());
}

TEST_F(Compile, MemoryLimit) {
  CompileRequest large = request(kGood);
  large.limits.address_space = 96 << 20;  // too little for any compiler of ours
  const CompileResult result = compile(large);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.limit, "the compiler needed more than 96 MiB of memory") << result.text;
}

TEST_F(Compile, OutputLimit) {
  CompileRequest large = request("__device__ char filler[4 << 20] = {1};\n");
  large.limits.file_size = 1 << 20;
  const CompileResult result = compile(large);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.limit, "the compiler wrote a file of more than 1 MiB") << result.text;
}

TEST_F(Compile, TextLimitKeepsBeginningAndEnd) {
  std::string source;
  for (int i = 0; i < 2000; ++i) source += fmt::format("#warning \"number {}\"\n", i);
  CompileRequest noisy = request(source + "#error the end\n");
  noisy.limits.text = 20000;
  const CompileResult result = compile(noisy);
  EXPECT_FALSE(result.ok);
  EXPECT_LT(result.text.size(), 21000u);
  EXPECT_THAT(result.text, HasSubstr("number 0"));
  EXPECT_THAT(result.text, HasSubstr("the end"));
  EXPECT_THAT(result.text, HasSubstr(" bytes left out]"));
}

TEST_F(Compile, SandboxHidesTheRest) {
  const std::filesystem::path secret = write("int secret;", "secret.h");
  const std::string source = fmt::format("#include \"{}\"\n", secret.string());
  EXPECT_THAT(compile(request(source)).text, HasSubstr("No such file or directory"));
  EXPECT_THAT(compile(request("#include \"/etc/passwd\"\n")).text, HasSubstr("No such file or directory"));
  // The same file is found without a sandbox, so it is the sandbox that hides it.
  CompileRequest open = request(source + "#error seen\n");
  open.sandbox = Sandbox::none;
  EXPECT_THAT(compile(open).text, Not(HasSubstr("No such file or directory")));
}

TEST_F(Compile, NamesThatAShellWouldReadAreHarmless) {
  const CompileResult result = compile(request(kSmall, "-o $(touch x) `y`;\"'.cu"));
  EXPECT_TRUE(result.ok) << result.text;
}

std::string refusal(const std::filesystem::path& source) {
  CompileRequest request;
  request.source = source;
  try {
    compile(request);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_F(Compile, BadFilesAreRefused) {
  EXPECT_THAT(refusal(x_folder / "none.cu"), HasSubstr("none.cu: there is no such file; check the path"));
  EXPECT_THAT(refusal(x_folder), HasSubstr("is a folder; name the .cu file in it"));
  EXPECT_THAT(refusal(write(" \n\t\n")), HasSubstr("is empty"));
  EXPECT_THAT(refusal(write("int a; // \xff")),
              HasSubstr("is not UTF-8 text: byte 10 is 0xff; save the source as UTF-8"));
  EXPECT_THAT(refusal(write(std::string("int a;\0", 7))), HasSubstr("byte 6 is 0x00"));
  EXPECT_THAT(refusal(write("// \xed\xa0\x80")), HasSubstr("byte 3 is 0xed"));  // a surrogate
  EXPECT_THAT(refusal(write("// \xe2\x82")), HasSubstr("byte 3 is 0xe2"));      // cut short
  EXPECT_THAT(refusal(write(std::string((4 << 20) + 1, ' '))), HasSubstr("is larger than 4 MiB"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("is not a regular file"));
}

TEST_F(Compile, EnvironmentFaultsAreNotTheCandidates) {
  CompileRequest nowhere = request(kGood);
  nowhere.toolkit = x_folder;
  EXPECT_THROW(compile(nowhere), EnvironmentError);
  CompileRequest unwritable = request(kGood);
  unwritable.cache = write("a file", "taken") / "cache";
  EXPECT_THROW(compile(unwritable), EnvironmentError);
  CompileRequest headerless = request(kGood);
  headerless.include_folders = {x_folder / "none"};
  EXPECT_THROW(compile(headerless), EnvironmentError);
}

TEST(DefaultCache, FollowsTheXdgConvention) {
  const char* home = std::getenv("HOME");
  const std::string kept = home != nullptr ? home : "";
  setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(default_cache(), "/somewhere/pkb");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/me", 1);
  EXPECT_EQ(default_cache(), "/me/.cache/pkb");
  unsetenv("HOME");
  EXPECT_THROW(default_cache(), EnvironmentError);
  if (home != nullptr) setenv("HOME", kept.c_str(), 1);
}

TEST(Sha256, OfKnownTexts) {
  // FIPS 180-2, appendix B.1, and the empty message.
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Digest, FieldsDoNotRunTogether) {
  EXPECT_NE(Digest().field("ab").field("c").hex(), Digest().field("a").field("bc").hex());
}

}  // namespace
}  // namespace pkb::candidate
