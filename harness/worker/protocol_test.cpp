// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/worker/channel.h"

namespace pkb::worker {
namespace {

TEST(Protocol, CarriesEveryMessageToTheWorker) {
  const ToWorker messages[] = {Hello{.rank = 1,
                                     .ranks = 4,
                                     .groups = {{.name = "tp", .rank = 1, .ranks = {0, 1}},
                                                {.name = "dp", .rank = 0, .ranks = {1, 3}}},
                                     .device = 2,
                                     .chip = "h200",
                                     .threads = 3,
                                     .confined = false},
                               Load{.library = "/a \"b\".so"}, Segment{.bytes = 1ull << 40},
                               worker::Setup{.tensors = {{.name = "input x",
                                                          .dtype = DType::e5m2,
                                                          .shape = {3, 0, 5},
                                                          .offset = 256,
                                                          .bytes_of = {0, 15, 0xFFFF'FFFF'FFFF'FFFF}}},
                                             .parameters = {1, -0.5, 1e300}},
                               worker::Run{.seed = 0xFFFF'FFFF'FFFF'FFFF},
                               Teardown{},
                               Proceed{},
                               Quit{}};
  for (const ToWorker& each : messages) {
    const std::string packet = encode(Order{.message = each, .ticket = 0xFFFF'FFFF'FFFF'FFFE});
    EXPECT_EQ(decode_to_worker(packet).message, each) << packet;
    EXPECT_EQ(decode_to_worker(packet).ticket, 0xFFFF'FFFF'FFFF'FFFE);
  }
}

TEST(Protocol, CarriesEveryMessageToTheJudge) {
  const ToJudge messages[] = {
      Done{.ticket = 11,
           .troubles = {{.kind = Trouble::Kind::cuda, .text = "cudaErrorLaunchFailure"},
                        {.kind = Trouble::Kind::unsupported, .text = "wgmma"}},
           .counters = {.lane_instructions = 1,
                        .warp_instructions = 2,
                        .global_read = 3,
                        .global_written = 4,
                        .shared_read = 5,
                        .shared_written = 6,
                        .read_from = {7, 8},
                        .written_to = {9}}},
      Done{}, SymmetricRequest{.bytes = 12}, BarrierRequest{}};
  for (const ToJudge& each : messages) EXPECT_EQ(decode_to_judge(encode(each)), each) << encode(each);
}

TEST(Protocol, CutsTextsAndReplacesBytesThatAreNoUtf8) {
  Done done{.ticket = 0,
            .troubles = {{.kind = Trouble::Kind::exception, .text = std::string(10'000, 'x') + "y"}},
            .counters = {}};
  EXPECT_EQ(std::get<Done>(decode_to_judge(encode(done))).troubles[0].text, std::string(4096, 'x'));
  done.troubles[0].text = "a\xFFz";
  EXPECT_EQ(std::get<Done>(decode_to_judge(encode(done))).troubles[0].text, "a\xEF\xBF\xBDz");
}

struct Hostile {
  const char* name;
  std::string packet;
  const char* message;
};
class HostilePackets : public testing::TestWithParam<Hostile> {};

TEST_P(HostilePackets, AreRefusedWithASentence) {
  try {
    decode_to_judge(GetParam().packet);
    FAIL();
  } catch (const ProtocolError& error) {
    EXPECT_STREQ(error.what(), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Judge, HostilePackets,
    testing::Values(
        Hostile{"Empty", "", "not a JSON object"}, Hostile{"Garbage", "\xFF\x01{", "not a JSON object"},
        Hostile{"Array", "[]", "not a JSON object"}, Hostile{"NoName", "{}", "no \"is\""},
        Hostile{"NumberAsName", R"({"is": 1})", "\"is\" is of the wrong type"},
        Hostile{"JudgesOwnMessage", R"({"is": "proceed"})", "unknown message"},
        Hostile{"NegativeSize", R"({"is": "symmetric", "bytes": -1})", "\"bytes\" is of the wrong type"},
        Hostile{"HugeSize", R"({"is": "symmetric", "bytes": 1e300})", "\"bytes\" is of the wrong type"},
        Hostile{"NoTicket", R"({"is": "done", "troubles": [], "counters": {}})", "no \"ticket\""},
        Hostile{"NoCounters", R"({"is": "done", "ticket": 1, "troubles": []})", "no \"counters\""},
        Hostile{"TroubleIsNumber", R"({"is": "done", "ticket": 1, "troubles": [1], "counters": {}})",
                "a trouble is no object"},
        Hostile{"Nested", std::string(60'000, '['), "nested too deeply"},
        Hostile{"Long", std::string(200'000, ' '), "longer than a packet"}),
    [](const auto& test) { return test.param.name; });

TEST(Channel, CarriesPacketsAndDescriptors) {
  auto [a, b] = Channel::pair();
  const int file = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  const int both[] = {file, file};
  EXPECT_TRUE(a.send("one", both));
  EXPECT_TRUE(a.send("two"));
  ::close(file);
  const auto one = b.receive(), two = b.receive();
  EXPECT_EQ(one->bytes, "one");
  ASSERT_EQ(one->descriptors.size(), 2u);
  char byte = 1;
  EXPECT_EQ(::read(one->descriptors[1].get(), &byte, 1), 1);
  EXPECT_EQ(byte, 0);
  EXPECT_NE(::fcntl(one->descriptors[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(two->bytes, "two");
  EXPECT_TRUE(two->descriptors.empty());
}

TEST(Channel, RefusesWhatIsLongerThanAPacket) {
  auto [a, b] = Channel::pair();
  EXPECT_TRUE(a.send(std::string(kLongestPacket, 'x')));
  EXPECT_TRUE(a.send(std::string(kLongestPacket + 1, 'x')));
  EXPECT_EQ(b.receive()->bytes.size(), kLongestPacket);
  EXPECT_THROW(b.receive(), ProtocolError);
}

TEST(Channel, EndsWithItsOtherEnd) {
  auto [a, b] = Channel::pair();
  a.close();
  EXPECT_FALSE(b.receive());
  EXPECT_FALSE(b.send("into the void"));
}

}  // namespace
}  // namespace pkb::worker
