// SPDX-License-Identifier: Apache-2.0
// Stands in for a worker in the session's tests: the candidate's "path" says how it behaves, "RANK:BEHAVIOUR"
// on one rank or "BEHAVIOUR" on all.
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <variant>

#include "harness/worker/channel.h"
#include "harness/worker/protocol.h"

namespace {

using namespace pkb::worker;  // NOLINT: a test program

Channel channel(pkb::FileDescriptor(3));

void say(const ToJudge& message) { channel.send(encode(message)); }
std::uint64_t ticket = 0;
void say_done() { say(Done{.ticket = ticket, .troubles = {}, .counters = {}}); }

void setup(const std::string& behaviour) {
  if (behaviour == "symmetric") {
    for (const std::uint64_t bytes : {100, 200}) {
      say(SymmetricRequest{.bytes = bytes});
      const auto packet = channel.receive();
      // All ranks' segments, or it is no answer.
      if (!packet || packet->descriptors.size() != 2) ::_exit(9);
    }
    say(BarrierRequest{});
    channel.receive();
  }
  if (behaviour == "symmetric of its own") {
    say(SymmetricRequest{.bytes = 100});
    channel.receive();
  }
  if (behaviour == "greed") {
    say(SymmetricRequest{.bytes = std::uint64_t{1} << 62});
    channel.receive();
  }
  say_done();
}

void run(const std::string& behaviour) {
  if (behaviour == "exit 0") ::_exit(0);
  if (behaviour == "exit 3") ::_exit(3);
  if (behaviour == "crash") ::raise(SIGSEGV);
  if (behaviour == "silence") ::sleep(100);
  if (behaviour == "garbage") channel.send("{\"is\": \"correct\"}");
  if (behaviour == "request in run") say(BarrierRequest{});
  if (behaviour == "another ticket") say(Done{.ticket = ticket + 1, .troubles = {}, .counters = {}});
  if (behaviour == "two answers") say_done();
  if (behaviour == "descriptors") {
    const int mine[] = {0};
    channel.send(encode(Done{.ticket = ticket, .troubles = {}, .counters = {}}), mine);
  }
  if (behaviour == "environment")
    say(Done{.ticket = ticket, .troubles = {{.kind = Trouble::Kind::environment, .text = "no disk"}}, .counters = {}});
  if (behaviour == "trouble")
    say(Done{.ticket = ticket,
             .troubles = {{.kind = Trouble::Kind::unsupported, .text = "lacks it"},
                          {.kind = Trouble::Kind::fault, .text = "a trap"}},
             .counters = {}});
  say_done();
}

}  // namespace

int main() {
  std::string behaviour;
  int rank = 0;
  while (const auto packet = channel.receive()) {
    const auto [message, of_message] = decode_to_worker(packet->bytes);
    ticket = of_message;
    if (const auto* hello = std::get_if<Hello>(&message)) rank = hello->rank;
    if (const auto* load = std::get_if<Load>(&message)) {
      behaviour = load->library;
      if (const std::size_t colon = behaviour.find(':'); colon != std::string::npos)
        behaviour = std::stoi(behaviour) == rank ? behaviour.substr(colon + 1) : "";
    }
    if (std::holds_alternative<Setup>(message))
      setup(behaviour);
    else if (std::holds_alternative<Run>(message))
      run(behaviour);
    else if (std::holds_alternative<Quit>(message))
      return 0;
    else
      say_done();
  }
}
