// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/ptx/constant.h"

#include <bit>
#include <charconv>
#include <string>

namespace pkb::virtual_gpu::ptx {
namespace {

constexpr int kDeepest = 64;  // levels of parentheses and unary operators

Constant integer(std::uint64_t bits, Type type = Type::s64) { return {type, bits}; }
Constant real(double value) { return {Type::f64, std::bit_cast<std::uint64_t>(value)}; }

std::uint64_t digits(const Lexer& lexer, const Token& token, std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) lexer.fail_at(token, "bad number");
  return value;
}

Constant literal(const Lexer& lexer, const Token& token) {
  std::string_view text = token.text;
  const char prefix = text.size() > 1 && text[0] == '0' ? char(text[1] | 0x20) : '\0';
  if (prefix == 'f' || prefix == 'd') {
    if (text.size() != (prefix == 'f' ? 10 : 18)) lexer.fail_at(token, "bad number");
    return {prefix == 'f' ? Type::f32 : Type::f64, digits(lexer, token, text.substr(2), 16)};
  }
  if (prefix != 'x' && prefix != 'b' && text.find_first_of(".eE") != std::string_view::npos) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) lexer.fail_at(token, "bad number");
    return real(value);
  }
  const bool is_unsigned = text.back() == 'U';
  if (is_unsigned) text.remove_suffix(1);
  const std::uint64_t value = prefix == 'x'                       ? digits(lexer, token, text.substr(2), 16)
                              : prefix == 'b'                     ? digits(lexer, token, text.substr(2), 2)
                              : text.size() > 1 && text[0] == '0' ? digits(lexer, token, text.substr(1), 8)
                                                                  : digits(lexer, token, text, 10);
  return integer(value, is_unsigned || value >> 63 ? Type::u64 : Type::s64);
}

struct Operator {
  std::string_view text;
  int precedence;
  enum Code : std::uint8_t {
    mul,
    div,
    rem,
    add,
    sub,
    shl,
    shr,
    lt,
    gt,
    le,
    ge,
    eq,
    ne,
    bit_and,
    bit_xor,
    bit_or,
    land,
    lor
  } code;
};

// Precedences as in C.
constexpr Operator kOperators[] = {
    {"*", 10, Operator::mul},   {"/", 10, Operator::div},    {"%", 10, Operator::rem},
    {"+", 9, Operator::add},    {"-", 9, Operator::sub},     {"<<", 8, Operator::shl},
    {">>", 8, Operator::shr},   {"<", 7, Operator::lt},      {">", 7, Operator::gt},
    {"<=", 7, Operator::le},    {">=", 7, Operator::ge},     {"==", 6, Operator::eq},
    {"!=", 6, Operator::ne},    {"&", 5, Operator::bit_and}, {"^", 4, Operator::bit_xor},
    {"|", 3, Operator::bit_or}, {"&&", 2, Operator::land},   {"||", 1, Operator::lor},
};

const Operator* operator_at(const Token& token) {
  if (token.kind != Token::Kind::punctuation) return nullptr;
  for (const Operator& op : kOperators)
    if (token.text == op.text) return &op;
  return nullptr;
}

Constant apply_real(const Lexer& lexer, const Token& token, Operator::Code code, double a, double b) {
  switch (code) {
    case Operator::mul:
      return real(a * b);
    case Operator::div:
      return real(a / b);
    case Operator::add:
      return real(a + b);
    case Operator::sub:
      return real(a - b);
    case Operator::lt:
      return integer(a < b);
    case Operator::gt:
      return integer(a > b);
    case Operator::le:
      return integer(a <= b);
    case Operator::ge:
      return integer(a >= b);
    case Operator::eq:
      return integer(a == b);
    case Operator::ne:
      return integer(a != b);
    case Operator::rem:
    case Operator::shl:
    case Operator::shr:
    case Operator::bit_and:
    case Operator::bit_xor:
    case Operator::bit_or:
    case Operator::land:
    case Operator::lor:
      break;
  }
  lexer.fail_at(token, "operator not defined for real constants");
}

