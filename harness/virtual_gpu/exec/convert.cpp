// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/convert.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "harness/virtual_gpu/exec/float.h"
#include "harness/virtual_gpu/exec/half_type.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/rounding.h"

// cvt (PTX ISA 9.7.9.21). The frequent conversions have vector code; the others go lane by lane through a
// type that holds every value of the source: a 128-bit integer or a double.
namespace pkb::virtual_gpu {
namespace {

using Integer = __int128;

/// What the slow handlers are told, in Instruction::immediate.
struct Request {
  std::uint8_t to_bits = 0, from_bits = 0;
  bool to_signed = false, from_signed = false;
  Rounding rounding = Rounding::nearest;
  bool to_integer_value = false;  ///< .rni, .rzi...: between floats, to a whole number
  bool saturate = false;
  bool flush = false;
};
static_assert(sizeof(Request) == sizeof(std::uint64_t));
Request request_of(const Instruction& in) { return std::bit_cast<Request>(in.immediate); }

Integer read_integer(std::uint64_t bits, const Request& request) {
  const int drop = 64 - request.from_bits;
  return request.from_signed ? Integer{static_cast<std::int64_t>(bits << drop) >> drop}
                             : Integer{bits << drop >> drop};
}

/// Registers hold a small integer extended to their width, by sign for a signed type.
std::uint64_t clamp_integer(Integer value, const Request& request) {
  const Integer one = 1;
  const Integer most = (one << (request.to_bits - (request.to_signed ? 1 : 0))) - 1;
  const Integer least = request.to_signed ? -most - 1 : 0;
  return static_cast<std::uint64_t>(value > most ? most : value < least ? least : value);
}

std::uint64_t wrap_integer(Integer value, const Request& request) {
  Request as_source = request;
  as_source.from_bits = request.to_bits;
  as_source.from_signed = request.to_signed;
  return static_cast<std::uint64_t>(read_integer(static_cast<std::uint64_t>(value), as_source));
}

double round_to_whole(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest:
      return std::nearbyint(value);
    case Rounding::zero:
      return std::trunc(value);
    case Rounding::down:
      return std::floor(value);
    case Rounding::up:
      return std::ceil(value);
    case Rounding::away:
      return std::round(value);
  }
  return value;
}

/// NaN becomes 0, or 1 << (width - 1) if a 64-bit type is involved.
std::uint64_t to_integer(double value, bool from_double, const Request& request) {
  if (value != value)
    return !from_double && request.to_bits != 64 ? 0
                                                 : wrap_integer(Integer{1} << (request.to_bits - 1), request);
  const double whole = round_to_whole(value, request.rounding);
  if (whole >= 0x1p64) return clamp_integer(Integer{1} << 64, request);
  if (whole <= -0x1p64) return clamp_integer(-(Integer{1} << 64), request);
  return clamp_integer(static_cast<Integer>(whole), request);
}

/// An integer as a double rounded to odd.
double odd_double(Integer value) {
  const double nearest = static_cast<double>(value);
  return to_odd(nearest, static_cast<double>(value - static_cast<Integer>(nearest)));
}

double widened(float a) { return a; }
double widened(double a) { return a; }
double widened(Half a) { return to_float(a); }
double widened(Brain a) { return to_float(a); }

template <class F>
F from_double(double value, Rounding rounding);
template <>
float from_double<float>(double value, Rounding rounding) {
  return canonical(to_float(value, rounding));
}
template <>
Half from_double<Half>(double value, Rounding rounding) {
  return to_half(value, rounding);
}
template <>
Brain from_double<Brain>(double value, Rounding rounding) {
  return to_brain(value, rounding);
}
template <>
double from_double<double>(double value, Rounding) {
  return value;
}

/// A NaN that narrows keeps its sign and the top of its payload, made quiet, unless it comes from f32 or
/// less.
template <class To>
To narrowed_nan(double value) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value) | 1ull << 51;
  const auto top = [bits](int fraction, int width) {
    const std::uint64_t exponent = ((1ull << (width - 1 - fraction)) - 1) << fraction;
    return bits >> 63 << (width - 1) | exponent | (bits << 12 >> 12 >> (52 - fraction));
  };
  if constexpr (std::is_same_v<To, float>)
    return std::bit_cast<float>(static_cast<std::uint32_t>(top(23, 32)));
  else if constexpr (std::is_same_v<To, Half>)
    return {static_cast<std::uint16_t>(top(10, 16))};
  else if constexpr (std::is_same_v<To, Brain>)
    return {static_cast<std::uint16_t>(top(7, 16))};
  else
    return std::bit_cast<double>(bits);
}

