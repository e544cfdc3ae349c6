// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/bench.h"
#include "harness/judge/exported.h"
#include "harness/judge/gather.h"
#include "harness/judge/npy.h"
#include "harness/store/store.h"

namespace pkb::judge {
namespace {

/// Writes this rank's tensors of one role and describes the files.
nlohmann::json write_all(const Bench& bench, Role role, const ref::Tensors& tensors) {
  nlohmann::json written = nlohmann::json::array();
  for (const auto& [name, tensor] : tensors) {
    const std::string file = exported_name(bench.rank(), role, name);
    write_npy(bench.job().export_folder / file,
              {.dtype = tensor.dtype(), .shape = tensor.shape(), .bytes = tensor.bytes()});
    written.push_back({{"file", file},
                       {"rank", bench.rank()},
                       {"role", name_of(role)},
                       {"name", name},
                       {"dtype", name_of(tensor.dtype())},
                       {"shape", tensor.shape()}});
  }
  return written;
}

}  // namespace

Findings export_trial(Bench& bench) {
  constexpr int kTrial = 0;
  const auto oracle = bench.oracle(bench.variant_of(kTrial));
  bench.clock().enter("inputs");
  const ref::Tensors inputs = oracle->inputs(kTrial);
  bench.clock().enter("reference");
  const Expected expected = oracle->expect(inputs);
  bench.clock().enter("write");
  nlohmann::json files = nlohmann::json::array();
  for (const auto& written :
       {write_all(bench, Role::input, inputs), write_all(bench, Role::golden, expected.golden),
        write_all(bench, Role::baseline, expected.baseline)})
    files.insert(files.end(), written.begin(), written.end());

  // The index comes last: where it is, all files are.
  nlohmann::json index = {{"schema", 1},
                          {"problem", oracle->instance().folder},
                          {"size", bench.job().size},
                          {"variant", oracle->instance().variant},
                          {"ranks", bench.job().ranks},
                          {"dtype", name_of(bench.job().dtype)},
                          {"seed", bench.job().seed},
                          {"trial", kTrial},
                          {"symbols", oracle->instance().symbols},
                          {"tensors", nlohmann::json::array()}};
  for (const nlohmann::json& theirs : gather(files, bench.comm()))
    index["tensors"].insert(index["tensors"].end(), theirs.begin(), theirs.end());
  if (bench.rank() == 0) store::write_whole(bench.job().export_folder / "index.json", index.dump(1) + "\n");
  return {};
}

}  // namespace pkb::judge
