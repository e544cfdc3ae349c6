// SPDX-License-Identifier: Apache-2.0
// Short programs of a few threads and an outcome that only reordering brings about, judged by hand from the
// memory model (PTX ISA 8). What it forbids never shows, and what late stores may bring about shows under
// seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/delayed_stores.h"
#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

constexpr int kX = 0, kY = 64, kZ = 128, kResults = 256;  // words of the buffer

/// Between any two instructions other blocks may have their turn: a branch ends what is executed in one go.
std::string step(const std::string& instruction) { return instruction + "\n@%p15 bra never;\n"; }
std::string st(const std::string& how, int word, int value) {
  return step(fmt::format("mov.u32 %r1, {};\nst.{}.global.u32 [%rd0+{}], %r1;", value, how, 4 * word));
}
std::string ld(const std::string& how, int word, int result) {
  return step(fmt::format("ld.{}.global.u32 %r1, [%rd0+{}];\nst.global.u32 [%rd0+{}], %r1;", how, 4 * word,
                          4 * (kResults + result)));
}
std::string add(const std::string& how, int word, int result) {
  return step(fmt::format("atom.{}.global.add.u32 %r1, [%rd0+{}], 1;\nst.global.u32 [%rd0+{}], %r1;", how,
                          4 * word, 4 * (kResults + result)));
}
std::string fence(const std::string& how) { return step(fmt::format("fence.{};", how)); }

const std::string kRelaxed = "relaxed.sys", kRelease = "release.sys", kAcquire = "acquire.sys";

enum class Expected {
  seen,
  forbidden,
  unseen,  ///< allowed, but here loads are in order and a store reaches all others at once
};
struct Litmus {
  const char* name;
  std::vector<std::string> blocks;
  std::vector<std::pair<int, std::uint32_t>> outcome;  ///< words and what they hold in the end
  Expected expected;
  std::uint32_t threads = 1;  ///< of each block
};
void PrintTo(const Litmus& litmus, std::ostream* out) { *out << litmus.name; }

std::string text_of(const Litmus& litmus) {
  std::string body = "mov.u32 %r2, %ctaid.x;\nsetp.ne.u32 %p15, %r0, %r0;\n";
  for (std::size_t i = 0; i < litmus.blocks.size(); ++i)
    body += fmt::format("setp.eq.u32 %p1, %r2, {0};\n@%p1 bra block{0};\n", i);
  std::string stay;  // an exit makes everything visible
  for (int i = 0; i < 8; ++i) stay += step("");
  for (std::size_t i = 0; i < litmus.blocks.size(); ++i)
    body += fmt::format("block{}:\n{}{}ret;\n", i, litmus.blocks[i], stay);
  return kernel_text(body + "never:\n");
}

class Outcome : public testing::TestWithParam<Litmus> {};

TEST_P(Outcome, ShowsAsTheModelSays) {
  constexpr int kRuns = 1500;
  const Litmus& litmus = GetParam();
  TestRun run(text_of(litmus), litmus.threads);
  run.launch().grid = {static_cast<std::uint32_t>(litmus.blocks.size()), 1, 1};
  std::mt19937_64 random(11);
  int seen = 0;
  for (int i = 0; i < kRuns && (seen == 0 || litmus.expected != Expected::seen); ++i) {
    for (std::size_t word = 0; word < 512; ++word) run.word(word) = 0;
    std::vector<std::unique_ptr<Block>> blocks;
    for (std::size_t block = 0; block < litmus.blocks.size(); ++block)
      blocks.push_back(std::make_unique<Block>(run.launch(), run.memory(), block, 0));
    while (!blocks.empty()) {
      auto& turn = blocks[random() % blocks.size()];
      const Block::Outcome outcome = turn->run(1 + static_cast<std::uint32_t>(random() % 4), random() | 1);
      ASSERT_NE(outcome, Block::Outcome::fault) << turn->fault().text;
      if (outcome != Block::Outcome::finished) continue;
      std::swap(turn, blocks.back());
      blocks.pop_back();
    }
    seen += std::ranges::all_of(litmus.outcome, [&](const auto& each) {
      return run.word(static_cast<std::size_t>(each.first)) == each.second;
    });
  }
  EXPECT_EQ(seen > 0, litmus.expected == Expected::seen) << seen;
}

