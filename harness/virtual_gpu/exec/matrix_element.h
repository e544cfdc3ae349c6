// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// The types of what matrix instructions multiply.
namespace pkb::virtual_gpu {

enum class Element : std::uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8, s4, u4, b1, f64 };

unsigned bits_of(Element element);
std::optional<Element> element_from(std::string_view name);
inline bool is_integer(Element element) { return element >= Element::s8 && element <= Element::b1; }

/// `count` elements, packed from the low bits on, as floats, which hold all of their values. Of tf32 the lower
/// 13 bits are ignored. Not f64.
void unpack(Element element, const std::byte* from, std::size_t count, float* to);

}  // namespace pkb::virtual_gpu
