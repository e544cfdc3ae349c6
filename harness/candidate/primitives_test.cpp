// SPDX-License-Identifier: Apache-2.0
// Each primitive of <pkb/device.cuh> does what it promises, in silence; and with waits that do not wait, each
// of these tests fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "harness/cli/process.h"

namespace pkb::candidate {
namespace {

struct Primitive {
  const char* source;  ///< in testdata/
  const char* form;    ///< macro that selects it
};
void PrintTo(const Primitive& primitive, std::ostream* out) { *out << primitive.form; }

constexpr Primitive kPrimitives[] = {{"tiles.cu", "STORE"},
                                     {"tiles.cu", "ADD"},
                                     {"tiles.cu", "STORE_ASYNC"},
                                     {"tiles.cu", "ADD_ASYNC"},
                                     {"tiles.cu", "STORE_TENSOR"},
                                     {"tiles.cu", "ADD_TENSOR"},
                                     {"meetings.cu", "SIGNAL"},
                                     {"meetings.cu", "SIGNAL_ALL"},
                                     {"meetings.cu", "BARRIER"},
                                     {"meetings.cu", "GRAPH"},
                                     {"meetings.cu", "FINISH"},
                                     {"meetings.cu", "REDUCE"},
                                     {"meetings.cu", "REDUCE_BY_FABRIC"},
                                     {"meetings.cu", "ALL_REDUCE"},
                                     {"meetings.cu", "ALL_REDUCE_BY_FABRIC"},
                                     {"parts.cu", "SPLIT_BLOCK"},
                                     {"parts.cu", "SPLIT_GRID"}};

/// Compiled before the rest of the headers, so that every wait in them is a call of what does nothing.
constexpr const char* kWithoutWaits =
    "#include <pkb/device/order.cuh>\n"
    "namespace pkb::order { __device__ inline void do_not_wait(const unsigned*, unsigned) {} }\n"
    "#define wait_until do_not_wait\n";

struct Setting {
  const char* name;
  const char* ranks;
  const char* device = "virtual";
  const char* schedules = "2";  ///< of virtual GPUs
};

void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.ranks << " ranks"; }

/// What `pkb eval` says of a primitive.
cli::Finished evaluate(const Primitive& primitive, const Setting& setting, const char* before) {
  const cli::TestFolder folder, out;
  const std::filesystem::path file = folder.path() / primitive.source;
  std::ostringstream text;
  text << std::ifstream(std::string(PKB_TESTDATA "/") + primitive.source).rdbuf();
  std::ofstream(file) << "#define " << primitive.form << '\n' << before << "#line 1\n" << text.str();
  cli::Command command{.words = {PKB_EXECUTABLE, "eval", "allreduce", file, "--device", setting.device,
                                 "--ranks", setting.ranks, "--trials", "3", "--json", "--out",
                                 out.path()}};
  if (setting.schedules != nullptr)
    command.words.insert(command.words.end(), {"--schedules", setting.schedules});
  command.environment["XDG_CACHE_HOME"] = PKB_TEST_CACHE;
  return cli::run(command);
}

class Device : public testing::TestWithParam<std::tuple<Primitive, Setting>> {};

TEST_P(Device, IsRightAndSilent) {
  const auto& [primitive, setting] = GetParam();
  const cli::Finished done = evaluate(primitive, setting, "");
  if (done.exit == 3 && std::string(setting.device) == "shared") GTEST_SKIP() << done.errors;
  ASSERT_EQ(done.exit, 0) << done.output << done.errors;
  EXPECT_EQ(nlohmann::json::parse(done.output).at("diagnoses"), nlohmann::json::array());
}

class WithoutWaits : public testing::TestWithParam<Primitive> {};

TEST_P(WithoutWaits, IsRefused) {
  const cli::Finished done = evaluate(GetParam(), {"3", "3", "virtual", "1"}, kWithoutWaits);
  ASSERT_EQ(done.exit, 1) << done.output << done.errors;
  EXPECT_THAT(nlohmann::json::parse(done.output).at("verdict").get<std::string>(),
              testing::AnyOf("race", "wrong_result"));
}

std::string name_of(const testing::TestParamInfo<Device::ParamType>& test) {
  return std::string(std::get<0>(test.param).form) + "_" + std::get<1>(test.param).name;
}

INSTANTIATE_TEST_SUITE_P(Virtual, Device,
                         testing::Combine(testing::ValuesIn(kPrimitives), testing::Values(Setting{"3", "3"})),
                         name_of);
INSTANTIATE_TEST_SUITE_P(EachWay, Device,
                         testing::Combine(testing::ValuesIn(kPrimitives),
                                          testing::Values(Setting{"2", "2", "virtual", "4"},
                                                          Setting{"4", "4", "virtual", "4"},
                                                          Setting{"8", "8", "virtual", "3"})),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Gpu, Device,
                         testing::Combine(testing::ValuesIn(kPrimitives),
                                          testing::Values(Setting{"2", "2", "shared", nullptr},
                                                          Setting{"4", "4", "shared", nullptr})),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Virtual, WithoutWaits, testing::ValuesIn(kPrimitives),
                         [](const auto& test) { return std::string(test.param.form); });

}  // namespace
}  // namespace pkb::candidate
