// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/device/probe.h"
#include "harness/judge/bench.h"
#include "harness/judge/gather.h"
#include "harness/store/store.h"

namespace pkb::judge {
namespace {

nlohmann::json to_json(const Diagnosis& diagnosis) {
  return {{"verdict", name_of(diagnosis.verdict)},
          {"rank", diagnosis.rank},
          {"trial", diagnosis.trial},
          {"text", diagnosis.text}};
}

/// The gravest of all findings.
Verdict verdict_of(const nlohmann::json& diagnoses) {
  Verdict worst = Verdict::correct;
  for (const nlohmann::json& each : diagnoses)
    worst = std::min(worst, verdict_from(each.at("verdict").get<std::string>()).value());
  return worst;
}

nlohmann::json device_facts(const launch::Job& job) {
  if (job.device == launch::Device::virtual_gpu) return {{"chip", job.chip}};
  const device::Probe machine = device::probe();
  nlohmann::json names = nlohmann::json::array();
  for (const device::Gpu& gpu : machine.gpus) names.push_back(gpu.name);
  return {{"gpus", names},
          {"driver_version", machine.driver_version},
          {"runtime_version", machine.runtime_version}};
}

}  // namespace

void write_verdict(Bench& bench, const Findings& findings) {
  nlohmann::json mine = {{"diagnoses", nlohmann::json::array()},
                         {"counters", findings.counters},
                         {"worker_output", findings.worker_output}};
  for (const Diagnosis& each : findings.diagnoses) mine["diagnoses"].push_back(to_json(each));
  const std::vector<nlohmann::json> all = gather(mine, bench.comm());
  if (bench.rank() != 0) return;

  nlohmann::json diagnoses = nlohmann::json::array(), counters = nlohmann::json::array(),
                 outputs = nlohmann::json::array();
  for (const nlohmann::json& each : all) {
    diagnoses.insert(diagnoses.end(), each["diagnoses"].begin(), each["diagnoses"].end());
    counters.push_back(each["counters"]);
    outputs.push_back(each["worker_output"]);
  }
  nlohmann::json verdict = {{"verdict", name_of(verdict_of(diagnoses))},
                            {"diagnoses", diagnoses},
                            {"trials", findings.trials.is_null() ? nlohmann::json::array() : findings.trials},
                            {"counters", counters},
                            {"worker_output", outputs},
                            {"seed", bench.job().seed},
                            {"device_facts", device_facts(bench.job())},
                            {"phases", bench.clock().milliseconds()}};
  if (findings.facts.is_object()) verdict.update(findings.facts);
  store::write_whole(bench.job().run_folder / "verdict.json", verdict.dump(1));
}

}  // namespace pkb::judge
