// SPDX-License-Identifier: Apache-2.0
#include "harness/report/json_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace pkb::report {
namespace {

using Letters = JsonText::Letters;

TEST(JsonText, PutsCommasBetweenValuesAlone) {
  JsonText json;
  json.open('{').key("a").open('[').close(']').key("b").open('[').add(1).open('{').close('}').add(true).close(
      ']');
  json.key("c").add(nullptr).key("d").add("text").close('}');
  EXPECT_EQ(json.text(), R"({"a":[],"b":[1,{},true],"c":null,"d":"text"})");
}

TEST(JsonText, WritesNumbersThatReadBackAsTheyWere) {
  for (const double value : {0.1, -1e-300, 1e22, 3.0, 1 / 3.0})
    EXPECT_EQ(nlohmann::json::parse(JsonText().add(value).text()).get<double>(), value);
  EXPECT_EQ(JsonText().add(std::numeric_limits<std::int64_t>::min()).text(), "-9223372036854775808");
  EXPECT_EQ(JsonText().add_rounded(1234567).text(), "1.2346e+06");
  EXPECT_EQ(JsonText().add_rounded(0.125).text(), "0.125");
  for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_EQ(JsonText().add(value).text(), "null");
    EXPECT_EQ(JsonText().add_rounded(value).text(), "null");
  }
}

// Every character alone and beside others, against a reader that others wrote.
TEST(JsonText, WritesTextsThatReadBackAsTheyWere) {
  std::string all;
  for (int c = 1; c < 0x80; ++c) all += static_cast<char>(c);
  for (const std::string& text :
       {all, std::string("a\0b", 3), std::string("\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xe2\x80\xa8 \xef\xbf\xbf"),
        std::string("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"), std::string("</script><!--")})
    for (const Letters letters : {Letters::utf8, Letters::ascii}) {
      const std::string json = JsonText(letters).add(text).take();
      EXPECT_EQ(nlohmann::json::parse(json).get<std::string>(), text) << json;
      if (letters == Letters::utf8) continue;
      EXPECT_TRUE(std::ranges::all_of(json, [](char c) { return c >= 0x20 && c < 0x7f; })) << json;
    }
}

TEST(JsonText, ReplacesWhatIsNoUtf8) {
  // A lone continuation, an overlong slash, a surrogate, beyond the last plane, cut short.
  for (const char* const text :
       {"a\x80z", "a\xc0\xafz", "a\xed\xa0\x80z", "a\xf4\x90\x80\x80z", "a\xe2\x82"}) {
    const std::string read = nlohmann::json::parse(JsonText().add(text).text());
    EXPECT_EQ(read.substr(0, 4), "a\xef\xbf\xbd") << text;
    EXPECT_EQ(JsonText(Letters::ascii).add(text).text().substr(0, 8), "\"a\\ufffd");
  }
}

}  // namespace
}  // namespace pkb::report
