// SPDX-License-Identifier: Apache-2.0
// Declarations of variables and parameters, with their initialisers (PTX ISA 5.3, 5.4).
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "harness/virtual_gpu/ptx/constant.h"
#include "harness/virtual_gpu/ptx/parser.h"

namespace pkb::virtual_gpu::ptx {
namespace {

constexpr std::size_t kMostBytes = std::size_t(1) << 48;  // of a variable
constexpr std::size_t kMostInitialised = std::size_t(256)
                                         << 20;  // of an initialised one, which costs memory here
constexpr int kDeepest = 16;                     // braces of an initialiser

// Fills the bytes of one variable in the order of its initialiser.
class Initialiser {
 public:
  Initialiser(Lexer& lexer, Type type, const std::vector<std::size_t>& dimensions, Variable& variable)
      : x_lexer(lexer),
        x_type(type),
        x_variable(variable),
        x_open(!dimensions.empty() && dimensions[0] == 0) {
    std::size_t stride = size_of(type);
    x_strides.assign(dimensions.size() + 1, stride);
    for (std::size_t i = dimensions.size(); i-- > 0;) x_strides[i] = stride *= dimensions[i];
  }

  void read(std::size_t level, std::size_t offset) {
    if (!x_lexer.peek().is("{")) return scalar(offset);
    if (level >= kDeepest) x_lexer.fail("initialiser nested too deeply");
    x_lexer.next();
    const std::size_t stride = x_strides[std::min(level + 1, x_strides.size() - 1)];
    while (!x_lexer.peek().is("}")) {
      const bool row = x_lexer.peek().is("{");
      read(level + 1, offset);
      offset += row ? stride : size_of(x_type);
      if (!x_lexer.accept(",")) break;
    }
    x_lexer.expect("}");
  }

 private:
  void scalar(std::size_t offset) {
    const Token token = x_lexer.peek();
    const std::size_t end = offset + size_of(x_type);
    if (end > (x_open ? kMostInitialised : x_variable.bytes))
      x_lexer.fail("more values than the variable has");
    if (end > x_variable.initial.size()) x_variable.initial.resize(end);
    if (token.kind == Token::Kind::identifier && !token.is("WARP_SZ")) return symbol(offset, 0);
    const Constant value = constant_expression(x_lexer);
    if (x_lexer.accept("(")) {  // 0xff00(symbol): that byte of the address
      if (value.is_real() || value.bits == 0) x_lexer.fail_at(token, "bad mask");
      symbol(offset, unsigned(std::countr_zero(value.bits)));
      x_lexer.expect(")");
      return;
    }
    const std::uint64_t bits = bits_of(value, token);
    std::memcpy(&x_variable.initial[offset], &bits, std::min(sizeof bits, size_of(x_type)));
  }

  std::uint64_t bits_of(const Constant& value, const Token& token) const {
    if (x_type == Type::f32) {
      if (value.type == Type::f32) return value.bits;
      return std::bit_cast<std::uint32_t>(float(value.real()));
    }
    if (x_type == Type::f64) return std::bit_cast<std::uint64_t>(value.real());
    const bool same_size =
        size_of(value.type) == size_of(x_type) && (x_type == Type::b32 || x_type == Type::b64);
    if (value.is_real() && !same_size) x_lexer.fail_at(token, "real value for an integer");
    return value.bits;
  }

  void symbol(std::size_t offset, unsigned shift) {
    Token name = x_lexer.expect(Token::Kind::identifier, "a symbol");
    if (name.is("generic") && x_lexer.accept("(")) {
      name = x_lexer.expect(Token::Kind::identifier, "a symbol");
      x_lexer.expect(")");
    }
    std::uint64_t addend = 0;
    if (x_lexer.peek().is("+") || x_lexer.peek().is("-")) addend = integer_expression(x_lexer);
    x_variable.relocations.push_back(
        {offset, std::string(name.text), addend, std::min<std::size_t>(size_of(x_type), 8), shift});
  }

