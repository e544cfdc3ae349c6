// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/timing/gpu_state.h"
#include "harness/timing/series.h"
#include "reference/philox.h"

namespace pkb::judge {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr double kWantedWidth = 0.03;
constexpr std::size_t kFewestPairs = 20, kMostPairs = 2000, kWindow = 10;
constexpr std::uint32_t kFloorLaps = 25;
constexpr std::chrono::milliseconds kLeastWarmUp = 300ms, kMostWarmUp = 3s, kMostMeasuring = 10s;
constexpr double kSteady = 0.02;
/// How much longer the judges' clock may find an iteration than events do, beyond what it finds for the judges' own.
constexpr double kSlack_ms = 0.010, kRelativeSlack = 0.02;
constexpr double kUnbelievable = 0.25;  ///< fraction of iterations beyond the slack

/// Times of one contestant, iteration by iteration.
struct Series {
  std::vector<double> device, host, outside;
  void add(const SlowestLap& lap) {
    device.push_back(lap.device_ms);
    host.push_back(lap.host_ms);
    outside.push_back(lap.outside_ms);
  }
  nlohmann::json to_json(std::uint64_t seed) const {
    const timing::Interval interval = timing::median_interval(device, seed);
    std::vector<double> beyond;
    for (std::size_t i = 0; i < device.size(); ++i) beyond.push_back(outside[i] - device[i]);
    return {{"median_ms", timing::median(device)},
            {"interval_ms", {interval.low, interval.high}},
            {"samples_ms", device},
            {"host_ms", timing::median(host)},
            {"outside_beyond_ms", beyond}};
  }
};

double greatest(double mine, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_MAX, comm);
  return mine;
}

/// Rank 0's word.
bool decided(bool mine, MPI_Comm comm) {
  int word = mine ? 1 : 0;
  MPI_Bcast(&word, 1, MPI_INT, 0, comm);
  return word != 0;
}

SlowestLap slowest(const std::optional<timing::Lap>& lap, const timing::Referee::Times& times, MPI_Comm comm) {
  std::int64_t of_first[] = {times.go.time_since_epoch().count(), times.enqueued ? 1 : 0};
  MPI_Bcast(of_first, 2, MPI_INT64_T, 0, comm);
  const auto outside = times.done.time_since_epoch() - timing::Referee::Clock::duration(of_first[0]);
  const bool seen = times.done != timing::Referee::Clock::time_point{};
  const double never = std::numeric_limits<double>::infinity();
  // Not every process that says what it took tells the truth, or a number.
  const bool plausible = lap && lap->device_ms >= 0 && lap->host_ms >= 0;
  SlowestLap slowest{
      .device_ms = greatest(plausible ? lap->device_ms : never, comm),
      .host_ms = greatest(plausible ? lap->host_ms : never, comm),
      .outside_ms = greatest(seen ? std::chrono::duration<double, std::milli>(outside).count() : never, comm)};
  if (of_first[1] == 0) slowest.device_ms = slowest.outside_ms;
  return slowest;
}

class Measurement {
 public:
  explicit Measurement(const Contest& contest) : x_contest(contest) {}

  std::optional<nlohmann::json> take() {
    if (!measure_floor() || !warm_up()) return std::nullopt;
    const std::optional<timing::GpuState> before = timing::gpu_state(x_contest.processes_per_gpu);
    const auto start = Clock::now();
    // Resampling is not free: a look costs as much as some pairs.
    for (std::size_t next_look = kFewestPairs;; next_look += next_look / 4) {
      while (x_baseline.device.size() < next_look)
        if (!pair()) return std::nullopt;
      if (decided(is_known() || next_look >= kMostPairs || Clock::now() - start > kMostMeasuring, x_contest.comm)) break;
    }
    return describe(before, timing::gpu_state(x_contest.processes_per_gpu));
  }

 private:
  bool has_candidate() const { return static_cast<bool>(x_contest.candidate); }

