// SPDX-License-Identifier: Apache-2.0
#include "harness/model/client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <deque>
#include <list>
#include <random>

#include "harness/error/error.h"
#include "harness/model/event_stream.h"

namespace pkb::model {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestReply = 64 << 20;
constexpr int kPollMilliseconds = 200;
/// Servers without keys take any word, "none" for example, which is no secret and may well stand in a reply.
constexpr std::size_t kShortestKey = 8;

void require(CURLcode code, const char* what) {
  if (code != CURLE_OK) throw EnvironmentError({.where = what, .fault = curl_easy_strerror(code), .remedy = {}});
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// libcurl's global state, for the life of the process.
void initialise() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  require(code, "libcurl");
}

}  // namespace

/// One prompt on its way: its requests, one after the other.
struct Client::Transfer {
  Prompt prompt;
  std::function<void(Outcome)> done;
  nlohmann::json body;  ///< as the server's refusals have shaped it
  Outcome outcome;
  int tries = 0, failures = 0;
  Clock::time_point asked = Clock::now(), not_before;

  // Of the request under way.
  CURL* easy = nullptr;
  curl_slist* header_lines = nullptr;
  std::string payload;
  Clock::time_point sent, first_byte;
  Headers headers;
  std::unique_ptr<ReplyReader> reader;
  std::unique_ptr<EventStream> stream;
  bool stream_malformed = false, too_long = false;
  Exchange exchange;

  ~Transfer() { release(); }
  void release() {
    curl_easy_cleanup(easy);
    curl_slist_free_all(header_lines);
    easy = nullptr;
    header_lines = nullptr;
  }
};

