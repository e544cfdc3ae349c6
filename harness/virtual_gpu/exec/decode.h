// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/virtual_gpu/exec/instruction.h"
#include "harness/virtual_gpu/ptx/module.h"

/// From PTX statements to instructions. Each family of instructions has a file that adds its entries to the
/// table.
namespace pkb::virtual_gpu {

class Decoder;
class Modifiers;

/// How a statement is decoded. `Build` emits instructions itself; without one the operands are the
/// destination and the sources in order, as wide as `slots` says.
struct Entry {
  using Build = void (*)(Decoder&, const ptx::Statement&, const Entry&);
  std::string name;
  Handler handler = nullptr;
  std::array<Slot, 5> slots{};
  Build build = nullptr;
};

/// All instructions, by full name ("add.s32") or, where a builder reads the modifiers, by the first names that tell
/// which ("ld", "cp.async.bulk").
class Table {
 public:
  void add(Entry entry);
  template <class... Entries>
  void add(Entry first, Entry second, Entries... rest) {
    add(std::move(first));
    add(std::move(second), std::move(rest)...);
  }
  void add_all(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) add(entry);
  }
  const Entry* find(std::string_view opcode) const;
  std::vector<std::string> names() const;

  static const Table& instance();

 private:
  Table();
  std::unordered_map<std::string, Entry> x_entries;
};

void add_move(Table&);
void add_integer(Table&);
void add_carry(Table&);
void add_logic(Table&);
void add_compare(Table&);
void add_float(Table&);
void add_rounding(Table&);
void add_approximate(Table&);
void add_half(Table&);
void add_convert(Table&);
void add_access(Table&);
void add_atomic(Table&);
void add_control(Table&);
void add_barrier(Table&);
void add_shuffle(Table&);
void add_matrix(Table&);
void add_mbarrier(Table&);
void add_cp_async(Table&);
void add_bulk(Table&);
void add_cluster(Table&);
void add_async_store(Table&);
void add_grid_control(Table&);
void add_multimem(Table&);
void add_special(Table&);
void add_wide(Table&);
void add_pack(Table&);
void add_video(Table&);
void add_stack(Table&);
void add_tensor_copy(Table&);
void add_tensor_map(Table&);

/// What a statement needs and the virtual GPU lacks.
struct Unsupported {
  std::string text;
};

/// The modifiers of an opcode, taken off one by one; what nobody took makes the statement unsupported.
class Modifiers {
 public:
  explicit Modifiers(std::string_view opcode);
  /// Removes `name` wherever it stands.
  bool take(std::string_view name);
  /// Removes the first of `names` found and returns its index, or -1.
  template <class Names>
  int take_any(const Names& names) {
    int index = 0;
    for (const std::string_view name : names) {
      if (take(name)) return index;
      ++index;
    }
    return -1;
  }
  /// Removes and returns the first modifier that is left, or "".
  std::string_view take_first();
  /// Removes and returns the last modifier as a type.
  ptx::Type take_type();
  /// Throws Unsupported if something is left.
  void finish() const;

 private:
  std::string_view x_opcode;
  std::vector<std::string_view> x_names;
};

/// Decodes one kernel and the functions that it calls.
class Decoder {
 public:
  Decoder(const ptx::Module& module, const Symbols& symbols);
  Kernel decode(const ptx::Function& function);

  // For builders: operands first, then emit.

  /// Offset of an operand's values. Constants are pooled; what is wider or narrower than `slot` is converted
  /// first.
  std::uint32_t source(const ptx::Operand& operand, Slot slot);
  /// Offset to write to. Where the register is wider, what was written is extended to it, by sign if `sign`.
  /// A sink gets a slot that nobody reads.
  std::uint32_t destination(const ptx::Operand& operand, Slot slot, bool sign = false);
  std::uint32_t constant(std::uint64_t bits, Slot slot);
  /// The value at `from`, which is as wide as `held`, as wide as `slot`.
  std::uint32_t converted(std::uint32_t from, Slot held, Slot slot);
  /// A slot for this statement only.
  std::uint32_t temporary(Slot slot);
  /// The width of a register operand; other operands have none.
  Slot slot_of(const ptx::Operand& operand) const;

