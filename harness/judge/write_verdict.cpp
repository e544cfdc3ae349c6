// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/device/probe.h"
#include "harness/diagnosis/diagnosis.h"
#include "harness/judge/bench.h"
#include "harness/judge/gather.h"
#include "harness/store/store.h"

namespace pkb::judge {
namespace {

/// Where the kind of failure alone tells.
std::string_view category_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::deadlock:
    case Verdict::timeout:
    case Verdict::race:
    case Verdict::nondeterministic:
      return name_of(diagnosis::Category::synchronisation);
    case Verdict::crash:
    case Verdict::memory_fault:
      return name_of(diagnosis::Category::memory_safety);
    case Verdict::no_code:
    case Verdict::compile_error:
    case Verdict::load_error:
    case Verdict::unsupported:
    case Verdict::disqualified:
    case Verdict::wrong_result:
    case Verdict::correct:
      break;
  }
  return "";
}

nlohmann::json to_json(const Diagnosis& diagnosis) {
  nlohmann::json json = {{"verdict", name_of(diagnosis.verdict)},
          {"rank", diagnosis.rank},
          {"trial", diagnosis.trial},
          {"text", diagnosis.text},
          {"category", diagnosis.category.empty() ? category_of(diagnosis.verdict) : diagnosis.category}};
  if (!diagnosis.what.empty()) json["class"] = diagnosis.what;
  if (diagnosis.wrong > 0)
    json.update({{"output", diagnosis.output},
                 {"elements", diagnosis.elements},
                 {"wrong", diagnosis.wrong},
                 {"first", diagnosis.first},
                 {"explanation", diagnosis.explanation},
                 {"explained", diagnosis.explained},
                 {"got_by_rank", diagnosis.got_by_rank},
                 {"golden_by_rank", diagnosis.golden_by_rank}});
  return json;
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
