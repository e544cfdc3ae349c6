// SPDX-License-Identifier: Apache-2.0
// Thousands of damaged texts and images: each is read or gives ParseError. AddressSanitizer sees overruns.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {
namespace {

std::string file(const std::string& name) {
  std::ifstream stream(std::string(PKB_PTX_TESTDATA) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Parses and lays out; says whether the text was refused.
bool refused(const std::string& text) {
  try {
    const Module module = parse(text);
    for (const Function& function : module.functions)
      if (!function.declared_only) lay_out(function);
  } catch (const ParseError& e) {
    EXPECT_NE(std::string(e.what()), "");
    return true;
  }
  return false;
}

bool image_refused(const std::string& image) {
  try {
    for (const Embedded& embedded : extract_ptx(std::as_bytes(std::span(image)))) refused(embedded.text);
  } catch (const ParseError&) {
    return true;
  }
  return false;
}

// One damage: characters replaced, deleted, doubled or moved, or a word put where another was.
std::string damage(std::string text, std::mt19937& random) {
  static constexpr const char* kWords[] = {
      "{",        "}",         "(",       ")",       "[",       "]",        ";",    ",",
      ":",        "@",         "!",       "|",       "<",       ">",        "\"",   "/*",
      "//",       "\n",        "%",       ".",       "::",      "0x",       "0f",   "99999999999999999999",
      "-",        "_",         "ret;",    "bra",     ".reg",    ".section", ".loc", ".param",
      ".align 3", "%r<70000>", "[1<<40]", "WARP_SZ", "generic("};
  for (int n = 1 + int(random() % 3); n > 0; --n) {
    const std::size_t at = random() % text.size(),
                      length = std::min<std::size_t>(1 + random() % 20, text.size() - at);
    switch (random() % 5) {
      case 0:
        text[at] = char(random());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      case 3:
        text.insert(random() % text.size(), text.substr(at, length));
        break;
      default:
        text.replace(at, random() % 4, kWords[random() % std::size(kWords)]);
        break;
    }
    if (text.empty()) break;
  }
  return text;
}

class Robustness : public testing::Test {
 protected:
  // Processor time, which a busy machine does not stretch.
  void TearDown() override { EXPECT_LT(double(std::clock() - x_start) / CLOCKS_PER_SEC, 10); }

 private:
  std::clock_t x_start = std::clock();
};

TEST_F(Robustness, DamagedTexts) {
  const std::string text = file("kernels.ptx");
  ASSERT_FALSE(refused(text));
  std::mt19937 random(3);
  int refusals = 0;
  for (int i = 0; i < 3000; ++i) refusals += refused(damage(text, random));
  EXPECT_GT(refusals, 1000) << "the damage does not reach the parser";
  EXPECT_LT(refusals, 3000) << "an accepted one must be laid out now and then";
}

TEST_F(Robustness, CutTexts) {
  const std::string text = file("kernels.ptx");
  for (std::size_t end = 0; end < text.size(); end += 5) refused(text.substr(0, end));
}

TEST_F(Robustness, DamagedAndCutImages) {
  for (const char* name : {"scale_none.fatbin", "scale_speed.fatbin", "scale_balance.fatbin"}) {
    const std::string image = file(name);
    ASSERT_FALSE(image_refused(image));
    for (std::size_t end = 0; end < image.size(); ++end)
      EXPECT_TRUE(image_refused(image.substr(0, end))) << name;
    std::mt19937 random(5);
    for (int i = 0; i < 3000; ++i) {
      std::string damaged = image;
      for (int n = 1 + int(random() % 3); n > 0; --n) damaged[random() % damaged.size()] = char(random());
      image_refused(damaged);
    }
  }
}

TEST_F(Robustness, LargeFunctionsStayLinear) {
  std::string text = ".entry k { .reg .pred %p<2>; .reg .b32 %r<20001>;\n";
  for (int i = 0; i < 20000; ++i)
    text += fmt::format(
        "{{ .reg .b32 t; .reg .pred w; L: mov.b32 t, 1; add.s32 %r{}, %r{}, t; setp.ne.s32 w, t, 0; @w bra "
        "L; }}\n",
        i + 1, i);
  EXPECT_FALSE(refused(text + "}"));
  std::string chain = ".entry k { .reg .pred %p<2>;\n";
  for (int i = 0; i < 20000; ++i) chain += fmt::format("L{}: bra L{};\n", i, (i + 1) % 20000);
  EXPECT_FALSE(refused(chain + "}"));
}

}  // namespace
}  // namespace pkb::virtual_gpu::ptx