  Lexer& x_lexer;
  Type x_type;
  Variable& x_variable;
  bool x_open;                         // the first dimension is as long as the initialiser
  std::vector<std::size_t> x_strides;  // bytes of the whole, of a row, ..., of an element
};

}  // namespace

std::optional<Space> space_from(std::string_view directive) {
  if (directive == ".global") return Space::global;
  if (directive == ".shared") return Space::shared;
  if (directive == ".local") return Space::local;
  if (directive == ".param") return Space::param;
  if (directive == ".const") return Space::constant;
  return std::nullopt;
}

void skip_parentheses(Lexer& lexer) {
  lexer.expect("(");
  for (int open = 1; open > 0;) {
    if (lexer.peek().kind == Token::Kind::end) lexer.fail("'(' without ')'");
    const Token token = lexer.next();
    open += token.is("(") - token.is(")");
  }
}

std::uint32_t integer_32(Lexer& lexer) {
  const Token token = lexer.peek();
  const std::uint64_t value = integer_expression(lexer);
  if (value >> 32) lexer.fail_at(token, "number out of range");
  return std::uint32_t(value);
}

Declaration declaration(Lexer& lexer, Space space) {
  Declaration declared{.space = space};
  std::size_t align = 0;
  bool pointee = false;  // behind .ptr, space and alignment are those of what the parameter points to
  while (lexer.peek().kind == Token::Kind::dotted) {
    const Token token = lexer.next();
    const std::string_view word = token.text.substr(1);
    if (word == "align") {
      const std::uint32_t value = integer_32(lexer);
      if (!std::has_single_bit(value)) lexer.fail_at(token, "alignment is not a power of two");
      if (!pointee) align = value;
    } else if (word == "attribute") {
      skip_parentheses(lexer);
    } else if (word == "ptr") {
      pointee = true;
    } else if (word == "v2" || word == "v4" || word == "v8") {
      declared.width = std::uint32_t(word[1] - '0');
    } else if (word == "texref" || word == "samplerref" || word == "surfref") {
      declared.type = Type::b64;  // a handle
    } else if (const auto type = type_from(word)) {
      declared.type = *type;
    } else if (!(pointee && space_from(token.text))) {
      lexer.fail_at(token, "unknown type or attribute");
    }
  }
  if (declared.type == Type::none) lexer.fail("declaration without a type");
  declared.align = align ? align : size_of(declared.type) * declared.width;
  return declared;
}

Variable declared_variable(Lexer& lexer, const Declaration& declared, std::string_view name) {
  Variable variable;
  variable.name = name;
  variable.space = declared.space;
  variable.type = declared.type;
  variable.align = declared.align;
  variable.bytes = size_of(declared.type) * declared.width;
  std::vector<std::size_t> dimensions;
  while (lexer.peek().is("[")) {
    const Token token = lexer.next();
    const std::uint64_t size = lexer.peek().is("]") ? 0 : integer_expression(lexer);
    lexer.expect("]");
    if (size > kMostBytes || (variable.bytes && size > kMostBytes / variable.bytes))
      lexer.fail_at(token, "array too large");
    variable.bytes *= size;
    dimensions.push_back(size);
  }
  if (declared.width > 1) dimensions.push_back(declared.width);
  if (lexer.accept("=")) {
    if (variable.bytes > kMostInitialised) lexer.fail("initialised array too large");
    Initialiser(lexer, declared.type, dimensions, variable).read(0, 0);
    if (variable.bytes == 0) variable.bytes = variable.initial.size();
    variable.initial.resize(variable.bytes);
  }
  return variable;
}

std::vector<Variable> parameter_list(Lexer& lexer) {
  std::vector<Variable> parameters;
  lexer.expect("(");
  while (!lexer.peek().is(")")) {
    lexer.expect(".param");
    const Declaration declared = declaration(lexer, Space::param);
    const Token name = lexer.expect(Token::Kind::identifier, "the parameter's name");
    parameters.push_back(declared_variable(lexer, declared, name.text));
    if (!lexer.accept(",")) break;
  }
  lexer.expect(")");
  return parameters;
}

}  // namespace pkb::virtual_gpu::ptx
