// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/print.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/control.h"
#include "harness/virtual_gpu/exec/space.h"

// CUDA C++ Programming Guide, "Formatted Output".
namespace pkb::virtual_gpu {
namespace {

constexpr int kWidest = 4096;              // of a width or precision: a wrong one must not exhaust memory
constexpr std::size_t kLongest = 1 << 16;  // of a string

/// What stands between % and the conversion's letter.
struct Directive {
  std::string flags;
  int width = 0, precision = -1;  // -1: none
  bool wide = false;              // 8-byte integer
  char conversion = 0;
};

class Formatter {
 public:
  Formatter(std::string_view format, const PrintSource& source) : x_rest(format), x_source(source) {}

  Printed run() {
    while (!x_rest.empty()) {
      const std::size_t percent = std::min(x_rest.find('%'), x_rest.size());
      x_out.text += x_rest.substr(0, percent);
      x_rest.remove_prefix(percent);
      if (!x_rest.empty()) directive();
    }
    return std::move(x_out);
  }

 private:
  bool accept(char c) {
    if (!x_rest.starts_with(c)) return false;
    x_rest.remove_prefix(1);
    return true;
  }

  std::uint64_t take(std::uint32_t bytes) {
    x_offset = (x_offset + bytes - 1) / bytes * bytes;
    const std::uint64_t value = x_source.argument(x_offset, bytes);
    x_offset += bytes;
    ++x_out.arguments;
    return value;
  }

  int number() {
    if (accept('*')) return std::clamp(static_cast<int>(take(4)), -kWidest, kWidest);
    int value = 0;
    for (; !x_rest.empty() && x_rest[0] >= '0' && x_rest[0] <= '9'; x_rest.remove_prefix(1))
      value = std::min(10 * value + (x_rest[0] - '0'), kWidest);
    return value;
  }

  void directive() {
    const std::string_view whole = x_rest;
    x_rest.remove_prefix(1);
    if (accept('%')) {
      x_out.text += '%';
      return;
    }
    Directive d;
    for (; !x_rest.empty() && std::string_view("-+ #0").find(x_rest[0]) != std::string_view::npos;
         x_rest.remove_prefix(1))
      d.flags += x_rest[0];
    d.width = number();
    if (d.width < 0) {  // from '*': a flag and a width
      d.flags += '-';
      d.width = -d.width;
    }
    if (accept('.')) d.precision = number();
    int shorts = 0;
    while (accept('h')) ++shorts;
    while (accept('l') || accept('z') || accept('j') || accept('t')) d.wide = true;
    d.conversion = x_rest.empty() ? '\0' : x_rest[0];
    if (!x_rest.empty()) x_rest.remove_prefix(1);
    if (!convert(d, shorts)) x_out.text += whole.substr(0, whole.size() - x_rest.size());
  }

  // False where C has no such conversion.
  bool convert(const Directive& d, int shorts) {
    switch (d.conversion) {
      case 'd':
      case 'i':
        put(d, "ll", d.wide ? static_cast<long long>(take(8)) : signed_narrow(take(4), shorts));
        return true;
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        put(d, "ll", d.wide ? take(8) : unsigned_narrow(take(4), shorts));
        return true;
      case 'c':
        put(d, "", static_cast<int>(take(4)));
        return true;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        put(d, "", std::bit_cast<double>(take(8)));
        return true;
      case 'p':
        put(d, "", reinterpret_cast<void*>(take(8)));
        return true;
      case 's': {
        const std::uint64_t address = take(8);
        put(d, "", (address == 0 ? "(null)" : x_source.text(address)).c_str());
        return true;
      }
      default:
        return false;
    }
  }

  static long long signed_narrow(std::uint64_t bits, int shorts) {
    if (shorts >= 2) return static_cast<std::int8_t>(bits);
    return shorts == 1 ? static_cast<std::int16_t>(bits) : static_cast<std::int32_t>(bits);
  }
  static unsigned long long unsigned_narrow(std::uint64_t bits, int shorts) {
    return bits & (shorts >= 2 ? 0xff : shorts == 1 ? 0xffff : 0xffffffff);
  }

  template <class T>
  void put(const Directive& d, const char* length, T value) {
    const std::string width = d.width > 0 ? std::to_string(d.width) : "";
    const std::string precision = d.precision >= 0 ? fmt::format(".{}", d.precision) : "";
    const std::string spec = fmt::format("%{}{}{}{}{}", d.flags, width, precision, length, d.conversion);
    const int size = std::snprintf(nullptr, 0, spec.c_str(), value);
    if (size < 0) return;
    const std::size_t before = x_out.text.size();
    x_out.text.resize(before + static_cast<std::size_t>(size) + 1);
    std::snprintf(x_out.text.data() + before, static_cast<std::size_t>(size) + 1, spec.c_str(), value);
    x_out.text.pop_back();
  }

  std::string_view x_rest;
  const PrintSource& x_source;
  std::uint64_t x_offset = 0;
  Printed x_out;
};

/// The string at a generic address; ends early where the warp faults.
std::string read_text(Warp& warp, const Instruction& in, int lane, std::uint64_t address) {
  std::string text;
  while (text.size() < kLongest) {
    const std::byte* at =
        lane_address(warp, in, lane, ptx::Space::generic, address + text.size(), 1, Access::read);
    if (at == nullptr || *at == std::byte{0}) break;
    text += static_cast<char>(*at);
  }
  return text;
}

}  // namespace

Printed format_print(std::string_view format, const PrintSource& source) {
  return Formatter(format, source).run();
}

// Values in the list: result, format, arguments.
void print(Warp& warp, const Instruction& in) {
  const CallList list(warp.block().kernel(), in);
  const auto operand = [&](int lane, std::size_t index) {
    const Kernel::Parameter& place = list.values[index];
    return warp.local(lane, warp.frame().local_base + place.offset, place.bytes);
  };
  warp.progress();
  std::string output, format;
  std::uint64_t format_address = 0;
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::uint64_t wanted = 0, arguments = 0;
    std::memcpy(&wanted, operand(lane, 1), sizeof wanted);
    std::memcpy(&arguments, operand(lane, 2), sizeof arguments);
    std::int32_t result = -1;  // of a null format
    if (wanted != 0) {
      if (wanted != format_address) format = read_text(warp, in, lane, format_address = wanted);
      const PrintSource source = {
          [&](std::uint64_t offset, std::uint32_t bytes) {
            std::uint64_t value = 0;
            if (const std::byte* at = warp.faulted() ? nullptr
                                                     : lane_address(warp, in, lane, ptx::Space::generic,
                                                                    arguments + offset, bytes, Access::read))
              std::memcpy(&value, at, bytes);
            return value;
          },
          [&](std::uint64_t address) {
            return warp.faulted() ? std::string() : read_text(warp, in, lane, address);
          }};
      const Printed printed = format_print(format, source);
      if (warp.faulted()) break;
      output += printed.text;
      result = printed.arguments;
    }
    std::memcpy(operand(lane, 0), &result, sizeof result);
  }
  // One write a warp, so that blocks which run at the same time do not mix within a line.
  std::fwrite(output.data(), 1, output.size(), stdout);
  std::fflush(stdout);
}

}  // namespace pkb::virtual_gpu
