// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace pkb::worker {
namespace {

using nlohmann::json;

constexpr std::string_view kTroubleNames[] = {"load",  "misuse",      "exception",  "cuda",
                                              "fault", "unsupported", "memory_fault", "race", "environment"};
constexpr std::string_view kRoleNames[] = {"input", "in_out", "output", "symmetric"};
constexpr std::size_t kMostTroubles = 16;

// Every message is an object with "is", its name, and its members.

json members(const Hello& m) {
  json groups = json::array();
  for (const Hello::Group& each : m.groups)
    groups.push_back({{"name", each.name}, {"rank", each.rank}, {"ranks", each.ranks}});
  return {{"is", "hello"},      {"rank", m.rank}, {"ranks", m.ranks},    {"groups", groups},
          {"device", m.device}, {"chip", m.chip}, {"threads", m.threads}, {"confined", m.confined}};
}
json members(const Load& m) { return {{"is", "load"}, {"library", m.library}}; }
json members(const Segment& m) { return {{"is", "segment"}, {"bytes", m.bytes}}; }
json members(const Setup& m) {
  json tensors = json::array();
  for (const TensorPlace& each : m.tensors)
    tensors.push_back({{"name", each.name},
                       {"role", name_of(each.role)},
                       {"dtype", name_of(each.dtype)},
                       {"shape", each.shape},
                       {"offset", each.offset},
                       {"bytes_of", each.bytes_of}});
  return {{"is", "setup"}, {"tensors", tensors}, {"parameters", m.parameters}};
}
json members(const Run& m) { return {{"is", "run"}, {"seed", m.seed}}; }
json members(const Time& m) {
  return {{"is", "time"}, {"iteration", m.iteration}, {"inputs_at", m.inputs_at}, {"input_bytes", m.input_bytes}};
}
json members(const Review&) { return {{"is", "review"}}; }
json members(const Forget&) { return {{"is", "forget"}}; }
json members(const Teardown&) { return {{"is", "teardown"}}; }
json members(const Proceed&) { return {{"is", "proceed"}}; }
json members(const Quit&) { return {{"is", "quit"}}; }

json members(const Done& m) {
  json troubles = json::array();
  for (std::size_t i = 0; i < std::min(m.troubles.size(), kMostTroubles); ++i)
    troubles.push_back(
        {{"kind", name_of(m.troubles[i].kind)}, {"text", m.troubles[i].text.substr(0, kLongestText)}});
  const Counters& c = m.counters;
  return {{"is", "done"},
          {"ticket", m.ticket},
          {"troubles", troubles},
          {"lap", m.lap ? json{{"device_ms", m.lap->device_ms}, {"host_ms", m.lap->host_ms}} : json()},
          {"counters",
           {{"lane_instructions", c.lane_instructions},
            {"warp_instructions", c.warp_instructions},
            {"global_read", c.global_read},
            {"global_written", c.global_written},
            {"shared_read", c.shared_read},
            {"shared_written", c.shared_written},
            {"read_from", c.read_from},
            {"written_to", c.written_to}}}};
}
json members(const SymmetricRequest& m) { return {{"is", "symmetric"}, {"bytes", m.bytes}}; }
json members(const BarrierRequest&) { return {{"is", "barrier"}}; }

std::string packet_of(const json& message) {
  // Candidate texts may hold bytes that are no UTF-8: they are replaced, not an error.
  std::string packet = message.dump(-1, ' ', false, json::error_handler_t::replace);
  if (packet.size() > kLongestPacket)
    throw ProtocolError(fmt::format("a message of {} bytes is longer than a packet", packet.size()));
  return packet;
}

/// A member that must be there and of its type, without the conversions that the JSON library would allow.
template <class T>
T take(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw ProtocolError(fmt::format("no \"{}\"", key));
  bool fits = false;
  if constexpr (std::is_same_v<T, std::string>)
    fits = found->is_string();
  else if constexpr (std::is_same_v<T, bool>)
    fits = found->is_boolean();
  else if constexpr (std::is_unsigned_v<T>)
    fits = found->is_number_unsigned() && found->template get<std::uint64_t>() == found->template get<T>();
  else if constexpr (std::is_same_v<T, int>)
    fits = found->is_number_integer() && found->template get<std::int64_t>() == found->template get<int>();
  else if constexpr (std::is_same_v<T, double>)
    fits = found->is_number();
  else
    fits = found->is_array();
  if (!fits) throw ProtocolError(fmt::format("\"{}\" is of the wrong type", key));
  if constexpr (std::is_same_v<T, json>)
    return *found;
  else
    return found->template get<T>();
}

template <class T>
std::vector<T> take_numbers(const json& object, const char* key) {
  std::vector<T> numbers;
  for (const json& each : take<json>(object, key)) {
    const bool fits = std::is_same_v<T, std::uint64_t> ? each.is_number_unsigned()
                      : std::is_floating_point_v<T>    ? each.is_number()
                                                       : each.is_number_integer();
    if (!fits) throw ProtocolError(fmt::format("\"{}\" holds something else than numbers", key));
    numbers.push_back(each.get<T>());
  }
  return numbers;
}

json parse(std::string_view packet) {
  if (packet.size() > kLongestPacket) throw ProtocolError("longer than a packet");
  // Copying or destroying arrays nested without end would exhaust the stack.
  bool deep = false;
  json message = json::parse(
      packet, [&deep](int depth, json::parse_event_t, const json&) { return !(deep |= depth > 16); }, false);
  if (deep) throw ProtocolError("nested too deeply");
  if (!message.is_object()) throw ProtocolError("not a JSON object");
  return message;
}

Hello hello_from(const json& from) {
  Hello m{.rank = take<int>(from, "rank"),
          .ranks = take<int>(from, "ranks"),
          .groups = {},
          .device = take<int>(from, "device"),
          .chip = take<std::string>(from, "chip"),
          .threads = take<int>(from, "threads"),
          .confined = take<bool>(from, "confined")};
  for (const json& each : take<json>(from, "groups"))
    m.groups.push_back({.name = take<std::string>(each, "name"),
                        .rank = take<int>(each, "rank"),
                        .ranks = take_numbers<int>(each, "ranks")});
  return m;
}

device::Role role_from(const std::string& word) {
  for (std::size_t i = 0; i < std::size(kRoleNames); ++i)
    if (kRoleNames[i] == word) return static_cast<device::Role>(i);
  throw ProtocolError("unknown role of memory");
}

Setup setup_from(const json& from) {
  Setup m{.tensors = {}, .parameters = take_numbers<double>(from, "parameters")};
  for (const json& each : take<json>(from, "tensors")) {
    const auto dtype = dtype_from(take<std::string>(each, "dtype"));
    if (!dtype) throw ProtocolError("unknown dtype");
    m.tensors.push_back({.name = take<std::string>(each, "name"),
                         .role = role_from(take<std::string>(each, "role")),
                         .dtype = *dtype,
                         .shape = take_numbers<std::int64_t>(each, "shape"),
                         .offset = take<std::uint64_t>(each, "offset"),
                         .bytes_of = take_numbers<std::uint64_t>(each, "bytes_of")});
  }
  return m;
}

Trouble trouble_from(const json& from) {
  const auto word = take<std::string>(from, "kind");
  for (std::size_t i = 0; i < std::size(kTroubleNames); ++i)
    if (kTroubleNames[i] == word)
      return {.kind = static_cast<Trouble::Kind>(i),
              .text = take<std::string>(from, "text").substr(0, kLongestText)};
  throw ProtocolError("unknown kind of trouble");
}

Done done_from(const json& from) {
  Done m{.ticket = take<std::uint64_t>(from, "ticket"), .troubles = {}, .counters = {}};
  for (const json& each : take<json>(from, "troubles")) {
    if (m.troubles.size() == kMostTroubles) throw ProtocolError("too many troubles");
    if (!each.is_object()) throw ProtocolError("a trouble is no object");
    m.troubles.push_back(trouble_from(each));
  }
  if (const auto lap = from.find("lap"); lap != from.end() && !lap->is_null())
    m.lap = {.device_ms = take<double>(*lap, "device_ms"), .host_ms = take<double>(*lap, "host_ms")};
  const auto found = from.find("counters");
  if (found == from.end() || !found->is_object()) throw ProtocolError("no \"counters\"");
  const json& counters = *found;
  m.counters = {.lane_instructions = take<std::uint64_t>(counters, "lane_instructions"),
                .warp_instructions = take<std::uint64_t>(counters, "warp_instructions"),
                .global_read = take<std::uint64_t>(counters, "global_read"),
                .global_written = take<std::uint64_t>(counters, "global_written"),
                .shared_read = take<std::uint64_t>(counters, "shared_read"),
                .shared_written = take<std::uint64_t>(counters, "shared_written"),
                .read_from = take_numbers<std::uint64_t>(counters, "read_from"),
                .written_to = take_numbers<std::uint64_t>(counters, "written_to")};
  return m;
}

/// Runs `decode(message, its name)`; whatever the JSON library still finds wrong is a ProtocolError too.
template <class Decode>
auto decode_any(std::string_view packet, Decode decode) {
  const json message = parse(packet);
  try {
    return decode(message, take<std::string>(message, "is"));
  } catch (const json::exception& error) {
    throw ProtocolError(error.what());
  }
}

}  // namespace

