// SPDX-License-Identifier: Apache-2.0
#include "reference/routing.h"

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/sorting.h"

namespace pkb::ref {
namespace {

constexpr std::int64_t kScores = 1000;  // random scores are below it

/// How much the least liked expert's score is lowered.
std::int64_t dislike(Routing routing, std::int64_t experts) {
  switch (routing) {
    case Routing::even:
      return 0;
    case Routing::preferring:
      return kScores;
    case Routing::same:
      return kScores * experts;
  }
  return 0;
}

}  // namespace

Tensor random_experts(std::int64_t tokens, std::int64_t experts, std::int64_t chosen, Routing routing,
                      Place place, const RandomKey& key) {
  Tensor score = Tensor::empty({tokens, experts}, DType::i64, place);
  random_fill(score, {.kind = Distribution::Kind::integers, .low = 0, .high = double(kScores - 1)}, key);
  const Tensor place_of = remainder(arange(experts, DType::i64, place) + 3.0 * key.rank, experts);
  const Tensor lowered = floor_divide(place_of * static_cast<double>(dislike(routing, experts)), experts);
  return topk(score - lowered, chosen).indices;
}

}  // namespace pkb::ref
