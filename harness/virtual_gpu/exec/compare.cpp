// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/float.h"
#include "harness/virtual_gpu/exec/half_type.h"
#include "harness/virtual_gpu/exec/lanes.h"

// setp, set, selp, slct (PTX ISA 9.7.6, 9.7.7).
namespace pkb::virtual_gpu {
namespace {

template <class T>
bool is_nan(T a) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return a != a;
}

template <class T>
bool eq(T a, T b) {
  return a == b;
}
// ne is ordered: false for NaN, unlike C++'s.
template <class T>
bool ne(T a, T b) {
  return a != b && !is_nan(a) && !is_nan(b);
}
template <class T>
bool lt(T a, T b) {
  return a < b;
}
template <class T>
bool le(T a, T b) {
  return a <= b;
}
template <class T>
bool gt(T a, T b) {
  return a > b;
}
template <class T>
bool ge(T a, T b) {
  return a >= b;
}
template <class T>
bool equ(T a, T b) {
  return a == b || is_nan(a) || is_nan(b);
}
template <class T>
bool neu(T a, T b) {
  return a != b;
}
template <class T>
bool ltu(T a, T b) {
  return !(a >= b);
}
template <class T>
bool leu(T a, T b) {
  return !(a > b);
}
template <class T>
bool gtu(T a, T b) {
  return !(a <= b);
}
template <class T>
bool geu(T a, T b) {
  return !(a < b);
}
template <class T>
bool num(T a, T b) {
  return !is_nan(a) && !is_nan(b);
}
template <class T>
bool nan(T a, T b) {
  return is_nan(a) || is_nan(b);
}

template <bool (*f)(float, float)>
bool flushed(float a, float b) {
  return f(flush(a), flush(b));
}

/// 16-bit floats compare as the floats they are.
template <class H, bool (*f)(float, float)>
bool as_float(H a, H b) {
  return f(to_float(a), to_float(b));
}
template <class H, bool (*f)(float, float), int Shift>
bool half_of_two(std::uint32_t a, std::uint32_t b) {
  return f(to_float(H{static_cast<std::uint16_t>(a >> Shift)}),
           to_float(H{static_cast<std::uint16_t>(b >> Shift)}));
}

float flushed_half(Half a) { return std::fabs(to_float(a)) < 0x1p-14f ? 0.0f : to_float(a); }
template <bool (*f)(float, float)>
bool flushed_halves(Half a, Half b) {
  return f(flushed_half(a), flushed_half(b));
}
template <bool (*f)(float, float), int Shift>
bool flushed_half_of_two(std::uint32_t a, std::uint32_t b) {
  return flushed_halves<f>(Half{static_cast<std::uint16_t>(a >> Shift)},
                           Half{static_cast<std::uint16_t>(b >> Shift)});
}

/// One comparison of a type: what setp and set are made of.
struct Comparison {
  std::string name;  ///< "lt.f32", "lt.ftz.f32"
  Handler compare;
  Slot slot;
  Handler compare_high = nullptr;  ///< of the upper halves, for packed types
};

template <auto f>
constexpr Handler kHandler = LaneWise<f, false>::execute;

class Comparisons {
 public:
  Comparisons() {
    add_integers<std::uint16_t>("u16", true);
    add_integers<std::int16_t>("s16", true);
    add_integers<std::uint32_t>("u32", true);
    add_integers<std::int32_t>("s32", false);
    add_integers<std::uint64_t>("u64", true);
    add_integers<std::int64_t>("s64", false);
    for (const int width : {16, 32, 64})
      for (const char* test : {"eq", "ne"}) {
        Comparison same = *find(fmt::format("{}.u{}", test, width));
        same.name = fmt::format("{}.b{}", test, width);
        x_all.push_back(same);
      }
    add_floats<float>("f32");
    add_floats<double>("f64");
    add_flushed("ftz.f32");
    add_halves<Half>("f16");
    add_flushed_halves("ftz.f16");
    add_halves<Brain>("bf16");
    add_packed<Half>("f16x2");
    add_flushed_packed("ftz.f16x2");
    add_packed<Brain>("bf16x2");
  }
  const Comparison* find(const std::string& name) const {
    for (const Comparison& comparison : x_all)
      if (comparison.name == name) return &comparison;
    return nullptr;
  }

