// SPDX-License-Identifier: Apache-2.0
#include "harness/model/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace pkb::model {
namespace {

void send_all(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::size_t content_length(const std::string& head) {
  std::string small = head;
  std::ranges::transform(small, small.begin(), ::tolower);
  const std::size_t at = small.find("content-length:");
  return at == std::string::npos ? 0 : std::stoul(small.substr(at + 15));
}

}  // namespace

ScriptedServer::ScriptedServer(std::vector<Reply> script) : x_script(std::move(script)) {
  x_listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(x_listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(x_listener, 128) != 0 ||
      ::getsockname(x_listener, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("cannot listen on 127.0.0.1");
  x_port = ntohs(address.sin_port);
  x_thread = std::thread([this] { accept_all(); });
}

ScriptedServer::~ScriptedServer() {
  {
    const std::lock_guard lock(x_mutex);
    x_stop = true;
  }
  x_stopping.notify_all();
  x_thread.join();
  for (std::thread& each : x_servers) each.join();
  ::close(x_listener);
}

std::string ScriptedServer::address() const { return "http://127.0.0.1:" + std::to_string(x_port) + "/v1"; }

std::vector<std::string> ScriptedServer::requests() const {
  const std::lock_guard lock(x_mutex);
  return x_requests;
}

void ScriptedServer::accept_all() {
  while (!x_stop) {
    pollfd waiting{.fd = x_listener, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, 20) <= 0) continue;
    const int connection = ::accept4(x_listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) x_servers.emplace_back([this, connection] { serve(connection); });
  }
}

void ScriptedServer::serve(int connection) {
  const int on = 1;
  ::setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int now = ++x_now;
  for (int most = x_most; now > most && !x_most.compare_exchange_weak(most, now);) continue;
  std::string request;
  char buffer[65536];
  std::size_t end = std::string::npos;
  while (end == std::string::npos || request.size() < end + 4 + content_length(request.substr(0, end))) {
    const ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
    if (got <= 0) break;
    request.append(buffer, static_cast<std::size_t>(got));
    end = request.find("\r\n\r\n");
  }
  std::size_t number = 0;
  {
    const std::lock_guard lock(x_mutex);
    number = x_requests.size();
    x_requests.push_back(request);
  }
  for (const Step& step : x_script[std::min(number, x_script.size() - 1)]) {
    {
      std::unique_lock lock(x_mutex);
      x_stopping.wait_for(lock, step.before, [this] { return x_stop.load(); });
    }
    const std::size_t piece = step.piece > 0 ? step.piece : std::max<std::size_t>(step.bytes.size(), 1);
    for (std::size_t at = 0; at < step.bytes.size() && !x_stop; at += piece) {
      send_all(connection, std::string_view(step.bytes).substr(at, piece));
      if (step.piece > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (step.reset) {
      const linger at_once{.l_onoff = 1, .l_linger = 0};
      ::setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
  }
  --x_now;
  ::close(connection);
}

std::string http(int status, const std::string& body, const std::string& headers) {
  return "HTTP/1.1 " + std::to_string(status) + " Words\r\n" + headers + "connection: close\r\n\r\n" + body;
}

}  // namespace pkb::model
