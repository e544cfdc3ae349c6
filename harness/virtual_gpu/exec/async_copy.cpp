// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/async_copy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/checks.h"
#include "harness/virtual_gpu/exec/cluster.h"
#include "harness/virtual_gpu/exec/mbarrier.h"

namespace pkb::virtual_gpu {
namespace {

bool follows(const AsyncCopy& arrival, const AsyncCopy& copy) {
  return copy.completion == AsyncCopy::Completion::group && (arrival.lanes & copy.lanes) != 0;
}

}  // namespace

std::unique_ptr<AsyncCopy> CopyQueue::fresh() {
  if (x_spare.empty()) return std::make_unique<AsyncCopy>();
  CopyPtr copy = std::move(x_spare.back());
  x_spare.pop_back();
  AsyncCopy empty;
  empty.pieces = std::move(copy->pieces);  // for their capacity
  empty.values = std::move(copy->values);
  empty.pieces.clear();
  empty.values.clear();
  *copy = std::move(empty);
  return copy;
}

void CopyQueue::issue(CopyPtr copy) {
  ClusterState& cluster = x_warp->block().cluster();
  if (copy->completion != AsyncCopy::Completion::mbarrier) {
    // Where the threads' counts differ the least makes the copy end before any of them needs it to.
    const Counts& counts = committed(copy->completion);
    copy->group = ~std::uint64_t{0};
    for (std::uint32_t left = copy->lanes; left != 0; left &= left - 1)
      copy->group = std::min(copy->group, counts[static_cast<std::size_t>(std::countr_zero(left))]);
  }
  x_warp->block().release_stores(x_warp->index(), x_warp->mask(), check::Scope::sys);
  copy->due = cluster.draw_due();
  if (copy->arrivals != 0)  // tells that earlier ones are done
    for (const CopyPtr& earlier : x_copies)
      if (follows(*copy, *earlier)) copy->due = std::max(copy->due, earlier->due);
  copy->moment = check_copy(*x_warp, *copy);
  if (copy->moment != 0 && copy->completion != AsyncCopy::Completion::mbarrier)
    x_issued.push_back({copy->completion, copy->lanes, copy->group, copy->moment});
  x_copies.push_back(std::move(copy));
  cluster.add_pending(1);
  x_warp->progress();
}

void CopyQueue::commit(AsyncCopy::Completion completion, std::uint32_t lanes) {
  Counts& counts = committed(completion);
  for (std::uint32_t left = lanes; left != 0; left &= left - 1)
    ++counts[static_cast<std::size_t>(std::countr_zero(left))];
}

std::uint32_t CopyQueue::included(const Wait& wait, AsyncCopy::Completion completion, std::uint32_t lanes,
                                  std::uint64_t group) {
  if (completion != wait.completion) return 0;
  const Counts& counts = committed(completion);
  std::uint32_t waiting = 0;
  for (std::uint32_t left = lanes & wait.lanes; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (group + wait.may_remain < counts[static_cast<std::size_t>(lane)]) waiting |= 1u << lane;
  }
  return waiting;
}

void CopyQueue::tell_waited(const Wait& wait) {
  check::BlockCheck& check = *x_warp->block().check();
  const CopyAgents agents = agents_of(*x_warp, wait.completion);
  for (Issued& each : x_issued) {
    const std::uint32_t done = included(wait, each.completion, each.lanes, each.group);
    if (done == 0) continue;
    check.waited(x_warp->index(), done, agents.reads, agents.lane, each.moment);
    if (wait.only_read) continue;
    check.waited(x_warp->index(), done, agents.writes, agents.lane, each.moment);
    each.lanes &= ~done;
  }
  std::erase_if(x_issued, [](const Issued& each) { return each.lanes == 0; });
}

void CopyQueue::wait(const Wait& wait) {
  if (!x_issued.empty()) tell_waited(wait);
  if (x_copies.empty()) return;
  const auto concerned = [&](const AsyncCopy& copy) {
    return included(wait, copy.completion, copy.lanes, copy.group) != 0;
  };
  if (wait.only_read) {
    for (const CopyPtr& copy : x_copies)
      if (concerned(*copy)) read(*copy);
  } else {
    perform_where(concerned);
  }
  x_warp->progress();
}

bool CopyQueue::pending(AsyncCopy::Completion completion, std::uint32_t lanes) const {
  return std::any_of(x_copies.begin(), x_copies.end(), [&](const CopyPtr& copy) {
    return copy->completion == completion && (copy->lanes & lanes) != 0;
  });
}

void CopyQueue::perform_due(std::uint64_t now) {
  perform_where([now](const AsyncCopy& copy) { return copy.due <= now; });
}

std::uint64_t CopyQueue::next_due() const {
  std::uint64_t due = ~std::uint64_t{0};
  for (const CopyPtr& copy : x_copies) due = std::min(due, copy->due);
  return due;
}

template <class Condition>
void CopyQueue::perform_where(Condition condition) {
  for (std::size_t i = 0; i < x_copies.size() && !x_warp->faulted();) {
    if (!condition(std::as_const(*x_copies[i]))) {
      ++i;
      continue;
    }
    CopyPtr copy = std::move(x_copies[i]);
    x_copies.erase(x_copies.begin() + static_cast<std::ptrdiff_t>(i));
    x_warp->block().cluster().add_pending(-1);
    perform(*copy);
    x_spare.push_back(std::move(copy));
  }
}

void CopyQueue::perform(AsyncCopy& copy) {
  read(copy);
  write(copy);
  x_warp->aside([&] { complete(copy); });
}

void CopyQueue::read(AsyncCopy& copy) {
  if (copy.is_read) return;
  copy.is_read = true;
  std::size_t bytes = 0, from_memory = 0;
  for (const AsyncCopy::Piece& piece : copy.pieces) {
    bytes += piece.bytes;
    if (piece.from != 0) from_memory += piece.bytes;
  }
  copy.values.resize(bytes);
  std::byte* to = copy.values.data();
  for (const AsyncCopy::Piece& piece : copy.pieces) {
    if (piece.source == nullptr)
      std::memset(to, 0, piece.bytes);
    else
      std::memcpy(to, piece.source, piece.bytes);
    if (copy.convert != nullptr && piece.from != 0) copy.convert(to, piece.bytes);
    to += piece.bytes;
  }
  x_warp->block().count_copied(copy.source_owner, from_memory, false);
}

void CopyQueue::write(AsyncCopy& copy) {
  const std::byte* from = copy.values.data();
  for (const AsyncCopy::Piece& piece : copy.pieces) {
    if (copy.combine != nullptr)
      copy.combine(piece.target, from, piece.bytes);
    else
      std::memcpy(piece.target, from, piece.bytes);
    from += piece.bytes;
  }
  x_warp->block().count_copied(copy.target_owner, copy.values.size(), true);
}

void CopyQueue::complete(AsyncCopy& copy) {
  if (copy.completion != AsyncCopy::Completion::mbarrier) return;
  const int lane = std::countr_zero(copy.lanes);
  if (check::BlockCheck* const check = x_warp->block().check()) {
    const auto [owner, offset] = x_warp->block().locate(copy.mbarrier);
    // An arrival tells of copies that complete in groups.
    const auto completion = copy.arrivals != 0 ? AsyncCopy::Completion::group : copy.completion;
    const CopyAgents agents = agents_of(*x_warp, completion, copy.mbarrier);
    if (owner != nullptr) owner->check()->mbarrier_copied(offset, *check, agents.writes, agents.lane, copy.moment);
  }
  if (copy.arrivals != 0)
    arrive_after_copies(*x_warp, *copy.in, lane, copy.mbarrier, copy.arrivals);
  else
    complete_transactions(*x_warp, *copy.in, lane, copy.mbarrier, copy.transactions);
}

}  // namespace pkb::virtual_gpu
