// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// When to ask a server again that did not answer.
namespace pkb::model {

using Seconds = std::chrono::duration<double>;

/// Header fields of a reply; names in lower case.
using Headers = std::map<std::string, std::string, std::less<>>;

/// Whether a status may pass by itself: time-outs, conflicts, too many requests, failures of the server.
bool is_transient(long http_status);

/// How long the server asks to wait: `retry-after-ms`, `retry-after` (seconds or an HTTP date; RFC 9110, 10.2.3), or the
/// latest of the rate limits' reset times (a duration such as "6m0s", or an RFC 3339 date). Nothing when it says nothing
/// that makes sense. Never negative; `now` is the wall clock.
std::optional<Seconds> requested_wait(const Headers& headers, std::chrono::system_clock::time_point now);

/// Exponential backoff with full jitter: uniform between half of and the whole of 1, 2, 4... seconds, at most a minute.
/// `attempt` counts from 0, `random` is uniform in [0, 1).
Seconds backoff(int attempt, double random);

/// What to do: the server's wish, at least the backoff where it has none, never more than `longest`.
Seconds wait_before(int attempt, const Headers& headers, std::chrono::system_clock::time_point now, double random,
                    Seconds longest);

}  // namespace pkb::model
