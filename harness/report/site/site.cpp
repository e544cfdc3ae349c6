// SPDX-License-Identifier: Apache-2.0
#include "harness/report/site/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <ranges>
#include <vector>

#include "harness/error/error.h"
#include "harness/prompt/template.h"
#include "harness/report/site/boards.h"
#include "harness/report/site/data_file.h"
#include "harness/report/site/pages.h"

namespace pkb::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// As Debian and Ubuntu package them.
struct Library {
  const char *file, *package;
};
constexpr Library kLibraries[] = {{"jquery/jquery.min.js", "libjs-jquery"},
                                  {"jquery-datatables/jquery.dataTables.min.js", "libjs-jquery-datatables"},
                                  {"chart.js/chart.min.js", "libjs-chart.js"},
                                  {"highlight.js/highlight.min.js", "libjs-highlight.js"}};

void require_libraries(const Site& site) {
  std::string files, packages;
  for (const Library& each : kLibraries)
    if (!fs::exists(site.libraries / each.file)) {
      files += fmt::format("{}{}", files.empty() ? "" : ", ", each.file);
      packages += fmt::format(" {}", each.package);
    }
  if (!files.empty())
    throw EnvironmentError({.where = site.libraries.string(),
                            .fault = files + " not found",
                            .remedy = "apt-get install" + packages + ", or --libraries DIR"});
}

void copy_libraries(const Site& site) {
  for (const Library& each : kLibraries)
    fs::copy_file(site.libraries / each.file, site.folder / "assets" / fs::path(each.file).filename(),
                  fs::copy_options::overwrite_existing);
}

fs::path room(const Site& site) { return site.source / "harness" / "report" / "site"; }

void prepare_folder(const Site& site) {
  require_libraries(site);
  // An earlier report may have had more evaluations.
  if (fs::exists(site.folder / "data" / "boards.js")) fs::remove_all(site.folder / "data");
  for (const char* const each : {"assets", "problems", "data/problems", "data/details"})
    fs::create_directories(site.folder / each);
  fs::copy(room(site) / "assets", site.folder / "assets",
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  copy_libraries(site);
}

/// The gravest come first; of very many the tables beside the site have the rest.
constexpr std::size_t kMostNotices = 2000;

json notices_of(const Report& report) {
  std::vector<const Notice*> gravest;
  for (const Notice& each : report.notices) gravest.push_back(&each);
  std::ranges::stable_sort(gravest, {}, &Notice::kind);
  json list = json::array();
  for (const Notice* each : gravest | std::views::take(kMostNotices))
    list.push_back({name_of(each->kind), each->file, each->text});
  return {{"count", report.notices.size()}, {"list", std::move(list)}};
}

void write_all(const Report& report, const std::optional<Comparison>& comparison, const Site& site) {
  prepare_folder(site);
  write_data(site.folder, "boards", boards_data(report));
  for (std::size_t i = 0; i < report.boards.size(); ++i)
    write_data(site.folder, fmt::format("cells-{}", i), cells_data(report, report.boards[i]));
  write_data(site.folder, "notices", notices_of(report));
  if (comparison) write_data(site.folder, "comparison", comparison_data(report, *comparison));
  const PageWriter pages(report, site, comparison.has_value());
  const std::pair<const char*, const char*> names[] = {{"index", "Leaderboard"},       {"plots", "Plots"},
                                                       {"problems", "Problems"},       {"candidate", "Candidate"},
                                                       {"definitions", "Definitions"}, {"sources", "Sources"}};
  for (const auto& [name, title] : names)
    pages.write(name, fmt::format("{}.html", name), {{"root", ""}, {"page_title", title}});
  if (comparison) pages.write("compare", "compare.html", {{"root", ""}, {"page_title", "Comparison"}});
  write_problem_pages(report, site, pages);
  write_details(report, site);
}

}  // namespace

PageWriter::PageWriter(const Report& report, const Site& site, bool has_comparison) : x_site(site) {
  const auto synthetic = std::ranges::count_if(report.evaluations, &Evaluation::synthetic);
  x_common = {{"site_title", report.title},
              {"created", report.created},
              {"has_comparison", has_comparison},
              {"synthetic", synthetic > 0 ? json(std::to_string(synthetic)) : json(false)},
              {"evaluation_count", report.evaluations.size()},
              {"problem_count", kProblems},
              {"notice_count", report.notices.size()},
              {"has_notices", !report.notices.empty()}};
}

void PageWriter::write(const std::string& name, const fs::path& file, json values) const {
  values.update(x_common);
  const fs::path path = x_site.folder / file;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << prompt::render(name, values, room(x_site) / "pages", {}, prompt::Escape::html);
  out.close();
  if (!out) throw EnvironmentError({.where = path.string(), .fault = "cannot be written", .remedy = {}});
}

void write_site(const Report& report, const std::optional<Comparison>& comparison, const Site& site) {
  try {
    write_all(report, comparison, site);
  } catch (const fs::filesystem_error& error) {
    throw EnvironmentError({.where = site.folder.string(), .fault = error.what(), .remedy = {}});
  }
}

}  // namespace pkb::report