class Client::Engine {
 public:
  explicit Engine(ClientOptions options) : x_options(std::move(options)), x_random(x_options.seed) {
    initialise();
    x_multi = curl_multi_init();
    if (x_multi == nullptr) throw EnvironmentError({.where = "libcurl", .fault = "no memory", .remedy = {}});
    curl_multi_setopt(x_multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  }
  ~Engine() {
    for (const auto& each : x_running) curl_multi_remove_handle(x_multi, each->easy);
    x_running.clear();
    curl_multi_cleanup(x_multi);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void add(Prompt prompt, std::function<void(Outcome)> done) {
    auto transfer = std::make_unique<Transfer>();
    transfer->body = x_options.api->body(prompt);
    transfer->prompt = std::move(prompt);
    transfer->done = std::move(done);
    x_waiting.push_back(std::move(transfer));
  }

  void run(const std::function<bool()>& until) {
    while (!x_waiting.empty() || !x_running.empty()) {
      if (until()) return;
      start_what_may();
      int running = 0;
      curl_multi_perform(x_multi, &running);
      if (collect()) continue;  // what is done may have asked more
      curl_multi_poll(x_multi, nullptr, 0, poll_time(), nullptr);
    }
  }

  State state() const {
    State state{.running = static_cast<int>(x_running.size())};
    const auto now = Clock::now();
    for (const auto& each : x_waiting) ++(each->not_before > now ? state.paused : state.waiting);
    return state;
  }

 private:
  void start_what_may() {
    const auto now = Clock::now();
    for (auto each = x_waiting.begin(); each != x_waiting.end();) {
      if (static_cast<int>(x_running.size()) >= x_options.concurrency || x_next_start > now) return;
      if ((*each)->not_before > now) {
        ++each;
        continue;
      }
      std::unique_ptr<Transfer> transfer = std::move(*each);
      each = x_waiting.erase(each);
      if (x_options.requests_per_minute > 0)
        x_next_start = now + std::chrono::duration_cast<Clock::duration>(Seconds(60 / x_options.requests_per_minute));
      start(std::move(transfer));
    }
  }

  int poll_time() const {
    if (x_waiting.empty()) return kPollMilliseconds;
    const auto now = Clock::now();
    auto next = now + std::chrono::milliseconds(kPollMilliseconds);
    if (static_cast<int>(x_running.size()) < x_options.concurrency)
      for (const auto& each : x_waiting) next = std::min(next, std::max(each->not_before, x_next_start));
    return static_cast<int>(std::max<std::int64_t>(
        0, std::chrono::ceil<std::chrono::milliseconds>(next - now).count()));
  }

  void start(std::unique_ptr<Transfer> owned) {
    Transfer& t = *owned;
    t.exchange = {.request = t.body};
    t.headers.clear();
    t.stream_malformed = t.too_long = false;
    t.reader = x_options.api->reader();
    t.stream = std::make_unique<EventStream>([&t](const ServerEvent& event) {
      t.stream_malformed |= !t.reader->feed_event(event.type, event.data);
    });
    t.payload = t.body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    t.sent = Clock::now();
    t.first_byte = {};
    t.easy = curl_easy_init();
    for (const std::string& line : x_options.api->headers(x_options.key))
      t.header_lines = curl_slist_append(t.header_lines, line.c_str());
    const std::string url = x_options.api->url(x_options.endpoint, t.prompt);
    const auto milliseconds = [](Seconds seconds) { return static_cast<long>(seconds.count() * 1000); };
    require(curl_easy_setopt(t.easy, CURLOPT_URL, url.c_str()), "libcurl: URL");
    // Whatever else libcurl speaks is not for an address that a user typed.
    require(curl_easy_setopt(t.easy, CURLOPT_PROTOCOLS_STR, "http,https"), "libcurl: protocols");
    trust_certificates(t.easy);
    curl_easy_setopt(t.easy, CURLOPT_HTTPHEADER, t.header_lines);
    curl_easy_setopt(t.easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(t.payload.size()));
    curl_easy_setopt(t.easy, CURLOPT_POSTFIELDS, t.payload.c_str());
    curl_easy_setopt(t.easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    curl_easy_setopt(t.easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(t.easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(t.easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(x_options.connect_timeout));
    curl_easy_setopt(t.easy, CURLOPT_TIMEOUT_MS, milliseconds(x_options.total_timeout));
    curl_easy_setopt(t.easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(t.easy, CURLOPT_LOW_SPEED_TIME, std::max(1L, milliseconds(x_options.idle_timeout) / 1000));
    curl_easy_setopt(t.easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(t.easy, CURLOPT_WRITEDATA, &t);
    curl_easy_setopt(t.easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(t.easy, CURLOPT_HEADERDATA, &t);
    curl_easy_setopt(t.easy, CURLOPT_PRIVATE, &t);
    curl_multi_add_handle(x_multi, t.easy);
    x_running.push_back(std::move(owned));
  }

  /// curl the program reads these variables, the library does not.
  static void trust_certificates(CURL* easy) {
    const auto set = [easy](CURLoption option, const char* variable) {
      const char* const value = std::getenv(variable);
      if (value == nullptr || *value == '\0') return false;
      require(curl_easy_setopt(easy, option, value), variable);
      return true;
    };
    set(CURLOPT_CAPATH, "SSL_CERT_DIR");
    if (!set(CURLOPT_CAINFO, "CURL_CA_BUNDLE")) set(CURLOPT_CAINFO, "SSL_CERT_FILE");
  }

  /// Servers repeat a key in their errors, and a proxy between may do so anywhere.
  void hide_key(std::string& text) const {
    constexpr std::string_view kHidden = "(key)";
    if (x_options.key.size() < kShortestKey) return;
    for (std::size_t at = 0; (at = text.find(x_options.key, at)) != std::string::npos; at += kHidden.size())
      text.replace(at, x_options.key.size(), kHidden);
  }

  static std::size_t on_header(char* data, std::size_t, std::size_t bytes, void* user) {
    auto& t = *static_cast<Transfer*>(user);
    const std::string_view line(data, bytes);
    if (line.starts_with("HTTP/")) t.headers.clear();  // of an interim reply
    if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
      std::string_view value = line.substr(colon + 1);
      while (!value.empty() && std::isspace(static_cast<unsigned char>(value.front())) != 0) value.remove_prefix(1);
      while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back())) != 0) value.remove_suffix(1);
      t.headers[lower(line.substr(0, colon))] = value;
    }
    return bytes;
  }

  static std::size_t on_body(char* data, std::size_t, std::size_t bytes, void* user) {
    auto& t = *static_cast<Transfer*>(user);
    if (t.first_byte == Clock::time_point{}) t.first_byte = Clock::now();
    if (t.exchange.raw.size() + bytes > kLongestReply) {
      t.too_long = true;
      return 0;
    }
    t.exchange.raw.append(data, bytes);
    if (is_stream(t)) t.stream->feed({data, bytes});
    return bytes;
  }

  /// What it is, not what it says it is: servers and proxies between send streams under any content type, and whole replies
  /// to who asked for a stream.
  static bool is_stream(const Transfer& t) {
    const std::size_t first = t.exchange.raw.find_first_not_of(" \t\r\n");
    return first != std::string::npos && t.exchange.raw[first] != '{' && t.exchange.raw[first] != '[' &&
           t.exchange.raw[first] != '<';
  }

  /// Whether anything was done.
  bool collect() {
    bool any = false;
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(x_multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      any = true;
      const CURLcode code = message->data.result;
      void* user = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
      const auto found = std::ranges::find_if(x_running, [user](const auto& each) { return each.get() == user; });
      std::unique_ptr<Transfer> transfer = std::move(*found);
      x_running.erase(found);
      curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &transfer->exchange.status);
      curl_multi_remove_handle(x_multi, transfer->easy);
      transfer->release();
      conclude(std::move(transfer), code);
    }
    return any;
  }

  enum class Next { finished, again, adapted, hopeless };

  void conclude(std::unique_ptr<Transfer> owned, CURLcode code) {
    Transfer& t = *owned;
    t.exchange.duration = Clock::now() - t.sent;
    if (t.first_byte != Clock::time_point{}) t.exchange.first_byte = t.first_byte - t.sent;
    const Next next = judge(t, code);
    hide_key(t.exchange.raw);
    hide_key(t.exchange.error);
    const auto now = Clock::now();
    if (next == Next::again && (now - t.asked > x_options.patience || t.failures >= x_options.most_failures)) {
      t.outcome.is_final = false;
      return end(std::move(owned), fmt::format("given up after {} requests; the last: {}", t.tries + 1, t.exchange.error));
    }
    if (next == Next::finished) return end(std::move(owned), {});
    if (next == Next::hopeless) return end(std::move(owned), t.exchange.error);
    if (next == Next::again) {
      t.exchange.wait = wait_before(t.tries, t.headers, std::chrono::system_clock::now(),
                                    std::uniform_real_distribution<double>()(x_random), x_options.longest_wait);
      t.not_before = now + std::chrono::duration_cast<Clock::duration>(t.exchange.wait);
      ++t.tries;
    }
    t.outcome.exchanges.push_back(std::move(t.exchange));
    x_waiting.push_back(std::move(owned));
  }

  void end(std::unique_ptr<Transfer> owned, std::string failure) {
    Transfer& t = *owned;
    t.outcome.completion = t.reader->completion();
    Completion& completion = t.outcome.completion;
    for (std::string* const each : {&completion.text, &completion.finish_word, &completion.model, &completion.error})
      hide_key(*each);
    t.outcome.failure = std::move(failure);
    t.outcome.exchanges.push_back(std::move(t.exchange));
    t.done(std::move(t.outcome));
  }

  Next judge(Transfer& t, CURLcode code) {
    Exchange& e = t.exchange;
    const auto broken = [&](std::string error) {
      e.error = std::move(error);
      ++t.failures;
      return Next::again;
    };
    if (t.too_long) {
      e.error = fmt::format("the reply is longer than {} bytes", kLongestReply);
      return Next::hopeless;
    }
    if (e.status == 0 || (code != CURLE_OK && e.status == 200 && !t.reader->is_over()))
      return broken(fmt::format("no whole reply from the server: {}", curl_easy_strerror(code)));
    if (e.status != 200) {
      const std::string words = error_message(e.raw);
      e.error = fmt::format("HTTP {}: {}", e.status, words);
      if (is_transient(e.status)) {
        t.failures = 0;  // it is there, and says when to come again
        return Next::again;
      }
      if (e.status == 400 && t.tries < 8 && adapt(t.body, words)) return Next::adapted;
      return Next::hopeless;
    }
    if (is_stream(t))
      t.stream->finish();
    else if (!t.reader->feed_whole(e.raw))
      return broken(fmt::format("the server's reply is neither an event stream nor JSON (content-type: {})",
                                t.headers.contains("content-type") ? t.headers.at("content-type") : "none"));
    const Completion& completion = t.reader->completion();
    if (!completion.error.empty()) return broken("the server reports within its reply: " + completion.error);
    if (completion.finish == Finish::none && !t.reader->is_over())
      return broken(t.stream_malformed ? "the event stream is malformed" : "the event stream ended before the reply did");
    return Next::finished;
  }

  ClientOptions x_options;
  CURLM* x_multi = nullptr;
  std::mt19937_64 x_random;
  std::deque<std::unique_ptr<Transfer>> x_waiting;
  std::list<std::unique_ptr<Transfer>> x_running;
  Clock::time_point x_next_start;
};

Client::Client(ClientOptions options) : x_engine(std::make_unique<Engine>(std::move(options))) {}
Client::~Client() = default;
void Client::ask(Prompt prompt, std::function<void(Outcome)> done) {
  x_engine->add(std::move(prompt), std::move(done));
}
void Client::run(const std::function<bool()>& until) { x_engine->run(until); }
Client::State Client::state() const { return x_engine->state(); }

}  // namespace pkb::model
