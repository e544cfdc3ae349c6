// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/warp.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/control.h"
#include "harness/virtual_gpu/exec/past_code.h"

namespace pkb::virtual_gpu {
namespace {

constexpr std::size_t kChunk = 64;                 // compared at once when looking for a polling warp
constexpr std::uint64_t kLocalLimit = 1ull << 22;  // bytes a thread; the hardware's is 512 KiB
constexpr std::size_t kLargestLocal = 1u << 20;    // compared when looking for a polling warp
constexpr std::uintptr_t kFar = ~std::uintptr_t{0};

void fill_constants(std::byte* registers, const Kernel::Function& function) {
  if (!function.register_image.empty())
    std::memcpy(registers + function.register_image_offset, function.register_image.data(),
                function.register_image.size());
}

// Threads do not wait for those that exit. But those that have gone on to code which the waiting ones have still to come
// to should have come first: the instruction is one for all of them (PTX ISA 9.7.13.1: in conditionally executed code only
// if all threads of the warp evaluate the condition alike).
bool goes_past_wait(const Kernel& kernel, const Fragment& fragment, const Fragment& waiting) {
  const Instruction* const end = fragment.next + std::max(fragment.next->run, 1u);
  const Instruction* const leaving = std::find_if(fragment.next, end, leaves);
  const Instruction* at = waiting.next;
  const Frame* frame = waiting.frame;
  for (; frame != nullptr && frame != fragment.frame; frame = frame->caller) at = frame->call;
  // What lies past an instruction stands behind it.
  return leaving != fragment.next && frame != nullptr && at < fragment.next &&
         kernel.past_code->is_past(kernel, *at, leaving[-1]);
}

}  // namespace

AlignedBytes aligned_bytes(std::size_t bytes) {
  const std::size_t rounded = (bytes + 63) / 64 * 64 + 64;
  AlignedBytes storage(static_cast<std::byte*>(std::aligned_alloc(64, rounded)));
  if (!storage) throw std::bad_alloc();
  std::memset(storage.get(), 0, rounded);
  return storage;
}

Warp::Warp(BlockState& block, std::uint32_t index, std::uint32_t live, std::byte* registers)
    : x_registers(registers), x_mask(live), x_block(&block), x_index(index), x_live(live) {
  const Kernel& kernel = block.kernel();
  auto frame = std::make_unique<Frame>();
  frame->registers = registers;
  frame->lanes = live;
  fill_constants(registers, kernel.functions[0]);
  x_frame = frame.get();
  x_frames.push_back(std::move(frame));
  x_next = kernel.code.data() + kernel.functions[0].entry;
}

Warp::Stop Warp::run(std::uint32_t budget) {
  if (x_faulted) return Stop::fault;
  if (!select()) return x_live == 0 ? Stop::finished : Stop::waiting;
  std::uint64_t executed = 0;
  while (executed < budget) {
    const Instruction* in = x_next;
    const Instruction* const start = in;
    const int lanes = std::popcount(x_mask);
    x_end = in + in->run;
    if (x_limit > in && x_limit < x_end) x_end = x_limit;
    x_next = x_end;
    do in->execute(*this, *in);
    while (++in != x_end);
    executed += static_cast<std::uint64_t>(in - start);
    x_lane_instructions += static_cast<std::uint64_t>(in - start) * static_cast<std::uint64_t>(lanes);
    if (x_attention) [[unlikely]] {
      if (x_faulted || x_live == 0) break;
      if (std::exchange(x_check, false) && repeats()) {
        x_warp_instructions += executed;
        return Stop::polling;
      }
      if (!select()) break;
    }
  }
  x_warp_instructions += executed;
  if (x_faulted) return Stop::fault;
  if (x_live == 0) return Stop::finished;
  return x_mask == 0 ? Stop::waiting : Stop::budget;
}

bool Warp::select() {
  if (x_mask != 0) x_fragments.push_back(current());
  x_mask = 0;
  for (std::size_t i = 0; i < x_fragments.size(); ++i)
    for (std::size_t j = i + 1; j < x_fragments.size();) {
      Fragment &into = x_fragments[i], &from = x_fragments[j];
      if (into.next != from.next || into.frame != from.frame || into.state == Fragment::State::barrier ||
          from.state == Fragment::State::barrier) {
        ++j;
        continue;
      }
      into.lanes |= from.lanes;
      into.turn = std::min(into.turn, from.turn);
      into.state = Fragment::State::ready;
      from = x_fragments.back();
      x_fragments.pop_back();
    }
  Fragment* best = nullptr;
  const auto rank = [](const Fragment& f) { return std::tuple(f.turn, ~f.frame->depth, f.next); };
  for (Fragment& fragment : x_fragments) {
    const bool can_run =
        fragment.state == Fragment::State::ready ||
        (fragment.state == Fragment::State::rendezvous && (fragment.wanted & x_live & ~fragment.lanes) == 0);
    if (can_run && (best == nullptr || rank(fragment) < rank(*best))) best = &fragment;
  }
  x_attention = true;
  if (best == nullptr || x_ends_wanted) return false;
  if ((best->lanes & ~x_past) != 0 && goes_past(*best)) x_past |= best->lanes;
  const Fragment chosen = *best;
  *best = x_fragments.back();
  x_fragments.pop_back();
  x_next = chosen.next;
  x_mask = chosen.lanes;
  x_turn = chosen.turn;
  x_frame = chosen.frame;
  x_registers = chosen.frame->registers;
  x_state = Fragment::State::ready;

  x_attention = false;
  std::uintptr_t limit = kFar;
  for (const Fragment& other : x_fragments) {
    if (other.state == Fragment::State::barrier) continue;
    x_attention = true;
    if (other.frame == x_frame && other.next > x_next)
      limit = std::min(limit, reinterpret_cast<std::uintptr_t>(other.next));
  }
  x_limit = reinterpret_cast<const Instruction*>(limit);
  return true;
}

bool Warp::goes_past(const Fragment& fragment) const {
  return std::ranges::any_of(x_fragments, [&](const Fragment& other) {
    return &other != &fragment && other.state == Fragment::State::rendezvous &&
           (other.wanted & fragment.lanes) != 0 && goes_past_wait(x_block->kernel(), fragment, other);
  });
}

void Warp::give_way() {
  x_spins = 0;
  for (const Fragment& other : x_fragments)
    if (other.state != Fragment::State::barrier) x_turn = std::max(x_turn, other.turn + 1);
}

void Warp::diverge(const Instruction& in, std::uint32_t lanes) {
  split(&in + in.target, lanes, x_frame);
  if (in.target <= 0) loop();
}

void Warp::split(const Instruction* to, std::uint32_t lanes, Frame* frame) {
  x_fragments.push_back({to, lanes, x_turn, frame, Fragment::State::ready, 0});
  x_mask &= ~lanes;
  x_attention = true;
}

void Warp::exit(const Instruction& in) {
  const std::uint32_t lanes = x_mask;
  x_ends_wanted = (lanes & x_past) != 0 && std::ranges::any_of(x_fragments, [&](const Fragment& other) {
    return other.state == Fragment::State::rendezvous && (other.wanted & lanes & x_past) != 0;
  });
  if (x_ends_wanted) {
    x_attention = true;
    return stop(in);
  }
  x_live &= ~lanes;
  x_mask = 0;
  x_attention = true;
  progress();
  x_block->exited(*this, lanes);
}

void Warp::enter(Frame* frame, const Instruction* to) {
  x_frame = frame;
  x_registers = frame->registers;
  x_next = to;
  x_attention = true;
}

Frame* Warp::push_frame(std::uint32_t function, const Instruction* call, std::uint32_t lanes) {
  const Kernel& kernel = x_block->kernel();
  const Kernel::Function& callee = kernel.functions[function];
  const auto spare = std::find_if(x_spare_frames.begin(), x_spare_frames.end(),
                                  [function](const auto& frame) { return frame->function == function; });
  std::unique_ptr<Frame> frame;
  if (spare != x_spare_frames.end()) {
    frame = std::move(*spare);
    x_spare_frames.erase(spare);
  } else {
    frame = std::make_unique<Frame>();
    frame->function = function;
    frame->storage = aligned_bytes(callee.register_bytes);
    frame->registers = frame->storage.get();
    fill_constants(frame->registers, callee);
  }
  frame->caller = x_frame;
  frame->call = call;
  frame->depth = x_frame->depth + 1;
  frame->lanes = lanes;
  frame->allocated = 0;
  frame->local_base =
      x_frame->local_base + (kernel.functions[x_frame->function].local_bytes + x_frame->allocated + 15) / 16 * 16;
  x_frames.push_back(std::move(frame));
  return x_frames.back().get();
}

void Warp::pop_lanes(Frame* frame, std::uint32_t lanes) {
  frame->lanes &= ~lanes;
  if (frame->lanes != 0) return;
  const auto held = std::find_if(x_frames.begin(), x_frames.end(),
                                 [frame](const auto& candidate) { return candidate.get() == frame; });
  x_spare_frames.push_back(std::move(*held));
  x_frames.erase(held);
}

CopyQueue& Warp::copies() { return x_block->copies(*this); }

void Warp::park(const Instruction& in, Fragment::State state, std::uint32_t wanted) {
  x_state = state;
  x_wanted = wanted;
  x_end = &in + 1;
  x_next = state == Fragment::State::rendezvous ? &in : &in + 1;
  x_attention = true;
}

void Warp::fault(const Instruction& in, int lane, Fault::Kind kind, std::uint64_t address, std::string text) {
  x_faulted = x_attention = true;
  stop(in);
  const Kernel& kernel = x_block->kernel();
  const Kernel::Place& place = kernel.places[in.place];
  Fault fault;
  fault.kind = kind;
  fault.text = std::move(text);
  fault.kernel = kernel.display_name;
  if (place.file < kernel.files.size()) fault.file = kernel.files[place.file];
  fault.line = place.line;
  if (place.inner_line != 0 && place.inner_file < kernel.files.size())
    fault.inner = fmt::format("{}:{}", without_folders(kernel.files[place.inner_file]), place.inner_line);
  fault.block = x_block->index();
  fault.thread = x_block->thread(x_index, lane);
  fault.address = address;
  x_block->raise(std::move(fault));
}

std::byte* Warp::local(int lane, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > kLocalLimit || bytes > kLocalLimit - offset) return nullptr;
  if (const std::uint64_t need = offset + bytes; need > x_local_stride) {
    const std::uint64_t stride =
        std::max<std::uint64_t>({need, x_block->kernel().local_bytes, 2 * x_local_stride, 64}) / 16 * 16 + 16;
    std::vector<std::byte> larger(stride * kLanes);
    for (std::uint64_t i = 0; x_local_stride != 0 && i < kLanes; ++i)
      std::memcpy(larger.data() + i * stride, x_local.data() + i * x_local_stride, x_local_stride);
    x_local = std::move(larger);
    x_local_stride = stride;
  }
  return x_local.data() + static_cast<std::uint64_t>(lane) * x_local_stride + offset;
}

