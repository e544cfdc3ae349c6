// SPDX-License-Identifier: Apache-2.0
#include "harness/candidate/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/candidate/cache.h"
#include "harness/candidate/compiler_view.h"
#include "harness/candidate/digest.h"
#include "harness/candidate/source.h"
#include "harness/candidate/toolkit.h"
#include "harness/error/error.h"
#include "harness/sandbox/sandbox.h"

namespace pkb::candidate {
namespace {

using Clock = std::chrono::steady_clock;

/// Part of every key: entries of another layout or meaning are not found.
constexpr std::string_view kKeyVersion = "pkb candidate 1";

const char* macro_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return "-DPKB_DTYPE_BF16";
    case DType::f16:
      return "-DPKB_DTYPE_FP16";
    case DType::f32:
      return "-DPKB_DTYPE_FP32";
    case DType::f64:
    case DType::i8:
    case DType::u8:
    case DType::i32:
    case DType::i64:
    case DType::e4m3:
    case DType::e5m2:
      break;
  }
  throw InputError({"dtype", fmt::format("{} is no run dtype", name_of(dtype)), "choose bf16, fp16 or fp32"});
}

/// Where the sandbox shows what the compiler works on. It starts in the folder of the source, so that
/// messages name the candidate's file alone.
constexpr const char *kSourceFolder = "/candidate", *kOutputFolder = "/pkb/output";

std::string shown_include_folder(std::size_t i) { return fmt::format("/pkb/include/{}", i); }

std::vector<std::string> nvcc_line(const CompileRequest& request, const std::filesystem::path& toolkit,
                                   const Source& source) {
  const bool sandboxed = request.sandbox == Sandbox::bubblewrap;
  std::vector<std::string> line = {(toolkit / "bin" / "nvcc").string()};
  const auto add = [&](std::initializer_list<std::string> words) { line.insert(line.end(), words); };
  for (std::size_t i = 0; i < request.include_folders.size(); ++i)
    add({"-I", sandboxed ? shown_include_folder(i)
                         : std::filesystem::absolute(request.include_folders[i]).string()});
  // The worker supplies the CUDA runtime, real or virtual; the virtual GPU reads the PTX, so it stays text.
  add({"-std=c++20", "-O3", "-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden", "-cudart", "none",
       "-lineinfo", "-gencode",
       fmt::format("arch=compute_{0},code=[sm_{0},compute_{0}]", request.architecture), "--no-compress",
       macro_of(request.dtype), fmt::format("-DPKB_PROBLEM={}", request.problem), "-x", "cu", source.name,
       "-o", fmt::format("{}/candidate.so", sandboxed ? kOutputFolder : "../output")});
  return line;
}

void hash_headers(Digest& digest, const std::filesystem::path& folder) {
  std::error_code failed;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, failed))
    if (entry.is_regular_file()) files.push_back(entry.path());
  if (failed || files.empty())
    throw EnvironmentError(
        {folder.string(), "there are no headers for candidates", "build the target pkb_headers"});
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files)
    digest.field(file.lexically_relative(folder).string()).field(read_file(file));
}

bool mentions(const std::string& text, std::initializer_list<std::string_view> phrases) {
  return std::ranges::any_of(phrases,
                             [&](std::string_view each) { return text.find(each) != std::string::npos; });
}

/// Which limit ended a compilation that failed; empty when none did. The compilers die in their own ways: one
/// prints that memory is exhausted, another is killed by SIGXFSZ and nvcc reports the signal.
std::string limit_that_ended(const process::Result& ended, const process::Limits& limits) {
  constexpr double kMebibyte = 1 << 20;
  if (ended.timed_out)
    return fmt::format("the compiler was stopped after {:g} s",
                       std::chrono::duration<double>(limits.time).count());
  if (mentions(ended.text, {"File size limit exceeded", "File too large", "died due to signal 25"}))
    return fmt::format("the compiler wrote a file of more than {:g} MiB",
                       static_cast<double>(limits.file_size) / kMebibyte);
  if (mentions(ended.text, {"No space left on device"}))
    return "the compiler filled its temporary folder of 1 GiB";
  if (mentions(ended.text,
               {"virtual memory exhausted", "out of memory", "std::bad_alloc", "Cannot allocate memory",
                "cannot allocate", "memory exhausted", "memory allocation failure", "failed to map segment"}))
    return fmt::format("the compiler needed more than {:g} MiB of memory",
                       static_cast<double>(limits.address_space) / kMebibyte);
  return "";
}

