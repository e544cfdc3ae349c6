// SPDX-License-Identifier: Apache-2.0
// Nodes of graphs: what they do. For every kind there are calls that add a node, ask for its parameters, and change
// them in a graph or in what was instantiated from it.
#include <algorithm>
#include <optional>
#include <utility>

#include "harness/virtual_gpu/runtime/graph_call.h"

using namespace pkb::virtual_gpu;

namespace {

// An operation from the parameters that the application gives, or the error that they earn.
struct Made {
  cudaError_t error = cudaSuccess;
  Operation operation = {};
};

/// cudaKernelNodeParams and its second version have the same fields.
template <class Parameters>
Made make_kernel(Device& device, const Parameters* p) {
  if (p == nullptr) return {cudaErrorInvalidValue};
  if (p->extra != nullptr) return {device.unsupported("arguments of graph kernels in the \"extra\" format")};
  KernelCall call{.request = {.function = p->func,
                              .grid = p->gridDim,
                              .block = p->blockDim,
                              .arguments = p->kernelParams,
                              .dynamic_shared = p->sharedMemBytes},
                  .work = {}};
  const cudaError_t error = prepare(device, call.request, call.work);
  call.request.arguments = nullptr;
  return {error, std::move(call)};
}

Made make_copy(Device& device, const cudaMemcpy3DParms* p) {
  if (p == nullptr) return {cudaErrorInvalidValue};
  const auto box = box_copy(*p);
  if (!box) return {device.unsupported("copies of CUDA arrays")};
  return {on_host(device, *box).error, *box};
}

template <class Parameters>
Made make_fill(Device& device, const Parameters* p) {
  if (p == nullptr || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)) {
    return {cudaErrorInvalidValue};
  }
  const Fill fill{.to = p->dst,
                  .value = p->value,
                  .width = p->width * p->elementSize,
                  .height = p->height,
                  .pitch = p->pitch,
                  .element = p->elementSize};
  return {on_host(device, fill).error, fill};
}

template <class Parameters>
Made make_host(const Parameters* p) {
  if (p == nullptr || p->fn == nullptr) return {cudaErrorInvalidValue};
  return {cudaSuccess, HostFunction{p->fn, p->userData}};
}

template <class Kind>
Made make_event(Device& device, cudaEvent_t handle) {
  const auto event = device.event(handle);
  if (!event) return {cudaErrorInvalidResourceHandle};
  return {cudaSuccess, Kind{handle, event}};
}

Made make_child(cudaGraph_t handle) {
  const auto graph = graphs().graph(handle);
  if (!graph) return {cudaErrorInvalidValue};
  return {cudaSuccess, ChildGraph{graph->clone()}};
}

Made make(Device& device, const cudaGraphNodeParams* p) {
  if (p == nullptr) return {cudaErrorInvalidValue};
  switch (static_cast<int>(p->type)) {
    case cudaGraphNodeTypeKernel: return make_kernel(device, &p->kernel);
    case cudaGraphNodeTypeMemcpy: return make_copy(device, &p->memcpy.copyParams);
    case cudaGraphNodeTypeMemset: return make_fill(device, &p->memset);
    case cudaGraphNodeTypeHost: return make_host(&p->host);
    case cudaGraphNodeTypeGraph: return make_child(p->graph.graph);
    case cudaGraphNodeTypeEmpty: return {};
    case cudaGraphNodeTypeWaitEvent: return make_event<EventWait>(device, p->eventWait.event);
    case cudaGraphNodeTypeEventRecord: return make_event<EventRecord>(device, p->eventRecord.event);
    default: return {device.unsupported("graph nodes of type " + std::to_string(static_cast<int>(p->type)))};
  }
}

