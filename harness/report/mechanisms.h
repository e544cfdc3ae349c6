// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/report/report.h"

namespace pkb::report {

/// Which mechanisms a candidate's source names outside comments. What it names it need not use.
Mechanisms mechanisms_in(std::string_view source);

}  // namespace pkb::report