  bool measure_floor() {
    Series series;
    x_contest.prepare(0);
    for (std::uint32_t i = 0; i < kFloorLaps; ++i) {
      const std::optional<SlowestLap> lap = x_contest.nothing(++x_iteration, 0);
      if (!lap) return false;
      if (i >= kFloorLaps / 5) series.add(*lap);  // the first load the kernels
    }
    x_floor = timing::median(series.device);
    return true;
  }

  bool warm_up() {
    const auto start = Clock::now();
    bool warm = false;
    while (!warm) {
      if (!pair()) return false;
      const auto spent = Clock::now() - start;
      const bool steady = !timing::is_drifting(x_baseline.device, kWindow, kSteady) &&
                          (!has_candidate() || !timing::is_drifting(x_candidate.device, kWindow, kSteady));
      warm = decided((steady && spent > kLeastWarmUp) || (spent > kMostWarmUp && x_baseline.device.size() >= 3),
                     x_contest.comm);
    }
    x_warm_ups = x_baseline.device.size();
    x_baseline = x_candidate = {};
    return true;
  }

  /// Baseline and candidate on the same inputs, in an order that is drawn.
  bool pair() {
    const int number = x_pair++;
    x_contest.prepare(number);
    const bool candidate_first =
        (ref::philox4x32({{static_cast<std::uint32_t>(number), 0, 0, 0x0c047e57}},
                         static_cast<std::uint32_t>(x_contest.seed), static_cast<std::uint32_t>(x_contest.seed >> 32))
             .word[0] &
         1) != 0;
    if (candidate_first && !lap_of_candidate(number)) return false;
    const std::optional<SlowestLap> lap = x_contest.baseline(++x_iteration, number);
    if (!lap) return false;
    x_baseline.add(*lap);
    return candidate_first || lap_of_candidate(number);
  }

  bool lap_of_candidate(int number) {
    if (!has_candidate()) return true;
    const std::optional<SlowestLap> lap = x_contest.candidate(++x_iteration, number);
    if (!lap) return false;
    x_candidate.add(*lap);
    x_contest.after_candidate(number);
    return true;
  }

  timing::Interval known() const {
    return has_candidate() ? timing::ratio_interval(x_baseline.device, x_candidate.device, x_contest.seed)
                           : timing::median_interval(x_baseline.device, x_contest.seed);
  }
  bool is_known() const { return known().relative_width() <= kWantedWidth; }

  nlohmann::json describe(const std::optional<timing::GpuState>& before,
                          const std::optional<timing::GpuState>& after) const {
    nlohmann::json timing = {
        {"method",
         "CUDA events on the slowest rank, from a common start until its stream is done; caches flushed, fresh inputs, "
         "baseline and candidate in turns; medians, 95 % percentile bootstrap over pairs"},
        {"floor_ms", x_floor},
        {"warm_up_pairs", x_warm_ups},
        {"baseline", x_baseline.to_json(x_contest.seed)},
        {"unstable", nullptr},
        {"gpu", {{"before", to_json(before)}, {"after", to_json(after)}}}};
    const timing::Interval interval = known();
    if (interval.relative_width() > kWantedWidth)
      timing["unstable"] = fmt::format("the 95 % interval is {:.1f} % wide after {} pairs: {}",
                                       100 * interval.relative_width(), x_baseline.device.size(), cause(before, after));
    if (!has_candidate()) return timing;
    timing["candidate"] = x_candidate.to_json(x_contest.seed);
    const double candidate = timing::median(x_candidate.device);
    timing["below_floor"] = candidate < 1.5 * x_floor;
    timing["speedup"] = candidate < 1.5 * x_floor
                            ? nlohmann::json()
                            : nlohmann::json{{"value", timing::median(x_baseline.device) / candidate},
                                             {"interval", {interval.low, interval.high}}};
    return timing;
  }