std::vector<Litmus> message_passing() {
  const std::vector<std::pair<int, std::uint32_t>> stale = {{kResults, 1}, {kResults + 1, 0}};
  const std::string reads = ld(kRelaxed, kY, 0) + ld(kRelaxed, kX, 1),
                    acquires = ld(kAcquire, kY, 0) + ld("weak", kX, 1);
  const auto first_thread = [](const std::string& body) {
    return "setp.ne.u32 %p2, %r0, 0;\n@%p2 bra others;\n" + body + "others:\n";
  };
  const std::string last_stores =
      "setp.eq.u32 %p2, %r0, 0;\n@%p2 bra meet;\n" + st("weak", kX, 1) + "meet:\n";
  const std::string reader = "setp.ne.u32 %p2, %r0, 0;\n@%p2 bra out;\n" + acquires + "out:\n";
  return {
      {"Relaxed", {st(kRelaxed, kX, 1) + st(kRelaxed, kY, 1), reads}, stale, Expected::seen},
      {"WeakData", {st("weak", kX, 1) + st(kRelaxed, kY, 1), acquires}, stale, Expected::seen},
      {"Volatile", {st("volatile", kX, 1) + st("volatile", kY, 1), reads}, stale, Expected::seen},
      {"ReleaseAcquire", {st("weak", kX, 1) + st(kRelease, kY, 1), acquires}, stale, Expected::forbidden},
      {"ReleaseAcquireOfTheGpu",
       {st("weak", kX, 1) + st("release.gpu", kY, 1), ld("acquire.gpu", kY, 0) + ld("weak", kX, 1)},
       stale,
       Expected::forbidden},
      {"ReleaseOfABlock", {st("weak", kX, 1) + st("release.cta", kY, 1), acquires}, stale, Expected::seen},
      {"Fences",
       {st("weak", kX, 1) + fence("acq_rel.sys") + st(kRelaxed, kY, 1),
        ld(kRelaxed, kY, 0) + fence("acq_rel.sys") + ld("weak", kX, 1)},
       stale,
       Expected::forbidden},
      {"FenceOfABlock",
       {st("weak", kX, 1) + fence("acq_rel.cta") + st(kRelaxed, kY, 1), acquires},
       stale,
       Expected::seen},
      {"RelaxedAtomic", {st("weak", kX, 1) + add(kRelaxed, kY, 2), acquires}, stale, Expected::seen},
      {"ReleasingAtomic", {st("weak", kX, 1) + add(kRelease, kY, 2), acquires}, stale, Expected::forbidden},
      // The second thread stores; the first one stores the flag.
      {"OfAnotherThread",
       {last_stores + first_thread(st(kRelease, kY, 1)), reader},
       stale,
       Expected::seen,
       2},
      {"BehindABarrier",
       {last_stores + "bar.sync 0;\n" + first_thread(st(kRelease, kY, 1)), reader},
       stale,
       Expected::forbidden,
       2},
      {"BehindABarrierRelaxed",
       {last_stores + "bar.sync 0;\n" + first_thread(st(kRelaxed, kY, 1)), reader},
       stale,
       Expected::seen,
       2},
      // Through a third block.
      {"ChainOfBlocks",
       {st("weak", kX, 1) + st("release.cta", kY, 1), ld(kAcquire, kY, 2) + st(kRelease, kZ, 1),
        ld(kAcquire, kZ, 0) + ld("weak", kX, 1)},
       {{kResults, 1}, {kResults + 1, 0}, {kResults + 2, 1}},
       Expected::seen},
      {"ChainRelaxed",
       {st(kRelaxed, kX, 1) + st(kRelaxed, kY, 1), ld(kRelaxed, kY, 2) + st(kRelaxed, kZ, 1),
        ld(kRelaxed, kZ, 0) + ld(kRelaxed, kX, 1)},
       {{kResults, 1}, {kResults + 1, 0}, {kResults + 2, 1}},
       Expected::seen},
      {"Chain",
       {st("weak", kX, 1) + st(kRelease, kY, 1), ld(kAcquire, kY, 2) + st(kRelease, kZ, 1),
        ld(kAcquire, kZ, 0) + ld("weak", kX, 1)},
       {{kResults, 1}, {kResults + 1, 0}, {kResults + 2, 1}},
       Expected::forbidden},
      {"WriteToReadCausality",
       {st(kRelaxed, kX, 1), ld(kRelaxed, kX, 2) + st(kRelease, kY, 1), acquires},
       {{kResults, 1}, {kResults + 1, 0}, {kResults + 2, 1}},
       Expected::forbidden},
      {"WriteToReadCausalityRelaxed",
       {st(kRelaxed, kX, 1), ld(kRelaxed, kX, 2) + st(kRelaxed, kY, 1), reads},
       {{kResults, 1}, {kResults + 1, 0}, {kResults + 2, 1}},
       Expected::unseen}};
}

