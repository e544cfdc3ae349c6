// SPDX-License-Identifier: Apache-2.0
// Function bodies: statements, their operands and the directives between them (PTX ISA 4.3, 6, 11).
#include <fmt/format.h>

#include "harness/virtual_gpu/ptx/constant.h"
#include "harness/virtual_gpu/ptx/parser.h"

namespace pkb::virtual_gpu::ptx {
namespace {

std::string_view family(std::string_view opcode) { return opcode.substr(0, opcode.find('.')); }

}  // namespace

void BodyParser::parse() {
  for (;;) {
    const Token& token = x_lexer.peek();
    switch (token.kind) {
      case Token::Kind::identifier:
        if (x_lexer.colon_follows())
          label();
        else
          instruction();
        break;
      case Token::Kind::dotted:
        directive();
        break;
      case Token::Kind::punctuation:
        if (token.text == "@") {
          instruction();
        } else if (token.text == "{") {
          x_names.open_scope(x_lexer.next());
        } else if (token.text == "}") {
          if (!x_names.nested()) {
            x_names.close_function();
            x_lexer.next();
            return;
          }
          x_names.close_scope();
          x_lexer.next();
        } else {
          x_lexer.expect(";");
        }
        break;
      case Token::Kind::end:
        x_lexer.fail("function without its '}'");
      case Token::Kind::number:
      case Token::Kind::string:
        x_lexer.fail("expected a statement");
    }
  }
}

void BodyParser::directive() {
  const Token token = x_lexer.peek();
  if (token.is(".loc")) return loc();
  if (token.is(".reg")) return registers();
  if (token.is(".pragma")) return pragma_directive(x_lexer);
  if (token.is(".file")) return file_directive(x_lexer, x_module);
  const auto space = space_from(token.text);
  if (!space) x_lexer.fail("unknown directive");
  x_lexer.next();
  variables(*space);
}

void BodyParser::registers() {
  x_lexer.expect(".reg");
  const Declaration declared = declaration(x_lexer, Space::local);
  do {
    const Token name = x_lexer.expect(Token::Kind::identifier, "a register's name");
    if (x_lexer.accept("<")) {
      // A number, not an expression, which would take '>' for an operator.
      const Token token = x_lexer.expect(Token::Kind::number, "how many registers");
      Lexer count(token.text);
      x_names.add_register_range(name, declared.type, integer_expression(count));
      x_lexer.expect(">");
    } else if (declared.width > 1) {
      if (declared.width > 4) x_lexer.fail_at(name, "vector register of more than 4 elements");
      x_names.add_vector_register(name, declared.type, declared.width);
    } else {
      x_names.add_register(name, declared.type);
    }
  } while (x_lexer.accept(","));
  x_lexer.expect(";");
}

void BodyParser::variables(Space space) {
  const Declaration declared = declaration(x_lexer, space);
  do {
    const Token name = x_lexer.expect(Token::Kind::identifier, "the variable's name");
    x_names.add_variable(declared_variable(x_lexer, declared, name.text), name);
  } while (x_lexer.accept(","));
  x_lexer.expect(";");
}

// .loc file line column [, function_name label[+offset]] [, inlined_at file line column]
void BodyParser::loc() {
  x_lexer.expect(".loc");
  Location at;
  for (std::uint32_t& each : at) each = integer_32(x_lexer);
  x_file = at[0];
  x_line = at[1];
  x_caller = {};
  while (x_lexer.accept(",")) {
    const Token word = x_lexer.expect(Token::Kind::identifier, "function_name or inlined_at");
    if (word.is("function_name")) {
      x_lexer.expect(Token::Kind::identifier, "a label");
      if (x_lexer.accept("+")) integer_32(x_lexer);
    } else if (word.is("inlined_at")) {
      Location call;
      for (std::uint32_t& each : call) each = integer_32(x_lexer);
      // A call that was inlined itself has told so before.
      const auto outer = x_calls.find(call);
      x_caller = outer == x_calls.end() ? call : outer->second;
      x_calls[at] = x_caller;
    } else {
      x_lexer.fail_at(word, "expected function_name or inlined_at");
    }
  }
}

void BodyParser::label() {
  const Token name = x_lexer.next();
  x_lexer.expect(":");
  const Token& token = x_lexer.peek();
  if (token.is(".branchtargets") || token.is(".calltargets"))
    branch_targets(name);
  else if (token.is(".callprototype"))
    prototype(name);
  else
    x_names.define_label(name, /*at_statement=*/true);
}

void BodyParser::branch_targets(const Token& name) {
  const std::string label = x_names.define_label(name, /*at_statement=*/false);
  const bool branches = x_lexer.next().is(".branchtargets");
  std::vector<Token> targets;
  do targets.push_back(x_lexer.expect(Token::Kind::identifier, "a label"));
  while (x_lexer.accept(","));
  x_lexer.expect(";");
  if (!branches) return;  // what an indirect call may reach changes nothing here
  std::vector<std::string>& names = x_function.branch_targets[label];
  for (const Token& target : targets) names.emplace_back(target.text);
  for (std::size_t i = 0; i < targets.size(); ++i) x_names.refer_to_label(names[i], targets[i]);
}

// name: .callprototype (returns) _ (parameters) [.noreturn] ...;
void BodyParser::prototype(const Token& name) {
  x_lexer.expect(".callprototype");
  Prototype& prototype = x_function.prototypes[x_names.define_label(name, /*at_statement=*/false)];
  if (x_lexer.peek().is("(")) prototype.returns = parameter_list(x_lexer);
  x_lexer.expect("_");
  if (x_lexer.peek().is("(")) prototype.parameters = parameter_list(x_lexer);
  while (!x_lexer.accept(";")) {
    const Token token = x_lexer.expect(Token::Kind::dotted, "';'");
    if (token.is(".abi_preserve") || token.is(".abi_preserve_control"))
      integer_32(x_lexer);
    else if (!token.is(".noreturn"))
      x_lexer.fail_at(token, "unknown directive");
  }
}

std::uint32_t BodyParser::guard_register() {
  const Token name = x_lexer.expect(Token::Kind::identifier, "a predicate");
  const auto entity = x_names.find(name.text);
  if (!entity || entity->kind != Names::Entity::Kind::reg ||
      x_function.registers[entity->index].type != Type::pred)
    x_lexer.fail_at(name, "guard is not a predicate register");
  return entity->index;
}

void BodyParser::instruction() {
  Statement& statement = x_function.body.emplace_back();
  if (x_lexer.accept("@")) {
    const bool negated = x_lexer.accept("!");
    statement.guard = Guard{guard_register(), negated};
  }
  if (x_lexer.peek().kind != Token::Kind::identifier) x_lexer.fail("expected an instruction");
  const Token opcode = x_lexer.next_with_modifiers();
  statement.opcode = opcode.text;
  while (x_lexer.peek().kind == Token::Kind::dotted) statement.opcode += x_lexer.next().text;
  statement.ptx_line = opcode.line;
  statement.file = x_file;
  statement.line = x_line;
  statement.caller_file = x_caller[0];
  statement.caller_line = x_caller[1];
  if (x_lexer.accept(";")) return;

  const std::string_view name = family(opcode.text);
  const bool call = name == "call";
  bool callee_seen = false;
  statement.operands.reserve(3);
  do {
    Operand& out = statement.operands.emplace_back();
    if (call)
      call_operand(out, callee_seen);
    else if (name == "bra" || (name == "brx" && statement.operands.size() == 2))
      label_operand(out);
    else
      operand(out, 0);
  } while (x_lexer.accept(","));
  x_lexer.expect(";");
  for (Operand& out : statement.operands)
    if (out.kind == Operand::Kind::label) x_names.refer_to_label(out.name, opcode);
}

}  // namespace pkb::virtual_gpu::ptx
