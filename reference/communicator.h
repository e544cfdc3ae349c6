// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "reference/tensor.h"

namespace pkb::ref {

/// How elements of different ranks combine. `avg` scales each by 1/size in the element type first, as NCCL
/// does.
enum class Reduce : std::uint8_t { sum, prod, min, max, avg };
std::string_view name_of(Reduce op);

/// One message between two ranks, for Group::batch_isend_irecv.
struct P2POp {
  enum class Kind : std::uint8_t { send, receive };
  Kind kind;
  Tensor tensor;
  int peer;  ///< a rank of the group
};
inline P2POp isend(const Tensor& tensor, int dst) { return {P2POp::Kind::send, tensor, dst}; }
inline P2POp irecv(const Tensor& tensor, int src) { return {P2POp::Kind::receive, tensor, src}; }

/// What moves data between the ranks of one group; `Group` has checked the arguments: contiguous tensors of
/// this group's place, matching counts, root ranks in range. Counts may exceed 2^31 elements.
///
/// Reductions of W ranks round W - 1 times, in the element type, along a ring: the chain of chunk c starts at
/// rank c + 1 and ends at rank c, so all ranks get the same bits, and the same bits each time.
class Communicator {
 public:
  Communicator(int rank, int size, Place place) : x_rank(rank), x_size(size), x_place(place) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return x_rank; }
  int size() const { return x_size; }
  Place place() const { return x_place; }  ///< of the tensors it takes

  virtual void all_reduce(Tensor& tensor, Reduce op) = 0;
  virtual void reduce(Tensor& tensor, int dst, Reduce op) = 0;
  virtual void all_gather(Tensor& out, const Tensor& in) = 0;
  virtual void reduce_scatter(Tensor& out, const Tensor& in, Reduce op) = 0;
  virtual void broadcast(Tensor& tensor, int src) = 0;
  virtual void scatter(Tensor& out, const Tensor& in, int src) = 0;
  virtual void gather(Tensor& out, const Tensor& in, int dst) = 0;
  /// Splits in elements: `out_counts[s]` from rank s, `in_counts[d]` to rank d.
  virtual void all_to_all(Tensor& out, const Tensor& in, std::span<const std::int64_t> out_counts,
                          std::span<const std::int64_t> in_counts) = 0;
  virtual void point_to_point(std::span<const P2POp> messages) = 0;
  virtual void barrier() = 0;

 private:
  int x_rank, x_size;
  Place x_place;
};

}  // namespace pkb::ref
