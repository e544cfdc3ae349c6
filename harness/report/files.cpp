// SPDX-License-Identifier: Apache-2.0
#include "harness/report/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "harness/error/error.h"
#include "harness/process/file_descriptor.h"

namespace pkb::report {
namespace {

namespace fs = std::filesystem;

class Walk {
 public:
  void start(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status))
      throw InputError({.where = path.string(),
                        .fault = "does not exist",
                        .remedy = "name result files or folders that hold some"});
    if (fs::is_directory(status))
      descend(path);
    else
      take(path);
  }
  Listing finish() {
    std::ranges::sort(x_listing.files);
    return std::move(x_listing);
  }

 private:
  /// Paths may overlap, and mounts may form loops.
  bool is_new(const fs::path& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) != 0 || x_seen.emplace(status.st_dev, status.st_ino).second;
  }

  void take(const fs::path& file) {
    if (is_new(file)) x_listing.files.push_back(file.string());
  }

  void descend(const fs::path& top) {
    std::vector<fs::path> open = {top};
    while (!open.empty()) {
      const fs::path folder = std::move(open.back());
      open.pop_back();
      if (!is_new(folder)) continue;
      std::error_code error;
      if (fs::exists(folder / kReportMark, error)) {
        note(Notice::Kind::ignored, folder, "is a report");
        continue;
      }
      fs::directory_iterator entry(folder, error);
      for (const fs::directory_iterator end; !error && entry != end; entry.increment(error))
        sort_out(*entry, open);
      if (error) note(Notice::Kind::unreadable, folder, error.message());
    }
  }

  void sort_out(const fs::directory_entry& entry, std::vector<fs::path>& open) {
    const fs::path& path = entry.path();
    const std::string name = path.filename();
    std::error_code error;
    const fs::file_status status = entry.symlink_status(error);
    if (fs::is_directory(status)) {
      open.push_back(path);
    } else if (name.starts_with('.') && name.ends_with(".new")) {
      note(Notice::Kind::ignored, path, "was never finished");
    } else if (path.extension() == ".json") {
      if (fs::is_regular_file(status))
        take(path);
      else
        note(Notice::Kind::ignored, path,
             fs::is_symlink(status) ? "is a symbolic link, which is not followed" : "is no regular file");
    } else if (fs::is_symlink(status) && fs::is_directory(path, error)) {
      note(Notice::Kind::ignored, path, "is a symbolic link, which is not followed");
    }
  }

  void note(Notice::Kind kind, const fs::path& path, std::string text) {
    x_listing.notices.push_back({.kind = kind, .file = path.string(), .text = std::move(text)});
  }

  Listing x_listing;
  std::set<std::pair<dev_t, ino_t>> x_seen;
};

}  // namespace

Listing list_files(const std::vector<fs::path>& paths) {
  Walk walk;
  for (const fs::path& each : paths) walk.start(each);
  return walk.finish();
}

void read_file(const fs::path& file, std::string& text, std::size_t padding) {
  const auto fail = [](const std::string& fault) { throw std::runtime_error(fault); };
  // A pipe must not hold us.
  const FileDescriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (descriptor.get() < 0 || ::fstat(descriptor.get(), &status) != 0) fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("is no regular file");
  auto size = static_cast<std::size_t>(status.st_size);
  if (size > kLargestFile) fail(fmt::format("is larger than {} MiB", kLargestFile >> 20));
  text.reserve(size + padding);
  text.resize(size);
  for (std::size_t at = 0; at < size;) {
    const ssize_t got = ::read(descriptor.get(), text.data() + at, size - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::strerror(errno));
    if (got == 0) text.resize(size = at);
    at += static_cast<std::size_t>(got);
  }
}

}  // namespace pkb::report
