// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/control.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/checks.h"
#include "harness/virtual_gpu/exec/decode.h"
#include "harness/virtual_gpu/exec/heap.h"
#include "harness/virtual_gpu/exec/print.h"

// Branches, calls and ends (PTX ISA 9.7.12).
namespace pkb::virtual_gpu {
namespace {

std::uint32_t lanes_of_guard(Warp& warp, const Instruction& in) {
  const std::uint32_t holds = warp.predicate(in.guard);
  return warp.mask() & (in.negated ? ~holds : holds);
}

// brx.idx: the index selects a target from lists[list ...].
void branch_indexed(Warp& warp, const Instruction& in) {
  const std::uint32_t* index = warp.at<std::uint32_t>(in.a);
  const std::uint32_t* distances = warp.block().kernel().lists.data() + in.list();
  for (std::uint32_t left = warp.mask(); left != 0;) {
    const int lane = std::countr_zero(left);
    const std::uint32_t chosen = index[lane];
    if (chosen >= in.count)
      return warp.fault(in, lane, Fault::Kind::invalid_instruction, 0,
                        fmt::format("brx.idx with index {} of {} targets", chosen, in.count));
    std::uint32_t group = 0;
    for (std::uint32_t i = left; i != 0; i &= i - 1) {
      const int other = std::countr_zero(i);
      if (index[other] == chosen) group |= 1u << other;
    }
    left &= ~group;
    const Instruction* to = &warp.block().kernel().code[distances[chosen]];
    if (group == warp.mask())
      warp.enter(&warp.frame(), to);
    else
      warp.split(to, group, &warp.frame());
  }
  warp.turn_back(warp.block().kernel().code.data() + distances[0] <= &in);
}

void exit(Warp& warp, const Instruction& in) { warp.exit(in); }

void copy_arguments(Warp& warp, std::uint32_t lanes, const Kernel::Parameter* from, std::uint64_t from_base,
                    const Kernel::Parameter* to, std::uint64_t to_base, std::size_t count) {
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bytes = std::min(from[i].bytes, to[i].bytes);
      std::byte* target = warp.local(lane, to_base + to[i].offset, bytes);
      const std::byte* source = warp.local(lane, from_base + from[i].offset, bytes);
      if (target != nullptr && source != nullptr) std::memcpy(target, source, bytes);
    }
  }
}

constexpr std::uint32_t kDeepest = 4096;  // calls; the hardware's stack ends sooner

void call_in(Warp& warp, const Instruction& in, std::uint32_t function, std::uint32_t lanes) {
  const Kernel& kernel = warp.block().kernel();
  const Kernel::Function& callee = kernel.functions[function];
  const CallList list(kernel, in);
  const std::size_t arguments = list.values.size() - list.returns;
  if (arguments != callee.parameters.size() || list.returns != callee.returns.size())
    return warp.fault(in, std::countr_zero(lanes), Fault::Kind::invalid_instruction, 0,
                      "a call with other arguments than the function has");
  if (warp.frame().depth == kDeepest)
    return warp.fault(in, std::countr_zero(lanes), Fault::Kind::illegal_address, 0,
                      "stack overflow: calls too deep");
  Frame* frame = warp.push_frame(function, &in, lanes);
  const std::uint64_t end = frame->local_base + callee.local_bytes;
  if (warp.local(0, frame->local_base, end - frame->local_base) == nullptr)
    return warp.fault(in, std::countr_zero(lanes), Fault::Kind::illegal_address, 0,
                      "stack overflow: local memory is full");
  copy_arguments(warp, lanes, list.values.data() + list.returns, warp.frame().local_base,
                 callee.parameters.data(), frame->local_base, arguments);
  const Instruction* to = kernel.code.data() + callee.entry;
  if (lanes == warp.mask())
    warp.enter(frame, to);
  else
    warp.split(to, lanes, frame);
}

void call(Warp& warp, const Instruction& in) {
  call_in(warp, in, static_cast<std::uint32_t>(in.target), warp.mask());
}

// Lanes may call different functions; each group goes its way until all have returned here.
void call_indirect(Warp& warp, const Instruction& in) {
  const std::uint64_t* address = warp.at<std::uint64_t>(in.a);
  const auto& functions = warp.block().kernel().functions;
  for (std::uint32_t left = warp.mask(); left != 0;) {
    const int lane = std::countr_zero(left);
    const std::uint64_t wanted = address[lane];
    const auto found = std::find_if(functions.begin(), functions.end(), [wanted](const Kernel::Function& f) {
      return f.address == wanted && wanted != 0;
    });
    if (found == functions.end())
      return warp.fault(in, lane, Fault::Kind::illegal_address, wanted,
                        fmt::format("call of {:#x}, where no function is", wanted));
    std::uint32_t group = 0;
    for (std::uint32_t i = left; i != 0; i &= i - 1)
      if (address[std::countr_zero(i)] == wanted) group |= i & -i;
    left &= ~group;
    call_in(warp, in, static_cast<std::uint32_t>(found - functions.begin()), group);
    if (warp.faulted()) return;
  }
}

