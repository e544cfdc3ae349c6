// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/candidate/digest.h"

/// Results as `pkb eval` and `pkb run` write them, for tests.
namespace pkb::report::example {

using nlohmann::json;

inline void write(const std::filesystem::path& file, const json& value) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << value.dump(1);
}

struct Result {
  int number = 1;  ///< of its id
  int problem = 1;
  std::string name = "allreduce", verdict = "correct", device = "virtual", source = "// a candidate";
};

inline std::string id(int number) { return fmt::format("20261201T000000Z-{:016x}", number); }

inline json series(double median) {
  return {{"median_ms", median},
          {"interval_ms", {median * 0.99, median * 1.01}},
          {"samples_ms", {median * 0.98, median, median * 1.02}}};
}

inline json result(const Result& of) {
  json diagnoses = json::array();
  if (of.verdict != "correct")
    diagnoses.push_back({{"verdict", of.verdict}, {"rank", 1}, {"trial", 0}, {"text", "it is wrong"}});
  json value = {
      {"schema", 1},
      {"id", id(of.number)},
      {"created", fmt::format("2026-12-01T00:{:02}:00Z", of.number % 60)},
      {"problem", {{"id", of.problem}, {"name", of.name}, {"sha256", "0123"}}},
      {"size", "tiny"},
      {"ranks", 4},
      {"dtype", "bf16"},
      {"device", of.device},
      {"chip", of.device == "virtual" ? json("h200") : json()},
      {"seed", 7},
      {"inputs", "generated"},
      {"verdict", of.verdict},
      {"diagnoses", diagnoses},
      {"candidate", {{"file", "a.cu"}, {"source", of.source}, {"sha256", candidate::sha256(of.source)}}},
      {"environment", {{"commit", "abc"}}},
      {"trials",
       json::array({{{"trial", 0}, {"passes", of.verdict == "correct"}, {"outputs", json::array()}}})}};
  if (of.device != "virtual") value["device_facts"] = {{"gpus", {"NVIDIA H200", "NVIDIA H200"}}};
  return value;
}

/// Of a correct candidate on a real GPU.
inline json timed(Result of, double baseline_ms, double candidate_ms) {
  of.device = "cuda";
  json value = result(of);
  value["timing"] = {{"baseline", series(baseline_ms)},
                     {"candidate", series(candidate_ms)},
                     {"floor_ms", 0.004},
                     {"unstable", nullptr},
                     {"speedup",
                      {{"value", baseline_ms / candidate_ms},
                       {"interval", {0.9 * baseline_ms / candidate_ms, 1.1 * baseline_ms / candidate_ms}}}},
                     {"roofline",
                      {{"hardware", "h200x8"},
                       {"limit", "memory"},
                       {"least_ms", candidate_ms / 2},
                       {"possible_ms", candidate_ms / 4}}}};
  return value;
}

inline json campaign(const std::string& model) {
  return {{"id", "20261201T000000Z-00000000000000ca"},
          {"model", model},
          {"repairs", 0},
          {"style", "zero-shot"},
          {"dtype", "bf16"},
          {"device", "auto"},
          {"size", "tiny"},
          {"ranks", 0},
          {"effort", "high"},
          {"temperature", nullptr}};
}

struct Reply {
  std::string problem = "001_allreduce";
  int sample = 0, attempt = 0;
  bool has_code = true;
};

/// In `campaign`, with its result where there is one.
inline void write(const std::filesystem::path& campaign, const Reply& reply, const json& result) {
  const auto stem = campaign / reply.problem / fmt::format("sample-{}", reply.sample) /
                    fmt::format("attempt-{}", reply.attempt);
  write(stem.string() + ".json",
        {{"problem", reply.problem},
         {"sample", reply.sample},
         {"attempt", reply.attempt},
         {"asked", "m"},
         {"answered", "m"},
         {"message", "write it"},
         {"text", "here"},
         {"price", 0.5},
         {"exchanges", json::array()},
         {"no_code", reply.has_code ? json() : json("the reply has no code")},
         {"usage", {{"input", 100}, {"output", 10}, {"cached", 0}, {"reasoning", 3}}}});
  if (!result.is_null()) {
    write(stem.string() + ".result.json", result);
    write(campaign / "results" / (result.at("id").get<std::string>() + ".json"), result);
  }
}

}  // namespace pkb::report::example
