// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/answers/compute.h"

#include <dlfcn.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/probe.h"

namespace pkb::virtual_gpu::answers {
namespace {

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorName(error));
}

/// SplitMix64, the upper halves.
std::vector<std::uint32_t> random_words() {
  std::vector<std::uint32_t> words(kInputWords);
  std::uint64_t state = 20;
  for (std::uint32_t& word : words) {
    std::uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    word = static_cast<std::uint32_t>((x ^ (x >> 31)) >> 32);
  }
  return words;
}

class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes) {
    check(cudaMalloc(&x_data, bytes));
    check(cudaMemset(x_data, 0, bytes));
  }
  ~DeviceBytes() { cudaFree(x_data); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  void* get() const { return x_data; }

 private:
  void* x_data = nullptr;
};

std::string text_of(const std::vector<std::uint64_t>& words) { return fmt::format("{:016x}", digest(words)); }
std::size_t words_of(const Answer& answer) { return (answer.bytes + 7) / 8; }

}  // namespace

std::vector<Answer> all_answers() {
  std::vector<Answer> all;
  std::istringstream libraries(PKB_ANSWER_LIBRARIES);
  for (std::string path; std::getline(libraries, path, ':');) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto [first, count] = reinterpret_cast<decltype(&::answers)>(dlsym(library, "answers"))();
    all.insert(all.end(), first, first + count);
  }
  return all;
}

std::string digest_of(const Answer& answer) {
  const auto words = random_words();
  const DeviceBytes in(4 * words.size()), out(8 * words_of(answer));
  check(cudaMemcpy(in.get(), words.data(), 4 * words.size(), cudaMemcpyHostToDevice));
  answer.compute(static_cast<const std::uint32_t*>(in.get()), out.get());
  check(cudaGetLastError());
  check(cudaDeviceSynchronize());
  std::vector<std::uint64_t> result(words_of(answer));
  check(cudaMemcpy(result.data(), out.get(), 8 * result.size(), cudaMemcpyDeviceToHost));
  return text_of(result);
}

std::string digest_of_nothing(const Answer& answer) { return text_of(std::vector<std::uint64_t>(words_of(answer))); }

std::map<std::string, std::string> recorded() {
  std::ifstream file(PKB_ANSWERS_RECORDED);
  std::map<std::string, std::string> all;
  for (std::string line; std::getline(file, line);) {
    std::string name, digest;
    if (line[0] != '#' && std::istringstream(line) >> name >> digest) all[name] = digest;
  }
  return all;
}

}  // namespace pkb::virtual_gpu::answers