void ret(Warp& warp, const Instruction& in) {
  Frame& frame = warp.frame();
  if (frame.call == nullptr) return warp.exit(in);
  const Kernel& kernel = warp.block().kernel();
  const Kernel::Function& callee = kernel.functions[frame.function];
  const CallList list(kernel, *frame.call);
  copy_arguments(warp, warp.mask(), callee.returns.data(), frame.local_base, list.values.data(),
                 frame.caller->local_base, list.returns);
  const Instruction* back = frame.call + 1;
  Frame* caller = frame.caller;
  warp.pop_lanes(&frame, warp.mask());
  warp.enter(caller, back);
}

/// A string of the device's memory, for messages.
std::string text_at(Warp& warp, std::uint64_t address) {
  std::string text;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::byte* const at = warp.block().peek(address + i);
    if (at == nullptr || *at == std::byte{0}) break;
    text += static_cast<char>(*at);
  }
  return text;
}

// __assertfail(message, file, line, function, character size): arguments as in CallList.
void fail_assertion(Warp& warp, const Instruction& in) {
  const int lane = warp.first_lane();
  const CallList list(warp.block().kernel(), in);
  const auto argument = [&](std::size_t index) {
    std::uint64_t value = 0;
    const Kernel::Parameter& place = list.values.at(list.returns + index);
    if (const std::byte* at = warp.local(lane, warp.frame().local_base + place.offset, place.bytes);
        at != nullptr)
      std::memcpy(&value, at, std::min<std::size_t>(place.bytes, sizeof value));
    return value;
  };
  warp.fault(in, lane, Fault::Kind::assertion, 0,
             fmt::format("assertion `{}` failed at {}:{} in {}", text_at(warp, argument(0)),
                         text_at(warp, argument(1)), static_cast<std::uint32_t>(argument(2)),
                         text_at(warp, argument(3))));
}

void trap(Warp& warp, const Instruction& in) {
  warp.fault(in, warp.first_lane(), Fault::Kind::trap, 0, "trap");
}

void nothing(Warp&, const Instruction&) {}

void build_branch(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  if (decoder.target() == ptx::Layout::kNone) throw Unsupported{statement.opcode};
  decoder.emit_branch(decoder.target(), statement.guard);
}

void build_indexed(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  const auto& lists = decoder.function().branch_targets;
  const auto found = statement.operands.size() == 2 ? lists.find(statement.operands[1].name) : lists.end();
  if (found == lists.end()) throw Unsupported{statement.opcode};
  std::vector<std::uint32_t> positions;
  for (const std::string& label : found->second) positions.push_back(decoder.layout().labels.at(label));
  const std::uint32_t index = decoder.source(statement.operands[0], Slot::word);
  const std::uint32_t list = decoder.list(positions);
  Instruction& in = decoder.emit_jump(branch_indexed);
  in.a = index;
  in.e = list;
  in.count = static_cast<std::uint16_t>(positions.size());
  decoder.link_list(list, positions.size());
}

void build_end(Decoder& decoder, const ptx::Statement&, const Entry& entry) {
  decoder.emit_jump(entry.handler);
}

/// Whether a call's operands are those of `int vprintf(const char*, void*)`.
bool is_print(const std::vector<std::uint32_t>& list) {
  return list.size() == 7 && list[0] == 1 && list[2] == 4 && list[4] == 8 && list[6] == 8;
}

/// The handler of a function that the virtual GPU brings along and that returns to the next instruction; null for
/// other functions. `list` is the call's CallList.
Handler built_in(const std::string& name, const std::vector<std::uint32_t>& list) {
  if (name == "vprintf" && is_print(list)) return print;
  if (name == "malloc" && list.size() == 5 && list[0] == 1 && list[2] == 8 && list[4] == 8) return call_malloc;
  if (name == "free" && list.size() == 3 && list[0] == 0 && list[2] == 8) return call_free;
  return nullptr;
}

