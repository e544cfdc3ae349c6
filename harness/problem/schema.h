// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "harness/problem/json_file.h"

namespace pkb::problem {

/// A JSON schema whose descriptions say what is expected at each place.
class Schema {
 public:
  /// `text` is a valid schema of draft 7; nodes refer to its definitions only.
  explicit Schema(std::string_view text);
  ~Schema();
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  /// @throws InputError about the field that is deepest in the document.
  void validate(const JsonFile& file) const;

 private:
  struct Parsed;
  std::unique_ptr<const Parsed> x_parsed;
};

/// `problems/schema.json`, which is built in.
const Schema& problem_schema();

}  // namespace pkb::problem
