// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/error/error.h"
#include "harness/process/scheduling.h"
#include "harness/process/unpredictable.h"
#include "harness/virtual_gpu/check/ledger.h"

namespace pkb::judge {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kMostSymmetric = 256;  // each costs every judge a descriptor
constexpr std::size_t kLongestLine = 500;
constexpr int kPollMilliseconds = 1;  ///< how long another judge's message may lie unnoticed
constexpr auto kSampleInterval = 100ms;
constexpr auto kDeathPatience = 2s;

double seconds(std::chrono::milliseconds duration) { return static_cast<double>(duration.count()) / 1000; }

std::vector<int> numbers_of(const std::vector<FileDescriptor>& descriptors) {
  std::vector<int> numbers;
  for (const FileDescriptor& each : descriptors) numbers.push_back(each.get());
  return numbers;
}

/// What a process that died said last, which may say why.
std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.rfind('\n') + 1).substr(0, kLongestLine);
}

Verdict verdict_of(worker::Trouble::Kind kind) {
  switch (kind) {
    case worker::Trouble::Kind::load:
      return Verdict::load_error;
    case worker::Trouble::Kind::unsupported:
      return Verdict::unsupported;
    case worker::Trouble::Kind::memory_fault:
      return Verdict::memory_fault;
    case worker::Trouble::Kind::race:
      return Verdict::race;
    case worker::Trouble::Kind::misuse:
    case worker::Trouble::Kind::exception:
    case worker::Trouble::Kind::cuda:
    case worker::Trouble::Kind::fault:
    case worker::Trouble::Kind::environment:
      return Verdict::crash;
  }
  return Verdict::crash;
}

}  // namespace

Session::Session(const Options& options, WorkerProcess worker, Agreement& agreement,
                 DescriptorExchange& exchange, device::Memory& memory)
    : x_options(options),
      x_worker(std::move(worker)),
      x_agreement(agreement),
      x_exchange(exchange),
      x_memory(memory) {}

bool Session::start(const worker::Hello& hello) {
  const Phase phase{.name = "starting", .deadline = x_options.setup_deadline, .trusted = true};
  if (x_options.has_status) return start_virtual(hello, phase);
  return x_options.timed ? start_timed(hello, phase) : perform(phase, hello);
}

bool Session::start_timed(const worker::Hello& hello, const Phase& phase) {
  x_line = share_line(x_exchange);
  x_referee.emplace(x_line.get(), x_options.rank, x_options.ranks);
  const int descriptor = x_line.fd();
  return perform(phase, hello, {&descriptor, 1});
}

bool Session::start_virtual(const worker::Hello& hello, const Phase& phase) {
  const auto pages = device::virtual_memory();
  const device::Segment page = pages->create(sizeof(virtual_gpu::Status));
  std::vector<device::Segment> all;
  for (FileDescriptor& each : x_exchange.all_gather(page.fd()))
    all.push_back(pages->import(std::move(each), sizeof(virtual_gpu::Status)));
  x_status = StatusPages(std::move(all));
  std::vector<int> descriptors = {page.fd()};
  std::vector<FileDescriptor> ledgers;
  if (x_options.checks) {
    ledgers = x_exchange.all_gather(pages->create(virtual_gpu::check::Ledger::kBytes).fd());
    for (const int each : numbers_of(ledgers)) descriptors.push_back(each);
  }
  return perform(phase, hello, descriptors);
}

bool Session::share(const device::Segment& mine) {
  const std::vector<FileDescriptor> all = x_exchange.all_gather(mine.fd());
  return perform({.name = "mapping memory", .deadline = x_options.setup_deadline, .trusted = true},
                 worker::Segment{.bytes = mine.bytes()}, numbers_of(all));
}

bool Session::load(const worker::Load& load) {
  return perform({.name = "loading", .deadline = x_options.setup_deadline}, load);
}

bool Session::setup(const worker::Setup& setup) {
  return perform({.name = "setup", .deadline = x_options.setup_deadline, .may_ask = true}, setup);
}

bool Session::run(const worker::Run& run, int trial) {
  if (!perform({.name = "run", .deadline = x_options.run_deadline, .trial = trial}, run)) return false;
  if (!x_options.checks) return true;
  const worker::Counters counted = x_done.counters;
  const Phase after{.name = "review", .deadline = x_options.run_deadline, .trial = trial};
  const bool reviewed = perform(after, worker::Review{}) && perform(after, worker::Forget{});
  x_done.counters = counted;
  return reviewed;
}

bool Session::time(const worker::Time& time, int trial) {
  x_referee->begin(time.iteration);
  const bool done = perform({.name = "run", .deadline = x_options.run_deadline, .trial = trial}, time);
  x_times = x_referee->finish();
  return done;
}

