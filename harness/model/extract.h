// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace pkb::model {

/// The candidate in a model's reply, byte for byte, or why there is none.
struct Extraction {
  std::string code;
  std::string reason;  ///< one sentence; empty when there is code
};

/// Takes the last complete file: a fenced block (CommonMark 4.5, with any info string; the last one may lack its end) or
/// the whole reply when it has no fences. Complete means that braces, comments and literals are closed, that it defines
/// `run(pkb::Context&...` and that nothing is left out ("// same as before") or written as a difference. Nothing is repaired.
/// A fence inside a comment or raw string of the code does not end its block.
Extraction extract_candidate(std::string_view reply);

}  // namespace pkb::model