/// `make` runs with the mutex of the graphs.
template <class Make>
cudaError_t add(cudaGraphNode_t* to, cudaGraph_t handle, const cudaGraphNode_t* after, std::size_t count,
                Make&& make_operation) {
  return with_graph(handle, [&](Device& device, const std::shared_ptr<Graph>& graph) {
    if (to == nullptr || (count > 0 && after == nullptr)) return cudaErrorInvalidValue;
    std::vector<GraphNode*> before;
    for (std::size_t i = 0; i < count; ++i) {
      GraphNode* const node = graphs().node(after[i]);
      if (node == nullptr || node->graph != graph.get() || std::ranges::find(before, node) != before.end()) {
        return cudaErrorInvalidValue;
      }
      before.push_back(node);
    }
    Made made = make_operation(device);
    if (made.error == cudaSuccess) *to = handle_of(graph->add(std::move(made.operation), std::move(before)));
    return made.error;
  });
}

/// Gives a node another operation of the same kind.
template <class Make>
cudaError_t change(Device& device, GraphNode& node, Make&& make_operation) {
  Made made = make_operation(device);
  if (made.error != cudaSuccess) return made.error;
  if (made.operation.index() != node.operation.index()) return cudaErrorInvalidValue;
  if (auto* call = std::get_if<KernelCall>(&made.operation)) {  // attributes stay
    const LaunchRequest& was = std::get<KernelCall>(node.operation).request;
    call->request.cooperative = was.cooperative;
  }
  node.operation = std::move(made.operation);
  return cudaSuccess;
}

template <class Make>
cudaError_t set(cudaGraphNode_t handle, Make&& make_operation) {
  return with_node(handle, [&](Device& device, GraphNode& node) { return change(device, node, make_operation); });
}

/// The node of an executable graph that corresponds to one of the graph it was made from.
template <class Body>
cudaError_t with_exec_node(cudaGraphExec_t exec_handle, cudaGraphNode_t handle, Body&& body) {
  return with_exec(exec_handle, [&](Device& device, GraphExec& exec) {
    const GraphNode* const node = graphs().node(handle);
    GraphNode* const own = node == nullptr ? nullptr : exec.graph().copy_of(*node);
    return own == nullptr ? cudaErrorInvalidValue : body(device, *own);
  });
}

template <class Make>
cudaError_t set_in_exec(cudaGraphExec_t exec, cudaGraphNode_t handle, Make&& make_operation) {
  return with_exec_node(exec, handle,
                        [&](Device& device, GraphNode& own) { return change(device, own, make_operation); });
}

/// Runs body(operation) if the node's operation is a `Kind`.
template <class Kind, class Body>
cudaError_t get(cudaGraphNode_t handle, Body&& body) {
  return with_node(handle, [&](Device&, GraphNode& node) {
    auto* const operation = std::get_if<Kind>(&node.operation);
    return operation == nullptr ? cudaErrorInvalidValue : body(node, *operation);
  });
}

template <class Value>
cudaError_t give(Value* to, const Value& value) {
  if (to == nullptr) return cudaErrorInvalidValue;
  *to = value;
  return cudaSuccess;
}

Copy line(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return {.to = to, .from = from, .width = bytes, .kind = kind};
}

auto kernel_maker(const cudaKernelNodeParams* p) {
  return [p](Device& device) { return make_kernel(device, p); };
}
auto copy_maker(const cudaMemcpy3DParms* p) {
  return [p](Device& device) { return make_copy(device, p); };
}
auto line_maker(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return [copy = line(to, from, bytes, kind)](Device& device) { return Made{on_host(device, copy).error, copy}; };
}
auto fill_maker(const cudaMemsetParams* p) {
  return [p](Device& device) { return make_fill(device, p); };
}
auto host_maker(const cudaHostNodeParams* p) {
  return [p](Device&) { return make_host(p); };
}
template <class Kind>
auto event_maker(cudaEvent_t event) {
  return [event](Device& device) { return make_event<Kind>(device, event); };
}
auto child_maker(cudaGraph_t graph) {
  return [graph](Device&) { return make_child(graph); };
}
auto any_maker(const cudaGraphNodeParams* p) {
  return [p](Device& device) { return make(device, p); };
}

}  // namespace

