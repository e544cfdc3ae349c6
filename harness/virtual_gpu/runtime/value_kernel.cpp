// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/value_kernel.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "harness/virtual_gpu/runtime/operation.h"

namespace pkb::virtual_gpu {
namespace {

/// A kernel with the parameters address and value, both of 8 bytes; %rd1 and %v1 in its body.
std::shared_ptr<const Kernel> make_kernel(std::string_view name, unsigned bytes, std::string_view body) {
  const unsigned bits = 8 * bytes;
  const std::string text = fmt::format(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry {0}(.param .u64 address, .param .u64 value)
{{
.reg .pred %p;
.reg .b64 %rd<2>;
.reg .b{1} %v<4>;
ld.param.u64 %rd1, [address];
ld.param.u{1} %v1, [value];
{2}
ret;
}}
)",
                                       name, bits, fmt::format(fmt::runtime(body), bits));
  const ptx::Module module = ptx::parse(text);
  return std::make_shared<const Kernel>(decode(module, module.functions.at(0), {}));
}

struct Waiting {
  const char* suffix;
  const char* until;  ///< sets %p from the value found, %v2, and the one wanted, %v1
};
// By CUstreamWaitValue_flags.
constexpr std::array kWaits = {
    Waiting{"GEQ", "sub.s{0} %v3, %v2, %v1;\nsetp.ge.s{0} %p, %v3, 0;"},
    Waiting{"EQ", "setp.eq.u{0} %p, %v2, %v1;"},
    Waiting{"AND", "and.b{0} %v3, %v2, %v1;\nsetp.ne.u{0} %p, %v3, 0;"},
    Waiting{"NOR", "or.b{0} %v3, %v2, %v1;\nnot.b{0} %v3, %v3;\nsetp.ne.u{0} %p, %v3, 0;"},
};

cudaError_t run(Device& device, cudaStream_t handle, std::shared_ptr<const Kernel> kernel, const ValuePlace& place) {
  const auto stream = device.stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  const auto range = device.memory().find(reinterpret_cast<const void*>(place.address));
  if (!range || place.address % place.bytes != 0) return cudaErrorInvalidValue;
  KernelCall call;
  call.work.kernel = std::move(kernel);
  call.work.parameters.resize(call.work.kernel->parameter_bytes);
  std::memcpy(call.work.parameters.data() + call.work.kernel->parameters[0].offset, &place.address, 8);
  std::memcpy(call.work.parameters.data() + call.work.kernel->parameters[1].offset, &place.value, 8);
  call.work.ranks = device.setup().ranks;
  call.work.rank = device.setup().rank;
  call.work.sm_count = static_cast<std::uint32_t>(device.chip().sm_count);
  return enqueue(device, *stream, std::move(call)).error;
}

}  // namespace

cudaError_t write_value(Device& device, cudaStream_t stream, const ValuePlace& place) {
  constexpr const char* kBody = "st.release.sys.u{0} [%rd1], %v1;";
  static const std::array kernels = {make_kernel("cuStreamWriteValue32", 4, kBody),
                                     make_kernel("cuStreamWriteValue64", 8, kBody)};
  return run(device, stream, kernels[place.bytes / 8], place);
}

cudaError_t wait_for_value(Device& device, cudaStream_t stream, const ValuePlace& place,
                           CUstreamWaitValue_flags condition) {
  static const auto kernels = [] {
    std::array<std::array<std::shared_ptr<const Kernel>, kWaits.size()>, 2> made;
    for (const unsigned bytes : {4u, 8u}) {
      for (std::size_t i = 0; i < kWaits.size(); ++i) {
        made[bytes / 8][i] = make_kernel(fmt::format("cuStreamWaitValue{}_{}", 8 * bytes, kWaits[i].suffix), bytes,
                                         fmt::format("again:\nld.acquire.sys.u{{0}} %v2, [%rd1];\n{}\n@!%p bra again;",
                                                     kWaits[i].until));
      }
    }
    return made;
  }();
  return run(device, stream, kernels[place.bytes / 8][condition], place);
}

}  // namespace pkb::virtual_gpu
