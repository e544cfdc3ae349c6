// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pkb::virtual_gpu {

/// The words that a polling block looks at, and what they held. Any of the ranks may change them.
class Watch {
 public:
  void clear();
  /// `bytes` bytes of this process are about to be looked at.
  void add(const void* at, std::uint64_t bytes);
  /// There is more to see than is noted here.
  void give_up() { x_complete = false; }
  /// Nothing will be added.
  void seal();
  /// Whether another look may show something new.
  bool changed() const;

 private:
  struct Word {
    const std::uint32_t* at;
    std::uint32_t seen;
  };
  static constexpr std::size_t kMost = 4096;

  std::vector<Word> x_words;
  bool x_complete = true;
};

}  // namespace pkb::virtual_gpu
