// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace pkb::candidate {

/// SHA-256 over a sequence of fields. Each field is preceded by its length, so that ("ab", "c") and ("a",
/// "bc") differ.
class Digest {
 public:
  Digest();
  Digest& field(std::string_view bytes);
  /// 64 hexadecimal digits. The digest is finished afterwards.
  std::string hex();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> x_context;
};

/// SHA-256 of the bytes alone, as `sha256sum` prints it.
std::string sha256(std::string_view bytes);

}  // namespace pkb::candidate