 private:
  template <auto f>
  void add(const std::string& name) {
    x_all.push_back({name, kHandler<f>, LaneWise<f, false>::kSlots[1]});
  }
  template <class T>
  void add_integers(const std::string& type, bool is_unsigned) {
    add<eq<T>>("eq." + type), add<ne<T>>("ne." + type), add<lt<T>>("lt." + type);
    add<le<T>>("le." + type), add<gt<T>>("gt." + type), add<ge<T>>("ge." + type);
    if (is_unsigned)
      add<lt<T>>("lo." + type), add<le<T>>("ls." + type), add<gt<T>>("hi." + type), add<ge<T>>("hs." + type);
  }
  template <class T>
  void add_floats(const std::string& type) {
    add<eq<T>>("eq." + type), add<ne<T>>("ne." + type), add<lt<T>>("lt." + type), add<le<T>>("le." + type);
    add<gt<T>>("gt." + type), add<ge<T>>("ge." + type), add<equ<T>>("equ." + type),
        add<neu<T>>("neu." + type);
    add<ltu<T>>("ltu." + type), add<leu<T>>("leu." + type), add<gtu<T>>("gtu." + type),
        add<geu<T>>("geu." + type);
    add<num<T>>("num." + type), add<nan<T>>("nan." + type);
  }
  void add_flushed(const std::string& type) {
    add_each([&]<bool (*f)(float, float)>(const char* test) { add<flushed<f>>(test + type); });
  }
  template <class H>
  void add_halves(const std::string& type) {
    add_each([&]<bool (*f)(float, float)>(const char* test) { add<as_float<H, f>>(test + type); });
  }
  template <class H>
  void add_packed(const std::string& type) {
    add_each([&]<bool (*f)(float, float)>(const char* test) {
      x_all.push_back(
          {test + type, kHandler<half_of_two<H, f, 0>>, Slot::word, kHandler<half_of_two<H, f, 16>>});
    });
  }
  void add_flushed_halves(const std::string& type) {
    add_each([&]<bool (*f)(float, float)>(const char* test) { add<flushed_halves<f>>(test + type); });
  }
  void add_flushed_packed(const std::string& type) {
    add_each([&]<bool (*f)(float, float)>(const char* test) {
      x_all.push_back({test + type, kHandler<flushed_half_of_two<f, 0>>, Slot::word,
                       kHandler<flushed_half_of_two<f, 16>>});
    });
  }
  template <class Add>
  void add_each(Add add_one) {
    add_one.template operator()<eq<float>>("eq."), add_one.template operator()<ne<float>>("ne.");
    add_one.template operator()<lt<float>>("lt."), add_one.template operator()<le<float>>("le.");
    add_one.template operator()<gt<float>>("gt."), add_one.template operator()<ge<float>>("ge.");
    add_one.template operator()<equ<float>>("equ."), add_one.template operator()<neu<float>>("neu.");
    add_one.template operator()<ltu<float>>("ltu."), add_one.template operator()<leu<float>>("leu.");
    add_one.template operator()<gtu<float>>("gtu."), add_one.template operator()<geu<float>>("geu.");
    add_one.template operator()<num<float>>("num."), add_one.template operator()<nan<float>>("nan.");
  }

