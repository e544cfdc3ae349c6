// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace pkb::campaign {

/// One reply of a model: the first to a problem is attempt 0, repairs follow.
struct Attempt {
  std::string problem;  ///< "013_gemm_allreduce"
  int sample = 0, number = 0;
  int part = 0;  ///< of a reply that was cut off at a limit of tokens and asked to go on
};

/// What a campaign has paid for, in a folder: a file for each attempt, written whole and never again, beside it the
/// candidate and, once it is judged, the result. A killed campaign goes on from there.
///
///     campaign.json                          what was asked of whom
///     013_gemm_allreduce/sample-0/attempt-1.json, .cu, .result.json
///     013_gemm_allreduce/sample-0/attempt-1.part-0.json     of a reply that was asked to go on
class Ledger {
 public:
  /// Starts a campaign, or goes on with the one in `folder`. @throws InputError when that one has other settings: its
  /// attempts would not be comparable. @throws EnvironmentError
  Ledger(std::filesystem::path folder, const nlohmann::json& settings);

  std::optional<nlohmann::json> attempt(const Attempt& which) const;
  void keep_attempt(const Attempt& which, const nlohmann::json& attempt, const std::string& code);
  std::optional<nlohmann::json> part(const Attempt& which) const;
  void keep_part(const Attempt& which, const nlohmann::json& part);
  std::optional<nlohmann::json> result(const Attempt& which) const;
  void keep_result(const Attempt& which, const nlohmann::json& result);
  std::filesystem::path candidate(const Attempt& which) const { return path(which, ".cu"); }

 private:
  std::filesystem::path path(const Attempt& which, std::string_view suffix) const;
  std::filesystem::path x_folder;
};

}  // namespace pkb::campaign
