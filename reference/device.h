// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

struct CUstream_st;

namespace pkb::ref {

using Stream = CUstream_st*;  // cudaStream_t, without the toolkit's headers

/// The stream on which the library enqueues in this thread: one of its own unless a StreamScope names
/// another.
Stream current_stream();

/// Makes `stream` the thread's current stream as long as it lives.
class StreamScope {
 public:
  explicit StreamScope(Stream stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  Stream x_previous;
};

/// Waits for everything enqueued on the current stream; throws std::runtime_error with CUDA's words if it
/// failed.
void synchronize();

/// Device memory ordered by the current stream, from a pool that keeps what it has; freed on the stream that
/// allocated it.
std::shared_ptr<void> device_allocate(std::size_t bytes);

}  // namespace pkb::ref
