// SPDX-License-Identifier: Apache-2.0
// What a candidate sees of the harness. Included by the generated header of its problem, <pkb/NAME.h>.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

/// Marks the functions of <pkb/NAME.h> that the worker looks up in a candidate's library.
#define PKB_GLUE extern "C" [[gnu::weak, gnu::used, gnu::visibility("default")]]

namespace pkb {

/// Version of the interface between a candidate's library and the worker.
inline constexpr int kAbi = 1;

/// Element types, numbered as in the harness.
enum class DType : std::uint8_t { bf16, f16, f32, f64, i8, u8, i32, i64, e4m3, e5m2 };

/// The run dtype.
#if defined(PKB_DTYPE_FP32)
using T = float;
#elif defined(PKB_DTYPE_FP16)
using T = __half;
#else
using T = __nv_bfloat16;
#endif

/// A row-major, contiguous, 256-byte aligned tensor in symmetric device memory.
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::bf16;
  int dims = 0;
  std::int64_t shape[8] = {};

  std::int64_t numel() const {
    std::int64_t count = 1;
    for (int i = 0; i < dims; ++i) count *= shape[i];
    return count;
  }
  template <class U>
  U* as() const {
    return static_cast<U*>(data);
  }
};

/// A process group: `ranks[i]` is the world rank of the group's i-th member.
struct Group {
  int rank = 0;
  int size = 0;
  const int* ranks = nullptr;
};

/// One rank's view of the run. Host code only.
class Context {
 public:
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  /// Everything `run` does must be ordered before the completion of this stream.
  virtual cudaStream_t stream() const = 0;
  /// The group of this rank in the problem's groups; "world" always exists.
  virtual Group group(const char* name) const = 0;
  /// Zeroed device memory at the same offset on every rank; its content lives until `teardown`.
  /// Collective: every rank calls it with the same size. In `setup` only.
  virtual void* symmetric(std::size_t bytes) = 0;
  /// Where rank `rank` has its copy of what `pointer` (into a tensor of Args or symmetric memory) is here.
  virtual void* peer(const void* pointer, int rank) const = 0;
  /// The multicast address of symmetric memory, or nullptr where the fabric has none.
  virtual void* multicast(const void* pointer) const = 0;
  /// Waits for all ranks on the host. In `setup` only.
  virtual void barrier() = 0;

  template <class U>
  U* peer(const U* pointer, int rank) const {
    return static_cast<U*>(peer(static_cast<const void*>(pointer), rank));
  }

 protected:
  ~Context() = default;
};

}  // namespace pkb
