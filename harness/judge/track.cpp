// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/track.h"

namespace pkb::judge {

HostTensors read_all(device::Memory& memory, const device::Segment& segment, const Layout& layout) {
  HostTensors all;
  for (const Slot& slot : layout.slots) {
    std::vector<std::byte>& bytes = all[slot.tensor->name];
    bytes.resize(slot.bytes);
    memory.read(bytes, segment.data() + slot.offset);
  }
  return all;
}

void Track::prepare(int trial) {
  const ref::Tensors fresh = x_oracle.inputs(trial);
  for (const Slot& slot : x_layout.slots) {
    if (slot.is_output)
      x_memory.fill(x_segment.data() + slot.offset, poison_for(slot.tensor->dtype), slot.bytes);
    else
      at(x_layout.bytes + slot.offset, *slot.tensor).copy_(fresh[slot.tensor->name]);
  }
  x_oracle.context().synchronize();
}

ref::Tensors Track::inputs() const {
  ref::Tensors inputs;
  for (const Slot& slot : x_layout.slots)
    if (!slot.is_output) inputs.set(slot.tensor->name, at(slot.offset, *slot.tensor));
  return inputs;
}

timing::Delivery Track::delivery() const {
  return {.to = x_segment.data(), .from = x_segment.data() + x_layout.bytes, .bytes = x_layout.input_bytes};
}

worker::Time Track::message(std::uint32_t iteration) const {
  return {.iteration = iteration, .inputs_at = x_layout.bytes, .input_bytes = x_layout.input_bytes};
}

ref::Tensor Track::at(std::uint64_t offset, const problem::Tensor& tensor) const {
  return ref::Tensor::from_blob(x_segment.data() + offset, tensor.shape, tensor.dtype, ref::Place::cuda);
}

}  // namespace pkb::judge
