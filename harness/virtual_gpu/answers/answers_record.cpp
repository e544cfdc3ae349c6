// SPDX-License-Identifier: Apache-2.0
// answers_record FILE: computes every answer on the machine's GPU, twice, and writes FILE, lines "name digest".
#include <ctime>
#include <exception>
#include <fstream>

#include <fmt/format.h>

#include "harness/virtual_gpu/answers/compute.h"

namespace {

std::string first_line() {
  cudaDeviceProp properties{};
  int driver = 0;
  cudaGetDeviceProperties(&properties, 0);
  cudaDriverGetVersion(&driver);
  const std::time_t now = std::time(nullptr);
  char date[32] = "";
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  return fmt::format("# Recorded on one {}, driver for CUDA {}.{}, kernels by nvcc {}.{}, {}: answers_record\n",
                     properties.name, driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                     CUDART_VERSION % 1000 / 10, date);
}

}  // namespace

int main(int count, char** arguments) {
  using namespace pkb::virtual_gpu::answers;
  if (count != 2) {
    fmt::print(stderr, "answers_record: name the file to write\n");
    return 2;
  }
  try {
    std::ofstream file(arguments[1]);
    file << first_line();
    for (const Answer& each : all_answers()) {
      const std::string digest = digest_of(each);
      if (digest_of(each) != digest) fmt::print(stderr, "{}: two answers\n", each.name);
      file << each.name << ' ' << digest << '\n';
    }
    return file.flush() ? 0 : 3;
  } catch (const std::exception& error) {
    fmt::print(stderr, "answers_record: {}\n", error.what());
    return 3;
  }
}
