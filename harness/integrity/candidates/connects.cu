// SPDX-License-Identifier: Apache-2.0
// Calls the test's listener on this machine, and opens sockets of other kinds.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int wire = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(47613);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connect(wire, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  usleep(20'000);
  if (wire >= 0 && write(wire, "hello", 5) == 5) reached("the listener");
  if (socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0) reached("a raw socket");
  if (socket(AF_PACKET, SOCK_RAW, 0) >= 0) reached("a packet socket");
  tried("to connect");
  compute(ctx, args, ctx.stream());
}