// The parameter lists that all functions which add a node begin with, and all which change one.
#define PKB_NEW cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, std::size_t count
#define PKB_EXEC cudaGraphExec_t exec, cudaGraphNode_t node

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                             const cudaGraphEdgeData*, std::size_t count, cudaGraphNodeParams* p) {
  return add(node, graph, after, count, any_maker(p));
}
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* p) { return set(node, any_maker(p)); }
cudaError_t cudaGraphExecNodeSetParams(PKB_EXEC, cudaGraphNodeParams* p) {
  return set_in_exec(exec, node, any_maker(p));
}

cudaError_t cudaGraphAddKernelNode(PKB_NEW, const cudaKernelNodeParams* p) {
  return add(node, graph, after, count, kernel_maker(p));
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* p) {
  return set(node, kernel_maker(p));
}
cudaError_t cudaGraphExecKernelNodeSetParams(PKB_EXEC, const cudaKernelNodeParams* p) {
  return set_in_exec(exec, node, kernel_maker(p));
}
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t handle, cudaKernelNodeParams* p) {
  return get<KernelCall>(handle, [&](GraphNode& node, KernelCall& call) {
    node.arguments.clear();
    for (const Kernel::Parameter& each : call.work.kernel->parameters) {
      node.arguments.push_back(call.work.parameters.data() + each.offset);
    }
    return give(p, {.func = const_cast<void*>(call.request.function),
                    .gridDim = call.request.grid,
                    .blockDim = call.request.block,
                    .sharedMemBytes = static_cast<unsigned>(call.request.dynamic_shared),
                    .kernelParams = node.arguments.data(),
                    .extra = nullptr});
  });
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t handle, cudaKernelNodeAttrID attribute,
                                            const cudaKernelNodeAttrValue* value) {
  return with_node(handle, [&](Device& device, GraphNode& node) {
    auto* const call = std::get_if<KernelCall>(&node.operation);
    if (call == nullptr || value == nullptr) return cudaErrorInvalidValue;
    switch (static_cast<int>(attribute)) {
      case cudaLaunchAttributeCooperative: call->request.cooperative = value->cooperative != 0; return cudaSuccess;
      case cudaLaunchAttributePriority:
      case cudaLaunchAttributeAccessPolicyWindow:
      case cudaLaunchAttributeMemSyncDomain:
      case cudaLaunchAttributeMemSyncDomainMap:
      case cudaLaunchAttributePreferredSharedMemoryCarveout: return cudaSuccess;  // without effect on results
      default:
        return device.unsupported("launch attribute " + std::to_string(static_cast<int>(attribute)) +
                                  " of graph kernels");
    }
  });
}
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t handle, cudaKernelNodeAttrID attribute,
                                            cudaKernelNodeAttrValue* value) {
  return get<KernelCall>(handle, [&](GraphNode&, KernelCall& call) {
    if (value == nullptr) return cudaErrorInvalidValue;
    *value = {};
    if (attribute == cudaLaunchAttributeCooperative) value->cooperative = call.request.cooperative ? 1 : 0;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  cudaKernelNodeAttrValue value;
  const cudaError_t error = cudaGraphKernelNodeGetAttribute(from, cudaLaunchAttributeCooperative, &value);
  return error != cudaSuccess ? error : cudaGraphKernelNodeSetAttribute(to, cudaLaunchAttributeCooperative, &value);
}

cudaError_t cudaGraphAddMemcpyNode(PKB_NEW, const cudaMemcpy3DParms* p) {
  return add(node, graph, after, count, copy_maker(p));
}
cudaError_t cudaGraphAddMemcpyNode1D(PKB_NEW, void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return add(node, graph, after, count, line_maker(to, from, bytes, kind));
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* p) {
  return set(node, copy_maker(p));
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, std::size_t bytes,
                                           cudaMemcpyKind kind) {
  return set(node, line_maker(to, from, bytes, kind));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(PKB_EXEC, const cudaMemcpy3DParms* p) {
  return set_in_exec(exec, node, copy_maker(p));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(PKB_EXEC, void* to, const void* from, std::size_t bytes,
                                               cudaMemcpyKind kind) {
  return set_in_exec(exec, node, line_maker(to, from, bytes, kind));
}
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t handle, cudaMemcpy3DParms* p) {
  return get<Copy>(handle, [&](GraphNode&, const Copy& copy) { return give(p, parameters_of(copy)); });
}

cudaError_t cudaGraphAddMemsetNode(PKB_NEW, const cudaMemsetParams* p) {
  return add(node, graph, after, count, fill_maker(p));
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* p) {
  return set(node, fill_maker(p));
}
cudaError_t cudaGraphExecMemsetNodeSetParams(PKB_EXEC, const cudaMemsetParams* p) {
  return set_in_exec(exec, node, fill_maker(p));
}
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t handle, cudaMemsetParams* p) {
  return get<Fill>(handle, [&](GraphNode&, const Fill& fill) {
    return give(p, {.dst = fill.to,
                    .pitch = fill.pitch,
                    .value = fill.value,
                    .elementSize = fill.element,
                    .width = fill.width / fill.element,
                    .height = fill.height});
  });
}

cudaError_t cudaGraphAddHostNode(PKB_NEW, const cudaHostNodeParams* p) {
  return add(node, graph, after, count, host_maker(p));
}
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* p) {
  return set(node, host_maker(p));
}
cudaError_t cudaGraphExecHostNodeSetParams(PKB_EXEC, const cudaHostNodeParams* p) {
  return set_in_exec(exec, node, host_maker(p));
}
cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t handle, cudaHostNodeParams* p) {
  return get<HostFunction>(handle, [&](GraphNode&, const HostFunction& host) {
    return give(p, {.fn = host.function, .userData = host.data});
  });
}