std::string_view name_of(device::Role role) { return kRoleNames[static_cast<std::size_t>(role)]; }
std::string_view name_of(Trouble::Kind kind) { return kTroubleNames[static_cast<std::size_t>(kind)]; }

std::string encode(const Order& order) {
  json message = std::visit([](const auto& m) { return members(m); }, order.message);
  message["ticket"] = order.ticket;
  return packet_of(message);
}
std::string encode(const ToJudge& message) {
  return packet_of(std::visit([](const auto& m) { return members(m); }, message));
}

namespace {

ToWorker to_worker_from(const json& from, const std::string& name) {
  if (name == "hello") return hello_from(from);
  if (name == "segment") return Segment{.bytes = take<std::uint64_t>(from, "bytes")};
  if (name == "load") return Load{.library = take<std::string>(from, "library")};
  if (name == "setup") return setup_from(from);
  if (name == "run") return Run{.seed = take<std::uint64_t>(from, "seed")};
  if (name == "time")
    return Time{.iteration = take<std::uint32_t>(from, "iteration"),
                .inputs_at = take<std::uint64_t>(from, "inputs_at"),
                .input_bytes = take<std::uint64_t>(from, "input_bytes")};
  if (name == "review") return Review{};
  if (name == "forget") return Forget{};
  if (name == "teardown") return Teardown{};
  if (name == "proceed") return Proceed{};
  if (name == "quit") return Quit{};
  throw ProtocolError("unknown message");
}

}  // namespace

Order decode_to_worker(std::string_view packet) {
  return decode_any(packet, [](const json& from, const std::string& name) -> Order {
    return {.message = to_worker_from(from, name), .ticket = take<std::uint64_t>(from, "ticket")};
  });
}

ToJudge decode_to_judge(std::string_view packet) {
  return decode_any(packet, [](const json& from, const std::string& name) -> ToJudge {
    if (name == "done") return done_from(from);
    if (name == "symmetric") return SymmetricRequest{.bytes = take<std::uint64_t>(from, "bytes")};
    if (name == "barrier") return BarrierRequest{};
    throw ProtocolError("unknown message");
  });
}

}  // namespace pkb::worker
