// SPDX-License-Identifier: Apache-2.0
#include "harness/process/private_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <system_error>

namespace pkb::process {
namespace {

namespace fs = std::filesystem;

class PrivateFolders : public testing::Test {
 protected:
  PrivateFolders() : x_parent(fs::path(testing::TempDir()) / ("pkb_private_" + std::to_string(::getpid()))) {
    fs::create_directory(x_parent);
  }
  ~PrivateFolders() override { fs::remove_all(x_parent); }
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(x_parent), fs::directory_iterator()));
  }
  /// A process that makes a folder and is killed.
  void abandon() const {
    const pid_t child = ::fork();
    if (child == 0) {
      const PrivateFolder folder(x_parent, "pkb-");
      std::ofstream(folder.path() / "left") << "x";
      ::raise(SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
  }
  fs::path x_parent;
};

TEST_F(PrivateFolders, AreReadableToTheirUserAloneAndVanish) {
  {
    const PrivateFolder folder(x_parent, "pkb-");
    struct stat facts {};
    ASSERT_EQ(::stat(folder.path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0700u);
    std::ofstream(folder.path() / "file") << "x";
  }
  EXPECT_EQ(count(), 0u);
}

TEST_F(PrivateFolders, OfKilledProcessesGoWithTheNext) {
  abandon();
  abandon();  // removes what the first has left
  EXPECT_EQ(count(), 1u);
  { const PrivateFolder next(x_parent, "pkb-"); }
  EXPECT_EQ(count(), 0u);
}

TEST_F(PrivateFolders, OfTheLivingAndOfOthersStay) {
  const PrivateFolder mine(x_parent, "pkb-");
  fs::create_directory(x_parent / "pkb-abcdef");  // of something else that is named so
  fs::create_directory(x_parent / "pkb-ghijkl");  // of another host
  std::ofstream(x_parent / "pkb-ghijkl" / ".owner") << "elsewhere";
  abandon();
  fs::create_directory_symlink(x_parent / "pkb-abcdef", x_parent / "pkb-mnopqr");
  { const PrivateFolder next(x_parent, "pkb-"); }
  EXPECT_TRUE(fs::exists(mine.path()));
  EXPECT_EQ(count(), 4u);
}

TEST_F(PrivateFolders, ThatCannotBeMadeAreAnError) {
  EXPECT_THROW(PrivateFolder(x_parent / "none", "pkb-"), std::system_error);
}

}  // namespace
}  // namespace pkb::process
