// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/hardware.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "harness/error/error.h"
#include "harness/roofline/built_in.h"

namespace pkb::roofline {
namespace {

using problem::Json;
using testing::HasSubstr;

TEST(Table, HoldsTheMachinesOfTheField) {
  for (const char* name : {"a100", "h100", "h200", "b200", "gb200", "rtx4090"}) EXPECT_EQ(find_hardware(name).name, name);
  try {
    find_hardware("h300");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"h300\" is not in the table; known are a100, b200, gb200, h100, h200"));
  }
}

TEST(Table, EveryFileIsCalledAsItsHardware) {
  for (const BuiltIn& each : kHardwareFiles) {
    const Hardware hardware = parse_hardware(problem::parse_json(each.file, each.text));
    EXPECT_EQ(std::filesystem::path(each.file).stem(), hardware.name);
  }
}

// NVIDIA's data sheet of the H200: 989 TFLOP/s dense in bf16, 4.8 TB/s, 900 GB/s of NVLink both directions together.
TEST(Table, H200AgreesWithItsDataSheet) {
  const Hardware& h200 = find_hardware("h200");
  EXPECT_NEAR(h200.nominal.peaks.of(DType::bf16), 989e12, 1e12);
  EXPECT_NEAR(h200.nominal.memory, 4.8e12, 0.05e12);
  EXPECT_EQ(h200.nominal.link, 450e9);
  EXPECT_EQ(h200.nominal.in_fabric, 450e9);
  EXPECT_EQ(h200.sms, 132);
}

TEST(Table, ChipsWithoutFp8ComputeItInFp16) {
  const Peaks& a100 = find_hardware("a100").nominal.peaks;
  EXPECT_EQ(a100.fp8, 0);
  EXPECT_DOUBLE_EQ(a100.of(DType::e4m3), 312e12);
  EXPECT_DOUBLE_EQ(find_hardware("h100").nominal.peaks.of(DType::e5m2), 1978.9e12);
}

TEST(Devices, AreKnownByTheDriversName) {
  EXPECT_EQ(hardware_of("NVIDIA H200"), &find_hardware("h200"));
  EXPECT_EQ(hardware_of("NVIDIA A100-SXM4-80GB"), &find_hardware("a100"));
  EXPECT_EQ(hardware_of("NVIDIA H200 NVL"), nullptr);  // other clocks, other links
  EXPECT_EQ(hardware_of("NVIDIA H200 MIG 1g.18gb"), nullptr);
  EXPECT_EQ(hardware_of(""), nullptr);
}

struct Fault {
  const char* name;
  std::function<void(Json&)> spoil;
  const char* message;
};
class HardwareFile : public testing::TestWithParam<Fault> {};

TEST_P(HardwareFile, IsRefusedWithItsField) {
  problem::JsonFile file = problem::parse_json("my.json", kHardwareFiles.front().text);
  ASSERT_NO_THROW(parse_hardware(file));
  GetParam().spoil(file.json);
  try {
    parse_hardware(file);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Faults, HardwareFile,
    testing::Values(
        Fault{"NoLink", [](Json& json) { json.erase("link_gb_s"); }, "my.json: \"link_gb_s\" is missing; add it: an object"},
        Fault{"NoSource", [](Json& json) { json["sms"].erase("source"); }, "my.json: sms: \"source\" is missing"},
        Fault{"UnknownSource", [](Json& json) { json["tflops"]["bf16"]["source"] = "hearsay"; },
              "my.json: tflops.bf16.source: \"hearsay\" is no member of sources; add it there"},
        Fault{"NegativeRate", [](Json& json) { json["memory_gb_s"]["value"] = -1; },
              "my.json: memory_gb_s.value: -1 does not fit; expected a positive number"},
        Fault{"TextForNumber", [](Json& json) { json["tflops"]["fp32"]["value"] = "fast"; },
              "my.json: tflops.fp32.value: \"fast\" does not fit; expected a positive number"},
        Fault{"UnknownFormat", [](Json& json) { json["tflops"]["fp5"] = json["tflops"]["fp16"]; },
              "my.json: tflops: \"fp5\" is not known here; known are bf16"},
        Fault{"NoDevices", [](Json& json) { json["devices"] = Json::array(); }, "my.json: devices: [] does not fit"}),
    [](const auto& test) { return test.param.name; });

class Calibration : public testing::Test {
 protected:
  Calibration() : x_file(std::filesystem::temp_directory_path() / ("pkb-calibration-" + std::to_string(getpid()))) {}
  ~Calibration() override { std::filesystem::remove(x_file); }

  Hardware load(const std::string& text) {
    std::ofstream(x_file) << text;
    return load_calibrated(x_file);
  }
  std::string refusal(const std::string& text) {
    try {
      load(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }

 private:
  std::filesystem::path x_file;
};

TEST_F(Calibration, OverridesWhatItMeasured) {
  const Hardware hardware = load(R"({"schema": "pkb-calibration-1", "gpus": [{"name": "NVIDIA H200"}], "loopback": true,
      "peaks": {"gemm": {"bf16": {"median": 750}}, "memory_gb_s": {"median": 4200, "low": 4190}},
      "transfers": {"by_size": [], "by_sms": []}})");
  EXPECT_EQ(hardware.name, "h200");
  EXPECT_DOUBLE_EQ(hardware.rates().peaks.bf16, 750e12);
  EXPECT_DOUBLE_EQ(hardware.rates().memory, 4.2e12);
  EXPECT_DOUBLE_EQ(hardware.rates().peaks.fp32, 66.9e12);  // not measured
  EXPECT_EQ(hardware.rates().link, 450e9);
  EXPECT_DOUBLE_EQ(hardware.nominal.peaks.bf16, 989.4e12);
}

TEST_F(Calibration, OfAnUnknownGpuOrOfAnotherKindIsRefused) {
  EXPECT_THAT(refusal(R"({"schema": "pkb-calibration-1", "gpus": [{"name": "NVIDIA X1"}], "loopback": true,
      "peaks": {"gemm": {}, "memory_gb_s": {"median": 1}}, "transfers": {"by_size": [], "by_sms": []}})"),
              HasSubstr("gpus[0].name: the table has no \"NVIDIA X1\""));
  EXPECT_THAT(refusal(R"({"schema": 1})"), HasSubstr("does not fit"));
  EXPECT_THAT(refusal(R"({"schema": "pkb-calibration-1", "gpus": [{"name": "NVIDIA H200"}], "loopback": true,
      "transfers": {"by_size": [], "by_sms": []}})"),
              HasSubstr("\"peaks\" is missing"));
}

}  // namespace
}  // namespace pkb::roofline
