// SPDX-License-Identifier: Apache-2.0
// `pkb generate` against a server that others wrote: the LiteLLM proxy with a model that always gives one
// reply.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "harness/cli/process.h"

namespace pkb::cli {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kPackage = "litellm[proxy]==" PKB_LITELLM_VERSION;
constexpr const char* kKey = "sk-only-for-loopback-0123456789";
constexpr const char* kConfig = R"(model_list:
  - model_name: mock
    litellm_params:
      model: openai/mock
      api_key: none
      mock_response: "Here it is.\n```cuda\nvoid run(pkb::Context& ctx, const pkb::Args& args) {}\n```\n"
general_settings:
  master_key: sk-only-for-loopback-0123456789
)";

/// Empty where it cannot be had, for want of Python, pip or a network.
fs::path proxy_program() {
  const fs::path folder = PKB_LITELLM_FOLDER, program = folder / "bin" / "litellm";
  if (fs::exists(program)) return program;
  if (run({.words = {"/usr/bin/env", "python3", "-m", "venv", folder}}).exit != 0) return {};
  Process pip({.words = {folder / "bin" / "pip", "install", "-q", kPackage}});
  return pip.wait(std::chrono::minutes(10)) == 0 ? program : fs::path();
}

class LiteLlm : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path program = proxy_program();
    if (program.empty()) GTEST_SKIP() << kPackage << " cannot be installed here";
    std::ofstream(x_folder.path() / "config.yaml") << kConfig;
    x_proxy =
        std::make_unique<Process>(Command{.words = {program, "--config", x_folder.path() / "config.yaml",
                                                    "--host", "127.0.0.1", "--port", kPort},
                                          .environment = {{"LITELLM_LOCAL_MODEL_COST_MAP", "True"}}});
    for (int i = 0; i < 240 && x_proxy->errors().find("Uvicorn running") == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
    ASSERT_THAT(x_proxy->errors(), HasSubstr("Uvicorn running"));
  }

  Finished generate(const std::string& address, const std::string& model, std::vector<std::string> more) {
    const fs::path out = x_folder.path() / std::to_string(x_campaigns++);
    std::vector<std::string> words = {PKB_EXECUTABLE, "generate", "--endpoint", address, "--model", model,
                                      "--problems",   "1-3",      "--samples",  "4",     "--out",   out};
    words.insert(words.end(), more.begin(), more.end());
    return run({.words = words, .environment = {{"OPENAI_API_KEY", kKey}, {"ANTHROPIC_API_KEY", kKey}}});
  }

  static constexpr const char* kPort = "41773";
  const std::string x_root = std::string("http://127.0.0.1:") + kPort;
  int x_campaigns = 0;
  TestFolder x_folder;
  std::unique_ptr<Process> x_proxy;
};

TEST_F(LiteLlm, AnswersInEachProtocol) {
  const Finished streamed = generate(x_root + "/v1", "mock", {});
  EXPECT_EQ(streamed.exit, 0) << streamed.errors;
  EXPECT_THAT(streamed.output, HasSubstr("12 of 12 samples done"));
  EXPECT_THAT(streamed.errors, HasSubstr("003_broadcast sample 3 attempt 0: has a candidate"));
  EXPECT_EQ(generate(x_root + "/v1", "mock", {"--no-stream"}).exit, 0);
  EXPECT_EQ(generate(x_root, "mock", {"--api", "anthropic", "--max-tokens", "1000"}).exit, 0);
  // Its mock of this one does not stream.
  EXPECT_EQ(generate(x_root + "/v1", "mock", {"--api", "openai-responses", "--no-stream"}).exit, 0);
  const Finished unknown = generate(x_root + "/v1", "nobody", {});
  EXPECT_EQ(unknown.exit, 3);
  EXPECT_THAT(unknown.errors, HasSubstr("nobody"));
}

}  // namespace
}  // namespace pkb::cli
