// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "harness/candidate/digest.h"
#include "harness/cli/commands.h"
#include "harness/cli/prompt_options.h"
#include "harness/error/error.h"

namespace pkb::cli {
namespace {

struct Asked : PromptOptions {
  std::string problem;
  bool json = false;
};

void print_prompt(const Asked& options) {
  const Installation here = installation();
  const problem::Problem problem = problem::find(here.problems(), options.problem);
  const std::string text = prompt::task(problem, resolve(options), sources(here, options));
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"problem", problem.id()}, {"sha256", candidate::sha256(text)}, {"prompt", text}}.dump());
  else
    fmt::print("{}", text);
}

}  // namespace

void add_prompt_options(CLI::App& command, PromptOptions& options) {
  command.add_option("--style", options.style, "How many examples: none, one, or three")
      ->check(CLI::IsMember({"zero-shot", "one-shot", "few-shot"}))
      ->capture_default_str();
  command.add_option("--hardware", options.hardware, "What the kernel is for: a name of `pkb roofline` and how many")
      ->capture_default_str();
  command.add_option("--dtype", options.dtype, "Run dtype")
      ->check(CLI::IsMember({"bf16", "fp16", "fp32"}))
      ->capture_default_str();
  command.add_option("--templates", options.templates, "Folder whose files replace those of prompts/, file by file")
      ->check(CLI::ExistingDirectory);
  command.add_flag("--primitives", options.primitives, "Show <pkb/device.cuh>, which candidates may use");
}

prompt::Options resolve(const PromptOptions& options) {
  const std::size_t x = options.hardware.rfind('x');
  int gpus = 0;
  const char* const end = options.hardware.data() + options.hardware.size();
  const bool counted = x != std::string::npos &&
                       std::from_chars(options.hardware.data() + x + 1, end, gpus).ptr == end && gpus >= 1 && gpus <= 72;
  if (!counted)
    throw InputError({.where = fmt::format("--hardware {}", options.hardware),
                      .fault = "names no number of GPUs from 1 to 72",
                      .remedy = "write, for example, h200x8"});
  using enum prompt::Style;
  return {.style = options.style == "zero-shot" ? zero_shot : options.style == "one-shot" ? one_shot : few_shot,
          .dtype = dtype_from(options.dtype).value(),
          .hardware = &roofline::find_hardware(options.hardware.substr(0, x)),
          .gpus = gpus,
          .primitives = options.primitives};
}

prompt::Sources sources(const Installation& installation, const PromptOptions& options) {
  return {.problems = installation.problems(),
          .templates = installation.source / "prompts",
          .own = options.templates,
          .headers = installation.source / "harness" / "candidate" / "include"};
}

void add_prompt(CLI::App& pkb) {
  auto options = std::make_shared<Asked>();
  CLI::App* command = pkb.add_subcommand("prompt", "The prompt that a model would get for a problem");
  command->add_option("problem", options->problem, "Number or name, see `pkb list`")->required();
  add_prompt_options(*command, *options);
  command->add_flag("--json", options->json, "One JSON object on standard output, with the prompt's SHA-256");
  command->callback([options] { print_prompt(*options); });
}

}  // namespace pkb::cli