bool Session::teardown() {
  const bool done = perform({.name = "teardown", .deadline = x_options.run_deadline}, worker::Teardown{});
  x_symmetric.clear();
  return done;
}

void Session::quit() {
  if (x_worker.channel().is_open() && !x_worker.death() &&
      order(worker::Quit{}))
    x_worker.finish();
  x_worker.kill();
}

bool Session::order(const worker::ToWorker& message, std::span<const int> descriptors) {
  x_turn = Turn::worker;
  return x_worker.channel().send(worker::encode({.message = message, .ticket = x_ticket}), descriptors);
}

bool Session::perform(const Phase& phase, const worker::ToWorker& message, std::span<const int> descriptors) {
  x_deadlock = {};
  x_launches_before.clear();
  for (int rank = 0; rank < x_options.ranks && !x_status.empty(); ++rank)
    x_launches_before.push_back(x_status.read(rank).launches);
  x_ticket = process::unpredictable();
  if (!x_status.empty()) {
    x_kept_before = process::kept_from_processor(x_worker.pid());
    x_status.publish_kept_from_processor(x_options.rank, {});
  }
  bool listening = order(message, descriptors) || fail_closed(phase);
  const auto start = Clock::now();
  for (;;) {
    if (listening) {
      if (const std::optional<Event> event = look(phase)) {
        x_agreement.post(*event);
        listening = event->kind != Event::Kind::failed;
      }
    } else {
      x_worker.wait(kPollMilliseconds);
    }
    watch(phase, start);
    const std::optional<Event> decided = x_agreement.decision();
    if (!decided) continue;
    if (x_options.rank == 0 && !x_agreement.disagreement().empty())
      record(Verdict::crash, x_agreement.disagreement(), phase, -1);
    switch (decided->kind) {
      case Event::Kind::answered:
        return true;
      case Event::Kind::failed:
        x_worker.kill();
        return false;
      case Event::Kind::symmetric:
      case Event::Kind::barrier:
        listening = grant(*decided, phase);
        break;
    }
  }
}

std::optional<Event> Session::look(const Phase& phase) {
  if (x_worker.wait(kPollMilliseconds)) return hear(phase);
  if (!x_worker.death()) return std::nullopt;
  // A last answer may have come between the two looks.
  return x_worker.wait(0) ? hear(phase) : report_end(phase);
}

Event Session::hear(const Phase& phase) {
  constexpr Event kFailed{.kind = Event::Kind::failed};
  try {
    const std::optional<worker::Packet> packet = x_worker.channel().receive();
    if (!packet) return report_end(phase);
    if (!packet->descriptors.empty()) throw worker::ProtocolError("with descriptors");
    const worker::ToJudge message = worker::decode_to_judge(packet->bytes);
    if (x_turn == Turn::judge) throw worker::ProtocolError("out of turn");
    x_turn = Turn::judge;
    if (const auto* done = std::get_if<worker::Done>(&message)) {
      if (done->ticket != x_ticket) throw worker::ProtocolError("an answer to nothing that it was told");
      x_done = *done;
      for (const worker::Trouble& each : done->troubles) record(each, phase);
      // What only a virtual GPU sees spoils nothing: the trials go on and show what else is wrong.
      const bool goes_on = std::ranges::all_of(done->troubles, [](const worker::Trouble& each) {
        return each.kind == worker::Trouble::Kind::memory_fault || each.kind == worker::Trouble::Kind::race;
      });
      return goes_on ? Event{.kind = Event::Kind::answered} : kFailed;
    }
    if (!phase.may_ask) throw worker::ProtocolError("a request outside setup");
    if (const auto* request = std::get_if<worker::SymmetricRequest>(&message))
      return {.kind = Event::Kind::symmetric, .bytes = request->bytes};
    return {.kind = Event::Kind::barrier};
  } catch (const worker::ProtocolError& error) {
    record(Verdict::disqualified,
           fmt::format("the worker spoke to the judge on its own in {}: {}", phase.name, error.what()), phase,
           x_options.rank);
    return kFailed;
  }
}

Event Session::report_end(const Phase& phase) {
  // The socket closes a moment before its process can be waited for.
  x_worker.channel().close();
  const auto deadline = Clock::now() + kDeathPatience;
  while (!x_worker.death() && Clock::now() < deadline) x_worker.wait(kPollMilliseconds);
  const std::string how = x_worker.death().value_or("closed its socket");
  std::string said = last_line(x_worker.output());
  if (!said.empty()) said = "; its last words: " + said;
  record(Verdict::crash,
         x_worker.exited_cleanly()
             ? fmt::format("the worker exited with status 0 in {} before it had answered: code of the candidate "
                           "called exit or the like", phase.name)
             : fmt::format("the worker {} in {}{}", how, phase.name, said),
         phase, x_options.rank);
  return {.kind = Event::Kind::failed};
}

