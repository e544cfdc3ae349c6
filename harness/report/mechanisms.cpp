// SPDX-License-Identifier: Apache-2.0
#include "harness/report/mechanisms.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace pkb::report {
namespace {

struct Sign {
  Mechanism mechanism;
  std::string_view text;
};

constexpr Sign kSigns[] = {
    {Mechanism::copy_engine, "cudaMemcpy"},
    {Mechanism::peer_memory, "peers("},
    {Mechanism::peer_memory, "peer("},
    {Mechanism::bulk_copy, "cp.async.bulk"},
    {Mechanism::bulk_copy, "cp.reduce.async.bulk"},
    {Mechanism::bulk_copy, "store_async("},
    {Mechanism::bulk_copy, "add_async("},
    {Mechanism::bulk_copy, "load_box("},
    {Mechanism::multicast, "multimem."},
    {Mechanism::multicast, "multicast("},
    {Mechanism::multicast, "_by_fabric("},
    {Mechanism::signals, "Signals"},
    {Mechanism::signals, ".release.sys"},
    {Mechanism::signals, ".acquire.sys"},
    {Mechanism::signals, "_system("},
    {Mechanism::signals, "thread_scope_system"},
    {Mechanism::tensor_core, "wgmma"},
    {Mechanism::tensor_core, "mma.sync"},
    {Mechanism::tensor_core, "mma_sync("},
    {Mechanism::tensor_core, "tcgen05"},
    {Mechanism::tensor_core, "multiply_16("},
    {Mechanism::split_blocks, "split_block("},
    {Mechanism::split_grid, "split_grid("},
    {Mechanism::cooperative, "cudaLaunchCooperative"},
    {Mechanism::cooperative, "cooperative_groups"},
    {Mechanism::cooperative, "__cluster_dims__"},
    {Mechanism::cooperative, "barrier.cluster"},
};

/// Strings stay: they hold the assembly.
std::string without_comments(std::string_view source) {
  std::string code;
  code.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    const std::size_t plain = std::min(source.find_first_of("/\"", i), source.size());
    code += source.substr(i, plain - i);
    if ((i = plain) == source.size()) break;
    const std::string_view rest = source.substr(i);
    if (rest.starts_with("//")) {
      i += std::min(rest.find('\n'), rest.size()) - 1;
    } else if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/", 2);
      if (end == std::string_view::npos) break;
      i += end + 1;
      code += ' ';
    } else if (source[i] == '"') {
      std::size_t end = 1;
      while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2 : 1;
      code += rest.substr(0, end + 1);
      i += std::min(end, rest.size() - 1);
    } else {
      code += source[i];
    }
  }
  return code;
}

/// Several times as quick as find() of a text whose first letters are frequent.
bool contains(std::string_view text, std::string_view part) {
  return ::memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

}  // namespace

Mechanisms mechanisms_in(std::string_view source) {
  const std::string code = without_comments(source);
  Mechanisms found = 0;
  for (const Sign& sign : kSigns) {
    const auto bit = static_cast<Mechanisms>(1u << static_cast<unsigned>(sign.mechanism));
    if ((found & bit) == 0 && contains(code, sign.text)) found |= bit;
  }
  return found;
}

}  // namespace pkb::report
