// SPDX-License-Identifier: Apache-2.0
#include "harness/report/site/browser.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <utility>

#include "harness/error/error.h"

namespace pkb::report {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kPatience = 30s;

void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }

}  // namespace

std::filesystem::path Browser::find() {
  for (const char* const each : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
    if (std::filesystem::exists(each)) return each;
  return {};
}

Browser::Browser(const std::filesystem::path& program, const std::filesystem::path& profile) {
  ignore_broken_pipes();
  const auto [its_input, our_output] = process::open_pipe();
  const auto [our_input, its_output] = process::open_pipe();
  FileDescriptor theirs[] = {FileDescriptor(its_input), FileDescriptor(its_output)};
  x_to = FileDescriptor(our_output);
  x_from = FileDescriptor(our_input);
  // The browser reads blocking, as it was made to.
  const int flags = ::fcntl(its_input, F_GETFL);
  ::fcntl(its_input, F_SETFL, flags & ~O_NONBLOCK);
  process::Command command{
      .arguments = {program.string(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                    "--disable-background-networking", "--disable-component-update", "--no-first-run",
                    "--user-data-dir=" + profile.string(), "about:blank"},
      .environment = {"PATH=/usr/bin:/bin", "HOME=" + profile.string(), "DBUS_SESSION_BUS_ADDRESS=disabled:"},
      .descriptors = {-1, -1, -1, its_input, its_output}};
  x_child = process::Child(command);
  const std::string target = call("Target.createTarget", {{"url", "about:blank"}}).at("targetId");
  x_session = call("Target.attachToTarget", {{"targetId", target}, {"flatten", true}}).at("sessionId");
  for (const char* const domain : {"Page", "Runtime", "Log", "Network"}) call(std::string(domain) + ".enable");
}

Browser::~Browser() { x_child.end(5s); }

json Browser::call(const std::string& method, json parameters) {
  json message = {{"id", ++x_calls}, {"method", method}, {"params", std::move(parameters)}};
  if (!x_session.empty()) message["sessionId"] = x_session;
  const std::string text = message.dump();
  for (std::size_t sent = 0; sent <= text.size();) {
    const ssize_t wrote = ::write(x_to.get(), text.c_str() + sent, text.size() + 1 - sent);
    if (wrote < 0) throw EnvironmentError({.where = "browser", .fault = "has gone", .remedy = {}});
    sent += static_cast<std::size_t>(wrote);
  }
  for (;;) {
    const json answer = read();
    if (answer.value("id", 0) != x_calls) continue;
    if (answer.contains("error")) throw std::runtime_error(method + ": " + answer.at("error").dump());
    return answer.at("result");
  }
}

json Browser::read() {
  const auto deadline = Clock::now() + kPatience;
  for (;;) {
    if (const std::size_t end = x_buffer.find('\0'); end != std::string::npos) {
      json message = json::parse(x_buffer.substr(0, end));
      x_buffer.erase(0, end + 1);
      if (message.contains("method")) take(message);
      return message;
    }
    pollfd waiting{.fd = x_from.get(), .events = POLLIN, .revents = 0};
    if (Clock::now() > deadline) throw EnvironmentError({.where = "browser", .fault = "does not answer", .remedy = {}});
    if (::poll(&waiting, 1, 100) <= 0) continue;
    char piece[65536];
    const ssize_t got = ::read(x_from.get(), piece, sizeof piece);
    if (got == 0) throw EnvironmentError({.where = "browser", .fault = "has ended", .remedy = {}});
    if (got > 0) x_buffer.append(piece, static_cast<std::size_t>(got));
  }
}

void Browser::take(const json& event) {
  const std::string method = event.at("method");
  const json& parameters = event.at("params");
  if (method == "Page.loadEventFired") x_loaded = true;
  if (method == "Runtime.exceptionThrown") x_complaints.push_back("exception: " + parameters.dump());
  if (method == "Page.javascriptDialogOpening") x_complaints.push_back("dialog: " + parameters.dump());
  if (method == "Runtime.consoleAPICalled" && parameters.at("type") == "error")
    x_complaints.push_back("console: " + parameters.dump());
  if (method == "Log.entryAdded" && parameters.at("entry").at("level") == "error")
    x_complaints.push_back("log: " + parameters.at("entry").at("text").get<std::string>());
  if (method == "Network.requestWillBeSent") {
    const std::string url = parameters.at("request").at("url");
    if (!url.starts_with("file:") && !url.starts_with("about:")) x_complaints.push_back("request: " + url);
  }
}

void Browser::open(const std::string& address) {
  // Another fragment alone would load nothing.
  call("Page.navigate", {{"url", "about:blank"}});
  wait_for("document.readyState === 'complete'");
  x_loaded = false;
  call("Page.navigate", {{"url", address}});
  const auto deadline = Clock::now() + kPatience;
  while (!x_loaded && Clock::now() < deadline) read();
  wait_for("document.readyState === 'complete'");
}

json Browser::eval(const std::string& expression) {
  const json answer =
      call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
  if (answer.contains("exceptionDetails"))
    throw std::runtime_error(expression + ": " + answer.at("exceptionDetails").dump());
  return answer.at("result").value("value", json());
}

bool Browser::wait_for(const std::string& expression) {
  const auto deadline = Clock::now() + 10s;
  while (Clock::now() < deadline) {
    if (eval("Boolean(" + expression + ")") == true) return true;
    std::this_thread::sleep_for(20ms);
  }
  return false;
}

void Browser::press(const std::string& key, int code) {
  json event = {{"type", "keyDown"}, {"key", key}, {"code", key}, {"windowsVirtualKeyCode", code}};
  if (key == "Enter") event["text"] = "\r";
  call("Input.dispatchKeyEvent", event);
  event["type"] = "keyUp";
  event.erase("text");
  call("Input.dispatchKeyEvent", event);
}

void Browser::resize(int width, int height) {
  call("Emulation.setDeviceMetricsOverride",
       {{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", false}});
}

void Browser::prefer(const std::string& color_scheme) {
  call("Emulation.setEmulatedMedia", {{"features", {{{"name", "prefers-color-scheme"}, {"value", color_scheme}}}}});
}

std::vector<std::string> Browser::complaints() {
  eval("0");  // takes what has come by now
  return std::exchange(x_complaints, {});
}

}  // namespace pkb::report