/// A full disk and a refused sandbox look like compiler errors, but are not the candidate's fault.
void require_working_environment(const process::Result& ended, const std::filesystem::path& scratch) {
  constexpr std::uintmax_t kAlmostNothing = 16 << 20;
  if (ended.text.starts_with("bwrap: "))
    throw EnvironmentError({"bubblewrap", ended.text.substr(7, ended.text.find('\n') - 7),
                            "run unprotected with --sandbox none"});
  std::error_code failed;
  if (mentions(ended.text, {"No space left on device"}) &&
      std::filesystem::space(scratch, failed).available < kAlmostNothing)
    throw EnvironmentError({scratch.string(), "the disk is full", "free some space, or set XDG_CACHE_HOME"});
}

process::Result run_compiler(const CompileRequest& request, const std::filesystem::path& toolkit,
                             const std::vector<std::string>& nvcc, const std::filesystem::path& scratch) {
  std::vector<std::string> environment = {fmt::format("PATH={}", kCompilerPath), "LC_ALL=C",
                                          "HOME=/nonexistent"};
  if (request.sandbox == Sandbox::none) {
    environment.push_back("TMPDIR=" + (scratch / "tmp").string());
    return process::run_limited(nvcc, environment, scratch / "source", request.limits);
  }
  environment.push_back("TMPDIR=/tmp");
  CompilerView view{.toolkit = toolkit,
                    .read_only = {{scratch / "source", kSourceFolder}},
                    .output = {scratch / "output", kOutputFolder},
                    .folder = kSourceFolder};
  for (std::size_t i = 0; i < request.include_folders.size(); ++i)
    view.read_only.emplace_back(std::filesystem::absolute(request.include_folders[i]),
                                shown_include_folder(i));
  const FileDescriptor filter = sandbox::filter_for_compilers();
  std::vector<std::string> line =
      confined(view, sandbox::find_means(request.bwrap.empty() ? sandbox::find_bwrap() : request.bwrap));
  line.insert(line.end(), nvcc.begin(), nvcc.end());
  return process::run_limited(line, environment, "/", request.limits, {filter.get()});
}

std::string key_of(const CompileRequest& request, const std::filesystem::path& toolkit, const Source& source,
                   const std::vector<std::string>& nvcc) {
  Digest digest;
  digest.field(kKeyVersion).field(source.text).field(compiler_identity(toolkit));
  for (const std::string& word : nvcc) digest.field(word);
  for (const std::filesystem::path& folder : request.include_folders) hash_headers(digest, folder);
  return digest.hex();
}

}  // namespace

CompileResult compile(const CompileRequest& request) {
  const Clock::time_point start = Clock::now();
  const Source source = read_source(request.source);
  const std::filesystem::path toolkit =
      resolve_toolkit(request.toolkit.empty() ? default_toolkit() : request.toolkit);
  const std::filesystem::path folder = request.cache.empty() ? default_cache() : request.cache;
  const Cache cache(std::filesystem::absolute(folder));

  CompileResult result;
  result.command = nvcc_line(request, toolkit, source);
  result.source = source.text;
  result.source_hash = sha256(source.text);
  result.key = key_of(request, toolkit, source, result.command);
  const auto finish = [&] {
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return result;
  };
  if (const auto entry = cache.find(result.key)) {
    result.ok = result.cached = true;
    result.library = entry->library;
    result.text = entry->text;
    return finish();
  }

  const ScratchFolder scratch(std::filesystem::absolute(folder));
  for (const char* each : {"source", "output", "tmp"}) scratch.make(each);
  write_file(scratch.path() / "source" / source.name, source.text);
  const process::Result ended = run_compiler(request, toolkit, result.command, scratch.path());
  result.text = ended.text;
  const std::filesystem::path library = scratch.path() / "output" / "candidate.so";
  if (ended.exit_code == 0 && !ended.timed_out && std::filesystem::exists(library)) {
    result.library = cache.store(result.key, scratch, library, ended.text).library;
    result.ok = true;
    return finish();
  }
  require_working_environment(ended, scratch.path());
  result.limit = limit_that_ended(ended, request.limits);
  if (result.text.empty() && result.limit.empty())
    result.text = fmt::format("nvcc ended with status {} and said nothing", ended.exit_code);
  return finish();
}

}  // namespace pkb::candidate