// call{.uni} (returns), function, (arguments){, prototype or targets}
void build_call(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  using Kind = ptx::Operand::Kind;
  const auto& operands = statement.operands;
  std::size_t at = 0;
  std::vector<std::uint32_t> list = {0};
  const auto append = [&](const ptx::Operand& values) {
    for (const ptx::Operand& value : values.elements) {
      const auto place = decoder.symbol(value.name);
      if (value.kind != Kind::symbol || !place || place->space != ptx::Space::local)
        throw Unsupported{"a call with arguments in registers"};
      list.push_back(static_cast<std::uint32_t>(place->address));
      list.push_back(static_cast<std::uint32_t>(decoder.bytes_of(value.name)));
    }
    return static_cast<std::uint32_t>(values.elements.size());
  };
  if (operands.size() > at && operands[at].kind == Kind::call_list) list[0] = append(operands[at++]);
  if (operands.size() <= at) throw Unsupported{statement.opcode};
  const ptx::Operand& callee = operands[at++];
  if (operands.size() > at && operands[at].kind == Kind::call_list) append(operands[at++]);
  const auto count = static_cast<std::uint16_t>((list.size() - 1) / 2);
  const bool indirect = callee.kind == Kind::reg;
  const std::uint32_t address = indirect ? decoder.source(callee, Slot::quad) : 0;
  const bool assertion = callee.name == "__assertfail" && count == 5 && list[0] == 0;
  const Handler own = indirect ? nullptr : built_in(callee.name, list);
  const std::uint32_t function = indirect || assertion || own != nullptr ? 0 : decoder.function_index(callee.name);
  if (indirect) decoder.add_all_functions();
  if (own != nullptr) {
    const std::uint32_t operand_list = decoder.list(list);
    Instruction& in = decoder.emit(own);
    if (own != print) {
      decoder.kernel().allocates = true;
      in.flags = Ordering{check::Order::acq_rel, check::Scope::gpu}.flags();
    }
    in.e = operand_list;
    in.count = count;
    in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
    return;
  }
  Instruction& in = decoder.emit_jump(assertion ? fail_assertion : indirect ? call_indirect : call);
  in.a = address;
  in.target = static_cast<std::int32_t>(function);
  in.count = count;
  in.e = decoder.list(list);
}

void build_nothing(Decoder& decoder, const ptx::Statement&, const Entry&) { decoder.emit(nothing); }
void build_simple(Decoder& decoder, const ptx::Statement&, const Entry& entry) {
  decoder.emit(entry.handler);
}

}  // namespace

void run_guarded(Warp& warp, const Instruction& in) {
  const std::uint32_t lanes = lanes_of_guard(warp, in);
  if (lanes == warp.mask()) return in.inner(warp, in);
  if (lanes != 0) warp.in_lanes(lanes, [&] { in.inner(warp, in); });
}

void branch_always(Warp& warp, const Instruction& in) { warp.jump(in); }

void branch_if(Warp& warp, const Instruction& in) {
  const std::uint32_t lanes = lanes_of_guard(warp, in);
  if (lanes == 0) return;
  if (lanes == warp.mask()) return warp.jump(in);
  warp.diverge(in, lanes);
}

std::vector<std::uint32_t> successors(const Kernel& kernel, std::uint32_t index) {
  const Instruction& in = kernel.code[index];
  const auto target = static_cast<std::uint32_t>(static_cast<std::int64_t>(index) + in.target);
  if (leaves(in) || in.execute == trap || in.execute == run_off_the_end) return {};
  if (in.execute == branch_always) return {target};
  if (in.execute == branch_if) return {index + 1, target};
  if (in.execute == branch_indexed)
    return {kernel.lists.begin() + in.list(), kernel.lists.begin() + in.list() + in.count};
  return {index + 1};
}

bool leaves(const Instruction& in) { return in.execute == exit || in.execute == ret; }

void raise_unsupported(Warp& warp, const Instruction& in) {
  warp.fault(in, warp.first_lane(), Fault::Kind::unsupported, 0,
             fmt::format("the virtual GPU lacks {}", warp.block().kernel().places[in.place].opcode));
}

void run_off_the_end(Warp& warp, const Instruction& in) {
  warp.fault(in, warp.first_lane(), Fault::Kind::invalid_instruction, 0, "the code ends without ret or exit");
}

void add_control(Table& table) {
  for (const char* name : {"bra", "bra.uni"}) table.add({name, nullptr, {}, build_branch});
  for (const char* name : {"brx.idx", "brx.idx.uni"}) table.add({name, nullptr, {}, build_indexed});
  for (const char* name : {"call", "call.uni"}) table.add({name, nullptr, {}, build_call});
  for (const char* name : {"ret", "ret.uni"}) table.add({name, ret, {}, build_end});
  table.add_all(
      {{"exit", exit, {}, build_end}, {"trap", trap, {}, build_simple}, {"brkpt", trap, {}, build_simple}});
  table.add({"pmevent", nullptr, {}, build_nothing});
}

}  // namespace pkb::virtual_gpu