cudaError_t cudaGraphAddEmptyNode(PKB_NEW) {
  return add(node, graph, after, count, [](Device&) { return Made{}; });
}

cudaError_t cudaGraphAddEventRecordNode(PKB_NEW, cudaEvent_t event) {
  return add(node, graph, after, count, event_maker<EventRecord>(event));
}
cudaError_t cudaGraphAddEventWaitNode(PKB_NEW, cudaEvent_t event) {
  return add(node, graph, after, count, event_maker<EventWait>(event));
}
cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return set(node, event_maker<EventRecord>(event));
}
cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {
  return set(node, event_maker<EventWait>(event));
}
cudaError_t cudaGraphExecEventRecordNodeSetEvent(PKB_EXEC, cudaEvent_t event) {
  return set_in_exec(exec, node, event_maker<EventRecord>(event));
}
cudaError_t cudaGraphExecEventWaitNodeSetEvent(PKB_EXEC, cudaEvent_t event) {
  return set_in_exec(exec, node, event_maker<EventWait>(event));
}
cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t handle, cudaEvent_t* event) {
  return get<EventRecord>(handle, [&](GraphNode&, const EventRecord& own) { return give(event, own.handle); });
}
cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t handle, cudaEvent_t* event) {
  return get<EventWait>(handle, [&](GraphNode&, const EventWait& own) { return give(event, own.handle); });
}

cudaError_t cudaGraphAddChildGraphNode(PKB_NEW, cudaGraph_t child) {
  return add(node, graph, after, count, child_maker(child));
}
cudaError_t cudaGraphExecChildGraphNodeSetParams(PKB_EXEC, cudaGraph_t child) {
  return set_in_exec(exec, node, child_maker(child));
}
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t handle, cudaGraph_t* child) {
  return get<ChildGraph>(handle, [&](GraphNode&, const ChildGraph& own) {
    return give(child, handle_of(own.graph.get()));
  });
}

cudaError_t cudaGraphNodeSetEnabled(PKB_EXEC, unsigned enabled) {
  return with_exec_node(exec, node, [&](Device&, GraphNode& own) {
    own.enabled = enabled != 0;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphNodeGetEnabled(PKB_EXEC, unsigned* enabled) {
  return with_exec_node(exec, node, [&](Device&, GraphNode& own) { return give(enabled, own.enabled ? 1u : 0u); });
}
