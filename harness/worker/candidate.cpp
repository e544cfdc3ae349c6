// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/candidate.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "harness/candidate/include/pkb/candidate.h"

namespace pkb::worker {
namespace {

constexpr int kAbi = 1;  ///< of the glue in the generated header
constexpr int kMostDims = 8;

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

/// The library of CUDA that has a function which the dynamic linker misses; empty when that is none of them. They
/// are large, so only candidates that need one bear it.
std::string library_of(std::string_view error) {
  constexpr std::string_view kMissing = "undefined symbol: ";
  const std::size_t at = error.find(kMissing);
  if (at == std::string_view::npos) return {};
  const std::string_view symbol = error.substr(at + kMissing.size());
  constexpr int kMajor = CUDART_VERSION / 1000;
  if (symbol.starts_with("cublasLt")) return fmt::format("libcublasLt.so.{}", kMajor);
  if (symbol.starts_with("cublas")) return fmt::format("libcublas.so.{}", kMajor);
  return {};
}

/// The library stays: code of it may still be registered with the CUDA runtime. @throws LoadError
void* load(const std::filesystem::path& library) {
  std::string error;
  // Its own code has not run when a symbol is missing, so it can be tried again beside what has the symbol.
  for (int tries = 0; tries < 3; ++tries) {
    if (void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    error = ::dlerror();
    const std::string needed = library_of(error);
    if (needed.empty()) break;
    if (::dlopen(needed.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
      throw LoadError(fmt::format("the candidate calls {}, which cannot be loaded: {}", needed, ::dlerror()));
  }
  throw LoadError(error);
}

}  // namespace

/// The generated header's extern "C" functions.
struct Candidate::Entry {
  int (*has_run)() = nullptr;
  void (*setup)(Context*, const pkb::Tensor*, const double*) = nullptr;
  void (*run)(Context*, const pkb::Tensor*, const double*) = nullptr;
  void (*teardown)(Context*) = nullptr;
};

struct Candidate::Arguments {
  std::vector<pkb::Tensor> tensors;
  std::vector<double> parameters;
};

class Candidate::RankContext final : public Context {
 public:
  RankContext(World world, Host& host) : x_world(std::move(world)), x_host(host) {
    x_world.groups.push_back({.name = "world", .rank = x_world.rank, .ranks = {}});
    for (int rank = 0; rank < x_world.ranks; ++rank) x_world.groups.back().ranks.push_back(rank);
  }

  void create_stream() {
    // Not tied to the default stream: what a candidate enqueues elsewhere it must order itself, as
    // documented.
    if (const cudaError_t error = cudaStreamCreateWithFlags(&x_stream, cudaStreamNonBlocking);
        error != cudaSuccess)
      throw LoadError(fmt::format("cannot create a stream: {}", cudaGetErrorString(error)));
  }

  int rank() const override { return x_world.rank; }
  int world_size() const override { return x_world.ranks; }
  cudaStream_t stream() const override { return x_stream; }
  pkb::Group group(const char* name) const override {
    const auto found = std::ranges::find(x_world.groups, std::string(name), &Group::name);
    if (found == x_world.groups.end())
      throw MisuseError(fmt::format("group(\"{}\"): there is no such group", name));
    return {.rank = found->rank, .size = static_cast<int>(found->ranks.size()), .ranks = found->ranks.data()};
  }
  void* symmetric(std::size_t bytes) override { return x_host.symmetric(bytes); }
  void* peer(const void* pointer, int rank) const override {
    if (rank < 0 || rank >= x_world.ranks)
      throw MisuseError(fmt::format("peer(): there is no rank {} among {}", rank, x_world.ranks));
    return x_host.peer(pointer, rank);
  }
  void* multicast(const void* pointer) const override { return x_host.multicast(pointer); }
  void barrier() override { x_host.barrier(); }

 private:
  World x_world;
  Host& x_host;
  cudaStream_t x_stream = nullptr;
};

Candidate::Candidate(const std::filesystem::path& library, World world, Host& host)
    : x_context(std::make_unique<RankContext>(std::move(world), host)),
      x_arguments(std::make_unique<Arguments>()),
      x_entry(std::make_unique<Entry>()) {
  void* const handle = load(library);
  const auto abi = find<int()>(handle, "pkb_candidate_abi");
  if (abi == nullptr) throw LoadError("the candidate does not include its problem's header, <pkb/NAME.h>");
  if (abi() != kAbi)
    throw LoadError(
        fmt::format("the candidate was compiled against version {} of the headers, not {}", abi(), kAbi));
  x_entry->has_run = find<int()>(handle, "pkb_candidate_has_run");
  x_entry->setup = find<void(Context*, const pkb::Tensor*, const double*)>(handle, "pkb_candidate_setup");
  x_entry->run = find<void(Context*, const pkb::Tensor*, const double*)>(handle, "pkb_candidate_run");
  x_entry->teardown = find<void(Context*)>(handle, "pkb_candidate_teardown");
  if (x_entry->has_run == nullptr || x_entry->setup == nullptr || x_entry->run == nullptr ||
      x_entry->teardown == nullptr)
    throw LoadError("the candidate's library lacks the functions of its problem's header");
  if (x_entry->has_run() == 0)
    throw LoadError("the candidate defines no void run(pkb::Context&, const pkb::Args&) at global scope");
  x_context->create_stream();
}

Candidate::~Candidate() = default;

void Candidate::set_arguments(const std::vector<Tensor>& tensors, std::vector<double> parameters) {
  x_arguments->parameters = std::move(parameters);
  x_arguments->tensors.clear();
  for (const Tensor& each : tensors) {
    pkb::Tensor tensor{.data = each.data, .dtype = static_cast<DType>(each.dtype)};
    tensor.dims = std::min(static_cast<int>(each.shape.size()), kMostDims);
    std::copy_n(each.shape.begin(), tensor.dims, tensor.shape);
    x_arguments->tensors.push_back(tensor);
  }
}

cudaStream_t Candidate::stream() const { return x_context->stream(); }

void Candidate::setup() {
  x_entry->setup(x_context.get(), x_arguments->tensors.data(), x_arguments->parameters.data());
}
void Candidate::run() {
  x_entry->run(x_context.get(), x_arguments->tensors.data(), x_arguments->parameters.data());
}
void Candidate::teardown() { x_entry->teardown(x_context.get()); }

}  // namespace pkb::worker
