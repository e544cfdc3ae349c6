// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "harness/worker/candidate.h"
#include "harness/worker/channel.h"
#include "harness/worker/machine.h"
#include "harness/worker/rank_memory.h"

namespace pkb::worker {

/// The untrusted child: does what the judge says with one candidate.
class Worker final : public Host {
 public:
  explicit Worker(Channel channel) : x_channel(std::move(channel)) {}

  /// Until Quit or until the judge is gone.
  void serve();

  // Called by the candidate, through its Context.
  void* symmetric(std::size_t bytes) override;
  void* peer(const void* pointer, int rank) const override;
  void* multicast(const void* pointer) override;
  void barrier() override;

 private:
  enum class Phase : std::uint8_t { idle, setup, run, teardown };

  void handle(const Hello& hello, std::vector<FileDescriptor> descriptors);
  void handle(const Segment& segment, std::vector<FileDescriptor> descriptors);
  void handle(const Load& load, std::vector<FileDescriptor> descriptors);
  void handle(const Setup& setup, std::vector<FileDescriptor> descriptors);
  void handle(const Run& run, std::vector<FileDescriptor> descriptors);
  void handle(const Time& time, std::vector<FileDescriptor> descriptors);
  void handle(const Review& review, std::vector<FileDescriptor> descriptors);
  void handle(const Forget& forget, std::vector<FileDescriptor> descriptors);
  void handle(const Teardown& teardown, std::vector<FileDescriptor> descriptors);
  void handle(const Proceed& proceed, std::vector<FileDescriptor> descriptors);
  void handle(const Quit& quit, std::vector<FileDescriptor> descriptors);

  /// Calls into the candidate, waits for its device and answers with all that went wrong.
  void perform(Phase phase, const std::function<void()>& call);
  void note(Trouble::Kind kind, std::string text) { x_troubles.push_back({kind, std::move(text)}); }
  void collect_device_troubles();
  void answer();
  void require_setup(const char* function) const;
  Packet receive();

  Channel x_channel;
  bool x_serving = true;
  Phase x_phase = Phase::idle;
  std::uint64_t x_ticket = 0;  ///< of what the judge said last
  Candidate::World x_world;
  std::unique_ptr<Machine> x_machine;
  std::unique_ptr<RankMemory> x_memory;
  std::unique_ptr<Candidate> x_candidate;
  std::vector<Trouble> x_troubles;
  std::optional<timing::Lap> x_lap;
};

}  // namespace pkb::worker
