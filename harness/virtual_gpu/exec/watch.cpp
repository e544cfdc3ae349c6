// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/watch.h"

#include <algorithm>

namespace pkb::virtual_gpu {
namespace {

std::uint32_t look(const std::uint32_t* at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

}  // namespace

void Watch::clear() {
  x_words.clear();
  x_complete = true;
}

void Watch::add(const void* at, std::uint64_t bytes) {
  constexpr std::uintptr_t kWord = sizeof(std::uint32_t);
  const auto begin = reinterpret_cast<std::uintptr_t>(at) / kWord * kWord;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(at) + bytes;
  if ((end - begin + kWord - 1) / kWord > kMost) return give_up();
  for (std::uintptr_t address = begin; address < end; address += kWord) {
    if (x_words.size() == kMost) seal();
    if (x_words.size() == kMost) return give_up();
    const auto* word = reinterpret_cast<const std::uint32_t*>(address);
    x_words.push_back({word, look(word)});
  }
}

// Of a word that was looked at several times the first value counts: if it changed in between it has changed.
void Watch::seal() {
  std::ranges::stable_sort(x_words, {}, &Word::at);
  const auto same = std::ranges::unique(x_words, {}, &Word::at);
  x_words.erase(same.begin(), same.end());
}

bool Watch::changed() const {
  return !x_complete ||
         std::ranges::any_of(x_words, [](const Word& word) { return look(word.at) != word.seen; });
}

}  // namespace pkb::virtual_gpu