Constant apply(const Lexer& lexer, const Token& token, Operator::Code code, Constant left, Constant right) {
  if (left.is_real() || right.is_real()) return apply_real(lexer, token, code, left.real(), right.real());
  const std::uint64_t a = left.bits, b = right.bits;
  const auto sa = std::int64_t(a), sb = std::int64_t(b);
  // Usual arithmetic conversions; a shift has the type of what is shifted.
  const bool is_unsigned = left.type == Type::u64 || right.type == Type::u64;
  const Type type = is_unsigned ? Type::u64 : Type::s64;
  switch (code) {
    case Operator::mul:
      return integer(a * b, type);
    case Operator::add:
      return integer(a + b, type);
    case Operator::sub:
      return integer(a - b, type);
    case Operator::div:
    case Operator::rem:
      if (b == 0) lexer.fail_at(token, "division by zero");
      if (is_unsigned) return integer(code == Operator::div ? a / b : a % b, type);
      if (sb == -1)
        return integer(code == Operator::div ? 0 - a : 0, type);  // INT64_MIN / -1 traps on the host
      return integer(std::uint64_t(code == Operator::div ? sa / sb : sa % sb), type);
    case Operator::shl:
      return integer(b < 64 ? a << b : 0, left.type);
    case Operator::shr:
      if (left.type == Type::u64) return integer(b < 64 ? a >> b : 0, left.type);
      return integer(std::uint64_t(sa >> (b < 64 ? b : 63)), left.type);
    case Operator::lt:
      return integer(is_unsigned ? a < b : sa < sb);
    case Operator::gt:
      return integer(is_unsigned ? a > b : sa > sb);
    case Operator::le:
      return integer(is_unsigned ? a <= b : sa <= sb);
    case Operator::ge:
      return integer(is_unsigned ? a >= b : sa >= sb);
    case Operator::eq:
      return integer(a == b);
    case Operator::ne:
      return integer(a != b);
    case Operator::bit_and:
      return integer(a & b, type);
    case Operator::bit_xor:
      return integer(a ^ b, type);
    case Operator::bit_or:
      return integer(a | b, type);
    case Operator::land:
      return integer(a && b);
    case Operator::lor:
      return integer(a || b);
  }
  return {};
}

Constant conditional(Lexer& lexer, int depth);

Constant unary(Lexer& lexer, int depth) {
  if (depth > kDeepest) lexer.fail("constant expression nested too deeply");
  const Token token = lexer.next();
  if (token.kind == Token::Kind::number) return literal(lexer, token);
  if (token.is("WARP_SZ")) return integer(32);
  if (token.is("+")) return unary(lexer, depth + 1);
  if (token.is("-")) {
    Constant value = unary(lexer, depth + 1);
    if (value.type == Type::f32)
      value.bits ^= 1ull << 31;
    else if (value.type == Type::f64)
      value.bits ^= 1ull << 63;
    else
      value.bits = 0 - value.bits;
    return value;
  }
  if (token.is("~") || token.is("!")) {
    const Constant value = unary(lexer, depth + 1);
    if (value.is_real()) lexer.fail_at(token, "operator not defined for real constants");
    return token.is("!") ? integer(value.bits == 0) : integer(~value.bits, value.type);
  }
  if (token.is("(")) {
    if (lexer.peek().is(".s64") || lexer.peek().is(".u64")) {
      const Type type = lexer.next().is(".u64") ? Type::u64 : Type::s64;
      lexer.expect(")");
      const Constant value = unary(lexer, depth + 1);
      if (value.is_real()) lexer.fail_at(token, "cast of a real constant");
      return integer(value.bits, type);
    }
    const Constant value = conditional(lexer, depth + 1);
    lexer.expect(")");
    return value;
  }
  lexer.fail_at(token, "expected a constant");
}

Constant binary(Lexer& lexer, int lowest, int depth) {
  Constant left = unary(lexer, depth);
  for (;;) {
    const Operator* op = operator_at(lexer.peek());
    if (!op || op->precedence < lowest) return left;
    const Token token = lexer.next();
    const Constant right = binary(lexer, op->precedence + 1, depth + 1);
    left = apply(lexer, token, op->code, left, right);
  }
}

Constant conditional(Lexer& lexer, int depth) {
  const Constant condition = binary(lexer, 1, depth);
  if (!lexer.peek().is("?")) return condition;
  const Token token = lexer.next();
  if (condition.is_real()) lexer.fail_at(token, "real condition");
  const Constant yes = conditional(lexer, depth + 1);
  lexer.expect(":");
  const Constant no = conditional(lexer, depth + 1);
  return condition.bits ? yes : no;
}

}  // namespace

double Constant::real() const {
  if (type == Type::f32) return std::bit_cast<float>(std::uint32_t(bits));
  if (type == Type::f64) return std::bit_cast<double>(bits);
  return type == Type::u64 ? double(bits) : double(std::int64_t(bits));
}

Constant constant_expression(Lexer& lexer) { return conditional(lexer, 0); }

std::uint64_t integer_expression(Lexer& lexer) {
  const Token token = lexer.peek();
  const Constant value = constant_expression(lexer);
  if (value.is_real()) lexer.fail_at(token, "expected an integer");
  return value.bits;
}

bool starts_constant(const Token& token) {
  if (token.kind == Token::Kind::number) return true;
  if (token.kind == Token::Kind::identifier) return token.text == "WARP_SZ";
  return token.kind == Token::Kind::punctuation &&
         (token.text == "-" || token.text == "+" || token.text == "~" || token.text == "(");
}

}  // namespace pkb::virtual_gpu::ptx
