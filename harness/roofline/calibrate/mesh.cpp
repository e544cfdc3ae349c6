// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/calibrate/mesh.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include <chrono>

#include "harness/roofline/calibrate/copy_kernels.h"
#include "harness/roofline/calibrate/cuda_check.h"
#include "harness/roofline/calibrate/stopwatch.h"

namespace pkb::roofline {
namespace {

constexpr std::size_t kPage = 4096;

constexpr bool is_load(Mechanism mechanism) {
  return mechanism == Mechanism::bulk_load || mechanism == Mechanism::register_load;
}
constexpr bool is_bulk(Mechanism mechanism) {
  return mechanism == Mechanism::bulk_store || mechanism == Mechanism::bulk_load;
}

}  // namespace

Mesh::Mesh() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  x_gpus.resize(static_cast<std::size_t>(count));
  for (int index = 0; index < count; ++index) {
    Gpu& each = gpu(index);
    check(cudaSetDevice(index), "cudaSetDevice");
    check(cudaGetDeviceProperties(&each.properties, index), "cudaGetDeviceProperties");
    for (std::byte** buffer : {&each.send, &each.receive}) {
      check(cudaMalloc(buffer, kBuffer), "cudaMalloc of 1 GiB");
      check(cudaMemset(*buffer, 0, kBuffer), "cudaMemset");
    }
    each.stream_to.resize(x_gpus.size());
    for (cudaStream_t& stream : each.stream_to)
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    for (int peer = 0; peer < count; ++peer)
      if (peer != index && reaches(index, peer)) check(cudaDeviceEnablePeerAccess(peer, 0), "cudaDeviceEnablePeerAccess");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
}

Mesh::~Mesh() {
  for (int index = 0; index < size(); ++index) {
    cudaSetDevice(index);
    cudaFree(gpu(index).send);
    cudaFree(gpu(index).receive);
    for (const cudaStream_t stream : gpu(index).stream_to) cudaStreamDestroy(stream);
  }
}

bool Mesh::reaches(int from, int to) const {
  if (from == to) return true;
  int access = 0;
  check(cudaDeviceCanAccessPeer(&access, from, to), "cudaDeviceCanAccessPeer");
  return access != 0;
}

int Mesh::executor(const Transfer& transfer) { return is_load(transfer.mechanism) ? transfer.to : transfer.from; }

std::vector<Mechanism> Mesh::mechanisms(int from, int to) const {
  std::vector<Mechanism> able = {Mechanism::copy_engine};
  for (const Mechanism each : {Mechanism::bulk_store, Mechanism::bulk_load, Mechanism::register_store,
                               Mechanism::register_load}) {
    if (is_load(each) && from == to) continue;
    const int by = is_load(each) ? to : from, other = is_load(each) ? from : to;
    if (reaches(by, other) && (!is_bulk(each) || properties(by).major >= 9)) able.push_back(each);
  }
  return able;
}

void Mesh::enqueue(const Transfer& transfer, std::size_t offset, cudaStream_t stream) {
  const CopyLaunch copy{.to = gpu(transfer.to).receive + offset,
                        .from = gpu(transfer.from).send + offset,
                        .bytes = transfer.bytes,
                        .sms = transfer.sms};
  switch (transfer.mechanism) {
    case Mechanism::copy_engine:
      return check(cudaMemcpyPeerAsync(copy.to, transfer.to, copy.from, transfer.from, copy.bytes, stream),
                   "cudaMemcpyPeerAsync");
    case Mechanism::bulk_store:
    case Mechanism::bulk_load:
      return check(copy_by_bulk(copy, stream), "the bulk copy kernel");
    case Mechanism::register_store:
    case Mechanism::register_load:
      return check(copy_by_registers(copy, stream), "the register copy kernel");
  }
}

void Mesh::verify(const Transfer& transfer) {
  std::vector<std::uint32_t> sent(transfer.bytes / sizeof(std::uint32_t)), got(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::uint32_t>(i) * 2654435761u + 1;
  check(cudaSetDevice(transfer.from), "cudaSetDevice");
  check(cudaMemcpy(gpu(transfer.from).send, sent.data(), transfer.bytes, cudaMemcpyDefault), "cudaMemcpy");
  check(cudaDeviceSynchronize(), "cudaMemcpy");
  check(cudaSetDevice(transfer.to), "cudaSetDevice");
  check(cudaMemset(gpu(transfer.to).receive, 0, transfer.bytes), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaMemset");
  const int by = executor(transfer);
  check(cudaSetDevice(by), "cudaSetDevice");
  const cudaStream_t stream = gpu(by).stream_to[static_cast<std::size_t>(by)];
  enqueue(transfer, 0, stream);
  check(cudaStreamSynchronize(stream), "a copy");
  check(cudaMemcpy(got.data(), gpu(transfer.to).receive, transfer.bytes, cudaMemcpyDefault), "cudaMemcpy");
  if (got != sent)
    throw EnvironmentError({.where = fmt::format("GPU {} to GPU {}", transfer.from, transfer.to),
                            .fault = fmt::format("{} does not bring what was sent", name_of(transfer.mechanism)),
                            .remedy = "check the links, for example with nvidia-smi nvlink --status"});
}

Spread Mesh::rate(const Transfer& transfer) {
  const Stopwatch time(executor(transfer));
  const std::size_t step = (transfer.bytes + kPage - 1) / kPage * kPage;
  const Spread seconds = time([&](cudaStream_t stream) {
    if (x_next + transfer.bytes > kBuffer) x_next = 0;
    enqueue(transfer, x_next, stream);
    x_next += step;
  });
  return map(seconds, [&](double s) { return static_cast<double>(transfer.bytes) / s; });
}

Spread Mesh::rate_of_all(Mechanism mechanism) {
  using Clock = std::chrono::steady_clock;
  constexpr int kCalls = 20, kSamples = 7;
  const int peers = size() - 1;
  const std::size_t bytes = kBuffer / static_cast<std::size_t>(size()) / kPage * kPage;
  const auto round = [&] {
    for (int by = 0; by < size(); ++by) {
      check(cudaSetDevice(by), "cudaSetDevice");
      for (int step = 1; step <= peers; ++step) {
        const int other = (by + step) % size();
        const Transfer transfer{.mechanism = mechanism,
                                .from = is_load(mechanism) ? other : by,
                                .to = is_load(mechanism) ? by : other,
                                .bytes = bytes,
                                .sms = std::max(1, sms(by) / peers)};
        // Who sends to a GPU writes to a part of its buffer that is theirs.
        enqueue(transfer, bytes * static_cast<std::size_t>(transfer.from),
                gpu(by).stream_to[static_cast<std::size_t>(other)]);
      }
    }
  };
  const auto finish = [&] {
    for (int each = 0; each < size(); ++each) {
      check(cudaSetDevice(each), "cudaSetDevice");
      check(cudaDeviceSynchronize(), "copies between all GPUs");
    }
  };
  round();
  finish();
  std::vector<double> rates;
  for (int sample = 0; sample < kSamples; ++sample) {
    const auto start = Clock::now();
    for (int call = 0; call < kCalls; ++call) round();
    finish();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    rates.push_back(static_cast<double>(bytes) * peers * kCalls / seconds);
  }
  return spread_of(std::move(rates));
}

}  // namespace pkb::roofline
