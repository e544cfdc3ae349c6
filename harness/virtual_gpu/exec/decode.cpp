// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/decode.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/control.h"
#include "harness/virtual_gpu/exec/demangle.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/special.h"

namespace pkb::virtual_gpu {
namespace {

constexpr std::uint32_t kTemporaries = 8;  // of each width
constexpr std::uint32_t kWordBytes = 4 * kLanes, kQuadBytes = 8 * kLanes;

std::uint32_t slot_bytes(Slot slot) {
  switch (slot) {
    case Slot::none:
      return 0;
    case Slot::predicate:
      return 32;  // 4 used; keeps what follows aligned
    case Slot::word:
      return kWordBytes;
    case Slot::quad:
      return kQuadBytes;
  }
  return 0;
}

std::uint64_t align_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

std::uint64_t widen(std::uint32_t value) { return value; }
std::int64_t widen_signed(std::int32_t value) { return value; }
std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
bool negate(bool value) { return !value; }

template <auto f>
constexpr Handler kHandler = LaneWise<f, false>::execute;

bool is_shared(const ptx::Variable& variable) { return variable.space == ptx::Space::shared; }

}  // namespace

Table::Table() {
  for (const auto add_family : {add_move, add_integer, add_carry, add_logic, add_compare, add_float,
                                add_rounding, add_approximate, add_half, add_convert, add_access, add_atomic,
                                add_control, add_barrier, add_shuffle, add_matrix, add_mbarrier, add_cp_async, add_bulk,
                                add_cluster, add_async_store, add_grid_control, add_multimem, add_special, add_wide,
                                add_pack, add_video, add_stack, add_tensor_copy, add_tensor_map})
    add_family(*this);
}

const Table& Table::instance() {
  static const Table table;
  return table;
}

void Table::add(Entry entry) {
  std::string name = entry.name;
  x_entries.emplace(std::move(name), std::move(entry));
}

const Entry* Table::find(std::string_view opcode) const {
  if (const auto whole = x_entries.find(std::string(opcode)); whole != x_entries.end()) return &whole->second;
  for (std::size_t dot = opcode.rfind('.'); dot != opcode.npos; dot = dot == 0 ? opcode.npos : opcode.rfind('.', dot - 1)) {
    const auto first = x_entries.find(std::string(opcode.substr(0, dot)));
    if (first != x_entries.end() && first->second.build != nullptr) return &first->second;
  }
  return nullptr;
}

std::vector<std::string> Table::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : x_entries) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

Modifiers::Modifiers(std::string_view opcode) : x_opcode(opcode) {
  std::size_t dot = opcode.find('.');
  while (dot != std::string_view::npos) {
    const std::size_t next = opcode.find('.', dot + 1);
    x_names.push_back(opcode.substr(dot + 1, next == std::string_view::npos ? next : next - dot - 1));
    dot = next;
  }
}

bool Modifiers::take(std::string_view name) {
  const auto found = std::find(x_names.begin(), x_names.end(), name);
  if (found == x_names.end()) return false;
  x_names.erase(found);
  return true;
}

std::string_view Modifiers::take_first() {
  if (x_names.empty()) return {};
  const std::string_view name = x_names.front();
  x_names.erase(x_names.begin());
  return name;
}

ptx::Type Modifiers::take_type() {
  if (x_names.empty()) throw Unsupported{std::string(x_opcode)};
  const auto type = ptx::type_from(x_names.back());
  if (!type) throw Unsupported{std::string(x_opcode)};
  x_names.pop_back();
  return *type;
}

void Modifiers::finish() const {
  if (!x_names.empty()) throw Unsupported{std::string(x_opcode)};
}

Decoder::Decoder(const ptx::Module& module, const Symbols& symbols) : x_module(module), x_symbols(symbols) {
  for (const ptx::Variable& variable : module.variables) x_module_variables.emplace(variable.name, &variable);
}

