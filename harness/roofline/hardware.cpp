// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/hardware.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/problem/schema.h"
#include "harness/roofline/built_in.h"

namespace pkb::roofline {
namespace {

using problem::Json;
using problem::JsonFile;
using problem::Schema;

constexpr double kGiga = 1e9, kTera = 1e12, kMebi = 1 << 20;

struct Format {
  const char* name;
  double Peaks::* peak;
};
constexpr Format kFormats[] = {{"fp64", &Peaks::fp64}, {"fp32", &Peaks::fp32}, {"tf32", &Peaks::tf32},
                               {"fp16", &Peaks::fp16}, {"bf16", &Peaks::bf16}, {"fp8", &Peaks::fp8},
                               {"int8", &Peaks::int8}};

/// The values of a hardware file's figures, whose sources must exist.
class Figures {
 public:
  explicit Figures(const JsonFile& file) : x_file(file) {}

  double operator()(const std::string& name) const { return value(name, x_file.json.at(name)); }

  Peaks peaks() const {
    Peaks peaks;
    const Json& given = x_file.json.at("tflops");
    for (const Format& format : kFormats)
      if (given.contains(format.name))
        peaks.*format.peak = kTera * value(fmt::format("tflops.{}", format.name), given.at(format.name));
    return peaks;
  }

 private:
  double value(const std::string& field, const Json& figure) const {
    const auto source = figure.at("source").get<std::string>();
    if (!x_file.json.at("sources").contains(source))
      throw x_file.error(field + ".source", fmt::format("\"{}\" is no member of sources", source), "add it there");
    return figure.at("value").get<double>();
  }

  const JsonFile& x_file;
};

const Schema& hardware_schema() {
  static const Schema* const schema = new Schema(kHardwareSchema);  // lives as long as the program
  return *schema;
}

const Schema& calibration_schema() {
  static const Schema* const schema = new Schema(kCalibrationSchema);
  return *schema;
}

std::vector<Hardware> parse_built_in() {
  std::vector<Hardware> all;
  for (const BuiltIn& each : kHardwareFiles) all.push_back(parse_hardware(problem::parse_json(each.file, each.text)));
  return all;
}

}  // namespace

double Peaks::of(DType dtype) const {
  switch (dtype) {
    case DType::bf16:
      return bf16;
    case DType::f16:
      return fp16;
    case DType::f32:
      return fp32;
    case DType::f64:
      return fp64;
    case DType::e4m3:
    case DType::e5m2:
      return fp8 > 0 ? fp8 : fp16;
    case DType::i8:
    case DType::u8:
    case DType::i32:
    case DType::i64:
      return int8 > 0 ? int8 : fp16;
  }
  return 0;
}

double Peaks::fastest() const {
  double fastest = 0;
  for (const Format& format : kFormats) fastest = std::max(fastest, this->*format.peak);
  return fastest;
}

Hardware parse_hardware(const JsonFile& file) {
  hardware_schema().validate(file);
  const Figures figure(file);
  return {.name = file.json.at("name"),
          .title = file.json.at("title"),
          .devices = file.json.at("devices"),
          .link = file.json.at("link"),
          .fabric_gpus = file.json.at("fabric_gpus"),
          .sms = static_cast<int>(figure("sms")),
          .l2_bytes = kMebi * figure("l2_mib"),
          .nominal = {.memory = kGiga * figure("memory_gb_s"),
                      .link = kGiga * figure("link_gb_s"),
                      .in_fabric = kGiga * figure("in_fabric_gb_s"),
                      .peaks = figure.peaks()}};
}

const std::vector<Hardware>& all_hardware() {
  static const auto* const all = new std::vector<Hardware>(parse_built_in());
  return *all;
}

const Hardware& find_hardware(std::string_view name) {
  const std::vector<Hardware>& all = all_hardware();
  const auto found = std::ranges::find(all, name, &Hardware::name);
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Hardware& each : all) names.push_back(each.name);
  throw InputError({"hardware", fmt::format("\"{}\" is not in the table", name),
                    fmt::format("known are {}", fmt::join(names, ", "))});
}

const Hardware* hardware_of(std::string_view device) {
  for (const Hardware& each : all_hardware())
    if (std::ranges::find(each.devices, device) != each.devices.end()) return &each;
  return nullptr;
}

JsonFile read_calibration(const std::filesystem::path& file) {
  JsonFile calibration = problem::read_json(file);
  calibration_schema().validate(calibration);
  return calibration;
}

Hardware load_calibrated(const std::filesystem::path& calibration) {
  const JsonFile file = read_calibration(calibration);
  const auto device = file.json.at("gpus").at(0).at("name").get<std::string>();
  const Hardware* const known = hardware_of(device);
  if (known == nullptr)
    throw file.error("gpus[0].name", fmt::format("the table has no \"{}\"", device),
                     "add a file to harness/roofline/hardware/");
  Hardware hardware = *known;
  Rates& rates = hardware.measured.emplace(hardware.nominal);
  const Json& measured = file.json.at("peaks");
  for (const Format& format : kFormats)
    if (measured.at("gemm").contains(format.name))
      rates.peaks.*format.peak = kTera * measured.at("gemm").at(format.name).at("median").get<double>();
  rates.memory = kGiga * measured.at("memory_gb_s").at("median").get<double>();
  if (measured.contains("link_gb_s")) rates.link = kGiga * measured.at("link_gb_s").at("median").get<double>();
  if (measured.contains("in_fabric_gb_s"))
    rates.in_fabric = kGiga * measured.at("in_fabric_gb_s").at("median").get<double>();
  return hardware;
}

}  // namespace pkb::roofline
