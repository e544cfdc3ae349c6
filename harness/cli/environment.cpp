// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "harness/candidate/digest.h"

namespace pkb::cli {
namespace {

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string first_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// The commit that is checked out in `source`, read without git; empty outside a repository.
std::string commit(const std::filesystem::path& source) {
  const std::string head = first_line(source / ".git" / "HEAD");
  constexpr std::string_view kReference = "ref: ";
  if (!head.starts_with(kReference)) return head;
  const std::string name = head.substr(kReference.size());
  if (std::string loose = first_line(source / ".git" / name); !loose.empty()) return loose;
  std::ifstream packed(source / ".git" / "packed-refs");
  for (std::string line; std::getline(packed, line);)
    if (line.ends_with(" " + name)) return line.substr(0, line.find(' '));
  return {};
}

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace

nlohmann::json environment(const Installation& here) {
  utsname system{};
  uname(&system);
  return {{"pkb", PKB_VERSION},
          {"commit", commit(here.source)},
          {"cuda_toolkit", PKB_CUDA_VERSION},
          {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
          {"processor", processor()},
          {"cores", std::thread::hardware_concurrency()}};
}

std::string problem_hash(const problem::Problem& problem) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(problem.folder()))
    if (entry.is_regular_file() && entry.path().extension() != ".md") files.push_back(entry.path());
  std::ranges::sort(files);
  candidate::Digest digest;
  for (const auto& file : files) digest.field(file.filename().string()).field(read(file));
  return digest.hex();
}

candidate::CompileRequest compile_request(const PreparedJob& prepared, const std::filesystem::path& source) {
  candidate::CompileRequest request;
  request.source = source;
  request.problem = prepared.problem.id();
  request.dtype = prepared.job.dtype;
  request.architecture = prepared.architecture;
  request.include_folders = {prepared.installation.build / "include",
                             prepared.installation.source / "harness" / "candidate" / "include"};
  request.sandbox = prepared.job.sandbox == launch::Sandbox::none ? candidate::Sandbox::none
                                                                  : candidate::Sandbox::bubblewrap;
  request.bwrap = prepared.job.bwrap;
  return request;
}

std::string cannot_tell(launch::Device device) {
  switch (device) {
    case launch::Device::virtual_gpu:
      return "virtual GPUs judge correctness and give no times\n";
    case launch::Device::shared:
      return "ranks that share one GPU cannot show faults of scope or of ordering over a real link; times "
             "are not comparable\n";
    case launch::Device::cuda:
      return "";
  }
  return "";
}

}  // namespace pkb::cli
