// SPDX-License-Identifier: Apache-2.0
#include "harness/campaign/evaluations.h"

#include <chrono>
#include <exception>

namespace pkb::campaign {

Evaluations::Evaluations(Judge judge, int jobs) : x_judge(std::move(judge)) {
  for (int i = 0; i < jobs; ++i) x_threads.emplace_back([this] { serve(); });
}

Evaluations::~Evaluations() {
  {
    const std::lock_guard lock(x_mutex);
    x_stop = true;
  }
  x_came.notify_all();
  for (std::thread& each : x_threads) each.join();
}

void Evaluations::add(std::vector<std::string> arguments, std::function<void(Finished)> done) {
  {
    const std::lock_guard lock(x_mutex);
    x_tasks.push_back({std::move(arguments), std::move(done)});
  }
  ++x_open;
  x_came.notify_one();
}

void Evaluations::collect(bool wait) {
  std::deque<Finished> finished;
  {
    std::unique_lock lock(x_mutex);
    if (wait) x_went.wait_for(lock, std::chrono::milliseconds(200), [this] { return !x_finished.empty(); });
    finished.swap(x_finished);
  }
  for (Finished& each : finished) {
    --x_open;
    const auto done = std::move(each.done);
    done(std::move(each));
  }
}

void Evaluations::serve() {
  for (;;) {
    Task task;
    {
      std::unique_lock lock(x_mutex);
      x_came.wait(lock, [this] { return x_stop || !x_tasks.empty(); });
      if (x_stop) return;
      task = std::move(x_tasks.front());
      x_tasks.pop_front();
    }
    Finished finished{.result = {}, .failure = {}, .done = std::move(task.done)};
    try {
      finished.result = x_judge(task.arguments, x_stop);
    } catch (const std::exception& error) {
      finished.failure = error.what();
    }
    {
      const std::lock_guard lock(x_mutex);
      x_finished.push_back(std::move(finished));
    }
    x_went.notify_one();
  }
}

}  // namespace pkb::campaign
