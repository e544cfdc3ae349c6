// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "reference/context.h"

namespace pkb::ref {

std::string_view name_of(Reduce op) {
  switch (op) {
    case Reduce::sum:
      return "sum";
    case Reduce::prod:
      return "prod";
    case Reduce::min:
      return "min";
    case Reduce::max:
      return "max";
    case Reduce::avg:
      return "avg";
  }
  return "";
}

namespace {

void require_dense(const char* what, const Communicator& group, const Tensor& tensor) {
  require(tensor.place() == group.place(), "{}: a tensor on {} in a group on {}", what,
          name_of(tensor.place()), name_of(group.place()));
  require(tensor.is_contiguous(), "{}: shape {} with strides {} is not contiguous", what, tensor.shape(),
          tensor.strides());
}

void require_reducible(const char* what, const Tensor& tensor, Reduce op) {
  require<DTypeError>(size_of(tensor.dtype()) > 1 || !info(tensor.dtype()).floating,
                      "{}: {} has no arithmetic; convert it first", what, tensor.dtype());
  require<DTypeError>(op != Reduce::avg || info(tensor.dtype()).floating,
                      "{}: the average of {} is not defined", what, tensor.dtype());
}

/// `large` holds a block of the shape of `small` for each rank.
void require_blocks(const char* what, const Tensor& large, const Tensor& small, int ranks) {
  require<DTypeError>(large.dtype() == small.dtype(), "{}: {} and {}", what, large.dtype(), small.dtype());
  require(large.numel() == small.numel() * ranks, "{}: {} is not {} blocks of {}", what, large.shape(), ranks,
          small.shape());
}

void require_rank(const char* what, int rank, int size) {
  require(rank >= 0 && rank < size, "{}: rank {} of a group of {}", what, rank, size);
}

/// Rows of the leading dimension for each rank, in elements.
std::vector<std::int64_t> counts_of(const Tensor& tensor, const std::vector<std::int64_t>& splits,
                                    int ranks) {
  require(tensor.dim() > 0 && static_cast<int>(splits.size()) == ranks,
          "all_to_all_single: {} splits of {} for {} ranks", splits.size(), tensor.shape(), ranks);
  require(std::ranges::all_of(splits, [](auto rows) { return rows >= 0; }) &&
              std::accumulate(splits.begin(), splits.end(), std::int64_t{0}) == tensor.size(0),
          "all_to_all_single: splits {} of shape {}", splits, tensor.shape());
  const std::int64_t row = numel({tensor.shape().begin() + 1, tensor.shape().end()});
  std::vector<std::int64_t> counts;
  for (const std::int64_t rows : splits) counts.push_back(rows * row);
  return counts;
}

std::vector<std::int64_t> even_splits(const Tensor& tensor, int ranks) {
  require(tensor.dim() > 0 && tensor.size(0) % ranks == 0,
          "all_to_all_single: {} does not split into {} equal blocks", tensor.shape(), ranks);
  return std::vector<std::int64_t>(static_cast<std::size_t>(ranks), tensor.size(0) / ranks);
}

}  // namespace

Group::Group(std::unique_ptr<Communicator> communicator, std::vector<int> ranks)
    : x_communicator(std::move(communicator)), x_ranks(std::move(ranks)) {}

void Group::all_reduce(Tensor& tensor, Reduce op) const {
  require_dense("all_reduce", *x_communicator, tensor);
  require_reducible("all_reduce", tensor, op);
  if (tensor.numel() > 0) x_communicator->all_reduce(tensor, op);
}

void Group::reduce(Tensor& tensor, int dst, Reduce op) const {
  require_dense("reduce", *x_communicator, tensor);
  require_reducible("reduce", tensor, op);
  require_rank("reduce", dst, size());
  if (tensor.numel() > 0) x_communicator->reduce(tensor, dst, op);
}

void Group::all_gather_into_tensor(Tensor& out, const Tensor& in) const {
  require_dense("all_gather_into_tensor", *x_communicator, out);
  require_dense("all_gather_into_tensor", *x_communicator, in);
  require_blocks("all_gather_into_tensor", out, in, size());
  if (in.numel() > 0) x_communicator->all_gather(out, in);
}

void Group::reduce_scatter_tensor(Tensor& out, const Tensor& in, Reduce op) const {
  require_dense("reduce_scatter_tensor", *x_communicator, out);
  require_dense("reduce_scatter_tensor", *x_communicator, in);
  require_blocks("reduce_scatter_tensor", in, out, size());
  require_reducible("reduce_scatter_tensor", in, op);
  if (out.numel() > 0) x_communicator->reduce_scatter(out, in, op);
}

void Group::broadcast(Tensor& tensor, int src) const {
  require_dense("broadcast", *x_communicator, tensor);
  require_rank("broadcast", src, size());
  if (tensor.numel() > 0) x_communicator->broadcast(tensor, src);
}

void Group::scatter(Tensor& out, const Tensor& in, int src) const {
  require_rank("scatter", src, size());
  require_dense("scatter", *x_communicator, out);
  if (rank() == src) {
    require_dense("scatter", *x_communicator, in);
    require_blocks("scatter", in, out, size());
  }
  if (out.numel() > 0) x_communicator->scatter(out, in, src);
}

void Group::gather(Tensor& out, const Tensor& in, int dst) const {
  require_rank("gather", dst, size());
  require_dense("gather", *x_communicator, in);
  if (rank() == dst) {
    require_dense("gather", *x_communicator, out);
    require_blocks("gather", out, in, size());
  }
  if (in.numel() > 0) x_communicator->gather(out, in, dst);
}

void Group::all_to_all_single(Tensor& out, const Tensor& in) const {
  all_to_all_single(out, in, even_splits(out, size()), even_splits(in, size()));
}

void Group::all_to_all_single(Tensor& out, const Tensor& in, const std::vector<std::int64_t>& out_splits,
                              const std::vector<std::int64_t>& in_splits) const {
  require_dense("all_to_all_single", *x_communicator, out);
  require_dense("all_to_all_single", *x_communicator, in);
  require<DTypeError>(out.dtype() == in.dtype(), "all_to_all_single: {} and {}", out.dtype(), in.dtype());
  x_communicator->all_to_all(out, in, counts_of(out, out_splits, size()), counts_of(in, in_splits, size()));
}

void Group::batch_isend_irecv(std::span<const P2POp> messages) const {
  for (const P2POp& each : messages) {
    require_dense("batch_isend_irecv", *x_communicator, each.tensor);
    require_rank("batch_isend_irecv", each.peer, size());
  }
  x_communicator->point_to_point(messages);
}

void Group::batch_isend_irecv(std::initializer_list<P2POp> messages) const {
  batch_isend_irecv(std::span(messages.begin(), messages.size()));
}

}  // namespace pkb::ref
