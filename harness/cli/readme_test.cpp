// SPDX-License-Identifier: Apache-2.0
// Every command in README.md is run, in order, on the kernel that README.md shows.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "harness/cli/process.h"

namespace pkb::cli {
namespace {

struct Readme {
  std::string kernel;                 ///< the C++ block that includes <pkb/...>
  std::vector<std::string> commands;  ///< lines "$ scripts/pkb ..." of console blocks
};

Readme read_readme() {
  Readme readme;
  std::ifstream in(PKB_SOURCE "/README.md");
  std::string block, text;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      if (block == "```cpp" && text.find("#include <pkb/") != std::string::npos) readme.kernel = text;
      block = block.empty() ? line : "";
      text.clear();
    } else if (block == "```console" && line.starts_with("$ scripts/pkb ")) {
      readme.commands.push_back(line.substr(2));
    } else {
      text += line + "\n";
    }
  }
  return readme;
}

TEST(Readme, ItsCommandsWork) {
  const Readme readme = read_readme();
  ASSERT_GE(readme.commands.size(), 5u);
  ASSERT_FALSE(readme.kernel.empty());
  const TestFolder folder;
  std::ofstream(folder.path() / "my_kernel.cu") << readme.kernel;
  for (const char* const shown : {"problems", "prompts"})
    std::filesystem::create_directory_symlink(std::filesystem::path(PKB_SOURCE) / shown, folder.path() / shown);

  for (const std::string& line : readme.commands) {
    std::istringstream words(line);
    Command command{.folder = folder.path(), .environment = {{"XDG_CACHE_HOME", PKB_TEST_CACHE}}};
    for (std::string word; words >> word;) command.words.push_back(word);
    command.words.front() = PKB_EXECUTABLE;  // scripts/pkb builds it and runs it
    if (command.words.at(1) == "eval" && line.find("--out") == std::string::npos)
      command.words.insert(command.words.end(), {"--out", folder.path() / "results"});
    const Finished done = run(command);
    EXPECT_EQ(done.exit, 0) << line << "\n" << done.output << done.errors;
  }
}

}  // namespace
}  // namespace pkb::cli
