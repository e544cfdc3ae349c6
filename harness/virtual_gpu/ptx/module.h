// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// PTX text as data (PTX ISA 9.0). Names stay strings here; decoding resolves them once.
namespace pkb::virtual_gpu::ptx {

enum class Type : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  f32,
  f64,
  tf32,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
};
enum class Space : std::uint8_t { generic, global, shared, local, param, constant };

std::size_t size_of(Type type);                        ///< bytes; pred is 1
std::optional<Type> type_from(std::string_view name);  ///< "u32", without the dot
std::string_view name_of(Type type);

struct Register {
  std::string name;  ///< "%rd12"
  Type type = Type::b32;
};

struct Operand {
  enum class Kind : std::uint8_t {
    reg,        ///< registers[index]; `negated` for !%p; `name` is the selector of video instructions (".h1")
    integer,    ///< `bits`
    real,       ///< `bits`: the IEEE pattern; `type` f32 (0f...) or f64 (0d... and decimal)
    symbol,     ///< the address or name of `name` plus `bits`
    special,    ///< a special register, `name` as written: "%tid.x"
    address,    ///< [base + bits]: base is registers[index] or, when `name` is not empty, that symbol; what
                ///< follows a comma inside the brackets (tensor coordinates, a vector) is in `elements`
    vector,     ///< {elements}
    pair,       ///< p|q, both written: two `elements`
    label,      ///< `name`
    sink,       ///< _
    call_list,  ///< the parenthesised lists of call: `elements`; operand 0 only where the call returns
                ///< something
  };
  Kind kind = Kind::integer;
  Type type = Type::none;
  bool negated = false;
  bool has_base = false;  ///< address: registers[index] is the base
  std::uint32_t index = 0;
  std::uint64_t bits = 0;
  std::string name;
  std::vector<Operand> elements;
};

struct Guard {
  std::uint32_t reg = 0;
  bool negated = false;
};

struct Statement {
  std::string opcode;  ///< with all its modifiers: "ld.global.nc.v4.u32"
  std::optional<Guard> guard;
  std::vector<Operand> operands;
  std::uint32_t ptx_line = 0;        ///< 1-based in the PTX text
  std::uint32_t file = 0, line = 0;  ///< from .loc; 0 when unknown
  std::uint32_t caller_file = 0, caller_line = 0;  ///< of the outermost call, where inlining has brought it; 0 without
};

/// A variable in any state space, a parameter included.
struct Variable {
  std::string name;
  Space space = Space::global;
  Type type = Type::b8;
  std::size_t align = 1, bytes = 0;  ///< bytes 0: extern shared array of dynamic size
  bool external = false;
  std::vector<std::byte> initial;  ///< `bytes` of them, or none for zeros
  struct Relocation {
    std::size_t offset;
    std::string symbol;
    std::uint64_t addend;
    std::size_t bytes = 8;  ///< how many low bytes of (address + addend) >> shift are stored
    unsigned shift = 0;
  };
  std::vector<Relocation> relocations;  ///< addresses stored into `initial`
};

/// The signature that .callprototype gives to an indirect call.
struct Prototype {
  std::vector<Variable> returns, parameters;
};

/// Names declared inside nested { } are renamed apart ("t@3": the third scope), so every name is unique.
struct Function {
  std::string name;
  bool kernel = false;
  bool declared_only = false;  ///< a prototype: extern .func, for example vprintf
  std::vector<Variable> returns, parameters;
  std::vector<Register> registers;
  std::vector<Variable> variables;  ///< local, shared and param variables declared in the body
  std::vector<Statement> body;
  std::unordered_map<std::string, std::uint32_t> labels;  ///< to an index into body (body.size(): the end)
  std::unordered_map<std::string, std::vector<std::string>> branch_targets;  ///< .branchtargets lists
  std::unordered_map<std::string, Prototype> prototypes;                     ///< .callprototype
  std::uint32_t max_threads[3] = {0, 0, 0};                                  ///< .maxntid
  std::uint32_t required_threads[3] = {0, 0, 0};                             ///< .reqntid
  std::uint32_t cluster[3] = {0, 0, 0};                                      ///< .reqnctapercluster
  std::uint32_t min_blocks = 0;                                              ///< .minnctapersm
  std::uint32_t max_registers = 0;                                           ///< .maxnreg
  std::uint32_t max_cluster = 0;                                             ///< .maxclusterrank
  bool explicit_cluster = false;     ///< .explicitcluster: a launch has to say the cluster's size
  bool blocks_are_clusters = false;  ///< .blocksareclusters: the grid counts clusters
};

/// A name has one entry: a definition takes the place of its declarations.
struct Module {
  std::string version, target;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::unordered_map<std::string, std::string> aliases;  ///< .alias: name to the function meant
  std::unordered_map<std::uint32_t, std::string> files;  ///< .file
};

/// PTX that the reader cannot understand. `what()` names the PTX line and the text there.
struct ParseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// @throws ParseError
Module parse(std::string_view text);

/// The PTX texts inside a fat binary image as nvcc embeds it (the `data` of __fatBinC_Wrapper_t), one per
/// architecture. The image says its own size; malformed images give ParseError, never an overrun of `image`.
struct Embedded {
  std::uint32_t architecture = 0;  ///< 90 for sm_90
  std::string text;
};
std::vector<Embedded> extract_ptx(std::span<const std::byte> image);
/// The size that the header at `image` states. For an image that is mapped without its size.
std::size_t image_bytes(const void* image);

/// A function body laid out for execution.
/// Blocks stand in thread-frontier order (Diamos et al., MICRO 2011): reverse post order in which a block
/// comes after all that can still reach it, so that running the lowest position first reconverges as early as
/// possible.
struct Layout {
  /// With `bra.uni` added where order broke a fall-through, and branches to the next statement left out; a
  /// branch to the next statement whose fall-through lies elsewhere is inverted. Ends in ret, exit or an
  /// unguarded branch.
  std::vector<Statement> body;
  static constexpr std::uint32_t kNone = ~0u;
  std::vector<std::uint32_t>
      target;  ///< per statement: a branch's target as a position in `body`, else kNone
  std::unordered_map<std::string, std::uint32_t> labels;  ///< positions, for brx.idx
  /// Byte offset of each register in a warp's register file. Registers that are never live together share a
  /// slot: 128 bytes for up to 32 bits a lane, 256 for 64, 512 for b128, 4 for a predicate (one bit a lane).
  /// Different registers of one statement never share, even where a source dies there, so a handler may
  /// write one destination before it reads all sources. kNone for a register that `body` does not name.
  std::vector<std::uint32_t> slot;
  std::uint32_t register_bytes = 0;
};
Layout lay_out(const Function& function);

}  // namespace pkb::virtual_gpu::ptx
