// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {

/// What an instruction does with the registers of its leading operands. Registers inside an address, and all
/// operands that the form does not name, are only read.
enum class Form : std::uint8_t {
  reads,  ///< writes no register
  writes_first,
  writes_two,     ///< the first two operands
  updates_first,  ///< reads and writes the first: accumulators
};

/// @return for an opcode that is not known, updates_first: the form that keeps most alive
Form form_of(const Statement& statement);

namespace detail {

template <class Read, class Write>
void visit_operand(const Operand& operand, bool reads, bool writes, Read& read, Write& write) {
  switch (operand.kind) {
    case Operand::Kind::reg:
      if (reads || (writes && !operand.name.empty())) read(operand.index);
      if (writes) write(operand.index);
      break;
    case Operand::Kind::address:
      if (operand.has_base) read(operand.index);
      for (const Operand& element : operand.elements) visit_operand(element, true, false, read, write);
      break;
    case Operand::Kind::vector:
    case Operand::Kind::pair:
    case Operand::Kind::call_list:
      for (const Operand& element : operand.elements) visit_operand(element, reads, writes, read, write);
      break;
    case Operand::Kind::integer:
    case Operand::Kind::real:
    case Operand::Kind::symbol:
    case Operand::Kind::special:
    case Operand::Kind::label:
    case Operand::Kind::sink:
      break;
  }
}

}  // namespace detail

/// Calls `read(register)` and `write(register)` for every register that `statement` names, its guard
/// included. A written byte or half selector (video instructions) reads too, since the rest of the register
/// stays.
template <class Read, class Write>
void visit_registers(const Statement& statement, Read&& read, Write&& write) {
  if (statement.guard) read(statement.guard->reg);
  const Form form = form_of(statement);
  const std::size_t written = form == Form::reads ? 0 : form == Form::writes_two ? 2 : 1;
  for (std::size_t i = 0; i < statement.operands.size(); ++i)
    detail::visit_operand(statement.operands[i], i >= written || form == Form::updates_first, i < written,
                          read, write);
}

}  // namespace pkb::virtual_gpu::ptx