  std::vector<Comparison> x_all;
};

const Comparisons& comparisons() {
  static const Comparisons all;
  return all;
}

bool both(bool a, bool b) { return a && b; }
bool either(bool a, bool b) { return a || b; }
bool one_of(bool a, bool b) { return a != b; }
bool not_(bool a) { return !a; }

struct Combination {
  std::string_view name;
  Handler handler;
};
constexpr std::array<Combination, 3> kCombinations = {
    {{"and", kHandler<both>}, {"or", kHandler<either>}, {"xor", kHandler<one_of>}}};

/// "setp.lt.and.ftz.f32" -> "lt.ftz.f32", and the index of the Boolean operator or -1.
std::pair<std::string, int> split_name(std::string_view opcode) {
  std::string name(opcode.substr(opcode.find('.') + 1));
  for (std::size_t i = 0; i < kCombinations.size(); ++i) {
    const std::string part = fmt::format(".{}.", kCombinations[i].name);
    if (const auto at = name.find(part); at != std::string::npos)
      return {name.erase(at, part.size() - 1), int(i)};
  }
  return {name, -1};
}

/// Emits d = compare(a, b) and, if `combination` is not negative, that combined with predicate c.
void emit_comparison(Decoder& decoder, Handler compare, Slot slot, int combination,
                     const ptx::Statement& statement, std::uint32_t to, bool inverted) {
  const std::uint32_t a = decoder.source(statement.operands[1], slot);
  const std::uint32_t b = decoder.source(statement.operands[2], slot);
  std::uint32_t c = 0;
  if (combination >= 0) {
    if (statement.operands.size() != 4) throw Unsupported{statement.opcode};
    c = decoder.source(statement.operands[3], Slot::predicate);
  }
  const bool direct = combination < 0 && !inverted;
  std::uint32_t result = direct ? to : decoder.temporary(Slot::predicate);
  Instruction& in = decoder.emit(compare);
  in.d = result;
  in.a = a;
  in.b = b;
  if (inverted) {
    const std::uint32_t next = combination < 0 ? to : result;
    Instruction& invert = decoder.emit(kHandler<not_>);
    invert.d = next;
    invert.a = result;
    result = next;
  }
  if (combination >= 0) {
    Instruction& combine = decoder.emit(kCombinations[static_cast<std::size_t>(combination)].handler);
    combine.d = to;
    combine.a = result;
    combine.b = c;
  }
}

// setp.test{.op}{.ftz}.type p{|q}, a, b{, {!}c}: q is the combination with the opposite comparison, or for
// packed types the upper halves'.
void build_setp(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  const auto [name, combination] = split_name(statement.opcode);
  const Comparison* comparison = comparisons().find(name);
  if (comparison == nullptr || statement.operands.size() < 3) throw Unsupported{statement.opcode};
  const ptx::Operand& to = statement.operands[0];
  const bool two = to.kind == ptx::Operand::Kind::pair;
  const std::uint32_t first = decoder.destination(two ? to.elements.at(0) : to, Slot::predicate);
  if (!two) {
    emit_comparison(decoder, comparison->compare, comparison->slot, combination, statement, first, false);
    return;
  }
  // Both are computed before either is written: c or the guard may be one of them.
  const std::uint32_t second = decoder.destination(to.elements.at(1), Slot::predicate);
  const std::uint32_t p = decoder.temporary(Slot::predicate), q = decoder.temporary(Slot::predicate);
  emit_comparison(decoder, comparison->compare, comparison->slot, combination, statement, p, false);
  if (comparison->compare_high != nullptr)
    emit_comparison(decoder, comparison->compare_high, comparison->slot, combination, statement, q, false);
  else
    emit_comparison(decoder, comparison->compare, comparison->slot, combination, statement, q, true);
  Instruction& in = decoder.emit([](Warp& warp, const Instruction& both) {
    const std::uint32_t mask = warp.mask(), low = warp.predicate(both.a), high = warp.predicate(both.b);
    warp.predicate(both.d) = (warp.predicate(both.d) & ~mask) | (low & mask);
    warp.predicate(both.e) = (warp.predicate(both.e) & ~mask) | (high & mask);
  });
  in.d = first;
  in.e = second;
  in.a = p;
  in.b = q;
}

std::uint32_t all_ones(bool a) { return a ? ~0u : 0; }
float one(bool a) { return a ? 1.0f : 0.0f; }
std::uint32_t half_one(bool a) { return a ? 0x3c00 : 0; }
std::uint32_t brain_one(bool a) { return a ? 0x3f80 : 0; }
template <std::uint32_t value>
std::uint32_t two_values(bool low, bool high) {
  return (low ? value : 0) | (high ? value << 16 : 0);
}

// set.test{.op}{.ftz}.dtype.type d, a, b{, {!}c}: all ones or 1.0 where it holds.
void build_set(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  auto [name, combination] = split_name(statement.opcode);
  const std::size_t last = name.rfind('.');
  const std::size_t before = last == std::string::npos ? last : name.rfind('.', last - 1);
  if (before == std::string::npos || statement.operands.size() < 3) throw Unsupported{statement.opcode};
  const std::string type = name.substr(before + 1, last - before - 1);
  const Comparison* comparison = comparisons().find(name.erase(before, last - before));
  if (comparison == nullptr) throw Unsupported{statement.opcode};
  const std::uint32_t low = decoder.temporary(Slot::predicate);
  emit_comparison(decoder, comparison->compare, comparison->slot, combination, statement, low, false);
  Handler value = nullptr;
  std::uint32_t high = 0;
  if (comparison->compare_high != nullptr) {
    high = decoder.temporary(Slot::predicate);
    emit_comparison(decoder, comparison->compare_high, comparison->slot, combination, statement, high, false);
    value = type == "f16x2"    ? kHandler<two_values<0x3c00>>
            : type == "bf16x2" ? kHandler<two_values<0x3f80>>
                               : kHandler<two_values<0xffff>>;
  } else if (type == "f32") {
    value = kHandler<one>;
  } else if (type == "f16") {
    value = kHandler<half_one>;
  } else if (type == "bf16") {
    value = kHandler<brain_one>;
  } else {
    value = kHandler<all_ones>;
  }
  const std::uint32_t to = decoder.destination(statement.operands[0], Slot::word);
  Instruction& in = decoder.emit(value);
  in.d = to;
  in.a = low;
  in.b = high;
}

template <class T>
void selp(Warp& warp, const Instruction& in) {
  const Stored<T>*a = warp.at<Stored<T>>(in.a), *b = warp.at<Stored<T>>(in.b);
  const std::uint32_t chosen = warp.predicate(in.c);
  write<Stored<T>>(warp, in.d, [=](int lane) { return choose(chosen, lane, a[lane], b[lane]); });
}
template <class T>
T slct_integer(T a, T b, std::int32_t c) {
  return c >= 0 ? a : b;
}
template <class T>
T slct_float(T a, T b, float c) {
  return c >= 0 ? a : b;
}  // NaN selects b
template <class T>
T slct_flushed(T a, T b, float c) {
  return flush(c) >= 0 ? a : b;
}

template <class T>
void add_selections(Table& table, std::initializer_list<const char*> types) {
  for (const std::string type : types) {
    table.add(
        {"selp." + type, selp<T>, {slot_of<T>(), slot_of<T>(), slot_of<T>(), Slot::predicate}, nullptr});
    table.add(lanes<slct_integer<T>>("slct." + type + ".s32"), lanes<slct_float<T>>("slct." + type + ".f32"),
              lanes<slct_flushed<T>>("slct.ftz." + type + ".f32"));
  }
}

}  // namespace

void add_compare(Table& table) {
  table.add_all({{"setp", nullptr, {}, build_setp}, {"set", nullptr, {}, build_set}});
  add_selections<std::uint16_t>(table, {"b16", "u16", "s16", "f16", "bf16"});
  add_selections<std::uint32_t>(table, {"b32", "u32", "s32", "f32", "f16x2", "bf16x2"});
  add_selections<std::uint64_t>(table, {"b64", "u64", "s64", "f64"});
}

}  // namespace pkb::virtual_gpu
