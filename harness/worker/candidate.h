// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

/// The loaded candidate. Its own header, <pkb/candidate.h>, stays in the .cpp: it names some of the harness's
/// types a second time.
namespace pkb::worker {

/// What the candidate's Context asks the worker for. Functions that throw do so through the candidate's code.
class Host {
 public:
  virtual ~Host() = default;
  virtual void* symmetric(std::size_t bytes) = 0;
  virtual void* peer(const void* pointer, int rank) const = 0;
  virtual void* multicast(const void* pointer) = 0;
  virtual void barrier() = 0;
};

/// A Context function was called where it may not be, or with what it does not know.
class MisuseError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// The library cannot be loaded, or lacks what a candidate must have.
class LoadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Candidate {
 public:
  struct Group {
    std::string name;
    int rank;
    std::vector<int> ranks;
  };
  struct World {
    int rank, ranks;
    std::vector<Group> groups;
  };
  struct Tensor {
    void* data;
    std::uint8_t dtype;
    std::vector<std::int64_t> shape;
  };

  /// Loads the library, which runs its static initialisers, and makes its stream. @throws LoadError
  Candidate(const std::filesystem::path& library, World world, Host& host);
  ~Candidate();
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  /// Args for setup and run: inputs then outputs, sizes and parameters in problem.json's order.
  void set_arguments(const std::vector<Tensor>& tensors, std::vector<double> parameters);

  cudaStream_t stream() const;

  // Each throws whatever the candidate throws, and MisuseError.
  void setup();
  void run();
  void teardown();

 private:
  class RankContext;
  struct Arguments;
  struct Entry;
  std::unique_ptr<RankContext> x_context;
  std::unique_ptr<Arguments> x_arguments;
  std::unique_ptr<Entry> x_entry;
};

}  // namespace pkb::worker
