// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "harness/virtual_gpu/schedule/block_order.h"
#include "harness/virtual_gpu/schedule/engine.h"

namespace pkb::virtual_gpu {

/// A launch whose blocks are being executed.
struct Engine::Grid {
  Grid(Launch work, Point at, const Chip& chip, std::uint64_t schedule_seed)
      : launch(std::move(work)),
        place(std::move(at)),
        needs(occupancy(chip, shape_of(chip, *launch.kernel, launch.block.count(), launch.dynamic_shared))),
        cluster(launch.cluster.count()),
        total(launch.grid.count() / cluster),
        seed(schedule_seed),
        order(total, seed) {}

  Launch launch;
  Point place;                   ///< reached when it is done
  Occupancy needs;               ///< of one block
  std::uint64_t cluster;         ///< blocks that become resident and run together
  // Of such clusters:
  std::uint64_t total;
  std::uint64_t dispatched = 0;  ///< that became resident, the ended ones included
  std::uint64_t ended = 0;
  std::uint64_t running = 0;     ///< in the hands of threads
  std::uint64_t triggered = 0;   ///< blocks that have ended or let programmatic launches start
  std::shared_ptr<Grid> previous;    ///< that of launch.prerequisite
  std::atomic<bool> done = false;
  std::uint64_t seed;
  BlockOrder order;
  Counters counters;
};

/// A block that has its place on an SM, or the blocks of a cluster that do. Its state is made when it first runs:
/// most blocks of a large grid end before the next one starts.
struct Engine::Resident {
  std::shared_ptr<Grid> grid;
  std::uint64_t index = 0;         ///< of the cluster
  std::vector<std::uint32_t> sms;  ///< of its blocks
  std::uint64_t triggered = 0;     ///< of its blocks, counted in the grid
  std::uint64_t slices = 0;
  std::unique_ptr<Block> block;
};

}  // namespace pkb::virtual_gpu