std::vector<Fragment> Warp::fragments() const {
  std::vector<Fragment> all;
  if (x_mask != 0) all.push_back(current());
  all.insert(all.end(), x_fragments.begin(), x_fragments.end());
  return all;
}

bool Warp::waits_for_itself() const {
  const auto waits = [this](const Fragment& fragment) {
    return fragment.state == Fragment::State::rendezvous && (fragment.wanted & x_live & ~fragment.lanes) != 0;
  };
  return x_live != 0 && x_mask == 0 && (x_ends_wanted || std::ranges::all_of(x_fragments, waits));
}

void Warp::observe(std::uint64_t budget, Observer& observer) {
  if (x_faulted || !select()) return;
  const std::uint64_t progress = x_progress;
  for (; budget > 0; --budget) {
    const Instruction& in = *x_next;
    x_lane_instructions += static_cast<std::uint64_t>(std::popcount(x_mask));
    ++x_warp_instructions;
    observer.before(*this, in);
    x_end = x_next = &in + 1;
    in.execute(*this, in);
    observer.after(in);
    if (x_faulted || x_live == 0 || x_progress != progress) return;
    if (std::exchange(x_check, false) && repeats()) return;
    if (x_attention && !select()) return;
  }
}

bool Warp::repeats() {
  if (!x_snapshot) x_snapshot = std::make_unique<Snapshot>();
  Snapshot& snapshot = *x_snapshot;
  if (snapshot.frames.empty() || snapshot.progress != x_progress || x_quiet >= snapshot.next) {
    const bool was_same = !snapshot.frames.empty() && snapshot.progress == x_progress && same(snapshot);
    remember();
    return was_same;
  }
  return same(snapshot);
}

