// SPDX-License-Identifier: Apache-2.0
// Stands in for a worker in the sandbox's tests: answers the question that its candidate file holds.
#include <ifaddrs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

extern char** environ;  // NOLINT

namespace {

void list_network() {
  std::set<std::string> seen;
  ifaddrs* all = nullptr;
  ::getifaddrs(&all);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) seen.insert(each->ifa_name);
  for (const std::string& each : seen) std::cout << each << '\n';
}

void list(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    std::cout << entry.path().filename().string() << '\n';
}

void list_descriptors() {
  for (int fd = 0; fd < 256; ++fd)
    if (::lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF) std::cout << fd << '\n';
}

void count_processes() {
  int count = 0;
  std::error_code none;  // where a fresh /proc is refused
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none))
    if (std::ranges::all_of(entry.path().filename().string(), [](char c) { return c >= '0' && c <= '9'; }))
      ++count;
  std::cout << (count <= 2 ? "at most 2" : "more than 2") << '\n';
}

void take_memory() {
  try {
    std::vector<char> eaten(std::size_t{2} << 30, 'x');
    std::cout << "granted " << eaten.size() << '\n';
  } catch (const std::bad_alloc&) {
    std::cout << "refused\n";
  }
}

}  // namespace

int main() {
  std::ifstream file("/candidate.so");
  std::string question, subject;
  file >> question >> subject;
  if (question == "network") list_network();
  if (question == "environment")
    for (char** each = environ; *each != nullptr; ++each) std::cout << *each << '\n';
  if (question == "descriptors") {
    file.close();
    list_descriptors();
  }
  if (question == "list") list(subject);
  if (question == "read")
    std::cout << (std::ifstream(subject).good() ? "readable" : std::strerror(errno)) << '\n';
  if (question == "write")
    std::cout << (std::ofstream(subject, std::ios::app).good() ? "written" : std::strerror(errno)) << '\n';
  if (question == "processes") count_processes();
  if (question == "memory") take_memory();
  if (question == "exit") return std::stoi(subject);
  if (question == "crash") ::raise(SIGSEGV);
  if (question == "flood")
    for (int i = 0; i < 100'000; ++i) std::cout << "flood flood flood flood flood flood flood\n";
}
