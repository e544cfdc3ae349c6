// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/virtual_gpu/exec/half_type.h"
#include "harness/virtual_gpu/exec/matrix.h"

// mma.sync (PTX ISA 9.7.14.5).
namespace pkb::virtual_gpu {
namespace {

constexpr std::array<std::string_view, 4> kRoundings = {"rn", "rz", "rm", "rp"};

void build_mma(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  modifiers.take("sync");
  modifiers.take("aligned");
  const bool saturate = modifiers.take("satfinite"), both = modifiers.take("and");
  const bool counts = modifiers.take("popc");
  if (counts && !both && !modifiers.take("xor")) throw Unsupported{statement.opcode};
  const int rounding = modifiers.take_any(kRoundings);
  const auto size = matrix_size(modifiers.take_first());
  const std::string_view left_order = modifiers.take_first(), right_order = modifiers.take_first();
  const auto d = sum_from(modifiers.take_first());
  const auto a = element_from(modifiers.take_first()), b = element_from(modifiers.take_first());
  const auto c = sum_from(modifiers.take_first());
  modifiers.finish();
  if (!size || !d || !a || !b || !c || statement.operands.size() != 4) throw Unsupported{statement.opcode};
  if (a == Element::f16 && size->m == 8)
    return build_quad_mma(decoder, statement, {left_order == "row", right_order == "row", *c, *d});
  Product product = product_of(*size, *a, *b, *c, *d, statement);
  if (left_order != "row" || right_order != "col" || size->n != 8 || counts != (a == Element::b1) ||
      (saturate && (!is_integer(*a) || counts)) || (rounding >= 0 && a != Element::f64))
    throw Unsupported{statement.opcode};
  product.mode = static_cast<std::uint8_t>(rounding > 0 ? rounding : saturate || both ? 1 : 0);
  emit_product(decoder, statement, product);
}

}  // namespace

void add_mma(Table& table) { table.add({"mma", nullptr, {}, build_mma}); }

}  // namespace pkb::virtual_gpu
