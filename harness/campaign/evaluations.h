// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace pkb::campaign {

/// Judges candidates beside whatever else goes on, `jobs` at a time, in the order in which they came.
class Evaluations {
 public:
  /// `judge` runs in threads of this object and ends early when its second argument becomes true. What it throws is an
  /// environment's failure.
  using Judge = std::function<nlohmann::json(const std::vector<std::string>& arguments, const std::atomic<bool>& stop)>;
  Evaluations(Judge judge, int jobs);
  /// Stops what is running.
  ~Evaluations();
  Evaluations(const Evaluations&) = delete;
  Evaluations& operator=(const Evaluations&) = delete;

  struct Finished {
    nlohmann::json result;
    std::string failure;  ///< of the environment, one sentence
    std::function<void(Finished)> done = {};
  };
  void add(std::vector<std::string> arguments, std::function<void(Finished)> done);
  /// Calls `done` of those that have finished, in this thread. With `wait` it blocks up to 200 ms for one.
  void collect(bool wait);
  /// How many are waiting, running or not collected.
  int open() const { return x_open; }

 private:
  struct Task {
    std::vector<std::string> arguments;
    std::function<void(Finished)> done;
  };
  void serve();

  Judge x_judge;
  std::mutex x_mutex;
  std::condition_variable x_came, x_went;
  std::deque<Task> x_tasks;
  std::deque<Finished> x_finished;
  std::atomic<bool> x_stop{false};
  int x_open = 0;
  std::vector<std::thread> x_threads;
};

}  // namespace pkb::campaign
