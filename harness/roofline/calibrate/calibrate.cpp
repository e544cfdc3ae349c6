// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/calibrate/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/roofline/calibrate/gemm.h"
#include "harness/roofline/calibrate/in_fabric.h"
#include "harness/roofline/calibrate/latency.h"
#include "harness/roofline/calibrate/mesh.h"

namespace pkb::roofline {
namespace {

using Tell = std::function<void(std::string_view)>;
using nlohmann::json;

constexpr std::size_t kLarge = std::size_t{256} << 20;

json gigabytes(const Spread& bytes_per_second) {
  return to_json(map(bytes_per_second, [](double rate) { return rate * 1e-9; }));
}

json gpus(const Mesh& mesh) {
  json all = json::array();
  for (int gpu = 0; gpu < mesh.size(); ++gpu) {
    const cudaDeviceProp& properties = mesh.properties(gpu);
    all.push_back({{"name", properties.name},
                   {"compute_capability", fmt::format("{}.{}", properties.major, properties.minor)},
                   {"sms", properties.multiProcessorCount},
                   {"l2_bytes", properties.l2CacheSize},
                   {"memory_bytes", properties.totalGlobalMem}});
  }
  return all;
}

/// What Mesh measures, as rows.
class Transfers {
 public:
  Transfers(Mesh& mesh, const Tell& tell) : x_mesh(mesh), x_tell(tell) {}

  json row(const Transfer& transfer) {
    json row = {{"mechanism", name_of(transfer.mechanism)},
                {"from", transfer.from},
                {"to", transfer.to},
                {"bytes", transfer.bytes},
                {"gb_s", gigabytes(x_mesh.rate(transfer))}};
    if (transfer.mechanism != Mechanism::copy_engine) row["sms"] = transfer.sms;
    return row;
  }

  json by_size(int from, int to) {
    json rows = json::array();
    for (const Mechanism mechanism : x_mesh.mechanisms(from, to)) {
      x_tell(fmt::format("{} over message size", name_of(mechanism)));
      for (std::size_t bytes = 128; bytes <= Mesh::kBuffer; bytes *= 2)
        rows.push_back(
            row({.mechanism = mechanism, .from = from, .to = to, .bytes = bytes, .sms = x_mesh.sms(from)}));
    }
    return rows;
  }

  json by_sms(int from, int to) {
    json rows = json::array();
    const int most = x_mesh.sms(from);
    for (const Mechanism mechanism : x_mesh.mechanisms(from, to)) {
      if (mechanism == Mechanism::copy_engine) continue;
      x_tell(fmt::format("{} over SM count", name_of(mechanism)));
      for (const int sms : {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128})
        if (sms < most)
          rows.push_back(row({.mechanism = mechanism, .from = from, .to = to, .bytes = kLarge, .sms = sms}));
      rows.push_back(row({.mechanism = mechanism, .from = from, .to = to, .bytes = kLarge, .sms = most}));
    }
    return rows;
  }

  /// Every pair by itself. What is wrong is found here, before anything is timed.
  json pairs() {
    json rows = json::array();
    const auto each_pair = [&](const std::function<void(const Transfer&)>& visit) {
      for (int from = 0; from < x_mesh.size(); ++from)
        for (int to = 0; to < x_mesh.size(); ++to)
          if (from != to || x_mesh.size() == 1)
            for (const Mechanism mechanism : x_mesh.mechanisms(from, to))
              visit({.mechanism = mechanism, .from = from, .to = to, .bytes = kLarge, .sms = x_mesh.sms(from)});
    };
    x_tell("checking every way of every pair");
    each_pair([&](Transfer transfer) {
      transfer.bytes = (std::size_t{3} << 20) + 16;  // no multiple of anything that the kernels count in
      x_mesh.verify(transfer);
    });
    x_tell("every pair by itself");
    each_pair([&](const Transfer& transfer) { rows.push_back(row(transfer)); });
    return rows;
  }

  json all_at_once() {
    json rows = json::array();
    x_tell("all pairs at once");
    for (const Mechanism mechanism : x_mesh.mechanisms(0, 1))
      rows.push_back({{"mechanism", name_of(mechanism)}, {"gb_s", gigabytes(x_mesh.rate_of_all(mechanism))}});
    return rows;
  }

  json measure() {
    const int other = x_mesh.size() > 1 ? 1 : 0;
    json measured;
    measured["pairs"] = pairs();
    measured["by_size"] = by_size(0, other);
    measured["by_sms"] = by_sms(0, other);
    if (x_mesh.size() > 1) measured["all_at_once"] = all_at_once();
    return measured;
  }

  /// Reads and writes of a GPU that copies within its memory, by the better of engine and kernel.
  json memory() {
    x_tell("memory");
    Spread best;
    for (const Mechanism mechanism : x_mesh.mechanisms(0, 0)) {
      const Spread rate = x_mesh.rate({.mechanism = mechanism, .bytes = Mesh::kBuffer, .sms = x_mesh.sms(0)});
      if (rate.median > best.median) best = rate;
    }
    return gigabytes(map(best, [](double rate) { return 2 * rate; }));
  }

 private:
  Mesh& x_mesh;
  const Tell& x_tell;
};

/// The row whose median is the largest.
json fastest(const json& rows) {
  json best;
  for (const json& row : rows)
    if (best.is_null() || row.at("gb_s").at("median") > best.at("median")) best = row.at("gb_s");
  return best;
}

json measure(const CalibrateOptions& options, const Tell& tell) {
  json result;
  int count = 0;
  {
    Mesh mesh;
    Transfers transfers(mesh, tell);
    count = mesh.size();
    result["gpus"] = gpus(mesh);
    result["loopback"] = count == 1;
    result["transfers"] = transfers.measure();
    result["peaks"]["memory_gb_s"] = transfers.memory();
  }
  if (count > 1) {
    json links = result["transfers"]["pairs"];
    for (const json& row : result["transfers"]["all_at_once"]) links.push_back(row);
    result["peaks"]["link_gb_s"] = fastest(links);
  }
  tell("latency");
  result["latency"] = measure_latency(count);
  if (options.multicast && count > 1) {
    tell("in-fabric reduction");
    result["transfers"]["in_fabric"] = measure_in_fabric(count);
    if (const json best = fastest(result["transfers"]["in_fabric"]); !best.is_null())
      result["peaks"]["in_fabric_gb_s"] = best;
  }
  tell("matrix products");
  result["peaks"]["gemm"] = measure_gemm(0);
  return result;
}

}  // namespace
}  // namespace pkb::roofline

extern "C" const pkb::roofline::Calibrator pkb_calibrator;
extern "C" const pkb::roofline::Calibrator pkb_calibrator{.measure = pkb::roofline::measure};
