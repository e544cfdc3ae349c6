// SPDX-License-Identifier: Apache-2.0
/// What a kernel across GPUs is made of. All of it is optional: a candidate may as well write its own.
///
/// - `Peers`, `peers_of`: where every rank has its copy of a symmetric tensor (peers.cuh).
/// - `Team`, `split_block`, `split_grid`: who works together; compute and communication parts (team.cuh).
/// - `Signals`: signal one, signal all, wait, barrier, finish (signals.cuh).
/// - `store`, `add`, `store_async`, `add_async`: tiles to a peer (tile.cuh).
/// - `reduce`, `all_reduce`: sums over a symmetric tensor, by the fabric where it can; `share_of`, `sum_of`,
///   `store_to_all`: what they are made of (reduce.cuh).
///
/// A kernel that hands this rank's tensor to all ranks, in full:
///
///     pkb::Signals signals;  // from setup: signals = pkb::Signals(ctx, 0);
///     __global__ void gather(const float* in, pkb::Peers<float> out, std::int64_t count,
///                            pkb::Signals signals) {
///       const pkb::Range mine = pkb::share_of(count, pkb::this_block());
///       for (int r = 0; r < out.ranks; ++r)
///         pkb::store(pkb::whole_block(), out[r] + out.rank * count + mine.begin, in + mine.begin,
///                    mine.end - mine.begin);
///       signals.finish();
///     }
///
/// Order: what a team did before `signal`, `signal_all`, `barrier` or `finish` is visible behind the `wait`,
/// `wait_all`, `barrier` or `finish` that it meets, asynchronous stores included. Nothing is promised the
/// other way round: a buffer may be filled again only when its readers have signalled that they are done with
/// it. Inputs of a run are complete on all ranks before it begins, and no rank begins the next before all
/// have ended.
#pragma once

#include <pkb/device/peers.cuh>
#include <pkb/device/reduce.cuh>
#include <pkb/device/signals.cuh>
#include <pkb/device/team.cuh>
#include <pkb/device/tile.cuh>
