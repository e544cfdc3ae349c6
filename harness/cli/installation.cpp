// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/installation.h"

#include "harness/error/error.h"

namespace pkb::cli {

Installation installation() {
  Installation found;
  found.binaries = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  found.build = found.binaries.parent_path();
  found.source = std::filesystem::weakly_canonical(found.build / PKB_SOURCE_FROM_BUILD);
  if (!std::filesystem::exists(found.problems() / "schema.json"))
    throw EnvironmentError({.where = found.problems().string(),
                            .fault = "no problems there",
                            .remedy = "run pkb from the build folder of its repository, or build again"});
  return found;
}

}  // namespace pkb::cli
