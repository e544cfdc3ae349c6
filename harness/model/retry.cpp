// SPDX-License-Identifier: Apache-2.0
#include "harness/model/retry.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <vector>

namespace pkb::model {
namespace {

constexpr double kLongestBackoff = 60;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// A finite number and what follows it; nothing when there is none. Overflow is none.
struct Number {
  double value;
  std::string_view rest;
};
std::optional<Number> number_at(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return Number{value, text.substr(static_cast<std::size_t>(end - text.data()))};
}

std::optional<Seconds> plain_seconds(std::string_view text, double unit) {
  const std::optional<Number> number = number_at(text);
  if (!number || !number->rest.empty() || number->value < 0) return std::nullopt;
  return Seconds(number->value * unit);
}

/// "1h2m3.5s", "20ms": as Go prints durations.
std::optional<Seconds> go_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double seconds = 0;
  while (!text.empty()) {
    const std::optional<Number> number = number_at(text);
    if (!number || number->value < 0) return std::nullopt;
    text = number->rest;
    constexpr std::pair<std::string_view, double> kUnits[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    const auto* const unit =
        std::ranges::find_if(kUnits, [&](const auto& each) { return text.starts_with(each.first); });
    if (unit == std::end(kUnits)) return std::nullopt;
    seconds += number->value * unit->second;
    text.remove_prefix(unit->first.size());
  }
  return Seconds(seconds);
}

Seconds until(std::time_t when, std::chrono::system_clock::time_point now) {
  return std::max(Seconds(0), Seconds(std::chrono::system_clock::from_time_t(when) - now));
}

std::optional<Seconds> until_http_date(std::string_view text, std::chrono::system_clock::time_point now) {
  const std::time_t when = curl_getdate(std::string(text).c_str(), nullptr);
  if (when == -1) return std::nullopt;
  return until(when, now);
}

std::optional<Seconds> until_rfc3339(std::string_view text, std::chrono::system_clock::time_point now) {
  std::tm parts{};
  const std::string copy(text);
  const char* const end = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr || (*end != 'Z' && *end != '.' && *end != '+')) return std::nullopt;
  return until(::timegm(&parts), now);
}

std::optional<Seconds> reset_time(std::string_view text, std::chrono::system_clock::time_point now) {
  if (const auto duration = go_duration(text)) return duration;
  if (const auto date = until_rfc3339(text, now)) return date;
  return plain_seconds(text, 1);
}

}  // namespace

bool is_transient(long http_status) {
  return http_status == 408 || http_status == 409 || http_status == 425 || http_status == 429 ||
         (http_status >= 500 && http_status != 501 && http_status != 505);
}

std::optional<Seconds> requested_wait(const Headers& headers, std::chrono::system_clock::time_point now) {
  if (const auto found = headers.find("retry-after-ms"); found != headers.end())
    if (const auto wait = plain_seconds(trimmed(found->second), 1e-3)) return wait;
  if (const auto found = headers.find("retry-after"); found != headers.end()) {
    const std::string_view text = trimmed(found->second);
    if (const auto wait = plain_seconds(text, 1)) return wait;
    // Letters tell a date from a number that makes no sense.
    if (text.find(':') != std::string_view::npos)
      if (const auto wait = until_http_date(text, now)) return wait;
  }
  std::optional<Seconds> latest;
  for (const auto& [name, value] : headers)
    if (name.find("ratelimit") != std::string::npos && name.find("reset") != std::string::npos)
      if (const auto wait = reset_time(trimmed(value), now)) latest = std::max(latest.value_or(*wait), *wait);
  return latest;
}

Seconds backoff(int attempt, double random) {
  const double most = std::min(kLongestBackoff, std::exp2(std::min(attempt, 30)));
  return Seconds(most / 2 * (1 + random));
}

Seconds wait_before(int attempt, const Headers& headers, std::chrono::system_clock::time_point now, double random,
                    Seconds longest) {
  return std::min(requested_wait(headers, now).value_or(backoff(attempt, random)), longest);
}

}  // namespace pkb::model