bool Warp::same(Snapshot& snapshot) const {
  if (snapshot.spins != x_spins || snapshot.fragments.front().next != x_next ||
      snapshot.fragments.size() != x_fragments.size() + 1)
    return false;
  const auto differ = [&](const Snapshot::Activation& saved, std::size_t at) {
    return std::memcmp(saved.frame->registers + at, saved.registers.data() + at,
                       std::min(kChunk, saved.registers.size() - at)) != 0;
  };
  const Snapshot::Activation& suspect = snapshot.frames[snapshot.differs_in];
  if (!suspect.registers.empty() && differ(suspect, snapshot.differs_at)) return false;
  const std::vector<Fragment> now = fragments(), &then = snapshot.fragments;
  const bool same_fragments =
      std::equal(now.begin(), now.end(), then.begin(), [&](const Fragment& a, const Fragment& b) {
        return a.next == b.next && a.lanes == b.lanes && a.frame == b.frame && a.state == b.state &&
               a.wanted == b.wanted && a.turn - now.front().turn == b.turn - then.front().turn;
      });
  if (!same_fragments) return false;
  const std::vector<const Frame*> frames = active_frames();
  if (frames.size() != snapshot.frames.size() || x_local != snapshot.local) return false;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const Snapshot::Activation& saved = snapshot.frames[i];
    if (frames[i] != saved.frame || frames[i]->call != saved.call) return false;
    for (std::size_t at = 0; at < saved.registers.size(); at += kChunk)
      if (differ(saved, at)) {
        snapshot.differs_in = i;
        snapshot.differs_at = at;
        return false;
      }
  }
  return true;
}

// Snapshots at doubling distances find a cycle of any length (Brent 1980).
void Warp::remember() {
  Snapshot& snapshot = *x_snapshot;
  snapshot.progress = x_progress;
  snapshot.spins = x_spins;
  snapshot.next = 2 * x_quiet;
  snapshot.differs_in = snapshot.differs_at = 0;
  snapshot.fragments = fragments();
  snapshot.frames.clear();
  if (x_local.size() > kLargestLocal) return;  // such a warp only uses up its budget
  snapshot.local = x_local;
  for (const Frame* frame : active_frames()) {
    const Kernel::Function& function = x_block->kernel().functions[frame->function];
    snapshot.frames.push_back(
        {frame, frame->call, {frame->registers, frame->registers + function.register_image_offset}});
  }
}

std::vector<const Frame*> Warp::active_frames() const {
  std::vector<const Frame*> active;
  for (const Fragment& fragment : fragments())
    for (const Frame* frame = fragment.frame; frame != nullptr; frame = frame->caller) {
      if (std::ranges::find(active, frame) != active.end()) break;  // and so are its callers
      active.push_back(frame);
    }
  return active;
}

}  // namespace pkb::virtual_gpu
