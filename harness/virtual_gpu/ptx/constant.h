// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/virtual_gpu/ptx/lexer.h"
#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {

/// The value of a constant expression (PTX ISA 4.5).
struct Constant {
  Type type = Type::s64;  ///< s64, u64, f64, or f32 for a 0f literal
  std::uint64_t bits = 0;

  bool is_real() const { return type == Type::f32 || type == Type::f64; }
  double real() const;  ///< also of an integer
};

/// Reads a constant expression.
/// @throws ParseError
Constant constant_expression(Lexer& lexer);

/// An integer expression.
/// @throws ParseError when it is real
std::uint64_t integer_expression(Lexer& lexer);

/// True where a constant expression, and nothing else, can begin.
bool starts_constant(const Token& token);

}  // namespace pkb::virtual_gpu::ptx