/// A 64-bit integer is the only value that a double cannot hold.
double to_double(Integer value, Rounding rounding) {
  const double nearest = static_cast<double>(value);
  const Integer back = static_cast<Integer>(nearest);
  if (back == value) return nearest;
  const double inf = std::numeric_limits<double>::infinity();
  const bool above = back > value;
  const bool down = rounding == Rounding::down || (rounding == Rounding::zero && value > 0);
  const bool up = rounding == Rounding::up || (rounding == Rounding::zero && value < 0);
  if (above && down) return std::nextafter(nearest, -inf);
  if (!above && up) return std::nextafter(nearest, inf);
  return nearest;
}

float flushed(float a) { return flush(a); }
double flushed(double a) { return a; }
Half flushed(Half a) { return a; }
Brain flushed(Brain a) { return a; }

template <class To, class From>  // registers, 4 or 8 bytes
void integer_to_integer(Warp& warp, const Instruction& in) {
  const Request request = request_of(in);
  const From* a = warp.at<From>(in.a);
  write<To, true>(warp, in.d, [&](int lane) {
    const Integer value = read_integer(a[lane], request);
    return static_cast<To>(request.saturate ? clamp_integer(value, request) : wrap_integer(value, request));
  });
}

template <class To, class F>
void float_to_integer(Warp& warp, const Instruction& in) {
  const Request request = request_of(in);
  const Reader<F> a(warp, in.a);
  write<To, true>(warp, in.d, [&](int lane) {
    const F value = request.flush ? flushed(a[lane]) : a[lane];
    return static_cast<To>(to_integer(widened(value), std::is_same_v<F, double>, request));
  });
}

template <class F, class From>
void integer_to_float(Warp& warp, const Instruction& in) {
  const Request request = request_of(in);
  const From* a = warp.at<From>(in.a);
  write<F, true>(warp, in.d, [&](int lane) {
    const Integer value = read_integer(a[lane], request);
    if constexpr (std::is_same_v<F, double>)
      return to_double(value, request.rounding);
    else
      return from_double<F>(odd_double(value), request.rounding);
  });
}

template <class To, class From>
void float_to_float(Warp& warp, const Instruction& in) {
  const Request request = request_of(in);
  const Reader<From> a(warp, in.a);
  write<To, true>(warp, in.d, [&](int lane) {
    double value = widened(request.flush ? flushed(a[lane]) : a[lane]);
    if (request.to_integer_value) value = round_to_whole(value, request.rounding);
    if (request.saturate) value = value > 0 ? (value < 1 ? value : 1.0) : 0.0;
    if (std::is_same_v<From, double> && value != value) return narrowed_nan<To>(value);
    const To result = from_double<To>(value, request.rounding);
    return request.flush ? flushed(result) : result;
  });
}

// The frequent ones.
template <class To, class From>
To plain(From a) {
  return static_cast<To>(a);
}
float half_to_float(Half a) { return canonical(to_float(a)); }
float brain_to_float(Brain a) { return to_float(a); }
float double_to_float(double a) { return static_cast<float>(a); }
double float_to_double(float a) { return a; }
float saturate_float(float a) { return saturate(a); }
std::int32_t truncate_to_int(float a) {
  // In range the conversion is exact; outside it, x86 gives INT_MIN, right for what is too small.
  const std::int32_t inside = static_cast<std::int32_t>(a < -0x1p31f ? -0x1p31f : a < 0x1p31f ? a : 0.0f);
  return a >= 0x1p31f ? std::numeric_limits<std::int32_t>::max() : inside;
}
bool is_float(ptx::Type type) {
  return type == ptx::Type::f16 || type == ptx::Type::bf16 || type == ptx::Type::f32 ||
         type == ptx::Type::f64;
}
bool is_integer(ptx::Type type) {
  const std::string_view name = ptx::name_of(type);
  return (name[0] == 'u' || name[0] == 's') && ptx::size_of(type) <= 8;
}
bool is_signed(ptx::Type type) { return ptx::name_of(type)[0] == 's'; }

/// Calls f with a value of the C++ type of a float type.
template <class F>
Handler for_float(ptx::Type type, F f) {
  switch (type) {
    case ptx::Type::f16:
      return f(Half{});
    case ptx::Type::bf16:
      return f(Brain{});
    case ptx::Type::f32:
      return f(float{});
    default:
      return f(double{});
  }
}

Handler slow_handler(ptx::Type to, ptx::Type from) {
  const bool wide_to = ptx::size_of(to) == 8, wide_from = ptx::size_of(from) == 8;
  using Word = std::uint32_t;
  using Quad = std::uint64_t;
  if (is_integer(to) && is_integer(from))
    return wide_to ? (wide_from ? integer_to_integer<Quad, Quad> : integer_to_integer<Quad, Word>)
                   : (wide_from ? integer_to_integer<Word, Quad> : integer_to_integer<Word, Word>);
  if (is_integer(to))
    return for_float(from, [&]<class F>(F) -> Handler {
      return wide_to ? float_to_integer<Quad, F> : float_to_integer<Word, F>;
    });
  if (is_integer(from))
    return for_float(to, [&]<class F>(F) -> Handler {
      return wide_from ? integer_to_float<F, Quad> : integer_to_float<F, Word>;
    });
  return for_float(to, [&]<class T>(T) -> Handler {
    return for_float(from, []<class F>(F) -> Handler { return float_to_float<T, F>; });
  });
}

