// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/communicator.h"
#include "reference/device.h"
#include "reference/sabotage.h"
#include "reference/tensor.h"

namespace pkb::ref {

/// A process group: collectives with the names and conventions of torch.distributed, checked before they
/// start. Every member calls the same collective with the same shapes and dtypes; tensors must be contiguous.
/// Source and destination ranks count within the group.
class Group {
 public:
  Group(std::unique_ptr<Communicator> communicator, std::vector<int> ranks);

  int rank() const { return x_communicator->rank(); }
  int size() const { return static_cast<int>(x_ranks.size()); }
  /// World ranks of the members in group order.
  const std::vector<int>& ranks() const { return x_ranks; }

  void all_reduce(Tensor& tensor, Reduce op = Reduce::sum) const;
  /// `tensor` on rank `dst` becomes the reduction; elsewhere it is unchanged.
  void reduce(Tensor& tensor, int dst, Reduce op = Reduce::sum) const;
  /// out has size() times the elements of in; its shape may be (size(), ...) or (size() * rows, ...).
  void all_gather_into_tensor(Tensor& out, const Tensor& in) const;
  /// in has size() times the elements of out; block r goes to rank r.
  void reduce_scatter_tensor(Tensor& out, const Tensor& in, Reduce op = Reduce::sum) const;
  void broadcast(Tensor& tensor, int src) const;
  /// Block r of `in` on rank `src` becomes `out` on rank r; `in` is ignored elsewhere.
  void scatter(Tensor& out, const Tensor& in, int src) const;
  /// `in` of rank r becomes block r of `out` on rank `dst`; `out` is ignored elsewhere.
  void gather(Tensor& out, const Tensor& in, int dst) const;
  /// Block d of `in` goes to rank d, the block from rank s lands in block s of `out`. Equal blocks of the
  /// leading dimension, or `in_splits` and `out_splits` rows for each rank.
  void all_to_all_single(Tensor& out, const Tensor& in) const;
  void all_to_all_single(Tensor& out, const Tensor& in, const std::vector<std::int64_t>& out_splits,
                         const std::vector<std::int64_t>& in_splits) const;
  /// All messages at once, complete when it returns (on cuda: in the order of the stream). The k-th message
  /// that a rank sends to another meets the k-th that this one receives from it; both have one size. A rank
  /// may send to itself (torch.distributed.batch_isend_irecv, then wait).
  void batch_isend_irecv(std::initializer_list<P2POp> messages) const;
  void batch_isend_irecv(std::span<const P2POp> messages) const;
  void barrier() const { x_communicator->barrier(); }

 private:
  std::unique_ptr<Communicator> x_communicator;
  std::vector<int> x_ranks;
};

/// Which ranks form the groups of one name; groups of a name do not overlap.
struct GroupLayout {
  std::string name;
  std::vector<std::vector<int>> ranks_of;
};

struct ContextOptions {
  Place place = Place::host;
  /// Several ranks share a GPU, which NCCL refuses: collectives on cuda go through MPI on host copies.
  bool staged = false;
  DType run_dtype = DType::bf16;
  std::map<std::string, double, std::less<>> parameters{};
  std::vector<GroupLayout> groups{};  ///< "world" always exists
  std::optional<Sabotage> sabotage{};  ///< of every group's collectives
};

/// A parameter's value; converts to the type that the callee wants.
/// @throws std::runtime_error when an integer is wanted and the value is none.
class Parameter {
 public:
  Parameter(std::string_view name, double value) : x_name(name), x_value(value) {}
  template <std::integral Integer>
  operator Integer() const {
    return static_cast<Integer>(integer());
  }
  template <std::floating_point Number>
  operator Number() const {
    return static_cast<Number>(x_value);
  }

 private:
  std::int64_t integer() const;
  std::string x_name;
  double x_value;
};

/// What a reference may know about the run. Construct on all ranks of `comm` at once, destroy before
/// MPI_Finalize. On cuda the caller chooses the device (cudaSetDevice) first.
class Context {
 public:
  Context(MPI_Comm comm, ContextOptions options = {});
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Group& world() { return group("world"); }
  /// @throws std::out_of_range that lists the groups there are.
  Group& group(std::string_view name);
  /// A size or parameter of the problem. @throws std::out_of_range that lists the names there are.
  Parameter param(std::string_view name) const;
  DType run_dtype() const { return x_options.run_dtype; }
  Place place() const { return x_options.place; }
  bool staged() const { return x_options.staged; }
  /// Everything the library enqueues on cuda goes here; null on host.
  Stream stream() const;
  /// What came of the sabotage until now.
  const SabotageRecord& sabotage_record() const { return x_sabotage_record; }
  /// Waits until all of it is done.
  void synchronize() const;

 private:
  ContextOptions x_options;
  SabotageRecord x_sabotage_record;
  std::vector<MPI_Comm> x_comms;
  std::map<std::string, std::unique_ptr<Group>, std::less<>> x_groups;
};

}  // namespace pkb::ref
