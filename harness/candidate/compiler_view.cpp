// SPDX-License-Identifier: Apache-2.0
#include "harness/candidate/compiler_view.h"

namespace pkb::candidate {

std::vector<std::string> confined(const CompilerView& view, const sandbox::Means& means) {
  constexpr std::uint64_t kTmpBytes = 1 << 30;
  std::vector<std::string> line = sandbox::walls(means, sandbox::System::compilers, kTmpBytes);
  const auto add = [&](std::initializer_list<std::string> words) { line.insert(line.end(), words); };
  add({"--ro-bind", view.toolkit.string(), view.toolkit.string()});
  for (const auto& [here, there] : view.read_only) add({"--ro-bind", here.string(), there});
  add({"--bind", view.output.first.string(), view.output.second});
  add({"--chdir", view.folder, "--"});
  return line;
}

}  // namespace pkb::candidate
