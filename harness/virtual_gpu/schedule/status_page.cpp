// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/schedule/status_page.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace pkb::virtual_gpu {

void StatusPage::progressed() {
  if (x_page != nullptr) std::atomic_ref(x_page->progress).fetch_add(1, std::memory_order_release);
  polls(false);
}

void StatusPage::launched() {
  if (x_page != nullptr) std::atomic_ref(x_page->launches).fetch_add(1, std::memory_order_release);
}

void StatusPage::looks() {
  if (x_page != nullptr) std::atomic_ref(x_page->looks).fetch_add(1, std::memory_order_release);
}

void StatusPage::polls(bool polling) {
  if (polling == x_polling) return;
  x_polling = polling;
  if (x_page != nullptr) std::atomic_ref(x_page->polling).store(polling ? 1 : 0, std::memory_order_release);
}

void StatusPage::host_waits(bool waits) {
  if (waits == x_host_waits) return;
  x_host_waits = waits;
  if (x_page != nullptr) std::atomic_ref(x_page->host_waits).store(waits ? 1 : 0, std::memory_order_release);
}

void StatusPage::describe_waits(std::string_view text) {
  if (x_page == nullptr) return;
  const std::size_t length = std::min(text.size(), sizeof(x_page->waits) - 1);
  std::memcpy(x_page->waits, text.data(), length);
  x_page->waits[length] = '\0';
}

void StatusPage::add_race(std::string_view text) {
  if (x_page == nullptr) return;
  const std::size_t used = ::strnlen(x_page->races, sizeof(x_page->races));
  if (used + text.size() + 2 > sizeof(x_page->races)) return;
  char* const end = std::copy(text.begin(), text.end(), x_page->races + used);
  end[0] = '\n';
  end[1] = '\0';
}

void StatusPage::forget_races() {
  if (x_page != nullptr) x_page->races[0] = '\0';
}

}  // namespace pkb::virtual_gpu
