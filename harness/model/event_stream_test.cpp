// SPDX-License-Identifier: Apache-2.0
#include "harness/model/event_stream.h"

#include <gmock/gmock.h>

#include <vector>

namespace pkb::model {
namespace {

using Events = std::vector<std::pair<std::string, std::string>>;

/// The stream in pieces of `step` bytes.
Events read(std::string_view stream, std::size_t step) {
  Events events;
  EventStream reader([&](const ServerEvent& event) { events.emplace_back(event.type, event.data); });
  for (std::size_t at = 0; at < stream.size(); at += step) reader.feed(stream.substr(at, step));
  reader.finish();
  return events;
}

struct Case {
  const char* name;
  const char* stream;
  Events events;
};
class EventStreamTest : public testing::TestWithParam<Case> {};

TEST_P(EventStreamTest, ReadsItHoweverItIsCut) {
  const std::string_view stream = GetParam().stream;
  for (std::size_t step = 1; step <= stream.size(); ++step) EXPECT_EQ(read(stream, step), GetParam().events) << step;
}

INSTANTIATE_TEST_SUITE_P(
    Streams, EventStreamTest,
    testing::Values(
        Case{"LineFeeds", "data: a\n\ndata: b\n\n", {{"", "a"}, {"", "b"}}},
        Case{"CarriageReturnsAndLineFeeds", "data: a\r\n\r\ndata: b\r\n\r\n", {{"", "a"}, {"", "b"}}},
        Case{"CarriageReturns", "data: a\r\rdata: b\r\r", {{"", "a"}, {"", "b"}}},
        Case{"MixedEndings", "data: a\r\n\ndata: b\n\r\n", {{"", "a"}, {"", "b"}}},
        Case{"NoSpaceAfterTheColon", "data:a\n\n", {{"", "a"}}},
        Case{"OnlyOneSpaceGoes", "data:  a\n\n", {{"", " a"}}},
        Case{"Comments", ": ping\n\ndata: a\n: more\n\n", {{"", "a"}}},
        Case{"NamedEvents", "event: message_stop\ndata: {}\n\n", {{"message_stop", "{}"}}},
        Case{"TheNameDoesNotStay", "event: x\ndata: 1\n\ndata: 2\n\n", {{"x", "1"}, {"", "2"}}},
        Case{"SeveralDataLines", "data: a\ndata: b\n\n", {{"", "a\nb"}}},
        Case{"EmptyData", "data\n\n", {{"", ""}}},
        Case{"UnknownFields", "id: 3\nretry: 9\nfoo: bar\ndata: a\n\n", {{"", "a"}}},
        Case{"WithoutTheLastEmptyLine", "data: a\n\ndata: b\n", {{"", "a"}, {"", "b"}}},
        Case{"WithoutTheLastNewline", "data: a\n\ndata: b", {{"", "a"}, {"", "b"}}},
        Case{"ByteOrderMark", "\xEF\xBB\xBF" "data: a\n\n", {{"", "a"}}},
        Case{"AnEventWithoutDataIsNone", "event: x\n\n", {}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pkb::model