void Session::record(Verdict verdict, std::string text, const Phase& phase, int rank) {
  x_diagnoses.push_back({.verdict = verdict, .rank = rank, .trial = phase.trial, .text = std::move(text)});
}

void Session::record(const worker::Trouble& trouble, const Phase& phase) {
  if (trouble.kind == worker::Trouble::Kind::environment && phase.trusted)
    throw EnvironmentError(
        {.where = fmt::format("worker of rank {}", x_options.rank), .fault = trouble.text, .remedy = {}});
  record(verdict_of(trouble.kind), trouble.text, phase, x_options.rank);
}

bool Session::grant(const Event& request, const Phase& phase) {
  if (request.kind == Event::Kind::barrier)
    return order(worker::Proceed{}) || fail_closed(phase);
  std::string refused;
  if (x_symmetric.size() >= kMostSymmetric) {
    refused = fmt::format("more than {} calls in one setup; ask once and divide the memory", kMostSymmetric);
  } else {
    try {
      x_symmetric.push_back(x_memory.create(request.bytes));
    } catch (const EnvironmentError& error) {
      refused = error.what();
    }
  }
  if (!refused.empty())
    record(Verdict::crash, fmt::format("symmetric({}): {}", request.bytes, refused), phase, x_options.rank);
  // All or none: a rank without memory of its own has nothing to exchange.
  if (!x_agreement.all(refused.empty())) {
    x_agreement.post({.kind = Event::Kind::failed});
    return false;
  }
  const std::vector<FileDescriptor> all = x_exchange.all_gather(x_symmetric.back().fd());
  return order(worker::Segment{.bytes = request.bytes}, numbers_of(all)) || fail_closed(phase);
}

bool Session::fail_closed(const Phase& phase) {
  x_agreement.post(report_end(phase));
  return false;
}

void Session::watch(const Phase& phase, Clock::time_point start) {
  const auto now = Clock::now();
  const bool samples = now - x_last_sample >= kSampleInterval && !x_status.empty();
  if (samples) {
    x_last_sample = now;
    const auto kept = process::kept_from_processor(x_worker.pid()) - x_kept_before;
    x_status.publish_kept_from_processor(x_options.rank, std::max<std::chrono::nanoseconds>(kept, 0ns));
  }
  if (x_options.rank != 0) return;
  if (samples) {
    std::vector<DeadlockWatch::Rank> ranks;
    for (int rank = 0; rank < x_options.ranks; ++rank)
      ranks.push_back({.waits_for_others = x_agreement.events()[static_cast<std::size_t>(rank)].has_value(),
                       .device = x_status.read(rank)});
    if (x_deadlock.is_deadlocked(now, ranks))
      return stop_all(Verdict::deadlock, phase,
                      "all that is still running waits for values that nobody will write");
  }
  const auto kept = x_status.empty() ? 0ns : x_status.kept_from_processor();
  if (!is_overdue(now - start, kept, phase.deadline)) return;
  // A virtual GPU that hangs is found above: what is left is slow. Of a real one we know only that it is
  // silent.
  stop_all(x_status.empty() ? Verdict::deadlock : Verdict::timeout, phase,
           fmt::format("{} has not finished within {} s", phase.name, seconds(phase.deadline)));
}

void Session::stop_all(Verdict verdict, const Phase& phase, const std::string& why) {
  std::vector<int> answered, silent;
  for (int rank = 0; rank < x_options.ranks; ++rank)
    (x_agreement.events()[static_cast<std::size_t>(rank)] ? answered : silent).push_back(rank);
  if (silent.empty()) return;  // all have something to say: the decision is due
  x_agreement.stop();
  for (const int rank : silent)
    if (!x_status.empty())
      for (const std::string& each : x_status.races(rank)) record(Verdict::race, each, phase, rank);
  if (!x_status.empty())
    return record(verdict, fmt::format("{}: {}", why, describe_ranks(standings())), phase, silent.front());
  const std::string others =
      answered.empty() ? "no rank has answered" : list_ranks(answered) + " had answered";
  for (const int rank : silent) record(verdict, fmt::format("{}; {}", why, others), phase, rank);
}

std::vector<Standing> Session::standings() const {
  std::vector<Standing> ranks;
  for (int rank = 0; rank < x_options.ranks; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const bool answered = x_agreement.events()[index].has_value();
    const DeviceState device = x_status.read(rank);
    ranks.push_back({.answered = answered,
                     .launches = device.launches - x_launches_before[index],
                     .waits = answered ? "" : device.waits});
  }
  return ranks;
}

}  // namespace pkb::judge