Kernel Decoder::decode(const ptx::Function& function) {
  x_kernel.name = function.name;
  x_kernel.display_name = demangled(function.name);
  const std::uint64_t threads = std::uint64_t{std::max(function.max_threads[0], 1u)} *
                                std::max(function.max_threads[1], 1u) * std::max(function.max_threads[2], 1u);
  const std::uint64_t required = std::uint64_t{std::max(function.required_threads[0], 1u)} *
                                 std::max(function.required_threads[1], 1u) *
                                 std::max(function.required_threads[2], 1u);
  if (function.max_threads[0] != 0) x_kernel.max_threads = static_cast<std::uint32_t>(threads);
  if (function.required_threads[0] != 0) x_kernel.max_threads = static_cast<std::uint32_t>(required);
  if (function.max_registers != 0) x_kernel.max_registers = function.max_registers;
  if (function.max_threads[0] != 0 || function.required_threads[0] != 0)
    x_kernel.promised_threads = x_kernel.max_threads * std::max(function.min_blocks, 1u);
  std::copy(std::begin(function.cluster), std::end(function.cluster), std::begin(x_kernel.cluster));
  x_kernel.max_cluster = function.max_cluster;
  x_kernel.explicit_cluster = function.explicit_cluster;
  x_kernel.blocks_are_clusters = function.blocks_are_clusters;
  for (const auto& [index, name] : x_module.files) {
    if (x_kernel.files.size() <= index) x_kernel.files.resize(index + 1);
    x_kernel.files[index] = name;
  }
  std::size_t offset = 0;
  for (const ptx::Variable& parameter : function.parameters) {
    offset = align_up(offset, parameter.align);
    x_kernel.parameters.push_back({offset, parameter.bytes});
    offset += parameter.bytes;
  }
  x_kernel.parameter_bytes = offset;

  lay_out_shared(function);
  x_functions.push_back(&function);
  x_kernel.functions.emplace_back();
  for (std::size_t i = 0; i < x_functions.size(); ++i) {
    decode_function(*x_functions[i]);
    x_kernel.functions[i].local_bytes = align_up(x_kernel.functions[i].local_bytes, 16);
  }
  x_kernel.local_bytes = x_kernel.functions[0].local_bytes;
  // ptxas allocates in units of 8; slots are shared already as registers would be.
  x_kernel.registers_per_thread =
      std::clamp<std::uint32_t>(x_kernel.functions[0].register_image_offset / kWordBytes / 8 * 8, 16, 248);
  return std::move(x_kernel);
}

// Dynamic shared memory begins behind the static variables of all functions, so these come first.
void Decoder::lay_out_shared(const ptx::Function& function) {
  std::vector<const ptx::Function*> reached = {&function};
  const auto visit = [&](const auto& self, const ptx::Operand& operand) -> void {
    if (!operand.name.empty()) {
      if (const auto found = x_module_variables.find(operand.name);
          found != x_module_variables.end() && is_shared(*found->second) && found->second->bytes != 0)
        shared_address(*found->second);
      for (const ptx::Function& other : x_module.functions)
        if (other.name == operand.name && std::find(reached.begin(), reached.end(), &other) == reached.end())
          reached.push_back(&other);
    }
    for (const ptx::Operand& element : operand.elements) self(self, element);
  };
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const ptx::Variable& variable : reached[i]->variables)
      if (is_shared(variable) && variable.bytes != 0) shared_address(variable);
    for (const ptx::Statement& statement : reached[i]->body)
      for (const ptx::Operand& operand : statement.operands) visit(visit, operand);
  }
  x_kernel.dynamic_shared_offset = align_up(x_kernel.static_shared, 16);
}

std::uint32_t Decoder::shared_address(const ptx::Variable& variable) {
  if (variable.bytes == 0) return static_cast<std::uint32_t>(x_kernel.dynamic_shared_offset);
  const auto known = x_shared.find(variable.name);
  if (known != x_shared.end()) return static_cast<std::uint32_t>(known->second);
  const std::uint64_t at = align_up(x_kernel.static_shared, variable.align);
  x_shared.emplace(variable.name, at);
  x_kernel.static_shared = at + variable.bytes;
  return static_cast<std::uint32_t>(at);
}

