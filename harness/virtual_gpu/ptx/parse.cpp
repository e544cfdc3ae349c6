// SPDX-License-Identifier: Apache-2.0
// Directives of a module (PTX ISA 11).
#include <fmt/format.h>

#include <algorithm>

#include "harness/virtual_gpu/ptx/constant.h"
#include "harness/virtual_gpu/ptx/parser.h"

namespace pkb::virtual_gpu::ptx {

void file_directive(Lexer& lexer, Module& module) {
  lexer.expect(".file");
  const std::uint32_t number = integer_32(lexer);
  const Token name = lexer.expect(Token::Kind::string, "a file name");
  module.files.emplace(number, name.text);
  while (lexer.accept(",")) integer_expression(lexer);  // time stamp, size
}

void pragma_directive(Lexer& lexer) {
  lexer.expect(".pragma");
  do lexer.expect(Token::Kind::string, "a string");
  while (lexer.accept(","));
  lexer.expect(";");
}

namespace {

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text) : x_lexer(text) {}

  Module parse() {
    while (x_lexer.peek().kind != Token::Kind::end) directive();
    return std::move(x_module);
  }

 private:
  void directive();
  void variables(Space space, bool external);
  void function(bool kernel);
  bool attribute(Function& function);
  void three(std::uint32_t (&sizes)[3]);

  Lexer x_lexer;
  Module x_module;
  std::unordered_map<std::string, std::size_t> x_variables, x_functions;  ///< places in x_module
};

void ModuleParser::directive() {
  bool external = false;
  const Token token = x_lexer.peek();
  while (x_lexer.peek().is(".visible") || x_lexer.peek().is(".extern") || x_lexer.peek().is(".weak") ||
         x_lexer.peek().is(".common"))
    external |= x_lexer.next().is(".extern");
  const Token what = x_lexer.peek();
  if (what.is(".func") || what.is(".entry")) return function(x_lexer.next().is(".entry"));
  if (const auto space = space_from(what.text); space && what.kind == Token::Kind::dotted) {
    x_lexer.next();
    return variables(*space, external);
  }
  if (what.text != token.text) x_lexer.fail("expected a variable or a function");
  if (what.is(".file")) return file_directive(x_lexer, x_module);
  if (what.is(".pragma")) return pragma_directive(x_lexer);
  x_lexer.next();
  if (what.is(".version")) {
    x_module.version = x_lexer.expect(Token::Kind::number, "a version").text;
  } else if (what.is(".target")) {
    x_module.target = x_lexer.expect(Token::Kind::identifier, "an architecture").text;
    while (x_lexer.accept(",")) x_lexer.expect(Token::Kind::identifier, "an option");
  } else if (what.is(".address_size")) {
    if (integer_expression(x_lexer) != 64) x_lexer.fail_at(what, "addresses are not 64 bits wide");
  } else if (what.is(".section")) {
    while (!x_lexer.peek().is("{")) {
      if (x_lexer.peek().kind == Token::Kind::end) x_lexer.fail("expected '{'");
      x_lexer.next();
    }
    x_lexer.skip_section();
  } else if (what.is(".alias")) {
    const Token name = x_lexer.expect(Token::Kind::identifier, "a function");
    x_lexer.expect(",");
    x_module.aliases.insert_or_assign(
        std::string(name.text), std::string(x_lexer.expect(Token::Kind::identifier, "a function").text));
    x_lexer.expect(";");
  } else if (!what.is(";")) {
    x_lexer.fail_at(what, "unknown directive");
  }
}

void ModuleParser::variables(Space space, bool external) {
  const Declaration declared = declaration(x_lexer, space);
  do {
    const Token name = x_lexer.expect(Token::Kind::identifier, "the variable's name");
    Variable variable = declared_variable(x_lexer, declared, name.text);
    variable.external = external;
    const auto [place, fresh] = x_variables.try_emplace(variable.name, x_module.variables.size());
    if (fresh)
      x_module.variables.push_back(std::move(variable));
    else if (!external)
      x_module.variables[place->second] = std::move(variable);
  } while (x_lexer.accept(","));
  x_lexer.expect(";");
}

void ModuleParser::function(bool kernel) {
  Function function;
  function.kernel = kernel;
  if (x_lexer.accept(".attribute")) skip_parentheses(x_lexer);
  if (!kernel && x_lexer.peek().is("(")) function.returns = parameter_list(x_lexer);
  const Token name = x_lexer.expect(Token::Kind::identifier, "the function's name");
  function.name = name.text;
  if (x_lexer.peek().is("(")) function.parameters = parameter_list(x_lexer);
  while (attribute(function)) {
  }
  function.declared_only = x_lexer.accept(";");
  if (!function.declared_only) {
    x_lexer.expect("{");
    BodyParser(x_lexer, x_module, function).parse();
  }
  const auto [place, fresh] = x_functions.try_emplace(function.name, x_module.functions.size());
  if (fresh) {
    x_module.functions.push_back(std::move(function));
  } else if (!function.declared_only) {
    if (!x_module.functions[place->second].declared_only)
      x_lexer.fail_at(name, fmt::format("function '{}' is defined twice", function.name));
    x_module.functions[place->second] = std::move(function);
  }
}

void ModuleParser::three(std::uint32_t (&sizes)[3]) {
  std::fill(std::begin(sizes), std::end(sizes), 1);
  for (std::uint32_t& size : sizes) {
    size = integer_32(x_lexer);
    if (!x_lexer.accept(",")) break;
  }
}

bool ModuleParser::attribute(Function& function) {
  const Token token = x_lexer.peek();
  if (token.kind != Token::Kind::dotted) return false;
  if (token.is(".pragma")) return pragma_directive(x_lexer), true;
  x_lexer.next();
  if (token.is(".maxntid")) {
    three(function.max_threads);
  } else if (token.is(".reqntid")) {
    three(function.required_threads);
  } else if (token.is(".reqnctapercluster")) {
    three(function.cluster);
  } else if (token.is(".minnctapersm")) {
    function.min_blocks = integer_32(x_lexer);
  } else if (token.is(".maxnreg")) {
    function.max_registers = integer_32(x_lexer);
  } else if (token.is(".blocksareclusters")) {
    function.blocks_are_clusters = true;
  } else if (token.is(".maxclusterrank")) {
    function.max_cluster = integer_32(x_lexer);
  } else if (token.is(".explicitcluster")) {
    function.explicit_cluster = true;
  } else if (token.is(".maxnctapersm") || token.is(".abi_preserve") || token.is(".abi_preserve_control")) {
    integer_32(x_lexer);  // limits of the code generator, which change no result
  } else if (token.is(".attribute")) {
    skip_parentheses(x_lexer);
  } else if (!token.is(".noreturn")) {
    x_lexer.fail_at(token, "unknown directive");
  }
  return true;
}

}  // namespace

Module parse(std::string_view text) { return ModuleParser(text).parse(); }

}  // namespace pkb::virtual_gpu::ptx
