// SPDX-License-Identifier: Apache-2.0
#include "harness/store/migration.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "harness/store/store.h"

namespace pkb::store {
namespace {

using nlohmann::json;

/// A made-up history: version 2 renamed "text", version 3 has "seconds" for "ms".
Migration made_up() {
  return Migration({[](json& value) {
                      value["message"] = value.at("text");
                      value.erase("text");
                    },
                    [](json& value) {
                      value["seconds"] = value.at("ms").get<double>() / 1000;
                      value.erase("ms");
                    }});
}

TEST(Migration, TakesEveryStepFromAFilesVersionOn) {
  EXPECT_EQ(made_up().newest(), 3);
  const json newest = {{"schema", 3}, {"message", "a"}, {"seconds", 1.5}};
  json first = {{"schema", 1}, {"text", "a"}, {"ms", 1500}},
       second = {{"schema", 2}, {"message", "a"}, {"ms", 1500}}, third = newest;
  for (json* const each : {&first, &second, &third}) {
    made_up().apply(*each);
    EXPECT_EQ(*each, newest);
  }
  EXPECT_EQ(json::parse(made_up().apply(R"({"schema": 1, "text": "a", "ms": 1500})")), newest);
}

TEST(Migration, LeavesAloneWhatIsNoEarlierResult) {
  for (const json& each : {json(), json::array(), json{{"text", "a"}}, json{{"schema", "1"}},
                           json{{"schema", 0}}, json{{"schema", 4}, {"text", "a"}}}) {
    json value = each;
    made_up().apply(value);
    EXPECT_EQ(value, each);
  }
}

TEST(Migration, SaysWhichStepAFileDoesNotSuit) {
  json value = {{"schema", 2}, {"message", "a"}};
  try {
    made_up().apply(value);
    FAIL() << "a file without \"ms\" was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("version 2 cannot be made version 3"));
  }
}

TEST(Migration, LeadsToTheVersionThatIsWritten) { EXPECT_EQ(migration().newest(), kSchema); }

}  // namespace
}  // namespace pkb::store
