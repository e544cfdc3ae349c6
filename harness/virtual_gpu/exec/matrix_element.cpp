// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/matrix_element.h"

#include <bit>
#include <cstring>
#include <iterator>

#include "harness/virtual_gpu/exec/float8_type.h"
#include "harness/virtual_gpu/exec/half_type.h"

namespace pkb::virtual_gpu {
namespace {

struct Info {
  std::string_view name;
  unsigned bits;
};
constexpr Info kElements[] = {{"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"e4m3", 8}, {"e5m2", 8}, {"s8", 8},
                              {"u8", 8},   {"s4", 4},    {"u4", 4},    {"b1", 1},   {"f64", 64}};

template <class Bits, class Convert>
void each(const std::byte* from, std::size_t count, float* to, Convert convert) {
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    to[i] = convert(bits);
  }
}

float tf32(std::uint32_t bits) { return std::bit_cast<float>(bits & ~0x1fffu); }

}  // namespace

unsigned bits_of(Element element) { return kElements[static_cast<std::size_t>(element)].bits; }

std::optional<Element> element_from(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kElements); ++i)
    if (kElements[i].name == name) return static_cast<Element>(i);
  return std::nullopt;
}

void unpack(Element element, const std::byte* from, std::size_t count, float* to) {
  using Byte = std::uint8_t;
  switch (element) {
    case Element::f16:
      return each<std::uint16_t>(from, count, to, [](std::uint16_t bits) { return to_float(Half{bits}); });
    case Element::bf16:
      return each<std::uint16_t>(from, count, to, [](std::uint16_t bits) { return to_float(Brain{bits}); });
    case Element::tf32:
      return each<std::uint32_t>(from, count, to, tf32);
    case Element::e4m3:
      return each<Byte>(from, count, to, [](Byte bits) { return to_float(E4m3{bits}); });
    case Element::e5m2:
      return each<Byte>(from, count, to, [](Byte bits) { return to_float(E5m2{bits}); });
    case Element::s8:
      return each<std::int8_t>(from, count, to, [](std::int8_t value) { return static_cast<float>(value); });
    case Element::u8:
      return each<Byte>(from, count, to, [](Byte value) { return static_cast<float>(value); });
    case Element::s4:
    case Element::u4:
      for (std::size_t i = 0; i < count; ++i) {
        const int value = std::to_integer<int>(from[i / 2]) >> 4 * (i % 2) & 15;
        to[i] = static_cast<float>(element == Element::s4 && value > 7 ? value - 16 : value);
      }
      return;
    case Element::b1:
      for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<float>(std::to_integer<int>(from[i / 8]) >> i % 8 & 1);
      return;
    case Element::f64:
      return;
  }
}

}  // namespace pkb::virtual_gpu
