// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <stdexcept>
#include <string>

#include "reference/cuda/backend.h"
#include "reference/cuda_check.h"
#include "reference/device.h"

namespace pkb::ref {
namespace {

void check(ncclResult_t status, const char* what) {
  if (status != ncclSuccess)
    throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(status) + "; " +
                             ncclGetLastError(nullptr));
}

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return ncclBfloat16;
    case DType::f16:
      return ncclFloat16;
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
    case DType::i8:
      return ncclInt8;
    case DType::u8:
      return ncclUint8;
    case DType::i32:
      return ncclInt32;
    case DType::i64:
      return ncclInt64;
    case DType::e4m3:
      return ncclFloat8e4m3;
    case DType::e5m2:
      return ncclFloat8e5m2;
  }
  throw std::runtime_error("no such dtype");
}

ncclRedOp_t nccl_op(Reduce op) {
  switch (op) {
    case Reduce::sum:
      return ncclSum;
    case Reduce::prod:
      return ncclProd;
    case Reduce::min:
      return ncclMin;
    case Reduce::max:
      return ncclMax;
    case Reduce::avg:
      return ncclAvg;
  }
  throw std::runtime_error("no such reduction");
}

std::size_t count_of(const Tensor& tensor) { return static_cast<std::size_t>(tensor.numel()); }

/// Sends and receives of a scope, started together.
class NcclGroup {
 public:
  NcclGroup() { check(ncclGroupStart(), "ncclGroupStart"); }
  void end() { check(ncclGroupEnd(), "ncclGroupEnd"); }
};

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(MPI_Comm mpi, int rank, int size) : Communicator(rank, size, Place::cuda) {
    ncclUniqueId id{};
    if (rank == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, mpi);
    check(ncclCommInitRank(&x_comm, size, id, rank), "ncclCommInitRank");
  }
  ~NcclCommunicator() override { ncclCommDestroy(x_comm); }

  void all_reduce(Tensor& tensor, Reduce op) override {
    check(ncclAllReduce(tensor.data(), tensor.data(), count_of(tensor), nccl_type(tensor.dtype()),
                        nccl_op(op), x_comm, current_stream()),
          "ncclAllReduce");
  }
  void reduce(Tensor& tensor, int dst, Reduce op) override {
    check(ncclReduce(tensor.data(), tensor.data(), count_of(tensor), nccl_type(tensor.dtype()), nccl_op(op),
                     dst, x_comm, current_stream()),
          "ncclReduce");
  }
  void all_gather(Tensor& out, const Tensor& in) override {
    check(ncclAllGather(in.data(), out.data(), in.nbytes(), ncclUint8, x_comm, current_stream()),
          "ncclAllGather");
  }
  void reduce_scatter(Tensor& out, const Tensor& in, Reduce op) override {
    check(ncclReduceScatter(in.data(), out.data(), count_of(out), nccl_type(in.dtype()), nccl_op(op), x_comm,
                            current_stream()),
          "ncclReduceScatter");
  }
  void broadcast(Tensor& tensor, int src) override {
    check(ncclBroadcast(tensor.data(), tensor.data(), tensor.nbytes(), ncclUint8, src, x_comm,
                        current_stream()),
          "ncclBroadcast");
  }
  void scatter(Tensor& out, const Tensor& in, int src) override {
    const std::size_t block = out.nbytes();
    NcclGroup group;
    if (rank() == src) {
      for (int to = 0; to < size(); ++to)
        if (to != src) send(in.data() + static_cast<std::size_t>(to) * block, block, to);
    } else {
      receive(out.data(), block, src);
    }
    group.end();
    if (rank() == src) copy(out.data(), in.data() + static_cast<std::size_t>(src) * block, block);
  }
  void gather(Tensor& out, const Tensor& in, int dst) override {
    const std::size_t block = in.nbytes();
    NcclGroup group;
    if (rank() == dst) {
      for (int from = 0; from < size(); ++from)
        if (from != dst) receive(out.data() + static_cast<std::size_t>(from) * block, block, from);
    } else {
      send(in.data(), block, dst);
    }
    group.end();
    if (rank() == dst) copy(out.data() + static_cast<std::size_t>(dst) * block, in.data(), block);
  }
  void all_to_all(Tensor& out, const Tensor& in, std::span<const std::int64_t> out_counts,
                  std::span<const std::int64_t> in_counts) override {
    const std::size_t element = size_of(in.dtype());
    const std::byte *from = in.data(), *own = nullptr;
    std::byte *to = out.data(), *own_to = nullptr;
    NcclGroup group;
    for (int peer = 0; peer < size(); ++peer) {
      const std::size_t sent = static_cast<std::size_t>(in_counts[static_cast<std::size_t>(peer)]) * element;
      const std::size_t received =
          static_cast<std::size_t>(out_counts[static_cast<std::size_t>(peer)]) * element;
      if (peer == rank()) {
        own = from;
        own_to = to;
      } else {
        send(from, sent, peer);
        receive(to, received, peer);
      }
      from += sent;
      to += received;
    }
    group.end();
    copy(own_to, own, static_cast<std::size_t>(in_counts[static_cast<std::size_t>(rank())]) * element);
  }
  void point_to_point(std::span<const P2POp> messages) override {
    NcclGroup group;
    for (const P2POp& message : messages)
      if (message.kind == P2POp::Kind::send)
        send(message.tensor.data(), message.tensor.nbytes(), message.peer);
      else
        receive(message.tensor.data(), message.tensor.nbytes(), message.peer);
    group.end();
  }
  void barrier() override {
    Tensor token = Tensor::zeros({1}, DType::i32, Place::cuda);
    all_reduce(token, Reduce::sum);
    synchronize();
  }

 private:
  void send(const std::byte* data, std::size_t bytes, int to) {
    if (bytes > 0) check(ncclSend(data, bytes, ncclUint8, to, x_comm, current_stream()), "ncclSend");
  }
  void receive(std::byte* data, std::size_t bytes, int from) {
    if (bytes > 0) check(ncclRecv(data, bytes, ncclUint8, from, x_comm, current_stream()), "ncclRecv");
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes > 0)
      ref::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, current_stream()),
                 "cudaMemcpyAsync");
  }

  ncclComm_t x_comm{};
};

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(MPI_Comm comm) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  return std::make_unique<NcclCommunicator>(comm, rank, size);
}

}  // namespace pkb::ref
