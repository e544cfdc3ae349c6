// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/delayed_stores.h"

#include <algorithm>

#include "harness/virtual_gpu/exec/cluster.h"

namespace pkb::virtual_gpu {
namespace {

template <class T>
void store(std::byte* to, std::uint64_t value) {
  __atomic_store_n(reinterpret_cast<T*>(to), static_cast<T>(value), __ATOMIC_RELEASE);
}

void store(std::byte* to, std::uint64_t value, std::uint32_t bytes) {
  switch (bytes) {
    case 1:
      return store<std::uint8_t>(to, value);
    case 2:
      return store<std::uint16_t>(to, value);
    case 4:
      return store<std::uint32_t>(to, value);
    default:
      return store<std::uint64_t>(to, value);
  }
}

}  // namespace

template <class Condition>
void DelayedStores::perform_where(Condition condition) {
  const auto before = static_cast<std::int64_t>(x_stores.size());
  std::erase_if(x_stores, [&](const Store& each) {
    if (!condition(each)) return false;
    each.announcement.with([&] { store(each.to, each.value, each.bytes); });
    return true;
  });
  x_cluster->add_pending(static_cast<std::int64_t>(x_stores.size()) - before);
}

bool DelayedStores::takes() { return x_stores.size() != kMost && x_cluster->draws_delay(); }

void DelayedStores::add(Writer writer, std::byte* to, std::uint64_t value, std::uint32_t bytes,
                        check::Announcement announcement) {
  x_stores.push_back({to, value, bytes, writer, announcement, false, x_cluster->draw_due()});
  x_cluster->add_pending(1);
}

void DelayedStores::settle(const std::byte* at, std::uint64_t bytes) {
  if (empty()) return;
  perform_where([&](const Store& each) { return each.to < at + bytes && at < each.to + each.bytes; });
}

void DelayedStores::share(std::uint32_t warp, std::uint32_t lanes) {
  for (Store& each : x_stores)
    each.shared |= each.writer.warp == warp && (lanes >> each.writer.lane & 1) != 0;
}

void DelayedStores::release(std::uint32_t warp, std::uint32_t lanes) {
  if (empty()) return;
  share(warp, lanes);
  perform_where([](const Store& each) { return each.shared; });
}

void DelayedStores::perform_due(std::uint64_t now) {
  if (empty()) return;
  perform_where([now](const Store& each) { return each.due <= now; });
}

std::uint64_t DelayedStores::next_due() const {
  std::uint64_t due = ~std::uint64_t{0};
  for (const Store& each : x_stores) due = std::min(due, each.due);
  return due;
}

}  // namespace pkb::virtual_gpu
