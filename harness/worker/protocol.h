// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/timing/lap.h"
#include "harness/device/role.h"
#include "reference/dtype.h"

/// What judge and worker say to each other over a SOCK_SEQPACKET socket: one message is one packet of JSON,
/// file descriptors travel beside it. The judge speaks, the worker answers; within setup the worker may ask.
/// What the judge says carries a ticket and so does the answer to it; with another one it answers nothing.
namespace pkb::worker {

/// A packet is at most this long, in both directions.
inline constexpr std::size_t kLongestPacket = 120 << 10;
/// Texts that a worker sends are cut to this length.
inline constexpr std::size_t kLongestText = 4 << 10;

// From the judge.

/// First: who the worker is. On a virtual GPU the status page's descriptor comes with it and, if there are to be
/// checks, those of every rank's ledger (check::Ledger) in rank order; on a real one that is to be timed the descriptor
/// of the timing::StartLine.
struct Hello {
  struct Group {
    std::string name;
    int rank = 0;
    std::vector<int> ranks;
    bool operator==(const Group&) const = default;
  };
  int rank = 0, ranks = 1;
  std::vector<Group> groups;
  int device = 0;    ///< ordinal of the real GPU
  std::string chip;  ///< the virtual GPU's
  int threads = 1;   ///< host threads of the virtual GPU
  bool confined = true;  ///< the worker gives up the system calls that no candidate needs
  bool operator==(const Hello&) const = default;
};

/// The candidate, after the first Segment: from here on the worker is not to be believed.
struct Load {
  std::string library;
  bool operator==(const Load&) const = default;
};

/// Memory of every rank, whose descriptors come along in rank order. Answered by Done, except after
/// SymmetricRequest, whose answer it is.
struct Segment {
  std::uint64_t bytes = 0;
  bool operator==(const Segment&) const = default;
};

std::string_view name_of(device::Role role);

/// A tensor of Args, in the segment that came first.
struct TensorPlace {
  std::string name;  ///< "input A_local"
  device::Role role = device::Role::input;
  DType dtype{};
  std::vector<std::int64_t> shape;      ///< on this rank
  std::uint64_t offset = 0;             ///< the same on every rank
  std::vector<std::uint64_t> bytes_of;  ///< by rank
  bool operator==(const TensorPlace&) const = default;
};

struct Setup {
  std::vector<TensorPlace> tensors;
  std::vector<double> parameters;
  bool operator==(const Setup&) const = default;
};
struct Run {
  std::uint64_t seed = 0;  ///< of the virtual GPU's schedule
  bool operator==(const Run&) const = default;
};
/// A run that is timed: the inputs lie in another part of the tensor segment and are to be delivered to its beginning.
struct Time {
  std::uint32_t iteration = 0;
  std::uint64_t inputs_at = 0, input_bytes = 0;
  bool operator==(const Time&) const = default;
};
/// Every rank has ended its run: what only now can be told about it.
struct Review {
  bool operator==(const Review&) const = default;
};
/// Every rank has reviewed it: it is forgotten.
struct Forget {
  bool operator==(const Forget&) const = default;
};
/// Ends what Setup began; symmetric memory is gone afterwards.
struct Teardown {
  bool operator==(const Teardown&) const = default;
};
/// Every rank has asked for the barrier.
struct Proceed {
  bool operator==(const Proceed&) const = default;
};
struct Quit {
  bool operator==(const Quit&) const = default;
};

using ToWorker = std::variant<Hello, Segment, Load, Setup, Run, Time, Review, Forget, Teardown, Proceed, Quit>;

// From the worker.

/// Something that went wrong while the candidate's code ran.
struct Trouble {
  enum class Kind : std::uint8_t {
    load,         ///< the library cannot be loaded or has no run
    misuse,       ///< a pkb::Context function called where it may not be
    exception,    ///< the candidate threw
    cuda,         ///< a CUDA error, asynchronous ones included
    fault,        ///< the virtual GPU stopped a kernel
    unsupported,  ///< the virtual GPU lacks something
    memory_fault, ///< the virtual GPU saw memory misused; the kernels went on
    race,         ///< the same for accesses that nothing orders
    environment,  ///< the worker itself cannot go on; not the candidate's fault
  };
  Kind kind = Kind::exception;
  std::string text;  ///< one sentence
  bool operator==(const Trouble&) const = default;
};

/// What a virtual GPU counted during one Run.
struct Counters {
  std::uint64_t lane_instructions = 0, warp_instructions = 0;
  std::uint64_t global_read = 0, global_written = 0, shared_read = 0, shared_written = 0;  ///< bytes
  std::vector<std::uint64_t> read_from, written_to;  ///< global bytes by owner rank
  bool operator==(const Counters&) const = default;
};

/// What the judge said is done and the device is idle.
struct Done {
  std::uint64_t ticket = 0;
  std::vector<Trouble> troubles;  ///< what went wrong, first first
  Counters counters;
  std::optional<timing::Lap> lap = {};  ///< of a Time that went well
  bool operator==(const Done&) const = default;
};
struct SymmetricRequest {
  std::uint64_t bytes = 0;
  bool operator==(const SymmetricRequest&) const = default;
};
struct BarrierRequest {
  bool operator==(const BarrierRequest&) const = default;
};

using ToJudge = std::variant<Done, SymmetricRequest, BarrierRequest>;

std::string_view name_of(Trouble::Kind kind);

/// A packet that is not a message. The text is one sentence.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Order {
  ToWorker message;
  std::uint64_t ticket = 0;
};

/// @throws ProtocolError when the message does not fit into a packet.
std::string encode(const Order& order);
std::string encode(const ToJudge& message);

/// Trust nothing about `packet`. @throws ProtocolError.
Order decode_to_worker(std::string_view packet);
ToJudge decode_to_judge(std::string_view packet);

}  // namespace pkb::worker
