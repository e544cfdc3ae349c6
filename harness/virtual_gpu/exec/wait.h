// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tuple>

namespace pkb::virtual_gpu {

/// What some threads of a kernel wait for, for reports of deadlocks. Waits that differ only in threads and places
/// are one when merged.
struct Wait {
  std::string who;     ///< "block (1,0,0) of the cluster", or empty
  std::string action;  ///< "poll", "run", "wait at barrier 0"
  std::string at;      ///< "a.cu:12", or empty
  std::uint32_t threads = 0;
  // of polls:
  std::string memory;              ///< allocation, for example "symmetric #0 of rank 2"; empty when unknown
  std::set<std::uint64_t> places;  ///< element numbers in it
  std::string found;               ///< the value there
  std::string wanted;              ///< "== 3", or empty when the code does not say
  bool passed_by = false;          ///< it has been that value, or never will: only larger ones follow

  auto key() const { return std::tie(who, action, at, memory, found, wanted, passed_by); }
  void merge(const Wait& other) {
    threads += other.threads;
    places.insert(other.places.begin(), other.places.end());
  }
};

/// "2 threads poll symmetric #0[3] of rank 2 (a.cu:12), which is 2, until it is >= 3".
std::string to_string(const Wait& wait);

}  // namespace pkb::virtual_gpu