void Decoder::lay_out_variables(const ptx::Function& function) {
  x_variables.clear();
  const std::size_t index = static_cast<std::size_t>(
      std::find(x_functions.begin(), x_functions.end(), &function) - x_functions.begin());
  Kernel::Function& out = x_kernel.functions[index];
  std::uint64_t local = 0;
  const auto place = [&](const ptx::Variable& variable) {
    local = align_up(local, std::max<std::size_t>(variable.align, 1));
    const std::uint64_t at = local;
    local += variable.bytes;
    x_variables.emplace(variable.name, Symbol{.space = ptx::Space::local, .address = at});
    return Kernel::Parameter{at, variable.bytes};
  };
  if (function.kernel) {
    for (std::size_t i = 0; i < function.parameters.size(); ++i)
      x_variables.emplace(
          function.parameters[i].name,
          Symbol{.space = ptx::Space::param, .address = x_kernel.parameters[i].offset, .parameter = true});
  } else {
    for (const ptx::Variable& variable : function.returns) out.returns.push_back(place(variable));
    for (const ptx::Variable& variable : function.parameters) out.parameters.push_back(place(variable));
  }
  for (const ptx::Variable& variable : function.variables)
    if (!is_shared(variable) && variable.space != ptx::Space::global &&
        variable.space != ptx::Space::constant)
      place(variable);
  out.local_bytes = local;
}

void Decoder::decode_function(const ptx::Function& function) {
  const std::size_t index = static_cast<std::size_t>(
      std::find(x_functions.begin(), x_functions.end(), &function) - x_functions.begin());
  const ptx::Layout layout = ptx::lay_out(function);
  x_function = &function;
  x_layout = &layout;
  x_pool = Pool();
  x_branches.clear();
  x_linked_lists.clear();
  lay_out_variables(function);

  const std::uint32_t registers = static_cast<std::uint32_t>(align_up(layout.register_bytes, 64));
  x_pool_offset = registers + kTemporaries * (kWordBytes + kQuadBytes);
  const std::size_t first = x_kernel.code.size();
  std::vector<std::uint32_t> starts;
  for (x_position = 0; x_position < layout.body.size(); ++x_position) {
    starts.push_back(static_cast<std::uint32_t>(x_kernel.code.size()));
    decode_statement(layout.body[x_position]);
  }
  starts.push_back(static_cast<std::uint32_t>(x_kernel.code.size()));
  x_guard.reset();
  emit(run_off_the_end).run = 0;
  link(first, starts);

  Kernel::Function& out = x_kernel.functions[index];
  out.entry = static_cast<std::uint32_t>(first);
  out.register_image_offset = x_pool_offset;
  out.register_bytes = x_pool_offset + x_pool.bytes;
  out.register_image.resize(x_pool.bytes);
  for (const auto& [key, at] : x_pool.offsets) {
    const auto [slot, bits] = key;
    std::byte* to = out.register_image.data() + at;
    const std::size_t size = slot == Slot::quad ? 8 : 4;
    const std::size_t elements = slot == Slot::predicate ? 1 : kLanes;
    for (std::size_t i = 0; i < elements; ++i) std::memcpy(to + i * size, &bits, size);
  }
}

void Decoder::link(std::size_t first, const std::vector<std::uint32_t>& starts) {
  for (const auto& [at, position] : x_branches)
    x_kernel.code[at].target = static_cast<std::int32_t>(starts[position]) - static_cast<std::int32_t>(at);
  std::uint32_t run = 0;
  for (std::size_t i = x_kernel.code.size(); i > first; --i) {
    Instruction& in = x_kernel.code[i - 1];
    in.run = run = in.run == 0 ? 1 : run + 1;
  }
  for (const auto& [list, count] : x_linked_lists)
    for (std::size_t i = 0; i < count; ++i) x_kernel.lists[list + i] = starts[x_kernel.lists[list + i]];
}

