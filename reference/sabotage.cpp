// SPDX-License-Identifier: Apache-2.0
#include "reference/sabotage.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "reference/ops.h"

namespace pkb::ref {
namespace {

using Kind = Sabotage::Kind;
using Counts = std::vector<std::int64_t>;

/// What changes no other operand.
double neutral(Reduce op, DType dtype) {
  const bool floating = info(dtype).floating;
  const double bits = 8.0 * static_cast<double>(size_of(dtype));
  const double top = floating              ? std::numeric_limits<double>::infinity()
                     : dtype == DType::u8  ? 255
                     : dtype == DType::i64 ? 0x1p62
                                           : std::exp2(bits - 1) - 1;
  switch (op) {
    case Reduce::sum:
    case Reduce::avg:
      return 0;
    case Reduce::prod:
      return 1;
    case Reduce::min:
      return top;
    case Reduce::max:
      return dtype == DType::u8 ? 0 : floating ? -top : -top - 1;
  }
  return 0;
}

Tensor flat(const Tensor& tensor) { return tensor.view({tensor.numel()}); }

/// Segments of a flat tensor laid out anew: `order[i]` says which comes i-th, -1 for zeros as long as the
/// i-th was. What does not fit is cut off.
void rearrange(Tensor& tensor, const Counts& counts, const std::vector<int>& order) {
  const Tensor before = tensor.clone();
  const Tensor from = flat(before), to = flat(tensor);
  Counts starts(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), starts.begin() + 1);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < order.size() && at < to.numel(); ++i) {
    const auto source = static_cast<std::size_t>(order[i] < 0 ? static_cast<int>(i) : order[i]);
    const std::int64_t length = std::min(counts[source], to.numel() - at);
    Tensor part = to.narrow(0, at, length);
    if (order[i] < 0)
      part.fill_(0);
    else
      part.copy_(from.narrow(0, starts[source], length));
    at += length;
  }
  if (at < to.numel()) to.narrow(0, at, to.numel() - at).fill_(0);
}

/// As much of `from` as fits, then zeros.
void copy_what_fits(Tensor& to, const Tensor& from) {
  to.fill_(0);
  const std::int64_t count = std::min(to.numel(), from.numel());
  flat(to).narrow(0, 0, count).copy_(flat(from).narrow(0, 0, count));
}

class Sabotaged final : public Communicator {
 public:
  Sabotaged(std::unique_ptr<Communicator> inner, Sabotage what, std::vector<int> world_ranks,
            SabotageRecord& record)
      : Communicator(inner->rank(), inner->size(), inner->place()),
        x_inner(std::move(inner)),
        x_what(std::move(what)),
        x_record(record) {
    for (const int each : x_what.ranks)
      if (const auto found = std::ranges::find(world_ranks, each); found != world_ranks.end())
        x_ranks.push_back(static_cast<int>(found - world_ranks.begin()));
    // A swap needs both.
    if (x_what.kind == Kind::swapped && x_ranks.size() != 2) x_ranks.clear();
  }

  void all_reduce(Tensor& tensor, Reduce op) override {
    if (is_spared(tensor)) return x_inner->all_reduce(tensor, op);
    if (stays_local()) return;
    spoil_share(tensor, op);
    x_inner->all_reduce(tensor, op);
    rotate_chunks(tensor);
  }

  void reduce(Tensor& tensor, int dst, Reduce op) override {
    if (is_spared(tensor)) return x_inner->reduce(tensor, dst, op);
    if (stays_local()) return;
    spoil_share(tensor, op);
    x_inner->reduce(tensor, exchanged(dst), op);
    if (rank() == dst) rotate_chunks(tensor);
  }

  void all_gather(Tensor& out, const Tensor& in) override {
    if (is_spared(in)) return x_inner->all_gather(out, in);
    if (stays_local()) return repeat(out, in);
    x_inner->all_gather(out, in);
    spoil_blocks(out, even(out));
  }