  struct Address {
    std::uint32_t base = 0;
    Slot slot = Slot::quad;
    std::uint64_t immediate = 0;
  };
  /// The parts of [base + immediate]. A symbol or a number becomes a constant base.
  Address address(const ptx::Operand& operand);
  /// Where a variable or function stands in its state space, if `name` is known.
  struct Symbol {
    ptx::Space space = ptx::Space::global;
    std::uint64_t address = 0;
    bool parameter = false;  ///< of the kernel
  };
  std::optional<Symbol> symbol(const std::string& name);
  std::uint32_t list(const std::vector<std::uint32_t>& offsets);

  /// Appends an instruction. It is executed where the statement's guard holds.
  Instruction& emit(Handler handler);
  /// The same for one that may jump or wait: a guard becomes a branch around it.
  Instruction& emit_control(Handler handler);
  /// The same for one that always ends a straight run: it may change where the threads go on.
  Instruction& emit_jump(Handler handler);
  /// Turns the positions lists[list ...] of the layout into positions in the code, once these are known.
  void link_list(std::uint32_t list, std::size_t count);
  /// Appends a branch to a label of the function, taken where the predicate holds if there is one.
  void emit_branch(std::uint32_t position, std::optional<ptx::Guard> guard);

  bool in_kernel() const { return x_function->kernel; }
  const ptx::Function& function() const { return *x_function; }
  const ptx::Module& module() const { return x_module; }
  const ptx::Layout& layout() const { return *x_layout; }
  /// The branch target of the present statement, as a position in the layout.
  std::uint32_t target() const { return x_layout->target[x_position]; }
  Kernel& kernel() { return x_kernel; }
  /// Size of a variable of the present function.
  std::size_t bytes_of(const std::string& name) const;
  /// Decodes every function of the module whose address a program can hold.
  void add_all_functions();
  /// Index of a function in the kernel's list; it is decoded later if new. Throws Unsupported where it has no
  /// body.
  std::uint32_t function_index(const std::string& name);

 private:
  struct LinkedList {
    std::uint32_t list;
    std::size_t count;
  };
  struct Pool {
    std::map<std::pair<Slot, std::uint64_t>, std::uint32_t> offsets;  ///< relative to the pool
    std::uint32_t bytes = 0;
  };

  void decode_function(const ptx::Function& function);
  void decode_statement(const ptx::Statement& statement);
  void lay_out_variables(const ptx::Function& function);
  void lay_out_shared(const ptx::Function& function);
  std::uint32_t shared_address(const ptx::Variable& variable);
  void link(std::size_t first, const std::vector<std::uint32_t>& starts);
  std::uint32_t guard_offset(bool& negated);

  const ptx::Module& x_module;
  const Symbols& x_symbols;
  Kernel x_kernel;
  std::vector<const ptx::Function*> x_functions;  ///< beside x_kernel.functions
  std::unordered_map<std::string, const ptx::Variable*> x_module_variables;
  std::unordered_map<std::string, std::uint64_t> x_shared;  ///< offsets of shared variables that have one

  // of the function being decoded
  const ptx::Function* x_function = nullptr;
  const ptx::Layout* x_layout = nullptr;
  std::unordered_map<std::string, Symbol> x_variables;
  std::size_t x_position = 0;
  std::optional<ptx::Guard> x_guard;
  std::optional<std::uint32_t> x_skip;  ///< the branch around a guarded control instruction
  std::uint32_t x_place = 0;
  std::uint32_t x_pool_offset = 0;
  Pool x_pool;
  std::uint32_t x_words = 0, x_quads = 0;  ///< temporaries in use by the present statement
  struct Extension {
    Handler handler;
    std::uint32_t from, to;
  };
  std::vector<Extension> x_extensions;
  std::vector<LinkedList> x_linked_lists;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> x_branches;  ///< instruction, position it jumps to
};

}  // namespace pkb::virtual_gpu
