// SPDX-License-Identifier: Apache-2.0
#include "harness/campaign/source.h"

#include <fmt/format.h>

#include <deque>
#include <fstream>
#include <tuple>

#include "harness/error/error.h"

namespace pkb::campaign {
namespace {

using nlohmann::json;

class Server final : public Source {
 public:
  explicit Server(model::ClientOptions options) : x_client(std::move(options)) {}
  void ask(const Attempt&, model::Prompt prompt, std::function<void(model::Outcome)> done) override {
    x_client.ask(std::move(prompt), std::move(done));
  }
  void work(const std::function<bool()>& until) override { x_client.run(until); }
  model::Client::State state() const override { return x_client.state(); }

 private:
  model::Client x_client;
};

class Recording final : public Source {
 public:
  explicit Recording(const std::filesystem::path& file) {
    std::ifstream in(file);
    if (!in) throw InputError({.where = file.string(), .fault = "cannot be read", .remedy = {}});
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      if (line.empty()) continue;
      const json reply = json::parse(line, nullptr, false);
      if (!reply.is_object() || !reply.value("problem", json()).is_string() || !reply.value("text", json()).is_string())
        throw InputError({.where = fmt::format("{}:{}", file.string(), number),
                          .fault = "is no recorded reply",
                          .remedy = R"(a line is {"problem": "001_allreduce", "sample": 0, "attempt": 0, "text": "..."})"});
      x_replies[{reply.at("problem"), reply.value("sample", 0), reply.value("attempt", 0), reply.value("part", 0)}] = reply;
    }
  }

  void ask(const Attempt& which, model::Prompt, std::function<void(model::Outcome)> done) override {
    x_asked.emplace_back(which, std::move(done));
  }

  void work(const std::function<bool()>& until) override {
    while (!x_asked.empty() && !until()) {
      const auto [which, done] = std::move(x_asked.front());
      x_asked.pop_front();
      done(outcome_of(which));
    }
  }

  model::Client::State state() const override { return {.waiting = static_cast<int>(x_asked.size())}; }

 private:
  model::Outcome outcome_of(const Attempt& which) const {
    model::Outcome outcome;
    const auto found = x_replies.find({which.problem, which.sample, which.number, which.part});
    if (found == x_replies.end()) {
      outcome.failure = fmt::format("the recording has no reply to {}, sample {}, attempt {}", which.problem, which.sample,
                                    which.number);
      return outcome;
    }
    const json& reply = found->second;
    const json usage = reply.value("usage", json::object());
    outcome.completion = {.text = reply.at("text"),
                          .finish = reply.value("finish", "stop") == "length" ? model::Finish::length : model::Finish::stop,
                          .finish_word = reply.value("finish", "stop"),
                          .usage = {.input = usage.value("input", std::uint64_t{0}),
                                    .output = usage.value("output", std::uint64_t{0}),
                                    .cached = usage.value("cached", std::uint64_t{0}),
                                    .reasoning = usage.value("reasoning", std::uint64_t{0})},
                          .model = reply.value("model", "recorded"),
                          .error = {}};
    return outcome;
  }

  std::map<std::tuple<std::string, int, int, int>, json> x_replies;
  std::deque<std::pair<Attempt, std::function<void(model::Outcome)>>> x_asked;
};

}  // namespace

std::unique_ptr<Source> from_server(model::ClientOptions options) { return std::make_unique<Server>(std::move(options)); }
std::unique_ptr<Source> from_recording(const std::filesystem::path& file) { return std::make_unique<Recording>(file); }

}  // namespace pkb::campaign
