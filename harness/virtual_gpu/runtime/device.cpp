// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/device.h"

#include <atomic>
#include <stdexcept>
#include <utility>

#include "harness/virtual_gpu/check/unjoined.h"
#include "harness/virtual_gpu/runtime/capture.h"
#include "harness/virtual_gpu/runtime/driver.h"

namespace pkb::virtual_gpu {
namespace {

std::mutex device_mutex;
std::atomic<Device*> the_device = nullptr;

}  // namespace

Device& device() {
  if (Device* existing = the_device.load(std::memory_order_acquire)) return *existing;
  std::lock_guard lock(device_mutex);
  if (the_device == nullptr) the_device = new Device(Setup{});
  return *the_device;
}

void configure(const Setup& setup) {
  std::lock_guard lock(device_mutex);
  if (the_device != nullptr) throw std::logic_error("virtual_gpu::configure: the device is already in use");
  the_device = new Device(setup);
}

void* map_memory(void* bytes_here, std::size_t bytes) {
  void* const base = device().memory().map(static_cast<std::byte*>(bytes_here), bytes);
  if (base == nullptr) throw std::bad_alloc();
  return base;
}

void unmap_memory(void* base) {
  if (!device().memory().unmap(base)) throw std::invalid_argument("virtual_gpu::unmap_memory: nothing is mapped there");
}

void* map_multicast(const std::vector<void*>& replicas, std::size_t bytes, const std::string& name) {
  std::vector<std::uint64_t> addresses;
  for (const void* each : replicas) addresses.push_back(reinterpret_cast<std::uintptr_t>(each));
  void* const base = device().memory().add_multicast(std::move(addresses), bytes, name);
  if (base == nullptr) throw std::bad_alloc();
  return base;
}

void unmap_multicast(void* base) {
  if (!device().memory().remove_multicast(base)) {
    throw std::invalid_argument("virtual_gpu::unmap_multicast: no multicast address");
  }
}

bool is_device_address(const void* address) {
  const Device* const existing = the_device.load(std::memory_order_acquire);
  return existing != nullptr && existing->memory().is_device_only(address);
}

namespace {

check::Shadow::Kind kind_of(device::Role role) {
  using Kind = check::Shadow::Kind;
  switch (role) {
    case device::Role::input: return Kind::input;
    case device::Role::output: return Kind::output;
    case device::Role::in_out:
    case device::Role::symmetric: return Kind::symmetric;
  }
  return Kind::symmetric;
}

std::shared_ptr<check::Shadow> shadow_of(std::size_t bytes, const std::string& name, int owner, const Watched& watched) {
  check::Checker* const checker = device().checker();
  if (checker == nullptr || watched.sectors == nullptr) return nullptr;
  auto shadow = std::make_shared<check::Shadow>(kind_of(watched.role), name, bytes, owner,
                                                static_cast<check::Sector*>(watched.sectors));
  checker->add(shadow);
  return shadow;
}

}  // namespace

void register_memory(void* base, std::size_t bytes, const std::string& name, int owner) {
  register_memory(base, bytes, name, owner, Watched{});
}

void register_memory(void* base, std::size_t bytes, const std::string& name, int owner, const Watched& watched) {
  const MemoryRange range{
      .base = reinterpret_cast<std::uintptr_t>(base), .bytes = bytes, .kind = MemoryKind::segment};
  if (!device().memory().add(range, name, owner, false, shadow_of(bytes, name, owner, watched))) {
    throw std::invalid_argument("virtual_gpu::register_memory: " + name +
                                " overlaps other memory or is not within mapped memory");
  }
}

void unregister_memory(void* base) {
  if (!device().memory().remove(base, MemoryKind::segment)) {
    throw std::invalid_argument("virtual_gpu::unregister_memory: no segment starts there");
  }
}

std::vector<Fault> take_faults() { return device().take_faults(); }
Counters take_counters() { return device().engine().take_counters(); }
void enable_checks(std::vector<std::byte*> ledgers) { device().enable_checks(std::move(ledgers)); }
void begin_run(cudaStream_t stream) {
  check::Checker* const checker = device().checker();
  if (checker == nullptr) return;
  checker->begin_run();
  device().engine().begin_run(stream != nullptr ? device().stream(stream)->stream : nullptr,
                              stream != nullptr ? checker->open() : nullptr);
}
void run_returned() { device().engine().run_returned(); }
void end_run() {
  if (device().checker() != nullptr) device().checker()->end_run();
}
void review_run() {
  Device& here = device();
  if (here.checker() == nullptr) return;
  const check::ClockPtr all = here.engine().host_clock();
  here.checker()->review(all);
  if (here.engine().failed()) return;
  for (Fault& each : check::unjoined_work(here.checker()->ledger(), *here.engine().end_of_run(), *all))
    here.report(std::move(each));
}
void forget_run() {
  if (device().checker() != nullptr) device().checker()->clear();
}
void set_seed(std::uint64_t seed) { device().engine().set_seed(seed); }

cudaError_t error_of(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::unsupported: return cudaErrorNotSupported;
    case Fault::Kind::illegal_address: return cudaErrorIllegalAddress;
    case Fault::Kind::misaligned: return cudaErrorMisalignedAddress;
    case Fault::Kind::trap: return cudaErrorLaunchFailure;
    case Fault::Kind::assertion: return cudaErrorAssert;
    case Fault::Kind::barrier_divergence: return cudaErrorLaunchFailure;
    case Fault::Kind::invalid_instruction: return cudaErrorIllegalInstruction;
    case Fault::Kind::uninitialised:
    case Fault::Kind::input_written:
    case Fault::Kind::race:
    case Fault::Kind::late_write: return cudaSuccess;
  }
  return cudaErrorUnknown;
}

