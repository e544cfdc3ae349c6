// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/random.h"
#include "reference/tensor.h"

/// Inputs of mixture-of-experts problems.
namespace pkb::ref {

/// Which experts tokens choose: all alike; some more than others, another preference on each rank; or, on a
/// rank, always the same ones.
enum class Routing : std::uint8_t { even, preferring, same };

/// Distinct experts for each token, (tokens, chosen) int64, at random and the same bits everywhere.
/// `key.rank` decides about the rank's preference.
Tensor random_experts(std::int64_t tokens, std::int64_t experts, std::int64_t chosen, Routing routing,
                      Place place, const RandomKey& key);

}  // namespace pkb::ref
