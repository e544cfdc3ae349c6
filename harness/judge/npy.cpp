// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "harness/error/error.h"

namespace pkb::judge {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::size_t kPrefix = 10;  // magic, version, length of the header
constexpr std::size_t kLongestHeader = 65535;

/// NumPy's name of what a dtype is stored as.
std::string_view type_string(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return "<u2";
    case DType::f16:
      return "<f2";
    case DType::f32:
      return "<f4";
    case DType::f64:
      return "<f8";
    case DType::i8:
      return "|i1";
    case DType::u8:
    case DType::e4m3:
    case DType::e5m2:
      return "|u1";
    case DType::i32:
      return "<i4";
    case DType::i64:
      return "<i8";
  }
  return {};
}

std::string tuple(std::span<const std::int64_t> shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0]) : fmt::format("({})", fmt::join(shape, ", "));
}

std::size_t byte_count(DType dtype, std::span<const std::int64_t> shape) {
  return std::accumulate(
      shape.begin(), shape.end(), size_of(dtype),
      [](std::size_t bytes, std::int64_t extent) { return bytes * static_cast<std::size_t>(extent); });
}

/// What follows `'key':` in the header, a Python dictionary literal, up to `end`.
std::optional<std::string> value_of(const std::string& header, const std::string& key, char end) {
  const std::size_t start = header.find("'" + key + "':");
  if (start == std::string::npos) return std::nullopt;
  const std::size_t from = start + key.size() + 3, to = header.find(end, from);
  if (to == std::string::npos) return std::nullopt;
  std::string value = header.substr(from, to - from);
  std::erase_if(value, [](char c) { return c == ' ' || c == '\''; });
  return value;
}

}  // namespace

void write_npy(const std::filesystem::path& file, const Array& array) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
                                   type_string(array.dtype), tuple(array.shape));
  // Data starts at a multiple of 64 bytes.
  header.append(63 - (kPrefix + header.size()) % 64, ' ');
  header += '\n';
  const std::filesystem::path unfinished = file.string() + ".part";
  std::ofstream out(unfinished, std::ios::binary);
  out << kMagic << '\x01' << '\0' << static_cast<char>(header.size() & 0xFF)
      << static_cast<char>(header.size() >> 8) << header;
  out.write(reinterpret_cast<const char*>(array.bytes.data()),
            static_cast<std::streamsize>(array.bytes.size()));
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(unfinished, file, error);
  if (out && !error) return;
  const std::string reason = error ? error.message() : std::strerror(errno);
  std::filesystem::remove(unfinished, error);
  throw EnvironmentError({.where = file.string(), .fault = "cannot be written: " + reason, .remedy = {}});
}

Array read_npy(const std::filesystem::path& file, DType dtype, std::span<const std::int64_t> shape) {
  const auto refuse = [&](const std::string& fault) -> InputError {
    return InputError({.where = file.string(),
                       .fault = fault,
                       .remedy = fmt::format("it must hold {} ({}) of shape {}", type_string(dtype),
                                             name_of(dtype), tuple(shape))});
  };
  std::error_code error;
  if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))
    throw refuse("is no regular file");  // opening a pipe would wait for ever
  std::ifstream in(file, std::ios::binary);
  if (!in) throw refuse(std::string("cannot be read: ") + std::strerror(errno));
  char prefix[kPrefix];
  in.read(prefix, kPrefix);
  if (!in || std::string_view(prefix, kMagic.size()) != kMagic) throw refuse("is no .npy file");
  if (prefix[6] != 1)
    throw refuse(fmt::format("has .npy format {}.{}, not 1.0", int{prefix[6]}, int{prefix[7]}));
  const std::size_t length = static_cast<unsigned char>(prefix[8]) | static_cast<unsigned char>(prefix[9])
                                                                         << 8;
  std::string header(std::min(length, kLongestHeader), '\0');
  in.read(header.data(), static_cast<std::streamsize>(header.size()));
  const auto type = value_of(header, "descr", ',');
  const auto order = value_of(header, "fortran_order", ',');
  auto extents = value_of(header, "shape", ')');
  if (!in || !type || !order || !extents || !extents->starts_with('('))
    throw refuse("has a damaged .npy header");
  if (*type != type_string(dtype)) throw refuse(fmt::format("holds {}", *type));
  if (*order != "False") throw refuse("is in Fortran order");

  std::vector<std::int64_t> found;
  for (std::size_t i = 1; i < extents->size();) {
    const std::size_t comma = std::min(extents->find(',', i), extents->size());
    std::int64_t extent = -1;
    const char* const end = extents->data() + comma;
    if (std::from_chars(extents->data() + i, end, extent).ptr != end || extent < 0)
      throw refuse("has a damaged .npy header");
    found.push_back(extent);
    i = comma + 1;
  }
  if (!std::ranges::equal(found, shape)) throw refuse(fmt::format("has shape {}", tuple(found)));

  Array array{
      .dtype = dtype, .shape = std::move(found), .bytes = std::vector<std::byte>(byte_count(dtype, shape))};
  in.read(reinterpret_cast<char*>(array.bytes.data()), static_cast<std::streamsize>(array.bytes.size()));
  if (static_cast<std::size_t>(in.gcount()) != array.bytes.size()) throw refuse("ends too early");
  return array;
}

}  // namespace pkb::judge
