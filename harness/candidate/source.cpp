// SPDX-License-Identifier: Apache-2.0
#include "harness/candidate/source.h"

#include <fmt/format.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

#include "harness/error/error.h"
#include "harness/process/utf8.h"

namespace pkb::candidate {
namespace {

constexpr std::uintmax_t kLargest = 4 << 20;

/// The offset of the first byte that is not UTF-8, or that is NUL.
std::optional<std::size_t> first_bad_byte(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = text[i] == '\0' ? 0 : process::utf8_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

std::string plain_name(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-' && c != '_') c = '_';
  if (name.empty() || name.front() == '-' || name.front() == '.') name.insert(0, 1, '_');
  return name;
}

}  // namespace

Source read_source(const std::filesystem::path& path) {
  const auto refuse = [&](std::string fault, std::string remedy = "") {
    return InputError({path.string(), std::move(fault), std::move(remedy)});
  };
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(path, failed);
  if (status.type() == std::filesystem::file_type::not_found)
    throw refuse("there is no such file", "check the path");
  if (failed) throw refuse(fmt::format("cannot be read: {}", failed.message()));
  if (std::filesystem::is_directory(status)) throw refuse("is a folder", "name the .cu file in it");
  if (!std::filesystem::is_regular_file(status)) throw refuse("is not a regular file", "name a .cu file");
  const std::uintmax_t size = std::filesystem::file_size(path, failed);
  if (!failed && size > kLargest) throw refuse("is larger than 4 MiB", "a candidate is one source file");

  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw refuse(fmt::format("cannot be read: {}", std::strerror(errno)), "check its permissions");
  Source source{.text = {std::istreambuf_iterator<char>(file), {}}, .name = plain_name(path)};
  if (file.bad()) throw refuse(fmt::format("cannot be read: {}", std::strerror(errno)));
  if (source.text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw refuse("is empty", "write `void run(pkb::Context&, const pkb::Args&)` in it");
  if (const auto bad = first_bad_byte(source.text))
    throw refuse(fmt::format("is not UTF-8 text: byte {} is 0x{:02x}", *bad,
                             static_cast<unsigned>(static_cast<unsigned char>(source.text[*bad]))),
                 "save the source as UTF-8");
  return source;
}

std::string read_file(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!file || file.bad())
    throw EnvironmentError({path.string(), fmt::format("cannot be read: {}", std::strerror(errno)), ""});
  return text;
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file)
    throw EnvironmentError({path.string(), fmt::format("cannot be written: {}", std::strerror(errno)),
                            "check the folder's permissions and the space left on the disk"});
}

}  // namespace pkb::candidate
