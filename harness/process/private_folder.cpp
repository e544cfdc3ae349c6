// SPDX-License-Identifier: Apache-2.0
#include "harness/process/private_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace pkb::process {
namespace {

namespace fs = std::filesystem;

constexpr const char *kOwner = ".owner", *kUnlocked = ".owner.new";
constexpr std::size_t kDrawn = 6;  // letters that mkdtemp draws

std::string host() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

[[noreturn]] void fail(const fs::path& path) {
  throw std::system_error(errno, std::generic_category(), path.string());
}

/// The lock file appears under its name when it is locked already, and says on which host: locks of a network
/// file system may hold on one host only.
FileDescriptor lock(const fs::path& folder) {
  FileDescriptor file(::open((folder / kUnlocked).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string name = host();
  if (!file || ::flock(file.get(), LOCK_EX) != 0 ||
      ::write(file.get(), name.data(), name.size()) != static_cast<ssize_t>(name.size()) ||
      ::rename((folder / kUnlocked).c_str(), (folder / kOwner).c_str()) != 0)
    fail(folder);
  return file;
}

bool is_abandoned(const fs::path& folder) {
  const FileDescriptor file(
      ::open((folder / kOwner).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid())
    return false;
  char name[HOST_NAME_MAX + 1] = {};
  const ssize_t length = ::read(file.get(), name, sizeof name);
  return length > 0 && std::string(name, static_cast<std::size_t>(length)) == host() &&
         ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

void remove_abandoned(const fs::path& parent, const std::string& prefix) {
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, failed)) {
    const std::string name = entry.path().filename().string();
    std::error_code ignored;
    if (name.size() == prefix.size() + kDrawn && name.starts_with(prefix) && !entry.is_symlink(ignored) &&
        is_abandoned(entry.path()))
      fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

PrivateFolder::PrivateFolder(const fs::path& parent, const std::string& prefix) {
  remove_abandoned(parent, prefix);
  std::string name = (parent / prefix).string() + std::string(kDrawn, 'X');
  if (::mkdtemp(name.data()) == nullptr) fail(name);
  x_path = name;
  x_lock = lock(x_path);
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;  // what cannot be removed now is the next owner's to clean
  fs::remove_all(x_path, ignored);
}

}  // namespace pkb::process
