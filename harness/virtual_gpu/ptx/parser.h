// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/virtual_gpu/ptx/lexer.h"
#include "harness/virtual_gpu/ptx/module.h"
#include "harness/virtual_gpu/ptx/names.h"

namespace pkb::virtual_gpu::ptx {

/// What stands before the names of a declaration: .align 16 .v4 .f32.
struct Declaration {
  Space space = Space::global;
  Type type = Type::none;
  std::size_t align = 1;
  std::uint32_t width = 1;  ///< of .v2, .v4, .v8
};

std::optional<Space> space_from(std::string_view directive);  ///< ".global"

/// Reads the attributes and the type of a declaration, up to the first name.
Declaration declaration(Lexer& lexer, Space space);
/// Reads the dimensions behind `name` and the initialiser, if there is one.
Variable declared_variable(Lexer& lexer, const Declaration& declared, std::string_view name);
/// Skips .attribute(...) and the like: the parenthesised list that comes next.
void skip_parentheses(Lexer& lexer);
std::uint32_t integer_32(Lexer& lexer);
std::vector<Variable> parameter_list(Lexer& lexer);
void file_directive(Lexer& lexer, Module& module);
void pragma_directive(Lexer& lexer);

/// Reads a function body, from behind its '{' up to and with its '}'.
class BodyParser {
 public:
  BodyParser(Lexer& lexer, Module& module, Function& function)
      : x_lexer(lexer), x_module(module), x_function(function), x_names(lexer, function) {}
  void parse();

 private:
  void directive();
  void registers();
  void variables(Space space);
  void loc();
  void label();
  void branch_targets(const Token& name);
  void prototype(const Token& name);
  void instruction();

  std::uint32_t guard_register();
  void operand(Operand& out, int depth);
  void named_operand(Operand& out);
  void address(Operand& out, int depth);
  void list(Operand& out, std::string_view close, int depth);
  void call_operand(Operand& out, bool& callee_seen);
  void label_operand(Operand& out);

  Lexer& x_lexer;
  Module& x_module;
  Function& x_function;
  Names x_names;
  using Location = std::array<std::uint32_t, 3>;  ///< file, line, column
  std::uint32_t x_file = 0, x_line = 0;
  Location x_caller{};                   ///< of the outermost inlined call that the present place is in
  std::map<Location, Location> x_calls;  ///< outermost call by a place inside it
};

}  // namespace pkb::virtual_gpu::ptx
