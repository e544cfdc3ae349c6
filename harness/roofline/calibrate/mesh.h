// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/roofline/calibrate/spread.h"

namespace pkb::roofline {

/// The ways in which bytes cross a link. A store is executed by the GPU that has the data, a load by the one that
/// wants them.
enum class Mechanism : std::uint8_t { copy_engine, bulk_store, bulk_load, register_store, register_load };
inline constexpr std::string_view kMechanismNames[] = {"copy_engine", "bulk_store", "bulk_load", "register_store",
                                                       "register_load"};
constexpr std::string_view name_of(Mechanism mechanism) {
  return kMechanismNames[static_cast<std::size_t>(mechanism)];
}

struct Transfer {
  Mechanism mechanism = Mechanism::copy_engine;
  int from = 0, to = 0;    ///< GPUs
  std::size_t bytes = 0;   ///< a multiple of 16, at most Mesh::kBuffer
  int sms = 0;             ///< that copy; without meaning for the copy engine
};

/// All GPUs of this process, each with a gibibyte to send and one to receive into, and access to its peers where the
/// machine allows it.
class Mesh {
 public:
  static constexpr std::size_t kBuffer = std::size_t{1} << 30;

  Mesh();
  ~Mesh();
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  int size() const { return static_cast<int>(x_gpus.size()); }
  int sms(int gpu) const { return properties(gpu).multiProcessorCount; }
  const cudaDeviceProp& properties(int gpu) const { return x_gpus[static_cast<std::size_t>(gpu)].properties; }

  /// What can move data from one GPU to another, or within one (`from` equals `to`: loads and stores are the same
  /// then, and only the stores are listed).
  std::vector<Mechanism> mechanisms(int from, int to) const;

  /// Copies a pattern and compares. @throws EnvironmentError when it arrives wrong
  void verify(const Transfer& transfer);

  /// Bytes per second. Every call copies another part of the buffers, so that a cache has no part in it where the
  /// message is not far smaller than the buffers.
  Spread rate(const Transfer& transfer);

  /// Every GPU sends to all others at once: bytes per second that leave one GPU. Timed by the host.
  Spread rate_of_all(Mechanism mechanism);

 private:
  struct Gpu {
    cudaDeviceProp properties{};
    std::byte *send = nullptr, *receive = nullptr;
    std::vector<cudaStream_t> stream_to;  // by peer
  };

  Gpu& gpu(int index) { return x_gpus[static_cast<std::size_t>(index)]; }
  bool reaches(int from, int to) const;
  static int executor(const Transfer& transfer);
  void enqueue(const Transfer& transfer, std::size_t offset, cudaStream_t stream);

  std::vector<Gpu> x_gpus;
  std::size_t x_next = 0;  // where the next transfer begins
};

}  // namespace pkb::roofline