void Decoder::decode_statement(const ptx::Statement& statement) {
  x_guard = statement.guard;
  x_skip.reset();
  x_words = x_quads = 0;
  x_extensions.clear();
  x_place = static_cast<std::uint32_t>(x_kernel.places.size());
  Kernel::Place place{statement.opcode, statement.file, statement.line, statement.ptx_line};
  if (statement.caller_line != 0) {
    place.inner_file = std::exchange(place.file, statement.caller_file);
    place.inner_line = std::exchange(place.line, statement.caller_line);
  }
  x_kernel.places.push_back(std::move(place));
  const std::size_t start = x_kernel.code.size();
  const std::size_t branches = x_branches.size();
  std::string missing;
  try {
    const Entry* entry = Table::instance().find(statement.opcode);
    if (entry == nullptr) throw Unsupported{statement.opcode};
    if (entry->build != nullptr) {
      entry->build(*this, statement, *entry);
    } else {
      std::array<std::uint32_t, 5> offsets{};
      std::size_t wanted = 0;
      while (wanted < 5 && entry->slots[wanted] != Slot::none) ++wanted;
      if (statement.operands.size() != wanted)
        throw ptx::ParseError(fmt::format("PTX line {}: {} has {} operands, not {}", statement.ptx_line,
                                          statement.opcode, statement.operands.size(), wanted));
      for (std::size_t i = 1; i < wanted; ++i) offsets[i] = source(statement.operands[i], entry->slots[i]);
      const std::uint32_t to = destination(statement.operands[0], entry->slots[0]);
      Instruction& in = emit(entry->handler);
      in.d = to;
      in.a = offsets[1], in.b = offsets[2], in.c = offsets[3], in.e = offsets[4];
    }
    for (const Extension& extension : x_extensions) {
      Instruction& in = emit(extension.handler);
      in.d = extension.to;
      in.a = extension.from;
    }
  } catch (const Unsupported& unsupported) {
    missing = unsupported.text;
  }
  if (!missing.empty()) {
    x_kernel.code.resize(start);
    x_branches.resize(branches);
    x_skip.reset();
    x_kernel.places[x_place].opcode = missing;
    emit(raise_unsupported);
  }
  if (x_skip) x_kernel.code[*x_skip].target = static_cast<std::int32_t>(x_kernel.code.size() - *x_skip);
}

Slot Decoder::slot_of(const ptx::Operand& operand) const {
  if (operand.kind != ptx::Operand::Kind::reg) return Slot::none;
  const ptx::Type type = x_function->registers[operand.index].type;
  if (type == ptx::Type::pred) return Slot::predicate;
  const std::size_t size = ptx::size_of(type);
  if (size > 8) throw Unsupported{fmt::format("{} with a 128-bit register", x_kernel.places[x_place].opcode)};
  return size == 8 ? Slot::quad : Slot::word;
}

std::uint32_t Decoder::temporary(Slot slot) {
  const bool quad = slot == Slot::quad;
  std::uint32_t& used = quad ? x_quads : x_words;
  if (used == kTemporaries)
    throw Unsupported{x_kernel.places[x_place].opcode + " with so many converted operands"};
  const std::uint32_t words = x_pool_offset - kTemporaries * (kWordBytes + kQuadBytes);
  return quad ? words + kTemporaries * kWordBytes + kQuadBytes * used++ : words + kWordBytes * used++;
}

std::uint32_t Decoder::constant(std::uint64_t bits, Slot slot) {
  if (slot == Slot::word) bits = static_cast<std::uint32_t>(bits);
  if (slot == Slot::predicate) bits = bits != 0 ? kAllLanes : 0;
  const auto [at, is_new] = x_pool.offsets.try_emplace({slot, bits}, x_pool.bytes);
  if (is_new) x_pool.bytes += slot_bytes(slot);
  return x_pool_offset + at->second;
}

