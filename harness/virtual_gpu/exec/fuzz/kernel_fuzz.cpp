// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/decode.h"
#include "harness/virtual_gpu/exec/fuzz/run_bounded.h"

// Kernels composed of valid statements: the bytes choose forms, registers, numbers, guards and branch targets.
// Forms of lane-wise instructions come from the table of instructions, the others from forms.txt.
namespace pkb::virtual_gpu {
namespace {

constexpr std::size_t kLabels = 8, kStatementsPerLabel = 3;

constexpr std::string_view kBegin = R"(.version 9.0
.target sm_90a
.address_size 64
.func (.param .b32 out) twice(.param .b32 in) {
.reg .b32 %r<3>;
ld.param.b32 %r1, [in];
add.s32 %r2, %r1, %r1;
st.param.b32 [out], %r2;
ret;
}
.visible .entry k(.param .u64 buffer, .param .u32 zero) {
.reg .pred %p<8>;
.reg .b16 %h<8>;
.reg .b32 %r<8>;
.reg .f32 %f<8>;
.reg .b64 %rd<8>;
.reg .f64 %fd<8>;
.shared .align 128 .b8 sh[2048];
.local .align 16 .b8 lo[64];
.param .b32 in0;
.param .b32 out0;
T: .branchtargets L0, L1, L2;
P: .callprototype (.param .b32 _) _ (.param .b32 _);
ld.param.u64 %rd0, [buffer];
mov.u32 %r0, %tid.x;
mov.u32 %r1, sh;
mad.wide.u32 %rd1, %r0, 16, %rd0;
mad.lo.u32 %r2, %r0, 16, %r1;
mov.u64 %rd2, sh;
cvta.shared.u64 %rd2, %rd2;
mov.u64 %rd3, twice;
)";

constexpr std::string_view kNumbers[] = {"0",  "1",  "2",   "3",   "4",    "8",    "15",         "16",
                                         "31", "32", "-1",  "255", "1024", "2032", "0x80000000", "4080",
                                         "5",  "7",  "-16", "64",  "65",   "4096", "0xffffffff", "0x7fffffff"};

std::string form_of(const std::string& name, const std::array<Slot, 5>& slots) {
  std::string form = name, separator = " ";
  for (const Slot slot : slots) {
    if (slot == Slot::none) break;
    form += separator + (slot == Slot::predicate ? "%p?" : slot == Slot::word ? "%r?" : "%rd?");
    separator = ", ";
  }
  return form;
}

const std::vector<std::string>& forms() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> found;
    std::ifstream file(PKB_FUZZ_FORMS);
    for (std::string line; std::getline(file, line);)
      if (!line.empty()) found.push_back(line);
    if (found.empty()) std::abort();
    for (const std::string& name : Table::instance().names())
      if (const Entry* entry = Table::instance().find(name); entry->build == nullptr)
        found.push_back(form_of(name, entry->slots));
    return found;
  }();
  return all;
}

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : x_data(data), x_end(data + size) {}
  bool empty() const { return x_data == x_end; }
  unsigned next() { return empty() ? 0 : *x_data++; }

 private:
  const std::uint8_t *x_data, *x_end;
};

/// A form with its holes filled: `?` is a register's number, `#` a number, `@` a label.
std::string statement(const std::string& form, Bytes& bytes) {
  std::string text;
  for (const char c : form) {
    if (c == '?')
      text += std::to_string(bytes.next() % 8);
    else if (c == '#')
      text += kNumbers[bytes.next() % std::size(kNumbers)];
    else if (c == '@')
      text += fmt::format("L{}", bytes.next() % kLabels);
    else
      text += c;
  }
  return text;
}

std::string compose(Bytes& bytes) {
  std::string text(kBegin);
  for (std::size_t i = 0; i < kLabels * kStatementsPerLabel; ++i) {
    if (i % kStatementsPerLabel == 0) text += fmt::format("L{}:\n", i / kStatementsPerLabel);
    if (bytes.empty()) continue;
    const unsigned guard = bytes.next(), low = bytes.next(), high = bytes.next();
    if (guard < 64) text += fmt::format("@{}%p{} ", guard % 2 == 0 ? "" : "!", guard / 2 % 8);
    text += statement(forms()[(high << 8 | low) % forms().size()], bytes) + ";\n";
  }
  return text + "ret;\n}\n";
}

}  // namespace
}  // namespace pkb::virtual_gpu

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pkb::virtual_gpu;
  Bytes bytes(data, size);
  const unsigned threads = 1 + bytes.next() % 80, seed = bytes.next();
  const std::string text = compose(bytes);
  if (std::getenv("PKB_FUZZ_PRINT") != nullptr) fmt::print(stderr, "{}", text);
  run_bounded(text, threads, seed);
  return 0;
}