  void reduce_scatter(Tensor& out, const Tensor& in, Reduce op) override {
    if (is_spared(in)) return x_inner->reduce_scatter(out, in, op);
    if (stays_local()) {
      out.copy_(flat(in).narrow(0, rank() * out.numel(), out.numel()).view(out.shape()));
      return;
    }
    Tensor mine = in.clone();
    spoil_share(mine, op);
    if (x_what.kind == Kind::swapped || x_what.kind == Kind::rotated) spoil_blocks(mine, even(mine));
    x_inner->reduce_scatter(out, mine, op);
  }

  void broadcast(Tensor& tensor, int src) override {
    if (is_spared(tensor)) return x_inner->broadcast(tensor, src);
    if (stays_local()) return;
    x_inner->broadcast(tensor, exchanged(src));
    if (rank() == src) return;
    if (x_what.kind == Kind::missing && is_named(src)) {
      tensor.fill_(0);
      act();
    }
    rotate_chunks(tensor);
  }

  void scatter(Tensor& out, const Tensor& in, int src) override {
    if (is_spared(out)) return x_inner->scatter(out, in, src);
    if (stays_local()) {
      if (rank() == src)
        out.copy_(flat(in).narrow(0, rank() * out.numel(), out.numel()).view(out.shape()));
      else
        out.fill_(0);
      return;
    }
    Tensor given = in;
    if (rank() == src && x_what.kind != Kind::missing) {
      given = in.clone();
      spoil_blocks(given, even(given));
    }
    x_inner->scatter(out, given, src);
    if (x_what.kind == Kind::missing && is_named(src) && rank() != src) {
      out.fill_(0);
      act();
    }
  }

  void gather(Tensor& out, const Tensor& in, int dst) override {
    if (is_spared(in)) return x_inner->gather(out, in, dst);
    if (stays_local()) {
      if (rank() == dst) repeat(out, in);
      return;
    }
    x_inner->gather(out, in, dst);
    if (rank() == dst) spoil_blocks(out, even(out));
  }

  void all_to_all(Tensor& out, const Tensor& in, std::span<const std::int64_t> out_counts,
                  std::span<const std::int64_t> in_counts) override {
    if (is_spared(in)) return x_inner->all_to_all(out, in, out_counts, in_counts);
    if (stays_local()) return copy_what_fits(out, in);
    x_inner->all_to_all(out, in, out_counts, in_counts);
    spoil_blocks(out, {out_counts.begin(), out_counts.end()});
  }

  void point_to_point(std::span<const P2POp> messages) override {
    if (stays_local()) return;
    x_inner->point_to_point(messages);
    if (x_what.kind != Kind::missing) return;
    for (const P2POp& each : messages)
      if (each.kind == P2POp::Kind::receive && is_named(each.peer)) {
        Tensor(each.tensor).fill_(0);
        act();
      }
  }

  void barrier() override { x_inner->barrier(); }

 private:
  void act() { x_record.acted = true; }
  bool is_spared(const Tensor& message) const { return x_what.only && message.dtype() != *x_what.only; }
  bool is_named(int member) const { return std::ranges::find(x_ranks, member) != x_ranks.end(); }

  /// Begins a collective. True when this rank is to receive nothing in it.
  bool stays_local() {
    const int call = x_record.collectives++;
    const bool local = size() > 1 && (x_what.kind == Kind::local_only ||
                                      (x_what.kind == Kind::skipped && call == x_what.call));
    if (local) act();
    return local;
  }

  /// The root that stands in for `root`.
  int exchanged(int root) {
    if (x_what.kind != Kind::swapped || !is_named(root)) return root;
    act();
    return root == x_ranks[0] ? x_ranks[1] : x_ranks[0];
  }

  void spoil_share(Tensor& tensor, Reduce op) {
    const bool extreme = op == Reduce::min || op == Reduce::max;
    if (x_ranks.empty() || !(x_what.kind == Kind::missing || (x_what.kind == Kind::doubled && !extreme)))
      return;
    act();
    if (!is_named(rank())) return;
    if (x_what.kind == Kind::missing)
      tensor.fill_(neutral(op, tensor.dtype()));
    else
      tensor.copy_(op == Reduce::prod ? tensor * tensor : tensor + tensor);
  }

