// SPDX-License-Identifier: Apache-2.0
#include "harness/problem/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>

#include "harness/problem/description.h"

namespace pkb::problem {
namespace {

/// Folders that hold a problem, in the order of their ids.
std::vector<std::filesystem::path> problem_folders(const std::filesystem::path& root) {
  std::error_code failed;
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(root, failed))
    if (std::filesystem::exists(entry.path() / "problem.json")) folders.push_back(entry.path());
  if (failed)
    throw InputError({root.string(), fmt::format("cannot be listed: {}", failed.message()),
                      "name the folder that holds the problems"});
  std::ranges::sort(folders);
  return folders;
}

/// Levenshtein's distance: letters to insert, remove or change.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

struct FolderName {
  int id = 0;
  std::string name;
};
FolderName split(const std::string& folder) {
  FolderName parts{.id = 0, .name = folder};
  const auto [end, failed] = std::from_chars(folder.data(), folder.data() + folder.size(), parts.id);
  if (failed == std::errc() && end != folder.data() + folder.size() && *end == '_')
    parts.name = std::string(end + 1, folder.data() + folder.size());
  return parts;
}

InputError unknown(const std::vector<std::filesystem::path>& folders, std::string_view wanted) {
  std::vector<std::string> names;
  for (const auto& folder : folders) names.push_back(folder.filename().string());
  std::ranges::stable_sort(names, {}, [&](const std::string& folder) {
    const std::string name = split(folder).name;
    return name.find(wanted) != std::string::npos ? 0 : distance(name, wanted);
  });
  names.resize(std::min<std::size_t>(names.size(), 3));
  const std::string remedy =
      names.empty() ? "this folder holds no problem"
                    : fmt::format("closest are {}; `pkb list` shows all", fmt::join(names, ", "));
  return InputError({"problem", fmt::format("there is no \"{}\"", wanted), remedy});
}

}  // namespace

Problem::Problem(std::shared_ptr<const Description> description) : x_description(std::move(description)) {}

Problem Problem::load(const std::filesystem::path& folder) {
  return Problem(std::make_shared<const Description>(describe(folder)));
}

int Problem::id() const { return x_description->id; }
const std::string& Problem::name() const { return x_description->name; }
const std::string& Problem::title() const { return x_description->title; }
const std::string& Problem::family() const { return x_description->family; }
const std::string& Problem::workload() const { return x_description->workload; }
const std::string& Problem::parallelism() const { return x_description->parallelism; }
const std::filesystem::path& Problem::folder() const { return x_description->folder; }
const std::string& Problem::text() const { return x_description->file.text; }

std::vector<std::string> Problem::sizes() const {
  std::vector<std::string> names;
  for (const SizeDescription& size : x_description->sizes) names.push_back(size.name);
  return names;
}

std::vector<Problem> load_all(const std::filesystem::path& root) {
  std::vector<Problem> problems;
  for (const auto& folder : problem_folders(root)) problems.push_back(Problem::load(folder));
  return problems;
}

Problem find(const std::filesystem::path& root, std::string_view id_or_name) {
  const std::vector<std::filesystem::path> folders = problem_folders(root);
  const bool is_number =
      !id_or_name.empty() && std::ranges::all_of(id_or_name, [](unsigned char c) { return std::isdigit(c); });
  for (const auto& folder : folders) {
    const std::string filename = folder.filename().string();
    const FolderName parts = split(filename);
    int id = 0;
    if (is_number) std::from_chars(id_or_name.data(), id_or_name.data() + id_or_name.size(), id);
    if (is_number ? id == parts.id : id_or_name == parts.name || id_or_name == filename)
      return Problem::load(folder);
  }
  throw unknown(folders, id_or_name);
}

}  // namespace pkb::problem