std::uint32_t Decoder::converted(std::uint32_t from, Slot held, Slot slot) {
  if (held == slot) return from;
  if (held == Slot::predicate || slot == Slot::predicate)
    throw Unsupported{x_kernel.places[x_place].opcode + " with a register of that type"};
  const std::uint32_t to = temporary(slot);
  Instruction& in = emit(slot == Slot::quad ? kHandler<widen> : kHandler<narrow>);
  in.d = to;
  in.a = from;
  return to;
}

std::uint32_t Decoder::source(const ptx::Operand& operand, Slot slot) {
  using Kind = ptx::Operand::Kind;
  switch (operand.kind) {
    case Kind::reg: {
      const std::uint32_t at = x_layout->slot[operand.index];
      const Slot held = slot_of(operand);
      if (!operand.negated) return converted(at, held, slot);
      if (held != Slot::predicate || slot != Slot::predicate)
        throw Unsupported{x_kernel.places[x_place].opcode};
      const std::uint32_t to = temporary(slot);
      Instruction& in = emit(kHandler<negate>);
      in.d = to;
      in.a = at;
      return to;
    }
    case Kind::integer:
      return constant(operand.bits, slot);
    case Kind::real:
      if (operand.type == ptx::Type::f64 && slot == Slot::word)
        return constant(std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(operand.bits))),
                        slot);
      if (operand.type == ptx::Type::f32 && slot == Slot::quad)
        return constant(std::bit_cast<std::uint64_t>(static_cast<double>(
                            std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits)))),
                        slot);
      return constant(operand.bits, slot);
    case Kind::special:
      return read_special(*this, operand.name, slot);
    case Kind::symbol: {
      const auto found = symbol(operand.name);
      if (!found) throw Unsupported{fmt::format("the symbol {}", demangled(operand.name))};
      const std::uint64_t value = found->address + operand.bits;
      if (found->space != ptx::Space::local) return constant(value, slot);
      const std::uint32_t to = temporary(slot);
      Instruction& in =
          emit(slot == Slot::quad ? local_address<std::uint64_t> : local_address<std::uint32_t>);
      in.d = to;
      in.immediate = value;
      return to;
    }
    case Kind::address:
    case Kind::vector:
    case Kind::pair:
    case Kind::label:
    case Kind::sink:
    case Kind::call_list:
      break;
  }
  throw Unsupported{x_kernel.places[x_place].opcode + " with an operand of that kind"};
}

std::uint32_t Decoder::destination(const ptx::Operand& operand, Slot slot, bool sign) {
  if (operand.kind == ptx::Operand::Kind::sink) return temporary(slot);
  if (operand.kind != ptx::Operand::Kind::reg)
    throw Unsupported{x_kernel.places[x_place].opcode + " with a destination of that kind"};
  const std::uint32_t at = x_layout->slot[operand.index];
  const Slot held = slot_of(operand);
  if (held == slot) return at;
  const std::uint32_t from = temporary(slot);
  if (held == Slot::quad && slot == Slot::word)
    x_extensions.push_back({sign ? kHandler<widen_signed> : kHandler<widen>, from, at});
  else if (held == Slot::word && slot == Slot::quad)
    x_extensions.push_back({kHandler<narrow>, from, at});
  else
    throw Unsupported{x_kernel.places[x_place].opcode + " with a register of that type"};
  return from;
}

Decoder::Address Decoder::address(const ptx::Operand& operand) {
  if (operand.has_base) {
    ptx::Operand base;
    base.kind = ptx::Operand::Kind::reg;
    base.index = operand.index;
    return {x_layout->slot[operand.index], slot_of(base), operand.bits};
  }
  std::uint64_t at = 0;
  if (!operand.name.empty()) {
    const auto found = symbol(operand.name);
    if (!found) throw Unsupported{fmt::format("the symbol {}", demangled(operand.name))};
    at = found->address;
  }
  return {constant(at, Slot::quad), Slot::quad, operand.bits};
}

