// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/virtual_gpu/virtual_gpu.h"

namespace pkb::virtual_gpu {

/// Writes the Status that another process may be reading. Calls are serialised by the caller; those about races need
/// not be with the others.
class StatusPage {
 public:
  explicit StatusPage(Status* page) : x_page(page) {}

  void progressed();
  void launched();
  void looks();
  void polls(bool polling);
  void host_waits(bool waits);
  bool is_polling() const { return x_polling; }
  /// Keeps what fits.
  void describe_waits(std::string_view text);
  /// Adds a line, if it fits.
  void add_race(std::string_view text);
  void forget_races();

 private:
  Status* x_page;
  bool x_polling = false, x_host_waits = false;
};

}  // namespace pkb::virtual_gpu
