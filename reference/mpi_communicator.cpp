// SPDX-License-Identifier: Apache-2.0
#include "reference/mpi_communicator.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "reference/combine.h"

namespace pkb::ref {
namespace {

void check(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw std::runtime_error(std::string(what) + ": " + text);
}

constexpr std::size_t kMessageBytes = std::size_t{1} << 30;  // MPI counts are ints
constexpr std::int64_t kSliceBytes = std::int64_t{1}
                                     << 20;  // of a ring, so that a step's data stay in the cache
constexpr int kTag = 0;

using Bytes = std::span<std::byte>;
using ConstBytes = std::span<const std::byte>;

Bytes bytes_of(const Tensor& tensor) { return {tensor.data(), tensor.nbytes()}; }

/// Block `index` of a tensor that is cut into equal ones of `bytes`.
Bytes block(const Tensor& tensor, int index, std::size_t bytes) {
  return {tensor.data() + static_cast<std::size_t>(index) * bytes, bytes};
}

void copy(Bytes to, ConstBytes from) {
  if (to.data() != from.data() && !from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

/// Calls `fn(part, size as int)` for parts whose bytes an int can count, in order; an empty span has none.
template <class Byte, class Fn>
void for_each_message(std::span<Byte> span, Fn&& fn) {
  for (std::size_t begin = 0; begin < span.size(); begin += kMessageBytes) {
    const auto part = span.subspan(begin, std::min(kMessageBytes, span.size() - begin));
    fn(part.data(), static_cast<int>(part.size()));
  }
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm comm, int rank, int size) : Communicator(rank, size, Place::host), x_comm(comm) {}

  void all_reduce(Tensor& tensor, Reduce op) override {
    const std::int64_t count = tensor.numel();
    const Chunks chunks{.data = bytes_of(tensor),
                        .dtype = tensor.dtype(),
                        .count = count,
                        .chunk = (count + size() - 1) / size()};
    ring_reduce_scatter(op, chunks, chunks.of(rank()));
    ring_all_gather(chunks);
  }

  void reduce_scatter(Tensor& out, const Tensor& in, Reduce op) override {
    ring_reduce_scatter(
        op, {.data = bytes_of(in), .dtype = in.dtype(), .count = in.numel(), .chunk = out.numel()},
        bytes_of(out));
  }

  void reduce(Tensor& tensor, int dst, Reduce op) override {
    // A chain around the ring, in slices: rank dst + 1 starts, dst ends it.
    const Chunks whole{
        .data = bytes_of(tensor), .dtype = tensor.dtype(), .count = tensor.numel(), .chunk = tensor.numel()};
    std::vector<std::byte> arrived, room;
    for (std::int64_t begin = 0; begin < whole.count; begin += whole.slice()) {
      const Bytes here = whole.slice_of(0, begin);
      ConstBytes sum = share(op, whole.dtype, here, room);
      if (before() != dst) {
        arrived.resize(here.size());
        receive(arrived, before());
        add(op, whole.dtype, arrived, sum);
        sum = arrived;
      }
      if (rank() == dst)
        copy(here, sum);
      else
        send(sum, after());
    }
  }

  void all_gather(Tensor& out, const Tensor& in) override {
    const Chunks chunks{
        .data = bytes_of(out), .dtype = out.dtype(), .count = out.numel(), .chunk = in.numel()};
    copy(chunks.of(rank()), bytes_of(in));
    ring_all_gather(chunks);
  }

  void broadcast(Tensor& tensor, int src) override {
    for_each_message(bytes_of(tensor), [&](std::byte* data, int bytes) {
      check(MPI_Bcast(data, bytes, MPI_BYTE, src, x_comm), "MPI_Bcast");
    });
  }

  void scatter(Tensor& out, const Tensor& in, int src) override {
    if (rank() != src) return receive(bytes_of(out), src);
    for (int to = 0; to < size(); ++to)
      if (to != src) send(block(in, to, out.nbytes()), to);
    copy(bytes_of(out), block(in, src, out.nbytes()));
  }

  void gather(Tensor& out, const Tensor& in, int dst) override {
    if (rank() != dst) return send(bytes_of(in), dst);
    for (int from = 0; from < size(); ++from)
      if (from != dst) receive(block(out, from, in.nbytes()), from);
    copy(block(out, dst, in.nbytes()), bytes_of(in));
  }

  void all_to_all(Tensor& out, const Tensor& in, std::span<const std::int64_t> out_counts,
                  std::span<const std::int64_t> in_counts) override {
    const auto blocks = [](const Tensor& tensor, std::span<const std::int64_t> counts) {
      std::vector<Bytes> result;
      Bytes rest = bytes_of(tensor);
      for (const std::int64_t count : counts) {
        result.push_back(rest.first(static_cast<std::size_t>(count) * size_of(tensor.dtype())));
        rest = rest.subspan(result.back().size());
      }
      return result;
    };
    const std::vector<Bytes> from = blocks(in, in_counts), to = blocks(out, out_counts);
    copy(to[static_cast<std::size_t>(rank())], from[static_cast<std::size_t>(rank())]);
    for (int step = 1; step < size(); ++step) {
      const int target = (rank() + step) % size(), source = (rank() + size() - step) % size();
      exchange(from[static_cast<std::size_t>(target)], target, to[static_cast<std::size_t>(source)], source);
    }
  }

  void point_to_point(std::span<const P2POp> messages) override {
    std::vector<MPI_Request> requests;
    for (const P2POp& message : messages)
      if (message.kind == P2POp::Kind::receive) post_receive(bytes_of(message.tensor), message.peer, requests);
    for (const P2POp& message : messages)
      if (message.kind == P2POp::Kind::send) post_send(bytes_of(message.tensor), message.peer, requests);
    wait_all(requests);
  }

  void barrier() override { check(MPI_Barrier(x_comm), "MPI_Barrier"); }

 private:
  /// `count` elements cut into a chunk for each rank, the last ones shorter or empty, and chunks into slices.
  struct Chunks {
    Bytes data;
    DType dtype;
    std::int64_t count, chunk;

    Bytes part(std::int64_t begin, std::int64_t end) const {
      const auto clipped = [&](std::int64_t at) {
        return static_cast<std::size_t>(std::min(at, count)) * size_of(dtype);
      };
      return data.subspan(clipped(begin), clipped(end) - clipped(begin));
    }
    Bytes of(int c) const { return part(c * chunk, (c + 1) * chunk); }
    std::int64_t slice() const { return kSliceBytes / static_cast<std::int64_t>(size_of(dtype)); }
    Bytes slice_of(int c, std::int64_t begin) const {
      return part(c * chunk + begin, c * chunk + std::min(begin + slice(), chunk));
    }
  };

  int before() const { return (rank() + size() - 1) % size(); }
  int after() const { return (rank() + 1) % size(); }

  /// What this rank's elements contribute: they themselves, or for an average a scaled copy in `room`.
  ConstBytes share(Reduce op, DType dtype, ConstBytes own, std::vector<std::byte>& room) const {
    if (op != Reduce::avg) return own;
    room.resize(own.size());
    scale_for_average(dtype, room.data(), own.data(), elements(dtype, own), size());
    return room;
  }
  static void add(Reduce op, DType dtype, Bytes into, ConstBytes with) {
    combine(dtype, op, into.data(), with.data(), elements(dtype, with));
  }
  static std::int64_t elements(DType dtype, ConstBytes bytes) {
    return static_cast<std::int64_t>(bytes.size() / size_of(dtype));
  }

  /// out = the reduction of chunk rank() over all ranks. `in` stays; `out` may be this rank's chunk of it.
  void ring_reduce_scatter(Reduce op, const Chunks& in, Bytes out) {
    std::vector<std::byte> arrived, sent, room;
    // All ranks cut all chunks alike, so their slices meet.
    for (std::int64_t begin = 0; begin < in.chunk; begin += in.slice()) {
      // Step s sends chunk rank - 1 - s as summed so far and adds this rank's share to chunk rank - 2 - s.
      int c = before();
      ConstBytes sum = share(op, in.dtype, in.slice_of(c, begin), room);
      for (int step = 0; step < size() - 1; ++step) {
        c = (c + size() - 1) % size();
        const Bytes own = in.slice_of(c, begin);
        arrived.resize(own.size());
        exchange(sum, after(), arrived, before());
        add(op, in.dtype, arrived, share(op, in.dtype, own, room));
        sent.swap(arrived);
        sum = sent;
      }
      copy(out.subspan(static_cast<std::size_t>(begin) * size_of(in.dtype), sum.size()), sum);
    }
  }

  /// Every rank's own chunk to all ranks, in place.
  void ring_all_gather(const Chunks& chunks) {
    for (int step = 0, c = rank(); step < size() - 1; ++step) {
      const int next = (c + size() - 1) % size();
      exchange(chunks.of(c), after(), chunks.of(next), before());
      c = next;
    }
  }

  void send(ConstBytes bytes, int to) {
    for_each_message(bytes, [&](const std::byte* data, int count) {
      check(MPI_Send(data, count, MPI_BYTE, to, kTag, x_comm), "MPI_Send");
    });
  }
  void receive(Bytes bytes, int from) {
    for_each_message(bytes, [&](std::byte* data, int count) {
      check(MPI_Recv(data, count, MPI_BYTE, from, kTag, x_comm, MPI_STATUS_IGNORE), "MPI_Recv");
    });
  }
  /// Both at once; messages of one pair stay in order.
  void exchange(ConstBytes sent, int to, Bytes received, int from) {
    std::vector<MPI_Request> requests;
    post_receive(received, from, requests);
    post_send(sent, to, requests);
    wait_all(requests);
  }
  void post_receive(Bytes bytes, int from, std::vector<MPI_Request>& requests) {
    for_each_message(bytes, [&](std::byte* data, int count) {
      check(MPI_Irecv(data, count, MPI_BYTE, from, kTag, x_comm, &requests.emplace_back()), "MPI_Irecv");
    });
  }
  void post_send(ConstBytes bytes, int to, std::vector<MPI_Request>& requests) {
    for_each_message(bytes, [&](const std::byte* data, int count) {
      check(MPI_Isend(data, count, MPI_BYTE, to, kTag, x_comm, &requests.emplace_back()), "MPI_Isend");
    });
  }
  static void wait_all(std::vector<MPI_Request>& requests) {
    check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
  }

  MPI_Comm x_comm;
};

/// Copies to the host, the collective there, and back.
class StagedCommunicator final : public Communicator {
 public:
  explicit StagedCommunicator(std::unique_ptr<Communicator> host)
      : Communicator(host->rank(), host->size(), Place::cuda), x_host(std::move(host)) {}

  void all_reduce(Tensor& tensor, Reduce op) override {
    Tensor staged = tensor.to(Place::host);
    x_host->all_reduce(staged, op);
    tensor.copy_(staged);
  }
  void reduce(Tensor& tensor, int dst, Reduce op) override {
    Tensor staged = tensor.to(Place::host);
    x_host->reduce(staged, dst, op);
    if (rank() == dst) tensor.copy_(staged);
  }
  void all_gather(Tensor& out, const Tensor& in) override {
    Tensor staged = unfilled(out);
    x_host->all_gather(staged, in.to(Place::host));
    out.copy_(staged);
  }
  void reduce_scatter(Tensor& out, const Tensor& in, Reduce op) override {
    Tensor staged = unfilled(out);
    x_host->reduce_scatter(staged, in.to(Place::host), op);
    out.copy_(staged);
  }
  void broadcast(Tensor& tensor, int src) override {
    Tensor staged = rank() == src ? tensor.to(Place::host) : unfilled(tensor);
    x_host->broadcast(staged, src);
    if (rank() != src) tensor.copy_(staged);
  }
  void scatter(Tensor& out, const Tensor& in, int src) override {
    Tensor staged = unfilled(out);
    x_host->scatter(staged, rank() == src ? in.to(Place::host) : Tensor(), src);
    out.copy_(staged);
  }
  void gather(Tensor& out, const Tensor& in, int dst) override {
    Tensor staged = rank() == dst ? unfilled(out) : Tensor();
    x_host->gather(staged, in.to(Place::host), dst);
    if (rank() == dst) out.copy_(staged);
  }
  void all_to_all(Tensor& out, const Tensor& in, std::span<const std::int64_t> out_counts,
                  std::span<const std::int64_t> in_counts) override {
    Tensor staged = unfilled(out);
    x_host->all_to_all(staged, in.to(Place::host), out_counts, in_counts);
    out.copy_(staged);
  }
  void point_to_point(std::span<const P2POp> messages) override {
    std::vector<P2POp> staged;
    for (const P2POp& message : messages)
      staged.push_back({message.kind,
                        message.kind == P2POp::Kind::send ? message.tensor.to(Place::host) : unfilled(message.tensor),
                        message.peer});
    x_host->point_to_point(staged);
    for (std::size_t i = 0; i < staged.size(); ++i)
      if (staged[i].kind == P2POp::Kind::receive) Tensor(messages[i].tensor).copy_(staged[i].tensor);
  }
  void barrier() override { x_host->barrier(); }

 private:
  static Tensor unfilled(const Tensor& like) {
    return Tensor::empty(like.shape(), like.dtype(), Place::host);
  }

  std::unique_ptr<Communicator> x_host;
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator(MPI_Comm comm) {
  int rank = 0, size = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return std::make_unique<MpiCommunicator>(comm, rank, size);
}

std::unique_ptr<Communicator> make_staged_communicator(MPI_Comm comm) {
  return std::make_unique<StagedCommunicator>(make_mpi_communicator(comm));
}

}  // namespace pkb::ref
