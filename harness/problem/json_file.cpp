// SPDX-License-Identifier: Apache-2.0
#include "harness/problem/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <system_error>

#include "harness/problem/formula.h"

namespace pkb::problem {
namespace {

constexpr std::uintmax_t kLargestFile = 1 << 20;
constexpr int kDeepest = 16;

std::string display_name(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::path relative = std::filesystem::proximate(path, failed);
  if (failed || relative.empty() || *relative.begin() == "..") return path.string();
  return relative.string();
}

std::string read_text(const std::filesystem::path& path, const std::string& name) {
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status)) throw InputError({name, "no such file", "check the path"});
  if (!std::filesystem::is_regular_file(status)) throw InputError({name, "not a regular file", ""});
  if (std::filesystem::file_size(path, failed) > kLargestFile || failed)
    throw InputError({name, "larger than 1 MiB", "a problem is described in a few KiB"});
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad())
    throw InputError({name, fmt::format("cannot be read: {}", std::strerror(errno)), ""});
  return text;
}

/// Where `byte` (counted from 1, as nlohmann::json does) stands.
std::string position(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : std::min(byte - 1, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

/// nlohmann's texts read "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error
/// ...".
std::string without_prefix(std::string_view what) {
  if (const std::size_t bracket = what.find("] "); bracket != std::string_view::npos)
    what.remove_prefix(bracket + 2);
  if (what.starts_with("parse error"))
    if (const std::size_t colon = what.find(": "); colon != std::string_view::npos)
      what.remove_prefix(colon + 2);
  return std::string(what);
}

/// Refuses members that stand twice (the parser would keep one of them) and nesting that no problem has.
class Strictness {
 public:
  explicit Strictness(std::string file) : x_file(std::move(file)) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepest)
      throw InputError({x_file, fmt::format("nested deeper than {} levels", kDeepest), ""});
    if (event == Json::parse_event_t::object_start) x_members.emplace_back();
    if (event == Json::parse_event_t::object_end) x_members.pop_back();
    if (event == Json::parse_event_t::key && !x_members.back().insert(parsed.get<std::string>()).second)
      throw InputError({x_file, fmt::format("\"{}\" stands twice in one object", parsed.get<std::string>()),
                        "remove one"});
    return true;
  }

 private:
  std::string x_file;
  std::vector<std::set<std::string>> x_members;  // of the objects that are open
};

void refuse_large_numbers(const JsonFile& file, const Json& json, const std::string& field) {
  if (json.is_number() && std::abs(json.get<double>()) >= kIntegerLimit)
    throw file.error(field, fmt::format("{} is not below 2^53", json.dump()), "give a smaller number");
  if (json.is_object())
    for (const auto& [key, value] : json.items())
      refuse_large_numbers(file, value, field.empty() ? key : field + "." + key);
  if (json.is_array())
    for (std::size_t i = 0; i < json.size(); ++i)
      refuse_large_numbers(file, json[i], fmt::format("{}[{}]", field, i));
}

}  // namespace

InputError JsonFile::error(std::string_view field, std::string fault, std::string remedy) const {
  const std::string where = field.empty() ? name : fmt::format("{}: {}", name, field);
  return InputError({where, std::move(fault), std::move(remedy)});
}

JsonFile parse_json(std::string name, std::string text) {
  JsonFile file{.name = std::move(name), .text = std::move(text), .json = {}};
  try {
    file.json = Json::parse(file.text, Strictness(file.name));
  } catch (const Json::parse_error& error) {
    throw file.error(position(file.text, error.byte), without_prefix(error.what()), "correct the JSON");
  } catch (const Json::exception& error) {
    throw file.error("", without_prefix(error.what()), "correct the JSON");
  }
  refuse_large_numbers(file, file.json, "");
  return file;
}

JsonFile read_json(const std::filesystem::path& path) {
  const std::string name = display_name(path);
  return parse_json(name, read_text(path, name));
}

}  // namespace pkb::problem
