// SPDX-License-Identifier: Apache-2.0
// Operands of an instruction (PTX ISA 6).
#include <fmt/format.h>

#include "harness/virtual_gpu/ptx/constant.h"
#include "harness/virtual_gpu/ptx/parser.h"

namespace pkb::virtual_gpu::ptx {
namespace {

constexpr int kDeepest = 8;  // brackets within brackets

// x y z w, or r g b a
std::optional<std::uint32_t> component(std::string_view selector) {
  if (selector.size() != 2) return std::nullopt;
  for (const std::string_view names : {std::string_view("xyzw"), std::string_view("rgba")})
    if (const std::size_t index = names.find(selector[1]); index != names.npos) return std::uint32_t(index);
  return std::nullopt;
}

void set_register(Operand& out, std::uint32_t index) {
  out.kind = Operand::Kind::reg;
  out.index = index;
}

}  // namespace

void BodyParser::operand(Operand& out, int depth) {
  if (depth > kDeepest) x_lexer.fail("operand nested too deeply");
  const Token& token = x_lexer.peek();
  if (token.is("[")) return address(out, depth);
  if (token.is("{")) {
    x_lexer.next();
    out.kind = Operand::Kind::vector;
    return list(out, "}", depth);
  }
  if (token.is("!")) {
    const Token mark = x_lexer.next();
    if (x_lexer.peek().kind == Token::Kind::identifier) {
      named_operand(out);
      if (out.kind != Operand::Kind::reg) x_lexer.fail_at(mark, "'!' before something that is no register");
      out.negated = true;
    } else {
      out.kind = Operand::Kind::integer;
      out.bits = integer_expression(x_lexer) == 0;
    }
    return;
  }
  if (starts_constant(token)) {
    const Constant value = constant_expression(x_lexer);
    out.kind = value.is_real() ? Operand::Kind::real : Operand::Kind::integer;
    if (value.is_real()) out.type = value.type;
    out.bits = value.bits;
    return;
  }
  if (token.kind != Token::Kind::identifier) x_lexer.fail("expected an operand");
  named_operand(out);
  if (x_lexer.peek().is("|")) {
    const Token bar = x_lexer.next();
    if (x_lexer.peek().kind != Token::Kind::identifier) x_lexer.fail("expected a register");
    std::vector<Operand> both(2);
    both[0] = std::move(out);
    named_operand(both[1]);
    for (const Operand& half : both)
      if (half.kind != Operand::Kind::reg && half.kind != Operand::Kind::sink)
        x_lexer.fail_at(bar, "'|' between things that are no registers");
    out = Operand();
    out.kind = Operand::Kind::pair;
    out.elements = std::move(both);
  }
}

void BodyParser::named_operand(Operand& out) {
  const Token token = x_lexer.next_with_modifiers();
  const std::size_t dot = std::min(token.text.find('.'), token.text.size());
  const std::string_view name = token.text.substr(0, dot), selector = token.text.substr(dot);
  if (name == "_" && selector.empty()) {
    out.kind = Operand::Kind::sink;
    return;
  }
  const auto entity = x_names.find(name);
  if (entity && entity->kind == Names::Entity::Kind::reg) {
    set_register(out, entity->index);
    out.name = selector;
  } else if (entity && entity->kind == Names::Entity::Kind::vector_register) {
    if (selector.empty()) {
      out.kind = Operand::Kind::vector;
      out.elements.resize(entity->count);
      for (std::uint32_t i = 0; i < entity->count; ++i) set_register(out.elements[i], entity->index + i);
    } else {
      const auto index = component(selector);
      if (!index || *index >= entity->count) x_lexer.fail_at(token, "no such element");
      set_register(out, entity->index + *index);
    }
  } else if (name[0] == '%') {
    out.kind = Operand::Kind::special;
    out.name = token.text;
  } else {
    if (!selector.empty()) x_lexer.fail_at(token, "selector of something that is no register");
    out.kind = Operand::Kind::symbol;
    out.name = entity ? x_function.variables[entity->index].name : std::string(name);
    if (x_lexer.peek().is("+") || x_lexer.peek().is("-")) out.bits = integer_expression(x_lexer);
  }
}

// [register], [symbol], [constant], each with "+ constant"; [base, coordinates...]
void BodyParser::address(Operand& out, int depth) {
  x_lexer.expect("[");
  if (x_lexer.peek().kind == Token::Kind::identifier && !x_lexer.peek().is("WARP_SZ")) {
    const Token token = x_lexer.peek();
    named_operand(out);
    if (out.kind == Operand::Kind::reg)
      out.has_base = true;
    else if (out.kind != Operand::Kind::symbol)
      x_lexer.fail_at(token, "address that is neither register nor symbol");
    if (x_lexer.peek().is("+") || x_lexer.peek().is("-")) out.bits += integer_expression(x_lexer);
  } else {
    out.bits = integer_expression(x_lexer);
  }
  out.kind = Operand::Kind::address;
  while (x_lexer.accept(",")) {
    Operand further;
    operand(further, depth + 1);
    out.elements.push_back(std::move(further));
  }
  x_lexer.expect("]");
}

void BodyParser::list(Operand& out, std::string_view close, int depth) {
  while (!x_lexer.peek().is(close)) {
    operand(out.elements.emplace_back(), depth + 1);
    if (!x_lexer.accept(",")) break;
  }
  x_lexer.expect(close);
}

// call (returns), callee, (arguments), prototype; all but the callee may be missing.
void BodyParser::call_operand(Operand& out, bool& callee_seen) {
  if (x_lexer.accept("(")) {
    out.kind = Operand::Kind::call_list;
    return list(out, ")", 0);
  }
  if (callee_seen) return label_operand(out);
  if (x_lexer.peek().kind != Token::Kind::identifier) x_lexer.fail("expected a function");
  named_operand(out);
  callee_seen = true;
}

void BodyParser::label_operand(Operand& out) {
  out.kind = Operand::Kind::label;
  out.name = x_lexer.expect(Token::Kind::identifier, "a label").text;
}

}  // namespace pkb::virtual_gpu::ptx
