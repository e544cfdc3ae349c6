// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/faults/corpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace pkb::virtual_gpu::faults {
namespace {

using nlohmann::json;

/// Of three trials two have the size that is asked for, one with values of each kind, and the third is small.
/// The first run of all takes everything in order, the others as seeds have it.
constexpr int kSchedules = 2, kTrials = 3, kSeed = 7;

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(fmt::format("{}: cannot be read", file.string()));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Expectation expectation_of(const json& form) {
  if (form == "silent") return {.verdicts = {"correct"}, .says = {}, .missing = {}};
  return {.verdicts = form.at("verdicts"),
          .says = form.value("says", std::vector<std::string>{}),
          .missing = form.value("missing", "")};
}

/// `says` with the lines that it names.
std::string with_lines(const std::string& says, const std::filesystem::path& source) {
  static const std::regex mark("@(\\w+)");
  std::map<std::string, int> lines;
  int number = 0;
  for (const std::string& line : lines_of(source)) {
    ++number;
    if (std::smatch found; std::regex_search(line, found, std::regex("// .*@(\\w+)$")))
      lines[found[1]] = number;
  }
  std::string text;
  auto rest = says.begin();
  for (auto at = std::sregex_iterator(says.begin(), says.end(), mark); at != std::sregex_iterator(); ++at) {
    const auto line = lines.find((*at)[1]);
    if (line == lines.end())
      throw std::runtime_error(fmt::format("{}: no line is marked {}", source.string(), at->str()));
    text.append(rest, (*at)[0].first);
    text += fmt::format("{}\\.cu:{}\\b", source.stem().string(), line->second);
    rest = (*at)[0].second;
  }
  return text.append(rest, says.end());
}

}  // namespace

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.source.filename().string() << " as " << each.form;
}

std::vector<Case> read_manifest(const std::filesystem::path& manifest) {
  std::vector<Case> cases;
  for (const json& entry : json::parse(std::ifstream(manifest))) {
    const auto name = entry.value("name", std::string("a case without a name"));
    try {
      Case each{.name = {},
                .source = manifest.parent_path() / manifest.stem() / entry.at("source"),
                .form = {},
                .problem = entry.at("problem"),
                .ranks = 0,
                .options = {"--trials", std::to_string(entry.value("trials", kTrials)), "--schedules",
                            std::to_string(entry.value("schedules", kSchedules))},
                .expected = {}};
      each.options.insert(each.options.end(), {"--seed", std::to_string(entry.value("seed", kSeed))});
      for (const std::string& word : entry.value("options", std::vector<std::string>{}))
        each.options.push_back(word);
      for (const auto& [form, expected] : entry.at("forms").items())
        for (const int ranks : entry.value("ranks", std::vector<int>{3})) {
          each.name = fmt::format("{}_{}_{}", name, form, ranks);
          each.form = form;
          each.ranks = ranks;
          each.expected = expectation_of(expected);
          cases.push_back(each);
        }
    } catch (const json::exception& error) {
      throw std::runtime_error(fmt::format("{}: {}: {}", manifest.string(), name, error.what()));
    }
  }
  return cases;
}

std::string candidate_of(const Case& each) {
  static const std::regex include("#include \"(.*)\"");
  const std::string name = each.source.filename();
  std::ostringstream text;
  int number = 0;
  for (const std::string& line : lines_of(each.source)) {
    ++number;
    std::smatch found;
    if (number == 1) {
      text << "#define " << each.form << "\n#line 2 \"" << name << "\"\n";
    } else if (std::regex_match(line, found, include)) {
      text << "#line 1 \"" << found[1] << "\"\n";
      for (const std::string& pasted : lines_of(each.source.parent_path().parent_path() / found[1].str()))
        text << pasted << '\n';
      text << "#line " << number + 1 << " \"" << name << "\"\n";
    } else {
      text << line << '\n';
    }
  }
  return text.str();
}

std::string objection(const Case& each, const std::string& result) {
  const json judged = json::parse(result, nullptr, false);
  if (judged.is_discarded()) return "no result was printed";
  std::vector<std::string> texts;
  for (const json& diagnosis : judged.at("diagnoses")) {
    texts.push_back(fmt::format("{}: {}", diagnosis.at("verdict").get<std::string>(),
                                diagnosis.at("text").get<std::string>()));
  }
  const auto verdict = judged.at("verdict").get<std::string>();
  const std::string got = fmt::format("got {}\n  {}\n{}", verdict, fmt::join(texts, "\n  "),
                                      judged.at("compile").at("text").get<std::string>());
  if (std::ranges::find(each.expected.verdicts, verdict) == each.expected.verdicts.end())
    return fmt::format("expected {}, {}", fmt::join(each.expected.verdicts, " or "), got);
  if (verdict == "correct") return texts.empty() ? "" : "correct, but not silent: " + got;
  std::vector<std::regex> all;
  for (const std::string& says : each.expected.says)
    all.emplace_back(with_lines(says, each.source), std::regex::icase);
  const bool is_said = std::ranges::any_of(texts, [&](const std::string& text) {
    return std::ranges::all_of(all, [&](const std::regex& says) { return std::regex_search(text, says); });
  });
  return is_said ? "" : fmt::format("no diagnosis says {}; {}", fmt::join(each.expected.says, " and "), got);
}

}  // namespace pkb::virtual_gpu::faults
