// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/worker.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include "harness/error/error.h"

namespace pkb::worker {
namespace {

constexpr const char* kPhaseNames[] = {"between phases", "setup", "run", "teardown"};

/// Nobody is left to work for.
[[noreturn]] void leave() { ::_exit(0); }

std::string describe(cudaError_t error) {
  return fmt::format("{}: {}", cudaGetErrorName(error), cudaGetErrorString(error));
}

}  // namespace

Packet Worker::receive() {
  std::optional<Packet> packet = x_channel.receive();
  if (!packet) leave();
  return std::move(*packet);
}

void Worker::serve() {
  while (x_serving) {
    Packet packet = receive();
    const Order order = decode_to_worker(packet.bytes);
    x_ticket = order.ticket;
    try {
      std::visit([&](const auto& each) { handle(each, std::move(packet.descriptors)); }, order.message);
    } catch (const std::exception& error) {
      note(Trouble::Kind::environment, error.what());
      answer();
    }
  }
}

void Worker::handle(const Hello& hello, std::vector<FileDescriptor> descriptors) {
  x_machine = make_machine(hello, std::move(descriptors));
  if (hello.confined) sandbox::forbid_system_calls(x_machine->freedoms());
  x_memory = std::make_unique<RankMemory>(*x_machine, hello.rank);
  x_world = {.rank = hello.rank, .ranks = hello.ranks, .groups = {}};
  for (const Hello::Group& each : hello.groups)
    x_world.groups.push_back({.name = each.name, .rank = each.rank, .ranks = each.ranks});
  answer();
}

void Worker::handle(const Load& load, std::vector<FileDescriptor>) {
  try {
    x_candidate = std::make_unique<Candidate>(load.library, x_world, *this);
  } catch (const LoadError& error) {
    note(Trouble::Kind::load, error.what());
  }
  collect_device_troubles();
  answer();
}

void Worker::handle(const Segment& segment, std::vector<FileDescriptor> descriptors) {
  x_memory->add(std::move(descriptors), segment.bytes);
  answer();
}

void Worker::handle(const Setup& setup, std::vector<FileDescriptor>) {
  x_memory->place_tensors(setup.tensors);
  std::vector<Candidate::Tensor> tensors;
  for (const TensorPlace& place : setup.tensors)
    tensors.push_back({.data = x_memory->tensor(place),
                       .dtype = static_cast<std::uint8_t>(place.dtype),
                       .shape = place.shape});
  x_candidate->set_arguments(tensors, setup.parameters);
  perform(Phase::setup, [this] { x_candidate->setup(); });
}

void Worker::handle(const Run& run, std::vector<FileDescriptor>) {
  x_machine->set_seed(run.seed);
  x_machine->take_counters();  // what setup counted
  x_machine->begin_run(x_candidate->stream());
  perform(Phase::run, [this] {
    x_candidate->run();
    x_machine->run_returned();
  });
}

void Worker::handle(const Time& time, std::vector<FileDescriptor>) {
  const timing::Delivery inputs{
      .to = x_memory->tensors(), .from = x_memory->tensors() + time.inputs_at, .bytes = time.input_bytes};
  perform(Phase::run, [&] {
    x_lap = x_machine->time(time.iteration, inputs, x_candidate->stream(), [this] { x_candidate->run(); });
  });
}

void Worker::handle(const Review&, std::vector<FileDescriptor>) {
  x_machine->review_run();
  for (Trouble& each : x_machine->take_troubles()) x_troubles.push_back(std::move(each));
  answer();
}

void Worker::handle(const Forget&, std::vector<FileDescriptor>) {
  x_machine->forget_run();
  answer();
}

void Worker::handle(const Teardown&, std::vector<FileDescriptor>) {
  perform(Phase::teardown, [this] { x_candidate->teardown(); });
}

void Worker::handle(const Proceed&, std::vector<FileDescriptor>) {
  throw ProtocolError("proceed without a barrier");
}

void Worker::handle(const Quit&, std::vector<FileDescriptor>) { x_serving = false; }

void Worker::perform(Phase phase, const std::function<void()>& call) {
  x_phase = phase;
  const char* const name = kPhaseNames[static_cast<std::size_t>(phase)];
  try {
    call();
  } catch (const MisuseError& error) {
    note(Trouble::Kind::misuse, error.what());
  } catch (const std::exception& error) {
    note(Trouble::Kind::exception, fmt::format("{} threw an exception: {}", name, error.what()));
  } catch (...) {
    note(Trouble::Kind::exception, fmt::format("{} threw something that is no std::exception", name));
  }
  collect_device_troubles();
  if (phase == Phase::run) x_machine->end_run();
  x_phase = Phase::idle;
  if (phase == Phase::teardown) x_memory->drop_symmetric();
  answer();
}

void Worker::collect_device_troubles() {
  const char* const name = kPhaseNames[static_cast<std::size_t>(x_phase)];
  // A refused call or launch is only in the last error; what a kernel did wrong only waiting shows.
  const cudaError_t refused = cudaGetLastError();
  const cudaError_t finished = cudaDeviceSynchronize();
  std::vector<Trouble> found = x_machine->take_troubles();
  const bool explained = !found.empty();
  for (Trouble& each : found) x_troubles.push_back(std::move(each));
  if (explained) return;
  if (refused != cudaSuccess && refused != cudaErrorPeerAccessAlreadyEnabled)
    note(Trouble::Kind::cuda,
         fmt::format("a CUDA call or launch in {} failed with {}", name, describe(refused)));
  else if (finished != cudaSuccess)
    note(Trouble::Kind::cuda, fmt::format("the work of {} ended with {}", name, describe(finished)));
}

void Worker::answer() {
  const Done done{.ticket = x_ticket,
                  .troubles = std::exchange(x_troubles, {}),
                  .counters = x_machine ? x_machine->take_counters() : Counters{},
                  .lap = std::exchange(x_lap, std::nullopt)};
  if (!x_channel.send(encode(ToJudge(done)))) leave();
}

void Worker::require_setup(const char* function) const {
  if (x_phase != Phase::setup)
    throw MisuseError(fmt::format("{} called in {}; it is for setup only", function,
                                  kPhaseNames[static_cast<std::size_t>(x_phase)]));
}

void* Worker::symmetric(std::size_t bytes) {
  require_setup("symmetric()");
  const std::size_t wanted = bytes > 0 ? bytes : 1;
  if (!x_channel.send(encode(ToJudge(SymmetricRequest{.bytes = wanted})))) leave();
  Packet packet = receive();
  if (!std::holds_alternative<Segment>(decode_to_worker(packet.bytes).message)) throw ProtocolError("no segment after symmetric()");
  return x_memory->add_symmetric(std::move(packet.descriptors), wanted);
}

void Worker::barrier() {
  require_setup("barrier()");
  if (!x_channel.send(encode(ToJudge(BarrierRequest{})))) leave();
  if (!std::holds_alternative<Proceed>(decode_to_worker(receive().bytes).message))
    throw ProtocolError("no answer to barrier()");
}

void* Worker::peer(const void* pointer, int rank) const {
  std::byte* const found = x_memory->peer(static_cast<const std::byte*>(pointer), rank);
  if (found == nullptr)
    throw MisuseError(fmt::format(
        "peer(): {} is neither in a tensor of Args nor in symmetric memory of this rank", pointer));
  return found;
}

void* Worker::multicast(const void* pointer) {
  return x_memory->multicast(static_cast<const std::byte*>(pointer));
}

}  // namespace pkb::worker