void emit(Decoder& decoder, const ptx::Statement& statement, Handler handler, Slot to_slot, Slot from_slot,
          bool sign, const Request& request) {
  if (statement.operands.size() != 2) throw Unsupported{statement.opcode};
  const std::uint32_t from = decoder.source(statement.operands[1], from_slot);
  const std::uint32_t to = decoder.destination(statement.operands[0], to_slot, sign);
  Instruction& in = decoder.emit(handler);
  in.d = to;
  in.a = from;
  in.immediate = std::bit_cast<std::uint64_t>(request);
}

constexpr std::array<std::string_view, 5> kRoundings = {"rn", "rz", "rm", "rp", "rna"};
constexpr std::array<std::string_view, 4> kWholeRoundings = {"rni", "rzi", "rmi", "rpi"};
constexpr std::array<Rounding, 5> kRoundingOf = {Rounding::nearest, Rounding::zero, Rounding::down,
                                                 Rounding::up, Rounding::away};

void build_convert(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  const ptx::Type from = modifiers.take_type(), to = modifiers.take_type();
  Request request;
  if (const int whole = modifiers.take_any(kWholeRoundings); whole >= 0) {
    request.rounding = kRoundingOf[static_cast<std::size_t>(whole)];
    request.to_integer_value = true;
  } else if (const int rounding = modifiers.take_any(kRoundings); rounding >= 0) {
    request.rounding = kRoundingOf[static_cast<std::size_t>(rounding)];
  }
  request.flush = modifiers.take("ftz");
  request.saturate = modifiers.take("sat");
  modifiers.finish();
  if (!(is_float(to) || is_integer(to)) || !(is_float(from) || is_integer(from)))
    throw Unsupported{statement.opcode};
  request.to_bits = static_cast<std::uint8_t>(8 * ptx::size_of(to));
  request.from_bits = static_cast<std::uint8_t>(8 * ptx::size_of(from));
  request.to_signed = is_integer(to) && is_signed(to);
  request.from_signed = is_integer(from) && is_signed(from);
  const auto slot = [](ptx::Type type) { return ptx::size_of(type) == 8 ? Slot::quad : Slot::word; };
  emit(decoder, statement, slow_handler(to, from), slot(to), slot(from), request.to_signed, request);
}

/// Integer conversions without .sat: cutting off or extending.
template <class To>
void add_plain(Table& table, const std::string& to) {
  const auto add = [&]<class From>(From, const char* from) {
    table.add(lanes<plain<To, From>>("cvt." + to + "." + from));
  };
  add(std::uint8_t{}, "u8"), add(std::int8_t{}, "s8"), add(std::uint16_t{}, "u16"),
      add(std::int16_t{}, "s16");
  add(std::uint32_t{}, "u32"), add(std::int32_t{}, "s32"), add(std::uint64_t{}, "u64"),
      add(std::int64_t{}, "s64");
}

}  // namespace

void add_convert(Table& table) {
  table.add({"cvt", nullptr, {}, build_convert});
  // A register is 4 or 8 bytes wide here; what is narrower is extended to 4.
  add_plain<std::uint16_t>(table, "u16");
  add_plain<std::int16_t>(table, "s16");
  add_plain<std::uint32_t>(table, "u32");
  add_plain<std::int32_t>(table, "s32");
  add_plain<std::uint64_t>(table, "u64");
  add_plain<std::int64_t>(table, "s64");
  table.add(lanes<half_to_float>("cvt.f32.f16"), lanes<brain_to_float>("cvt.f32.bf16"),
            lanes<double_to_float>("cvt.rn.f32.f64"), lanes<float_to_double>("cvt.f64.f32"),
            lanes<saturate_float>("cvt.sat.f32.f32"), lanes<truncate_to_int>("cvt.rzi.s32.f32"),
            lanes<plain<float, std::int32_t>>("cvt.rn.f32.s32"),
            lanes<plain<float, std::uint32_t>>("cvt.rn.f32.u32"),
            lanes<plain<float, std::int16_t>>("cvt.rn.f32.s16"),
            lanes<plain<float, std::uint16_t>>("cvt.rn.f32.u16"),
            lanes<plain<double, std::int32_t>>("cvt.rn.f64.s32"),
            lanes<plain<double, std::uint32_t>>("cvt.rn.f64.u32"));
  add_convert_narrow(table);
}

}  // namespace pkb::virtual_gpu