std::optional<Decoder::Symbol> Decoder::symbol(const std::string& name) {
  if (const auto own = x_variables.find(name); own != x_variables.end()) return own->second;
  for (const ptx::Variable& variable : x_function->variables)
    if (variable.name == name && is_shared(variable))
      return Symbol{.space = ptx::Space::shared, .address = shared_address(variable)};
  if (const auto variable = x_module_variables.find(name);
      variable != x_module_variables.end() && is_shared(*variable->second))
    return Symbol{.space = ptx::Space::shared, .address = shared_address(*variable->second)};
  if (const auto linked = x_symbols.find(name); linked != x_symbols.end())
    return Symbol{.space = ptx::Space::global, .address = linked->second};
  return std::nullopt;
}

std::uint32_t Decoder::list(const std::vector<std::uint32_t>& offsets) {
  const auto at = static_cast<std::uint32_t>(x_kernel.lists.size());
  x_kernel.lists.insert(x_kernel.lists.end(), offsets.begin(), offsets.end());
  return at;
}

Instruction& Decoder::emit(Handler handler) {
  Instruction& in = x_kernel.code.emplace_back();
  in.execute = handler;
  in.place = x_place;
  if (x_guard) {
    in.execute = run_guarded;
    in.inner = handler;
    in.guard = x_layout->slot[x_guard->reg];
    in.negated = x_guard->negated;
  }
  return in;
}

Instruction& Decoder::emit_control(Handler handler) {
  if (x_guard) {
    x_skip = static_cast<std::uint32_t>(x_kernel.code.size());
    Instruction& skip = x_kernel.code.emplace_back();
    skip.execute = branch_if;
    skip.place = x_place;
    skip.guard = x_layout->slot[x_guard->reg];
    skip.negated = !x_guard->negated;
    skip.run = 0;
    x_guard.reset();
  }
  return emit(handler);
}

Instruction& Decoder::emit_jump(Handler handler) {
  Instruction& in = emit_control(handler);
  in.run = 0;
  return in;
}

void Decoder::link_list(std::uint32_t list, std::size_t count) { x_linked_lists.push_back({list, count}); }

std::size_t Decoder::bytes_of(const std::string& name) const {
  for (const auto* variables : {&x_function->variables, &x_function->parameters, &x_function->returns})
    for (const ptx::Variable& variable : *variables)
      if (variable.name == name) return variable.bytes;
  return 0;
}

void Decoder::add_all_functions() {
  for (const ptx::Function& function : x_module.functions)
    if (!function.kernel && !function.declared_only && x_symbols.contains(function.name))
      function_index(function.name);
}

void Decoder::emit_branch(std::uint32_t position, std::optional<ptx::Guard> guard) {
  x_guard.reset();
  x_branches.emplace_back(static_cast<std::uint32_t>(x_kernel.code.size()), position);
  Instruction& in = emit(guard ? branch_if : branch_always);
  in.run = 0;
  if (!guard) return;
  in.guard = x_layout->slot[guard->reg];
  in.negated = guard->negated;
}

std::uint32_t Decoder::function_index(const std::string& name) {
  for (std::size_t i = 0; i < x_functions.size(); ++i)
    if (x_functions[i]->name == name) return static_cast<std::uint32_t>(i);
  for (const ptx::Function& function : x_module.functions) {
    if (function.name != name || function.declared_only) continue;
    x_functions.push_back(&function);
    Kernel::Function& added = x_kernel.functions.emplace_back();
    if (const auto linked = x_symbols.find(name); linked != x_symbols.end()) added.address = linked->second;
    return static_cast<std::uint32_t>(x_functions.size() - 1);
  }
  throw Unsupported{fmt::format("a call of {}", demangled(name))};
}

Kernel decode(const ptx::Module& module, const ptx::Function& function, const Symbols& symbols) {
  return Decoder(module, symbols).decode(function);
}

std::vector<std::string> supported_instructions() { return Table::instance().names(); }

}  // namespace pkb::virtual_gpu