Device::Device(const Setup& setup)
    : x_setup(setup),
      x_chip(find_chip(setup.chip)),
      x_status(setup.status),
      x_table(x_memory, x_chip.memory_bytes, setup.rank),
      x_modules(x_chip, x_table),
      x_engine(x_memory, {.chip = x_chip,
                          .threads = setup.threads,
                          .seed = setup.seed,
                          .status = setup.status,
                          .on_fault = [this](const Fault& fault) { fail(fault); }}) {
  x_legacy = std::make_shared<StreamObject>();
  x_legacy->stream = x_engine.legacy_stream();
  x_legacy->id = ++x_stream_ids;
}

std::shared_ptr<StreamObject> Device::new_stream(Stream::Kind kind, unsigned flags, int priority) {
  auto object = std::make_shared<StreamObject>();
  object->stream = x_engine.create_stream(kind);
  object->flags = flags;
  object->priority = priority;
  std::lock_guard lock(x_mutex);
  object->id = ++x_stream_ids;
  return object;
}

std::shared_ptr<StreamObject> Device::stream(cudaStream_t handle) {
  if (handle == nullptr || handle == cudaStreamLegacy) return x_legacy;
  if (handle == cudaStreamPerThread) {
    thread_local std::shared_ptr<StreamObject> own = new_stream(Stream::Kind::blocking, cudaStreamDefault, 0);
    return own;
  }
  std::lock_guard lock(x_mutex);
  const auto found = x_streams.find(handle);
  return found == x_streams.end() ? nullptr : found->second;
}

cudaStream_t Device::create_stream(unsigned flags, int priority) {
  const auto kind = flags == cudaStreamNonBlocking ? Stream::Kind::non_blocking : Stream::Kind::blocking;
  auto object = new_stream(kind, flags, priority);
  const auto handle = reinterpret_cast<cudaStream_t>(object.get());
  std::lock_guard lock(x_mutex);
  x_streams.emplace(handle, std::move(object));
  return handle;
}

bool Device::destroy_stream(cudaStream_t handle) {
  std::lock_guard lock(x_mutex);
  return x_streams.erase(handle) > 0;
}

std::shared_ptr<EventObject> Device::event(cudaEvent_t handle) {
  std::lock_guard lock(x_mutex);
  const auto found = x_events.find(handle);
  return found == x_events.end() ? nullptr : found->second;
}

cudaEvent_t Device::create_event(unsigned flags) {
  auto object = std::make_shared<EventObject>();
  object->flags = flags;
  const auto handle = reinterpret_cast<cudaEvent_t>(object.get());
  std::lock_guard lock(x_mutex);
  x_events.emplace(handle, std::move(object));
  return handle;
}

bool Device::destroy_event(cudaEvent_t handle) {
  std::lock_guard lock(x_mutex);
  return x_events.erase(handle) > 0;
}

void Device::report(const Fault& fault) {
  std::lock_guard lock(x_mutex);
  x_faults.push_back(fault);
  if (fault.kind == Fault::Kind::race) x_status.add_race(to_string(fault));
}

void Device::fail(const Fault& fault) {
  std::lock_guard lock(x_mutex);
  x_faults.push_back(fault);
  if (x_sticky == cudaSuccess) x_sticky = error_of(fault.kind);
}

cudaError_t Device::sticky_error() const {
  std::lock_guard lock(x_mutex);
  return x_sticky;
}

std::vector<Fault> Device::take_faults() {
  std::lock_guard lock(x_mutex);
  x_status.forget_races();
  return std::exchange(x_faults, {});
}

cudaError_t Device::unsupported(const std::string& what) {
  Fault fault;
  fault.kind = Fault::Kind::unsupported;
  fault.text = "the virtual GPU lacks " + what;
  report(fault);
  return cudaErrorNotSupported;
}

void Device::enable_checks(std::vector<std::byte*> ledgers) {
  x_checker = std::make_unique<check::Checker>(std::move(ledgers), x_setup.rank, [this](const Fault& fault) { report(fault); });
  x_table.set_checker(x_checker.get());
  x_engine.set_checker(x_checker.get());
}

std::shared_ptr<DeviceHeap> Device::heap() {
  std::lock_guard lock(x_mutex);
  if (x_heap) return x_heap;
  std::size_t bytes = 0;
  if (cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize) != cudaSuccess) return nullptr;
  const void* const base = x_table.allocate({.bytes = bytes, .name = "heap of device code"});
  if (base != nullptr) x_heap = std::make_shared<DeviceHeap>(reinterpret_cast<std::uintptr_t>(base), bytes);
  return x_heap;
}

void Device::reset() {
  forget_captures();
  x_engine.recover();
  graphs().clear();
  forget_physical_memory();
  x_modules.unload_all();
  x_table.release_all();
  x_heap = nullptr;
  std::lock_guard lock(x_mutex);
  x_streams.clear();
  x_events.clear();
  x_sticky = cudaSuccess;
}

}  // namespace pkb::virtual_gpu
