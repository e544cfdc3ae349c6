// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "harness/model/api.h"

namespace pkb::model {

std::unique_ptr<Api> openai_chat();
std::unique_ptr<Api> openai_responses();
std::unique_ptr<Api> anthropic_messages();
std::unique_ptr<Api> gemini_generate_content();

inline std::vector<std::unique_ptr<Api>> all_apis() {
  std::vector<std::unique_ptr<Api>> all;
  all.push_back(openai_chat());
  all.push_back(openai_responses());
  all.push_back(anthropic_messages());
  all.push_back(gemini_generate_content());
  return all;
}

/// An endpoint without '/' at its end, and its query, for example "?api-version=1", or nothing.
struct Endpoint {
  std::string_view base, query;
};
Endpoint split(std::string_view endpoint);

/// `endpoint` with `path` behind it, before its query, unless it ends with `last` already.
std::string join_url(std::string_view endpoint, std::string_view path, std::string_view last);

}  // namespace pkb::model