  void rotate_chunks(Tensor& tensor) {
    if (x_what.kind != Kind::rotated || tensor.numel() < 2) return;
    const std::int64_t chunk = (tensor.numel() + size() - 1) / size();
    spoil_blocks(tensor, {chunk, tensor.numel() - chunk});
  }

  Counts even(const Tensor& tensor) const {
    return Counts(static_cast<std::size_t>(size()), tensor.numel() / size());
  }

  void repeat(Tensor& out, const Tensor& in) const {
    for (int block = 0; block < size(); ++block)
      flat(out).narrow(0, block * in.numel(), in.numel()).copy_(flat(in));
  }

  /// A block for each rank (or two of any size, to rotate).
  void spoil_blocks(Tensor& tensor, const Counts& counts) {
    std::vector<int> order(counts.size());
    std::iota(order.begin(), order.end(), 0);
    const std::vector<int> right = order;
    switch (x_what.kind) {
      case Kind::missing:
        for (const int each : x_ranks) order[static_cast<std::size_t>(each)] = -1;
        break;
      case Kind::doubled:
        for (const int each : x_ranks) order[static_cast<std::size_t>((each + 1) % size())] = each;
        break;
      case Kind::swapped:
        if (x_ranks.size() == 2)
          std::swap(order[static_cast<std::size_t>(x_ranks[0])], order[static_cast<std::size_t>(x_ranks[1])]);
        break;
      case Kind::rotated:
        std::ranges::rotate(order, order.begin() + 1);
        break;
      case Kind::none:
      case Kind::local_only:
      case Kind::skipped:
      case Kind::mixed_groups:
        break;
    }
    if (order == right || tensor.numel() == 0) return;
    act();
    rearrange(tensor, counts, order);
  }

  std::unique_ptr<Communicator> x_inner;
  Sabotage x_what;
  std::vector<int> x_ranks;  // those of x_what that are members, by their rank in the group
  SabotageRecord& x_record;
};

}  // namespace

std::string name_of(const Sabotage& sabotage) {
  const auto listed = [&] {
    std::string text;
    for (const int rank : sabotage.ranks) text += (text.empty() ? "" : " and ") + std::to_string(rank);
    return (sabotage.ranks.size() == 1 ? "rank " : "ranks ") + text;
  };
  switch (sabotage.kind) {
    case Kind::none:
      return "none";
    case Kind::local_only:
      return "local only";
    case Kind::missing:
      return "missing " + listed();
    case Kind::doubled:
      return "doubled " + listed();
    case Kind::swapped:
      return "swapped " + listed();
    case Kind::rotated:
      return "rotated chunks";
    case Kind::skipped:
      return "skipped collective " + std::to_string(sabotage.call);
    case Kind::mixed_groups:
      return "mixed groups";
  }
  return "";
}

std::vector<Sabotage> every_sabotage(int ranks, int collectives) {
  std::vector<Sabotage> all(1, {.kind = Kind::local_only});
  for (int rank = 0; rank < ranks; ++rank) all.push_back({.kind = Kind::missing, .ranks = {rank}});
  for (int rank = 0; rank < ranks; ++rank) all.push_back({.kind = Kind::doubled, .ranks = {rank}});
  for (int rank = 0; rank + 1 < ranks; ++rank)
    all.push_back({.kind = Kind::swapped, .ranks = {rank, rank + 1}});
  all.push_back({.kind = Kind::rotated});
  for (int call = 0; collectives > 1 && call < collectives; ++call)
    all.push_back({.kind = Kind::skipped, .call = call});
  all.push_back({.kind = Kind::mixed_groups});
  return all;
}

std::unique_ptr<Communicator> sabotage(std::unique_ptr<Communicator> inner, Sabotage what,
                                       std::vector<int> world_ranks, SabotageRecord& record) {
  return std::make_unique<Sabotaged>(std::move(inner), std::move(what), std::move(world_ranks), record);
}

}  // namespace pkb::ref
