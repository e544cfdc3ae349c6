// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "harness/report/report.h"
#include "harness/store/migration.h"

namespace pkb::report {

/// Who made a candidate, and how.
struct Submission {
  std::string name{};
  bool is_model = false;
  std::map<std::string, std::string> settings{};  ///< what makes two submitters of one model
  std::string campaign{};                         ///< tells equal samples of two campaigns apart
  int sample = 0, attempt = 0;
};

/// What decides with whom an evaluation shares a board.
struct Place {
  launch::Device device = launch::Device::virtual_gpu;
  std::string hardware{};  ///< empty: the result does not say, because nothing ran
  std::string size{}, dtype{};
  int ranks = 0;  ///< 0: not said
  bool generated_inputs = true;
  auto operator<=>(const Place&) const = default;
};

/// A file, as far as reports need it.
struct Record {
  enum class Kind : std::uint8_t {
    other,
    result,
    reply,     ///< of a model, an attempt of a campaign
    campaign,  ///< its settings
  };
  Kind kind = Kind::other;
  Evaluation evaluation{};  ///< its indices are not set
  int problem = 0;
  std::string problem_name{};
  Place place{};
  std::optional<Submission> submission{};
  std::string digest{};        ///< of a result: SHA-256 of its text without white space
  bool has_candidate = false;  ///< a reply that holds code
};

/// What makes a file no result, and in which field.
struct Malformed {
  std::string field, fault;
};

/// Reads JSON texts one after the other. Not for use by several threads.
class RecordReader {
 public:
  explicit RecordReader(const store::Migration& migration = store::migration());
  ~RecordReader();
  /// `text` has kPadding bytes of capacity beyond its size. @throws Malformed
  Record read(const std::string& text);
  static const std::size_t kPadding;

 private:
  Record read_earlier(const std::string& text);

  struct Parser;
  const store::Migration& x_migration;
  std::unique_ptr<Parser> x_parser;
};

}  // namespace pkb::report
