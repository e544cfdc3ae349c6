// SPDX-License-Identifier: Apache-2.0
#include "harness/store/store.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/error/error.h"
#include "harness/process/unpredictable.h"

namespace pkb::store {
namespace {

std::string utc(const char* format) {
  const auto seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format(fmt::runtime(format), fmt::gmtime(seconds));
}

[[noreturn]] void cannot_write(const std::filesystem::path& file, int error) {
  throw EnvironmentError({.where = file.string(),
                          .fault = fmt::format("cannot be written: {}", std::strerror(error)),
                          .remedy = "free space there or choose another folder with --out"});
}

/// A file that disappears unless it is kept: no half-written result stays behind.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path path) : x_path(std::move(path)) {
    x_descriptor = ::open(x_path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (x_descriptor < 0) cannot_write(x_path, errno);
  }
  ~NewFile() {
    if (x_descriptor >= 0) ::close(x_descriptor);
    if (!x_kept) ::unlink(x_path.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(x_descriptor, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) cannot_write(x_path, errno);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void sync() const {
    if (::fsync(x_descriptor) != 0) cannot_write(x_path, errno);
  }
  void keep_as(const std::filesystem::path& name) {
    // Some file systems report a full disk or quota only here.
    if (::close(std::exchange(x_descriptor, -1)) != 0) cannot_write(x_path, errno);
    if (::rename(x_path.c_str(), name.c_str()) != 0) cannot_write(name, errno);
    x_kept = true;
  }

 private:
  std::filesystem::path x_path;
  int x_descriptor = -1;
  bool x_kept = false;
};

std::filesystem::path hidden_name(const std::filesystem::path& folder) {
  return folder / fmt::format(".{}.new", new_id());
}

}  // namespace

std::string new_id() {
  return fmt::format("{}-{:016x}", utc("{:%Y%m%dT%H%M%SZ}"), process::unpredictable());
}

std::string now() { return utc("{:%Y-%m-%dT%H:%M:%SZ}"); }

void require_writable(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder))
    throw EnvironmentError(
        {.where = folder.string(),
         .fault = "cannot be made a folder for results" + (error ? ": " + error.message() : ""),
         .remedy = "choose another one with --out"});
  NewFile(hidden_name(folder)).write("pkb");
}

namespace {

NewFile beside(const std::filesystem::path& file) {
  return NewFile(hidden_name(file.has_parent_path() ? file.parent_path() : "."));
}

}  // namespace

void write_whole(const std::filesystem::path& file, std::string_view text) {
  NewFile out = beside(file);
  out.write(text);
  out.sync();
  out.keep_as(file);
}

void write_unsynced(const std::filesystem::path& file, std::string_view text) {
  NewFile out = beside(file);
  out.write(text);
  out.keep_as(file);
}

std::filesystem::path write_result(const nlohmann::json& result, const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / (result.at("id").get<std::string>() + ".json");
  // Compiler output and candidates may hold bytes that are no UTF-8; they must not cost the result.
  write_whole(file, result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  return file;
}

}  // namespace pkb::store
