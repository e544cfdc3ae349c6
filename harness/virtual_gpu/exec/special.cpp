// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/special.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/lanes.h"

// Special registers (PTX ISA 10).
namespace pkb::virtual_gpu {
namespace {

const Dim3& block_size(const Warp& warp) { return warp.block().launch().block; }

template <std::uint32_t Dim3::*axis>
void thread_index(Warp& warp, const Instruction& in) {
  const Dim3 size = block_size(warp);
  Dim3 at = warp.block().thread(warp.index(), 0);
  std::array<std::uint32_t, kLanes> values;
  for (std::uint32_t& value : values) {
    value = at.*axis;
    if (++at.x < size.x) continue;
    at.x = 0;
    if (++at.y < size.y) continue;
    at.y = 0;
    ++at.z;
  }
  write<std::uint32_t>(warp, in.d, [&](int lane) { return values[static_cast<std::size_t>(lane)]; });
}

void lane_index(Warp& warp, const Instruction& in) {
  write<std::uint32_t>(warp, in.d, [](int lane) { return static_cast<std::uint32_t>(lane); });
}

/// lanemask_*: f(bit of the lane).
template <std::uint32_t (*f)(std::uint32_t)>
void lane_mask(Warp& warp, const Instruction& in) {
  write<std::uint32_t>(warp, in.d, [](int lane) { return f(1u << lane); });
}
std::uint32_t equal(std::uint32_t bit) { return bit; }
std::uint32_t less(std::uint32_t bit) { return bit - 1; }
std::uint32_t less_equal(std::uint32_t bit) { return bit | (bit - 1); }
std::uint32_t greater(std::uint32_t bit) { return ~(bit | (bit - 1)); }
std::uint32_t greater_equal(std::uint32_t bit) { return ~(bit - 1); }

/// A value that is the same in all threads of the warp.
template <class T, T (*f)(const Warp&)>
void uniform(Warp& warp, const Instruction& in) {
  const T value = f(warp);
  write<T>(warp, in.d, [value](int) { return value; });
}

/// A clock: who reads it does more than poll.
template <class T, T (*f)(const Warp&)>
void clock(Warp& warp, const Instruction& in) {
  warp.progress();
  uniform<T, f>(warp, in);
}

using Word = std::uint32_t;
using Quad = std::uint64_t;

template <std::uint32_t Dim3::*axis>
Word threads(const Warp& warp) {
  return block_size(warp).*axis;
}
template <std::uint32_t Dim3::*axis>
Word block_index(const Warp& warp) {
  return warp.block().index().*axis;
}
template <std::uint32_t Dim3::*axis>
Word blocks(const Warp& warp) {
  return warp.block().launch().grid.*axis;
}
template <std::uint32_t Dim3::*axis>
Word cluster_size(const Warp& warp) {
  return std::max(warp.block().launch().cluster.*axis, 1u);
}
template <std::uint32_t Dim3::*axis>
Word cluster_index(const Warp& warp) {
  return block_index<axis>(warp) / cluster_size<axis>(warp);
}
template <std::uint32_t Dim3::*axis>
Word clusters(const Warp& warp) {
  return blocks<axis>(warp) / cluster_size<axis>(warp);
}
template <std::uint32_t Dim3::*axis>
Word block_in_cluster(const Warp& warp) {
  return block_index<axis>(warp) % cluster_size<axis>(warp);
}
Word blocks_of_cluster(const Warp& warp) {
  return cluster_size<&Dim3::x>(warp) * cluster_size<&Dim3::y>(warp) * cluster_size<&Dim3::z>(warp);
}
Word rank_in_cluster(const Warp& warp) {
  return block_in_cluster<&Dim3::x>(warp) +
         cluster_size<&Dim3::x>(warp) * (block_in_cluster<&Dim3::y>(warp) +
                                         cluster_size<&Dim3::y>(warp) * block_in_cluster<&Dim3::z>(warp));
}
bool is_explicit_cluster(const Warp& warp) { return warp.block().launch().explicit_cluster; }
Word warp_index(const Warp& warp) { return warp.index(); }
Word warps(const Warp& warp) { return (warp.block().thread_count() + kLanes - 1) / kLanes; }
Word sm(const Warp& warp) { return warp.block().sm(); }
Word sms(const Warp& warp) { return warp.block().launch().sm_count; }
Quad grid(const Warp& warp) { return warp.block().launch().id; }
Word workspace_high(const Warp& warp) {
  return static_cast<Word>(warp.block().launch().grid_workspace >> 32);
}
Word workspace_low(const Warp& warp) { return static_cast<Word>(warp.block().launch().grid_workspace); }
Word total_shared(const Warp& warp) { return static_cast<Word>(warp.block().shared_bytes()); }
Word dynamic_shared(const Warp& warp) { return warp.block().launch().dynamic_shared; }
Word zero(const Warp&) { return 0; }
Word warp_size(const Warp&) { return kLanes; }

std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}
// There are no cycles here; one a nanosecond lets time-outs of kernels work.
Quad ticks(const Warp&) { return nanoseconds(); }
Word ticks_low(const Warp&) { return static_cast<Word>(nanoseconds()); }
Word ticks_high(const Warp&) { return static_cast<Word>(nanoseconds() >> 32); }

struct Register {
  std::string_view name;
  Slot slot;
  Handler read;
};
constexpr Register kRegisters[] = {
    {"%tid.x", Slot::word, thread_index<&Dim3::x>},
    {"%tid.y", Slot::word, thread_index<&Dim3::y>},
    {"%tid.z", Slot::word, thread_index<&Dim3::z>},
    {"%ntid.x", Slot::word, uniform<Word, threads<&Dim3::x>>},
    {"%ntid.y", Slot::word, uniform<Word, threads<&Dim3::y>>},
    {"%ntid.z", Slot::word, uniform<Word, threads<&Dim3::z>>},
    {"%ctaid.x", Slot::word, uniform<Word, block_index<&Dim3::x>>},
    {"%ctaid.y", Slot::word, uniform<Word, block_index<&Dim3::y>>},
    {"%ctaid.z", Slot::word, uniform<Word, block_index<&Dim3::z>>},
    {"%nctaid.x", Slot::word, uniform<Word, blocks<&Dim3::x>>},
    {"%nctaid.y", Slot::word, uniform<Word, blocks<&Dim3::y>>},
    {"%nctaid.z", Slot::word, uniform<Word, blocks<&Dim3::z>>},
    {"%laneid", Slot::word, lane_index},
    {"%warpid", Slot::word, uniform<Word, warp_index>},
    {"%nwarpid", Slot::word, uniform<Word, warps>},
    {"%smid", Slot::word, uniform<Word, sm>},
    {"%nsmid", Slot::word, uniform<Word, sms>},
    {"%gridid", Slot::quad, uniform<Quad, grid>},
    {"%lanemask_eq", Slot::word, lane_mask<equal>},
    {"%lanemask_lt", Slot::word, lane_mask<less>},
    {"%lanemask_le", Slot::word, lane_mask<less_equal>},
    {"%lanemask_gt", Slot::word, lane_mask<greater>},
    {"%lanemask_ge", Slot::word, lane_mask<greater_equal>},
    {"%clock", Slot::word, clock<Word, ticks_low>},
    {"%clock_hi", Slot::word, clock<Word, ticks_high>},
    {"%clock64", Slot::quad, clock<Quad, ticks>},
    {"%globaltimer", Slot::quad, clock<Quad, ticks>},
    {"%globaltimer_lo", Slot::word, clock<Word, ticks_low>},
    {"%globaltimer_hi", Slot::word, clock<Word, ticks_high>},
    {"%is_explicit_cluster", Slot::predicate, uniform<bool, is_explicit_cluster>},
    {"%clusterid.x", Slot::word, uniform<Word, cluster_index<&Dim3::x>>},
    {"%clusterid.y", Slot::word, uniform<Word, cluster_index<&Dim3::y>>},
    {"%clusterid.z", Slot::word, uniform<Word, cluster_index<&Dim3::z>>},
    {"%nclusterid.x", Slot::word, uniform<Word, clusters<&Dim3::x>>},
    {"%nclusterid.y", Slot::word, uniform<Word, clusters<&Dim3::y>>},
    {"%nclusterid.z", Slot::word, uniform<Word, clusters<&Dim3::z>>},
    {"%cluster_ctaid.x", Slot::word, uniform<Word, block_in_cluster<&Dim3::x>>},
    {"%cluster_ctaid.y", Slot::word, uniform<Word, block_in_cluster<&Dim3::y>>},
    {"%cluster_ctaid.z", Slot::word, uniform<Word, block_in_cluster<&Dim3::z>>},
    {"%cluster_nctaid.x", Slot::word, uniform<Word, cluster_size<&Dim3::x>>},
    {"%cluster_nctaid.y", Slot::word, uniform<Word, cluster_size<&Dim3::y>>},
    {"%cluster_nctaid.z", Slot::word, uniform<Word, cluster_size<&Dim3::z>>},
    {"%cluster_ctarank", Slot::word, uniform<Word, rank_in_cluster>},
    {"%cluster_nctarank", Slot::word, uniform<Word, blocks_of_cluster>},
    {"%envreg1", Slot::word, uniform<Word, workspace_high>},
    {"%envreg2", Slot::word, uniform<Word, workspace_low>},
    {"%total_smem_size", Slot::word, uniform<Word, total_shared>},
    {"%aggr_smem_size", Slot::word, uniform<Word, total_shared>},
    {"%dynamic_smem_size", Slot::word, uniform<Word, dynamic_shared>},
    {"%reserved_smem_offset_begin", Slot::word, uniform<Word, zero>},
    {"WARP_SZ", Slot::word, uniform<Word, warp_size>},
};

}  // namespace

std::uint32_t read_special(Decoder& decoder, const std::string& name, Slot slot) {
  for (const Register& known : kRegisters) {
    if (known.name != name) continue;
    const std::uint32_t value = decoder.temporary(known.slot);
    decoder.emit(known.read).d = value;
    return decoder.converted(value, known.slot, slot);
  }
  throw Unsupported{"the special register " + name};
}

template <class T>
void local_address(Warp& warp, const Instruction& in) {
  const T address = static_cast<T>(warp.frame().local_base + in.immediate);
  write<T>(warp, in.d, [address](int) { return address; });
}
template void local_address<std::uint32_t>(Warp&, const Instruction&);
template void local_address<std::uint64_t>(Warp&, const Instruction&);

void add_special(Table&) {}

}  // namespace pkb::virtual_gpu
