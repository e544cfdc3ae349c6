// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference/communicator.h"

/// Faults put into a reference's collectives on purpose: what lazy or broken candidates would compute. They
/// prove that a problem refuses such results, and explain results that are wrong.
namespace pkb::ref {

struct Sabotage {
  enum class Kind : std::uint8_t {
    none,          ///< only counts
    local_only,    ///< no rank receives anything
    missing,       ///< what `ranks` give is left out: a reduction's neutral element, zeros elsewhere
    doubled,       ///< what `ranks` give counts twice; a block also takes the place of the next rank's
    swapped,       ///< the two `ranks` stand in each other's place
    rotated,       ///< every rank gets the blocks (of a reduction: its result's W chunks) moved on by one
    skipped,       ///< collective number `call` does nothing
    mixed_groups,  ///< the first and the last rank of the world stand in each other's groups
  };
  Kind kind = Kind::none;
  std::vector<int> ranks{};  ///< of the world
  int call = 0;
  std::optional<DType> only = {};  ///< spares messages of other dtypes: they are not counted either
};

/// "missing rank 3", "skipped collective 0".
std::string name_of(const Sabotage& sabotage);

/// Every fault worth trying where references call `collectives` times.
std::vector<Sabotage> every_sabotage(int ranks, int collectives);

/// What came of it on this rank.
struct SabotageRecord {
  int collectives = 0;
  bool acted = false;  ///< false: nothing that this rank called could be spoilt so
};

/// `inner` with the fault. `world_ranks` are the members of its group, `record` must outlive it.
std::unique_ptr<Communicator> sabotage(std::unique_ptr<Communicator> inner, Sabotage what,
                                       std::vector<int> world_ranks, SabotageRecord& record);

}  // namespace pkb::ref
