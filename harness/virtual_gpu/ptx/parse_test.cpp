// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {
namespace {

using testing::ElementsAre;
using Kind = Operand::Kind;

constexpr const char* kHead = ".version 9.0\n.target sm_90a\n.address_size 64\n";

// Line 1 is the head, so that statements of `body` begin on line 2.
Function kernel(const std::string& body) {
  Module module = parse(
      ".version 9.0 .target sm_90a .address_size 64 .entry k(.param .u64 a) { .reg .pred %p<4>; "
      ".reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>;\n" +
      body + "\n}");
  return std::move(module.functions.at(0));
}

Operand operand(const std::string& text) { return kernel("x " + text + ";").body.at(0).operands.at(0); }

Variable variable(const std::string& text) { return parse(kHead + text).variables.at(0); }

std::vector<int> bytes(const Variable& variable) {
  std::vector<int> values;
  for (const std::byte b : variable.initial) values.push_back(int(b));
  return values;
}

std::string error(const std::string& text) {
  try {
    parse(text);
  } catch (const ParseError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Types, NamesAndSizes) {
  EXPECT_EQ(type_from("bf16x2"), Type::bf16x2);
  EXPECT_EQ(type_from("none"), std::nullopt);
  EXPECT_EQ(type_from("u33"), std::nullopt);
  EXPECT_EQ(name_of(Type::s64), "s64");
  EXPECT_EQ(size_of(Type::pred), 1u);
  EXPECT_EQ(size_of(Type::f16x2), 4u);
  EXPECT_EQ(size_of(Type::b128), 16u);
}

TEST(Module, Head) {
  const Module module = parse("\n\n.version 9.0\n.target sm_90a, debug\n.address_size 64\n.pragma \"x\";\n");
  EXPECT_EQ(module.version, "9.0");
  EXPECT_EQ(module.target, "sm_90a");
}

TEST(Module, FilesSectionsAliasesAndTheClosingZero) {
  const Module module = parse(std::string(kHead) + R"(.file	1 "a.cu", 1700000000, 52
.file 2 "dir/b.cuh"
.section	.debug_str
{
$L__info_string0:
.b8 95,90,0
}
.alias f, g;
.global .u32 after;
)" + std::string("\0 .rubbish", 10));
  EXPECT_EQ(module.files.at(1), "a.cu");
  EXPECT_EQ(module.files.at(2), "dir/b.cuh");
  EXPECT_EQ(module.aliases.at("f"), "g");
  EXPECT_EQ(module.variables.at(0).name, "after");
}

TEST(Module, ADefinitionReplacesItsDeclarations) {
  const Module module = parse(std::string(kHead) + R"(
.func (.param .b32 r) f (.param .b32 a);
.extern .global .u32 v;
.visible .func (.param .b32 r) f (.param .b32 a) { ret; }
.func (.param .b32 r) f (.param .b32 a);
.global .u32 v = 3;
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
)");
  ASSERT_EQ(module.functions.size(), 2u);
  EXPECT_FALSE(module.functions[0].declared_only);
  EXPECT_TRUE(module.functions[1].declared_only);
  EXPECT_EQ(module.functions[1].parameters.size(), 2u);
  ASSERT_EQ(module.variables.size(), 1u);
  EXPECT_FALSE(module.variables[0].external);
}

TEST(Module, KernelAttributesAndParameters) {
  const Module module = parse(std::string(kHead) + R"(
.weak .entry k(
	.param .u64 .ptr .global .align 16 p,
	.param .align 64 .b8 map[128],
	.param .v4 .f32 q
)
.maxntid 256, 2
.reqntid 64, 1, 4
.minnctapersm 2
.maxnreg 128
.explicitcluster
.reqnctapercluster 2, 1, 1
.maxclusterrank 8
.noreturn
.pragma "nounroll";
{
	ret;
}
.entry none { ret; }
)");
  const Function& k = module.functions.at(0);
  EXPECT_TRUE(k.kernel);
  EXPECT_THAT(k.max_threads, ElementsAre(256, 2, 1));
  EXPECT_THAT(k.required_threads, ElementsAre(64, 1, 4));
  EXPECT_THAT(k.cluster, ElementsAre(2, 1, 1));
  EXPECT_EQ(k.max_cluster, 8u);
  EXPECT_TRUE(k.explicit_cluster);
  EXPECT_EQ(k.min_blocks, 2u);
  EXPECT_EQ(k.max_registers, 128u);
  ASSERT_EQ(k.parameters.size(), 3u);
  EXPECT_EQ(k.parameters[0].align, 8u) << "16 is the alignment of what it points to";
  EXPECT_EQ(k.parameters[1].align, 64u);
  EXPECT_EQ(k.parameters[1].bytes, 128u);
  EXPECT_EQ(k.parameters[2].bytes, 16u);
  EXPECT_EQ(k.parameters[2].align, 16u);
  EXPECT_EQ(module.functions.at(1).parameters.size(), 0u);
}

TEST(Variables, Initialisers) {
  EXPECT_THAT(bytes(variable(".global .align 4 .b8 x[6] = {1, 0x2, 3};")), ElementsAre(1, 2, 3, 0, 0, 0));
  EXPECT_THAT(bytes(variable(".global .s16 x[] = {-1, 017};")), ElementsAre(255, 255, 15, 0));
  EXPECT_THAT(bytes(variable(".const .f32 x = 1;")), ElementsAre(0, 0, 0x80, 0x3f));
  EXPECT_THAT(bytes(variable(".const .f32 x[2] = {-1.5, 0f40000000};")),
              ElementsAre(0, 0, 0xc0, 0xbf, 0, 0, 0, 0x40));
  EXPECT_THAT(bytes(variable(".global .f64 x = 2.0;")), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0x40));
  EXPECT_THAT(bytes(variable(".global .u8 x[2][3] = {{1}, {4, 5}};")), ElementsAre(1, 0, 0, 4, 5, 0));
  EXPECT_THAT(bytes(variable(".global .v2 .u8 x[2] = {{1, 2}, {3, 4}};")), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(bytes(variable(".global .u8 x;")), ElementsAre());
  const Variable dynamic = variable(".extern .shared .align 16 .b8 dynamic[];");
  EXPECT_EQ(dynamic.bytes, 0u);
  EXPECT_EQ(dynamic.align, 16u);
  EXPECT_EQ(dynamic.space, Space::shared);
  EXPECT_TRUE(dynamic.external);
  EXPECT_EQ(variable(".global .attribute(.managed) .align 4 .u32 m[3][5];").bytes, 60u);
}

TEST(Variables, Addresses) {
  const Variable list = variable(".global .align 8 .u64 x[3] = {generic(a), 5, b+8};");
  ASSERT_EQ(list.relocations.size(), 2u);
  EXPECT_EQ(list.relocations[0].symbol, "a");
  EXPECT_EQ(list.relocations[0].offset, 0u);
  EXPECT_EQ(list.relocations[0].bytes, 8u);
  EXPECT_EQ(list.relocations[1].symbol, "b");
  EXPECT_EQ(list.relocations[1].offset, 16u);
  EXPECT_EQ(list.relocations[1].addend, 8u);
  EXPECT_EQ(list.initial.at(8), std::byte(5));
  const Variable packed = variable(".global .u8 x[3] = {7, 0XFF(generic($s)+2), 0xFF0000(t)};");
  ASSERT_EQ(packed.relocations.size(), 2u);
  EXPECT_EQ(packed.relocations[0].symbol, "$s");
  EXPECT_EQ(packed.relocations[0].addend, 2u);
  EXPECT_EQ(packed.relocations[0].shift, 0u);
  EXPECT_EQ(packed.relocations[1].offset, 2u);
  EXPECT_EQ(packed.relocations[1].bytes, 1u);
  EXPECT_EQ(packed.relocations[1].shift, 16u);
}

struct Integer {
  const char* name;
  const char* text;
  std::uint64_t bits;
};
class Integers : public testing::TestWithParam<Integer> {};

TEST_P(Integers, Evaluate) {
  const Operand value = operand(GetParam().text);
  EXPECT_EQ(value.kind, Kind::integer);
  EXPECT_EQ(value.bits, GetParam().bits);
}

INSTANTIATE_TEST_SUITE_P(
    Constants, Integers,
    testing::Values(Integer{"Decimal", "42", 42}, Integer{"Hexadecimal", "0xfF", 255},
                    Integer{"Octal", "017", 15}, Integer{"Binary", "0b101", 5},
                    Integer{"Unsigned", "0xffffffffffffffffU", ~0ull}, Integer{"Negative", "-1", ~0ull},
                    Integer{"Complement", "~0", ~0ull}, Integer{"WarpSize", "WARP_SZ", 32},
                    Integer{"Precedence", "1+2*3", 7}, Integer{"Parentheses", "(1+2)*3", 9},
                    Integer{"LeftToRight", "10-4-3", 3}, Integer{"SignedQuotient", "-7/2", std::uint64_t(-3)},
                    Integer{"UnsignedQuotient", "-2/2U", 0x7fffffffffffffffull},
                    Integer{"LeastByMinusOne", "(-0x7fffffffffffffff-1)/-1", 1ull << 63},
                    Integer{"Remainder", "-7 % 4", std::uint64_t(-3)}, Integer{"TightRemainder", "7%4", 3},
                    Integer{"ArithmeticShift", "-8>>1", std::uint64_t(-4)},
                    Integer{"LogicalShift", "(.u64)-8>>60", 15}, Integer{"LongShift", "1<<64", 0},
                    Integer{"Conditional", "1<2 ? 5 : 6", 5}, Integer{"Not", "!0", 1},
                    Integer{"Masks", "0xf0|0x0c&0x05^0x01", 0xf5}, Integer{"Logic", "1&&0||1", 1}),
    [](const auto& test) { return test.param.name; });

TEST(Operands, Reals) {
  const Operand single = operand("0f3F800000");
  EXPECT_EQ(single.kind, Kind::real);
  EXPECT_EQ(single.type, Type::f32);
  EXPECT_EQ(single.bits, 0x3f800000u);
  EXPECT_EQ(operand("-0F3F800000").bits, 0xbf800000u);
  EXPECT_EQ(operand("0d3FF0000000000000").type, Type::f64);
  EXPECT_EQ(operand("0d3FF0000000000000").bits, 0x3ff0000000000000u);
  EXPECT_EQ(operand("-2.5e-3").bits, std::bit_cast<std::uint64_t>(-2.5e-3));
  EXPECT_EQ(operand("1e+3").bits, std::bit_cast<std::uint64_t>(1000.0));
  EXPECT_EQ(operand("1.5*4").bits, std::bit_cast<std::uint64_t>(6.0));
}

TEST(Operands, RegistersSpecialsSymbolsAndSinks) {
  const Function f = kernel("x %r7, !%p2, %tid.x, %laneid, _, sym+4, sym-4, %r8, %r03;");
  const std::vector<Operand>& o = f.body.at(0).operands;
  ASSERT_EQ(o.size(), 9u);
  EXPECT_EQ(f.registers.at(o[0].index).name, "%r7");
  EXPECT_EQ(f.registers.at(o[0].index).type, Type::b32);
  EXPECT_EQ(f.registers.at(o[1].index).name, "%p2");
  EXPECT_TRUE(o[1].negated);
  EXPECT_EQ(o[2].kind, Kind::special);
  EXPECT_EQ(o[2].name, "%tid.x");
  EXPECT_EQ(o[3].name, "%laneid");
  EXPECT_EQ(o[4].kind, Kind::sink);
  EXPECT_EQ(o[5].kind, Kind::symbol);
  EXPECT_EQ(o[5].name, "sym");
  EXPECT_EQ(o[5].bits, 4u);
  EXPECT_EQ(o[6].bits, std::uint64_t(-4));
  EXPECT_EQ(o[7].kind, Kind::special) << "%r<8> ends with %r7";
  EXPECT_EQ(o[8].kind, Kind::special) << "%r03 is not %r3";
}

TEST(Operands, Addresses) {
  const Operand base = operand("[%rd3+-8]");
  EXPECT_EQ(base.kind, Kind::address);
  EXPECT_TRUE(base.has_base);
  EXPECT_EQ(base.bits, std::uint64_t(-8));
  EXPECT_EQ(operand("[%rd3-8]").bits, std::uint64_t(-8));
  const Operand symbol = operand("[a+4*2]");
  EXPECT_FALSE(symbol.has_base);
  EXPECT_EQ(symbol.name, "a");
  EXPECT_EQ(symbol.bits, 8u);
  const Operand absolute = operand("[0x40]");
  EXPECT_FALSE(absolute.has_base);
  EXPECT_EQ(absolute.name, "");
  EXPECT_EQ(absolute.bits, 64u);
  const Operand tensor = operand("[%rd1, {%r1, 0}]");
  EXPECT_TRUE(tensor.has_base);
  ASSERT_EQ(tensor.elements.size(), 1u);
  EXPECT_EQ(tensor.elements[0].kind, Kind::vector);
  EXPECT_EQ(tensor.elements[0].elements.size(), 2u);
  EXPECT_EQ(operand("[tex, smp, {%f1, %f2}]").elements.size(), 2u);
}

TEST(Operands, VectorsAndPairs) {
  const Operand vector = operand("{%r1, _, 7, %r2}");
  ASSERT_EQ(vector.kind, Kind::vector);
  ASSERT_EQ(vector.elements.size(), 4u);
  EXPECT_EQ(vector.elements[1].kind, Kind::sink);
  EXPECT_EQ(vector.elements[2].bits, 7u);
  for (const char* text : {"%p0|%p1", "%p0 | %p1"}) {
    const Operand pair = operand(text);
    ASSERT_EQ(pair.kind, Kind::pair) << text;
    EXPECT_EQ(pair.elements.at(0).index + 1, pair.elements.at(1).index);
  }
  EXPECT_EQ(operand("_|%p1").elements.at(0).kind, Kind::sink);
  EXPECT_EQ(operand("%r1.h1").name, ".h1");
}

TEST(Operands, VectorRegisters) {
  const Function f = kernel("{ .reg .v4 .f32 v; x v, v.y, v.a; }");
  const std::vector<Operand>& o = f.body.at(0).operands;
  ASSERT_EQ(o[0].elements.size(), 4u);
  EXPECT_EQ(o[1].index, o[0].elements[1].index);
  EXPECT_EQ(o[2].index, o[0].elements[3].index);
  EXPECT_EQ(f.registers.at(o[1].index).name, "v@1.y");
}

TEST(Statements, OpcodesGuardsAndPlaces) {
  const Function f = kernel(R"(.loc	1 3 30
@!%p1 ld.global.L1::no_allocate.L2::128B.v4.u32 {%r0, %r1, %r2, %r3}, [%rd1];
.loc	2 1494 5, function_name $L__info_string0+12, inlined_at 1 3 30
add .s32
  %r1, %r2, -1;; ret;
# 12 "left by a preprocessor"
/* a
comment */ mov.u32 %r1, %r2; // end)");
  ASSERT_EQ(f.body.size(), 4u);
  EXPECT_EQ(f.body[0].opcode, "ld.global.L1::no_allocate.L2::128B.v4.u32");
  ASSERT_TRUE(f.body[0].guard);
  EXPECT_TRUE(f.body[0].guard->negated);
  EXPECT_EQ(f.registers.at(f.body[0].guard->reg).name, "%p1");
  EXPECT_EQ(f.body[0].ptx_line, 3u);
  EXPECT_EQ(f.body[0].file, 1u);
  EXPECT_EQ(f.body[0].line, 3u);
  EXPECT_EQ(f.body[1].opcode, "add.s32");
  EXPECT_EQ(f.body[1].file, 2u);
  EXPECT_EQ(f.body[1].line, 1494u);
  EXPECT_EQ(f.body[1].caller_file, 1u);
  EXPECT_EQ(f.body[1].caller_line, 3u);
  EXPECT_EQ(f.body[0].caller_line, 0u);
  EXPECT_EQ(f.body[1].ptx_line, 5u);
  EXPECT_EQ(f.body[2].operands.size(), 0u);
  EXPECT_EQ(f.body[3].ptx_line, 9u);
}

TEST(Statements, Calls) {
  const Function f = kernel(R"(
{ .param .b64 param0; .param .b32 retval0;
call.uni (retval0), vprintf, (param0, %r1);
call f;
call f, ();
proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[16]) .noreturn;
call (retval0), %rd1, (param0), proto;
})");
  ASSERT_EQ(f.body.size(), 4u);
  const std::vector<Operand>& direct = f.body[0].operands;
  ASSERT_EQ(direct.size(), 3u);
  EXPECT_EQ(direct[0].kind, Kind::call_list);
  EXPECT_EQ(direct[0].elements.at(0).name, "retval0@1");
  EXPECT_EQ(direct[1].kind, Kind::symbol);
  EXPECT_EQ(direct[1].name, "vprintf");
  EXPECT_EQ(direct[2].elements.at(0).name, f.variables.at(0).name);
  EXPECT_EQ(direct[2].elements.at(1).kind, Kind::reg);
  EXPECT_EQ(f.body[1].operands.at(0).kind, Kind::symbol);
  EXPECT_EQ(f.body[2].operands.at(1).elements.size(), 0u);
  const std::vector<Operand>& indirect = f.body[3].operands;
  EXPECT_EQ(indirect.at(1).kind, Kind::reg);
  EXPECT_EQ(indirect.at(3).kind, Kind::label);
  const Prototype& prototype = f.prototypes.at(indirect[3].name);
  EXPECT_EQ(prototype.returns.size(), 1u);
  EXPECT_EQ(prototype.parameters.at(1).bytes, 16u);
}

TEST(Statements, IndexedBranches) {
  const Function f = kernel("A: x; list: .branchtargets A, B; brx.idx %r1, list; B: ret;");
  EXPECT_THAT(f.branch_targets.at("list"), ElementsAre("A", "B"));
  EXPECT_EQ(f.body.at(1).operands.at(1).name, "list");
  EXPECT_EQ(f.labels.at("A"), 0u);
  EXPECT_EQ(f.labels.at("B"), 2u);
}

TEST(Scopes, NamesOfInlineAssemblyAreKeptApart) {
  const Function f = kernel(R"(.reg .b32 t;
x t;
{ .reg .b32 t; .reg .pred %p1; @%p1 bra L; x t; L: }
{ .reg .f32 t; L: bra L; { bra L; bra OUT; L: } }
OUT: x t;
L: bra L;)");
  const auto reg_of = [&](int i) { return f.registers.at(f.body.at(i).operands.at(0).index).name; };
  const auto target_of = [&](int i) { return f.labels.at(f.body.at(i).operands.at(0).name); };
  EXPECT_EQ(reg_of(0), "t");
  EXPECT_EQ(f.registers.at(f.body[1].guard->reg).name, "%p1@1") << "the inner %p1 hides that of the range";
  EXPECT_EQ(target_of(1), 3u);
  EXPECT_EQ(reg_of(2), "t@1");
  EXPECT_EQ(target_of(3), 3u);
  EXPECT_EQ(target_of(4), 6u) << "the innermost L, defined behind";
  EXPECT_EQ(target_of(5), 6u) << "a label of the function";
  EXPECT_EQ(reg_of(6), "t") << "the scopes have ended";
  EXPECT_EQ(target_of(7), 7u);
}

TEST(Scopes, VariablesOfTheBody) {
  const Function f = kernel(R"(.local .align 16 .b8 __local_depot0[32];
.shared .f32 tile[8][9];
{ .shared .b32 tile; x tile; x [tile+4]; }
x tile;)");
  ASSERT_EQ(f.variables.size(), 3u);
  EXPECT_EQ(f.variables[0].space, Space::local);
  EXPECT_EQ(f.variables[1].bytes, 288u);
  EXPECT_EQ(f.body[0].operands[0].name, "tile@1");
  EXPECT_EQ(f.body[1].operands[0].name, "tile@1");
  EXPECT_EQ(f.body[2].operands[0].name, "tile");
}

TEST(Errors, NameLineFaultAndText) {
  const std::string head =
      std::string(kHead) + ".entry k {\n.reg .pred %p<2>; .reg .b32 %r<3>;\n";  // lines 1 to 5
  EXPECT_EQ(error(head + "add.s32 %r1 %r2;\n}"), "PTX line 6: expected ';' at '%r2' in: add.s32 %r1 %r2;");
  EXPECT_EQ(error(head + "ret;\n\n  bra NOWHERE;\n}"),
            "PTX line 8: label 'NOWHERE' does not exist at 'bra' in: bra NOWHERE;");
  EXPECT_EQ(error(head + "@%r1 ret;\n}"),
            "PTX line 6: guard is not a predicate register at '%r1' in: @%r1 ret;");
  EXPECT_EQ(error(head + "x 0x;\n}"), "PTX line 6: bad number at '0x' in: x 0x;");
  EXPECT_EQ(error(head + "x 089;\n}"), "PTX line 6: bad number at '089' in: x 089;");
  EXPECT_EQ(error(head + "x 1/0;\n}"), "PTX line 6: division by zero at '/' in: x 1/0;");
  EXPECT_EQ(error(head + "x 1.5<<2;\n}"),
            "PTX line 6: operator not defined for real constants at '<<' in: x 1.5<<2;");
  EXPECT_EQ(error(head + "L: L: ret;\n}"), "PTX line 6: label 'L' is defined twice at 'L' in: L: L: ret;");
  EXPECT_EQ(error(head + ".reg .b32 a, a;\n}"),
            "PTX line 6: 'a' is declared twice at 'a' in: .reg .b32 a, a;");
  EXPECT_EQ(error(head + ".reg .b32 %r<5>;\n}"),
            "PTX line 6: registers '%r' are declared twice at '%r' in: .reg .b32 %r<5>;");
  EXPECT_EQ(error(head + ".reg .b32 %q<99999999999>;\n}"),
            "PTX line 6: too many registers at '%q' in: .reg .b32 %q<99999999999>;");
  EXPECT_EQ(error(head + ".what 1;\n}"), "PTX line 6: unknown directive at '.what' in: .what 1;");
  EXPECT_EQ(error(head + "ret;\n"), "PTX line 7: function without its '}' at the end of the text");
  EXPECT_EQ(error(head + "x [%p1, {[{[{[{[{[{1}]}]}]}]}]}];\n}").substr(0, 48),
            "PTX line 6: expected a constant at '{' in: x [%p");
  EXPECT_EQ(error(".version 9.0\n.entry k {} }"), "PTX line 2: unknown directive at '}' in: .entry k {} }");
  EXPECT_EQ(error(".version 9.0\n.func f { ret; }\n.func f { ret; }"),
            "PTX line 3: function 'f' is defined twice at 'f' in: .func f { ret; }");
  EXPECT_EQ(error(".address_size 32"),
            "PTX line 1: addresses are not 64 bits wide at '.address_size' in: .address_size 32");
  EXPECT_EQ(error(".global .u8 x[2] = {1, 2, 3};"),
            "PTX line 1: more values than the variable has at '3' in: .global .u8 x[2] = {1, 2, 3};");
  EXPECT_EQ(error(".global .u8 x[1000000][1000000][1000000];").substr(0, 32),
            "PTX line 1: array too large at '");
  EXPECT_EQ(error(".global .u33 x;"), "PTX line 1: unknown type or attribute at '.u33' in: .global .u33 x;");
  EXPECT_EQ(error(".global x;"), "PTX line 1: declaration without a type at 'x' in: .global x;");
  EXPECT_EQ(error(".file 1 \"abc\n"), "PTX line 1: string without its closing quote");
  EXPECT_EQ(error("\n/* abc"), "PTX line 2: comment without '*/'");
}

TEST(Errors, LongLinesAreCut) {
  const std::string text =
      error(".entry k { " + std::string(500, ' ') + "x " + std::string(200, 'y') + " z; }");
  EXPECT_LT(text.size(), 200u);
  EXPECT_THAT(text, testing::HasSubstr("expected ';' at 'z'"));
}

TEST(Errors, NestingIsBounded) {
  const auto nested = [](const char* open, int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += open;
    return text;
  };
  EXPECT_THAT(error(".entry k { x " + nested("(", 100000)), testing::HasSubstr("nested too deeply"));
  EXPECT_THAT(error(".entry k { x " + nested("-", 100000)), testing::HasSubstr("nested too deeply"));
  EXPECT_THAT(error(".entry k { x 1" + nested("?1", 100000)), testing::HasSubstr("PTX line 1"));
  EXPECT_THAT(error(".entry k { x " + nested("{", 100000)), testing::HasSubstr("nested too deeply"));
  EXPECT_THAT(error(".entry k { x " + nested("[0,", 100000)), testing::HasSubstr("nested too deeply"));
  EXPECT_THAT(error(".entry k { " + nested("{", 100000)), testing::HasSubstr("nested too deeply"));
  EXPECT_THAT(error(".global .u8 x[4] = " + nested("{", 100000)), testing::HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace pkb::virtual_gpu::ptx
