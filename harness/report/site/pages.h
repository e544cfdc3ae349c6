// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "harness/report/site/site.h"

namespace pkb::report {

/// Renders template `name` into `folder`/FILE with `values` beside what every page shares: title, date, navigation.
class PageWriter {
 public:
  PageWriter(const Report& report, const Site& site, bool has_comparison);
  void write(const std::string& name, const std::filesystem::path& file, nlohmann::json values) const;

 private:
  const Site& x_site;
  nlohmann::json x_common;
};

/// problems/NAME.html with what the tree says about a problem, and data/problems/NAME-K.js with its evaluations.
void write_problem_pages(const Report& report, const Site& site, const PageWriter& pages);

/// data/details/K.js: what candidate.html shows of kDetailsPerFile evaluations each.
void write_details(const Report& report, const Site& site);

}  // namespace pkb::report
