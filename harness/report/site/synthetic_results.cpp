// SPDX-License-Identifier: Apache-2.0
// Writes made-up results to try reports with; see synthetic.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "harness/report/site/synthetic.h"

int main(int argc, char** argv) {
  CLI::App tool{"Made-up results to try reports with. Nothing in them was measured."};
  pkb::report::SyntheticExtent extent;
  std::string out;
  std::size_t plain = 0;
  tool.add_option("out", out, "Folder to write into")->required();
  tool.add_option("--models", extent.models, "Models")->check(CLI::Range(1, 64))->capture_default_str();
  tool.add_option("--problems", extent.problems, "Problems")->check(CLI::Range(1, 87))->capture_default_str();
  tool.add_option("--samples", extent.samples, "Samples of each problem")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  tool.add_option("--repairs", extent.repairs, "Repair rounds")->check(CLI::Range(0, 100))->capture_default_str();
  tool.add_option("--poison", extent.poison, "Text to put into every field");
  tool.add_option("--plain", plain, "Write so many results without campaigns instead");
  CLI11_PARSE(tool, argc, argv);
  if (plain > 0)
    pkb::report::write_synthetic_results(PKB_PROBLEMS, out, plain);
  else
    pkb::report::write_synthetic_campaigns(PKB_PROBLEMS, out, extent);
  return 0;
}