std::vector<Litmus> others() {
  const auto buffering = [](const std::string& between, const std::string& store, const std::string& load) {
    return std::vector{st(store, kX, 1) + between + ld(load, kY, 0),
                       st(store, kY, 1) + between + ld(load, kX, 1)};
  };
  const auto loads = [](const std::string& store, const std::string& load) {
    return std::vector{ld(load, kX, 0) + st(store, kY, 1), ld(load, kY, 1) + st(store, kX, 1)};
  };
  const auto stores = [](const std::string& between) {
    return std::vector{st(kRelaxed, kX, 1) + between + st(kRelaxed, kY, 2),
                       st(kRelaxed, kY, 1) + between + st(kRelaxed, kX, 2)};
  };
  const auto readers = [](const std::string& between) {
    return std::vector{st(kRelaxed, kX, 1), st(kRelaxed, kY, 1),
                       ld(kRelaxed, kX, 0) + between + ld(kRelaxed, kY, 1),
                       ld(kRelaxed, kY, 2) + between + ld(kRelaxed, kX, 3)};
  };
  const std::vector<std::pair<int, std::uint32_t>> both_old = {{kResults, 0}, {kResults + 1, 0}},
                                                   both_new = {{kResults, 1}, {kResults + 1, 1}},
                                                   differ = {{kResults, 1},
                                                             {kResults + 1, 0},
                                                             {kResults + 2, 1},
                                                             {kResults + 3, 0}};
  const auto halves = [](std::uint32_t low, std::uint32_t high) {
    return std::vector<std::pair<int, std::uint32_t>>{{kResults, low}, {kResults + 1, high}};
  };
  const std::string vector = step("mov.u32 %r1, 1;\nst.relaxed.sys.global.v2.u32 [%rd0], {%r1, %r1};"),
                    scalar = step("mov.u64 %rd1, 0x100000001;\nst.relaxed.sys.global.u64 [%rd0], %rd1;"),
                    released = step("mov.u32 %r1, 1;\nst.release.sys.global.v2.u32 [%rd0], {%r1, %r1};"),
                    looks = step(
                        fmt::format("ld.relaxed.sys.global.u64 %rd1, [%rd0];\nst.global.u64 [%rd0+{}], %rd1;",
                                    4 * kResults));
  return {
      {"StoreBuffering", buffering("", kRelaxed, kRelaxed), both_old, Expected::seen},
      {"StoreBufferingReleaseAcquire", buffering("", kRelease, kAcquire), both_old, Expected::seen},
      {"StoreBufferingFences", buffering(fence("sc.sys"), kRelaxed, kRelaxed), both_old, Expected::forbidden},
      {"StoreBufferingFencesOfTheGpu", buffering(fence("sc.gpu"), kRelaxed, kRelaxed), both_old,
       Expected::forbidden},
      {"StoreBufferingFencesOfABlock", buffering(fence("sc.cta"), kRelaxed, kRelaxed), both_old,
       Expected::seen},
      {"StoreBufferingLightFences", buffering(fence("acq_rel.sys"), kRelaxed, kRelaxed), both_old,
       Expected::unseen},
      {"LoadBuffering", loads(kRelaxed, kRelaxed), both_new, Expected::unseen},
      {"LoadBufferingReleaseAcquire", loads(kRelease, kAcquire), both_new, Expected::forbidden},
      {"TwoPlusTwoWrites", stores(""), {{kX, 1}, {kY, 1}}, Expected::seen},
      {"TwoPlusTwoWritesFences", stores(fence("sc.sys")), {{kX, 1}, {kY, 1}}, Expected::forbidden},
      {"TwoPlusTwoWritesFencesOfABlock", stores(fence("sc.cta")), {{kX, 1}, {kY, 1}}, Expected::seen},
      {"TwoPlusTwoWritesLightFences", stores(fence("acq_rel.sys")), {{kX, 1}, {kY, 1}}, Expected::unseen},
      {"ReadIntoWrite",
       {st(kRelaxed, kX, 2) + st(kRelaxed, kY, 1), ld(kRelaxed, kY, 0) + st(kRelaxed, kX, 1)},
       {{kResults, 1}, {kX, 2}},
       Expected::seen},
      {"ReadIntoWriteReleaseAcquire",
       {st(kRelaxed, kX, 2) + st(kRelease, kY, 1), ld(kAcquire, kY, 0) + st(kRelaxed, kX, 1)},
       {{kResults, 1}, {kX, 2}},
       Expected::forbidden},
      {"WriteIntoRead",
       {st(kRelaxed, kX, 1) + st(kRelaxed, kY, 1), st(kRelaxed, kY, 2) + ld(kRelaxed, kX, 0)},
       {{kResults, 0}, {kY, 2}},
       Expected::seen},
      {"WriteIntoReadFences",
       {st(kRelaxed, kX, 1) + fence("sc.sys") + st(kRelaxed, kY, 1),
        st(kRelaxed, kY, 2) + fence("sc.sys") + ld(kRelaxed, kX, 0)},
       {{kResults, 0}, {kY, 2}},
       Expected::forbidden},
      {"IndependentReads", readers(""), differ, Expected::unseen},
      {"IndependentReadsAcquired", readers(fence("acq_rel.sys")), differ, Expected::unseen},
      {"IndependentReadsFences", readers(fence("sc.sys")), differ, Expected::forbidden},
      {"CoherenceOfWrites", {st(kRelaxed, kX, 1) + st(kRelaxed, kX, 2)}, {{kX, 1}}, Expected::forbidden},
      {"CoherenceOfReads",
       {st(kRelaxed, kX, 1) + st(kRelaxed, kX, 2), ld(kRelaxed, kX, 0) + ld(kRelaxed, kX, 1)},
       {{kResults, 2}, {kResults + 1, 1}},
       Expected::forbidden},
      {"OwnWrites", {st("weak", kX, 1) + ld("weak", kX, 0)}, {{kResults, 0}}, Expected::forbidden},
      {"OwnAtomics", {st(kRelaxed, kX, 1) + add(kRelaxed, kX, 0)}, {{kResults, 0}}, Expected::forbidden},
      {"FirstHalfOfAVector", {vector, looks}, halves(1, 0), Expected::seen},
      {"LastHalfOfAVector", {vector, looks}, halves(0, 1), Expected::seen},
      {"HalfOfAReleasingVector", {released, looks}, halves(0, 1), Expected::seen},
      {"FirstHalfOfAScalar", {scalar, looks}, halves(1, 0), Expected::forbidden},
      {"LastHalfOfAScalar", {scalar, looks}, halves(0, 1), Expected::forbidden}};
}

std::string name_of(const testing::TestParamInfo<Litmus>& test) { return test.param.name; }
INSTANTIATE_TEST_SUITE_P(MessagePassing, Outcome, testing::ValuesIn(message_passing()), name_of);
INSTANTIATE_TEST_SUITE_P(Litmus, Outcome, testing::ValuesIn(others()), name_of);

TEST(DelayedStores, WithoutASeedAreNone) {
  TestRun run(
      kernel_text(
          "mov.u32 %r1, 7;\nst.global.u32 [%rd0], %r1;\nwait:\nld.relaxed.sys.global.u32 %r2, [%rd0+256];\n"
          "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra wait;"),
      1);
  EXPECT_EQ(run.block().run(1, 0), Block::Outcome::budget);
  EXPECT_EQ(run.word(0), 7u);
}

}  // namespace
}  // namespace pkb::virtual_gpu