  static nlohmann::json to_json(const std::optional<timing::GpuState>& state) {
    if (!state) return nullptr;
    return {{"sm_mhz", state->sm_mhz},
            {"memory_mhz", state->memory_mhz},
            {"celsius", state->celsius},
            {"throttled", state->throttled},
            {"other_processes", state->other_processes}};
  }

  std::string cause(const std::optional<timing::GpuState>& before, const std::optional<timing::GpuState>& after) const {
    if (after && after->other_processes > 0)
      return fmt::format("{} other processes use the GPU", after->other_processes);
    if (after && after->throttled)
      return fmt::format("the GPU lowers its clock for heat or power ({} MHz, {} degrees)", after->sm_mhz,
                         after->celsius);
    if (before && after && std::abs(1.0 * before->sm_mhz / after->sm_mhz - 1) > kSteady)
      return fmt::format("the clock went from {} to {} MHz", before->sm_mhz, after->sm_mhz);
    if (timing::is_bimodal(x_candidate.device)) return "the candidate's times fall into two groups";
    if (timing::is_bimodal(x_baseline.device)) return "the baseline's times fall into two groups";
    const std::size_t half = x_baseline.device.size() / 2;
    if (timing::is_drifting(x_baseline.device, half, kSteady)) return "the baseline's times drift";
    if (has_candidate() && timing::is_drifting(x_candidate.device, half, kSteady))
      return "the candidate's times drift";
    return "the times scatter";
  }

  const Contest& x_contest;
  Series x_baseline, x_candidate;
  double x_floor = 0;
  std::size_t x_warm_ups = 0;
  std::uint32_t x_iteration = 0;
  int x_pair = 0;
};

}  // namespace

JudgesWork::JudgesWork(const Track& track, ref::Context& context, DescriptorExchange& exchange, MPI_Comm comm, int rank,
                       int ranks)
    : x_track(track),
      x_context(context),
      x_comm(comm),
      x_line(share_line(exchange)),
      x_stopwatch(x_line.get(), rank),
      x_referee(x_line.get(), rank, ranks) {}

std::optional<SlowestLap> JudgesWork::run(std::uint32_t iteration, const std::function<void()>& work) {
  x_referee.begin(iteration);
  const std::optional<timing::Lap> lap =
      x_stopwatch.time(iteration, x_track.delivery(), x_context.stream(), work);
  if (!lap) x_context.synchronize();  // says what happened
  return slowest(lap, x_referee.finish(), x_comm);
}

std::optional<SlowestLap> time_worker(Session& session, const Track& track, std::uint32_t iteration, int trial,
                                      MPI_Comm comm) {
  if (!session.time(track.message(iteration), trial)) return std::nullopt;
  return slowest(session.lap(), session.times(), comm);
}

std::optional<nlohmann::json> hold(const Contest& contest) { return Measurement(contest).take(); }

std::string doubt_about_events(const nlohmann::json& timing) {
  const auto ours = timing.at("baseline").at("outside_beyond_ms").get<std::vector<double>>();
  const auto samples = timing.at("candidate").at("samples_ms").get<std::vector<double>>();
  const nlohmann::json& theirs = timing.at("candidate").at("outside_beyond_ms");
  const double usual = timing::median(ours);
  std::size_t contradicted = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    // JSON has no infinity: an end that was never seen is null.
    const double beyond = theirs[i].is_null() ? std::numeric_limits<double>::infinity() : theirs[i].get<double>();
    contradicted += !std::isfinite(beyond) || beyond - usual > kSlack_ms + kRelativeSlack * samples[i];
  }
  if (static_cast<double>(contradicted) <= kUnbelievable * static_cast<double>(samples.size())) return {};
  return fmt::format(
      "its own clock contradicts the judges' in {} of {} timed iterations: it claims a median of {:.4f} ms, but they "
      "took longer by more than the method explains",
      contradicted, samples.size(), timing::median(samples));
}

}  // namespace pkb::judge
