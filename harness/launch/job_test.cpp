// SPDX-License-Identifier: Apache-2.0
#include "harness/launch/job.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/error/error.h"

namespace pkb::launch {
namespace {

Job job() {
  Job made;
  made.mode = Job::Mode::exporting;
  made.problem = "problems/001_allreduce";
  made.size = "paper";
  made.ranks = 3;
  made.dtype = DType::f16;
  made.device = Device::shared;
  made.chip = "b200";
  made.trials = 7;
  made.seed = 0xFFFF'FFFF'FFFF'FFFF;
  made.schedules = 2;
  made.sandbox = Sandbox::none;
  made.library = "/cache/a.so";
  made.export_folder = "/out";
  made.import_folder = "/in";
  made.run_folder = "/run/pkb";
  made.setup_deadline = std::chrono::milliseconds(1);
  made.run_deadline = std::chrono::milliseconds(2);
  made.whole_deadline = std::chrono::seconds(3);
  return made;
}

TEST(Job, SurvivesARoundTrip) {
  const nlohmann::json written = to_json(job());
  const Job read = job_from(nlohmann::json::parse(written.dump()));
  EXPECT_EQ(to_json(read), written);
  EXPECT_EQ(read.seed, 0xFFFF'FFFF'FFFF'FFFF);
  EXPECT_EQ(read.dtype, DType::f16);
  EXPECT_EQ(read.device, Device::shared);
  EXPECT_EQ(read.whole_deadline, std::chrono::seconds(3));
}

struct Broken {
  const char* name;
  const char* key;
  nlohmann::json value;  ///< null: the key is left out
  const char* message;
};
class JobErrors : public testing::TestWithParam<Broken> {};

TEST_P(JobErrors, NameTheKey) {
  nlohmann::json written = to_json(job());
  written.erase(GetParam().key);
  if (!GetParam().value.is_null()) written[GetParam().key] = GetParam().value;
  try {
    job_from(written);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(Job, JobErrors,
                         testing::Values(Broken{"Missing", "size", nullptr, "job.json: size: missing"},
                                         Broken{"NoRanks", "ranks", 0, "job.json: ranks: must be at least 1"},
                                         Broken{"Device", "device", "tpu",
                                                "job.json: device: unknown word \"tpu\""}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pkb::launch
