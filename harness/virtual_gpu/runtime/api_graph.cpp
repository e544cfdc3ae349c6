// SPDX-License-Identifier: Apache-2.0
// Graphs as such: their life, their nodes and edges, and what can be launched of them.
#include <algorithm>

#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/capture.h"
#include "harness/virtual_gpu/runtime/graph_call.h"

using namespace pkb::virtual_gpu;

namespace {

// Hands out handles as the CUDA runtime does: without an array only their number, else at most *count of them, and
// null for the places that are left.
template <class Handle>
cudaError_t give_all(const std::vector<Handle>& all, Handle* to, std::size_t* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  if (to != nullptr) {
    for (std::size_t i = 0; i < *count; ++i) to[i] = i < all.size() ? all[i] : Handle{};
    *count = std::min(*count, all.size());
  } else {
    *count = all.size();
  }
  return cudaSuccess;
}

struct Edge {
  GraphNode *from, *to;
};
std::vector<Edge> edges_of(const Graph& graph) {
  std::vector<Edge> edges;
  for (const auto& node : graph.nodes()) {
    for (GraphNode* before : node->after) edges.push_back({before, node.get()});
  }
  return edges;
}

cudaError_t give_edges(const std::vector<Edge>& edges, cudaGraphNode_t* from, cudaGraphNode_t* to,
                       cudaGraphEdgeData* data, std::size_t* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  std::vector<cudaGraphNode_t> all_from, all_to;
  for (const Edge& edge : edges) {
    all_from.push_back(handle_of(edge.from));
    all_to.push_back(handle_of(edge.to));
  }
  std::size_t places = *count;
  give_all(all_from, from, &places);
  give_all(all_to, to, count);
  if (data != nullptr) std::fill_n(data, *count, cudaGraphEdgeData{});
  return cudaSuccess;
}

template <class Body>
cudaError_t for_edges(cudaGraph_t handle, const cudaGraphNode_t* from, const cudaGraphNode_t* to, std::size_t count,
                      Body&& body) {
  return with_graph(handle, [&](Device&, const std::shared_ptr<Graph>& graph) {
    if (count > 0 && (from == nullptr || to == nullptr)) return cudaErrorInvalidValue;
    for (std::size_t i = 0; i < count; ++i) {
      GraphNode* const before = graphs().node(from[i]);
      GraphNode* const behind = graphs().node(to[i]);
      if (before == nullptr || behind == nullptr || before->graph != graph.get() || behind->graph != graph.get() ||
          before == behind || !body(*before, *behind)) {
        return cudaErrorInvalidValue;
      }
    }
    return cudaSuccess;
  });
}

cudaError_t instantiate(cudaGraphExec_t* to, cudaGraph_t handle, unsigned long long flags,
                        cudaGraphInstantiateParams* told = nullptr) {
  return with_graph(handle, [&](Device& device, const std::shared_ptr<Graph>& graph) {
    constexpr unsigned long long kKnown = cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload |
                                          cudaGraphInstantiateFlagDeviceLaunch |
                                          cudaGraphInstantiateFlagUseNodePriority;
    if (to == nullptr || (flags & ~kKnown) != 0) return cudaErrorInvalidValue;
    if ((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0) {
      return device.unsupported("graphs that are launched from the device");
    }
    if (!graph->in_order()) {
      if (told != nullptr) told->result_out = cudaGraphInstantiateInvalidStructure;
      return cudaErrorInvalidValue;
    }
    *to = graphs().add(std::make_shared<GraphExec>(graph->clone(), flags));
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return with_graphs([&](Device&) {
    if (graph == nullptr || flags != 0) return cudaErrorInvalidValue;
    *graph = graphs().add(std::make_shared<Graph>(graphs()));
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return with_graphs([&](Device&) { return graphs().destroy(graph) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaGraphClone(cudaGraph_t* to, cudaGraph_t from) {
  return with_graph(from, [&](Device&, const std::shared_ptr<Graph>& graph) {
    if (to == nullptr) return cudaErrorInvalidValue;
    *to = graphs().add(graph->clone());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* to, cudaGraphNode_t original, cudaGraph_t clone) {
  return with_node(original, [&](Device&, GraphNode& node) {
    const auto graph = graphs().graph(clone);
    if (to == nullptr || !graph) return cudaErrorInvalidValue;
    GraphNode* const found = graph->copy_of(node);
    *to = handle_of(found);
    return found != nullptr ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  return with_node(handle, [&](Device&, GraphNode& node) {
    if (type == nullptr) return cudaErrorInvalidValue;
    *type = node.type();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count) {
  return with_graph(handle, [&](Device&, const std::shared_ptr<Graph>& graph) {
    std::vector<cudaGraphNode_t> all;
    for (const auto& node : graph->nodes()) all.push_back(handle_of(node.get()));
    return give_all(all, nodes, count);
  });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count) {
  return with_graph(handle, [&](Device&, const std::shared_ptr<Graph>& graph) {
    std::vector<cudaGraphNode_t> roots;
    for (const auto& node : graph->nodes()) {
      if (node->after.empty()) roots.push_back(handle_of(node.get()));
    }
    return give_all(roots, nodes, count);
  });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t handle, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* data,
                              std::size_t* count) {
  return with_graph(handle, [&](Device&, const std::shared_ptr<Graph>& graph) {
    return give_edges(edges_of(*graph), from, to, data, count);
  });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t handle, cudaGraphNode_t* nodes, cudaGraphEdgeData* data,
                                         std::size_t* count) {
  return with_node(handle, [&](Device&, GraphNode& node) {
    std::vector<Edge> edges = edges_of(*node.graph);
    std::erase_if(edges, [&](const Edge& edge) { return edge.to != &node; });
    return give_edges(edges, nodes, nullptr, data, count);
  });
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t handle, cudaGraphNode_t* nodes, cudaGraphEdgeData* data,
                                           std::size_t* count) {
  return with_node(handle, [&](Device&, GraphNode& node) {
    std::vector<Edge> edges = edges_of(*node.graph);
    std::erase_if(edges, [&](const Edge& edge) { return edge.from != &node; });
    return give_edges(edges, nullptr, nodes, data, count);
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData*, std::size_t count) {
  return for_edges(graph, from, to, count, [](GraphNode& before, GraphNode& behind) {
    if (std::ranges::find(behind.after, &before) != behind.after.end()) return false;
    behind.after.push_back(&before);
    return true;
  });
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData*, std::size_t count) {
  return for_edges(graph, from, to, count,
                   [](GraphNode& before, GraphNode& behind) { return std::erase(behind.after, &before) > 0; });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle) {
  return with_node(handle, [](Device&, GraphNode& node) {
    node.graph->remove(&node);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return instantiate(exec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  if (parameters == nullptr) return record(cudaErrorInvalidValue);
  parameters->errNode_out = nullptr;
  parameters->result_out = cudaGraphInstantiateSuccess;
  const cudaError_t error = instantiate(exec, graph, parameters->flags, parameters);
  if (error != cudaSuccess && parameters->result_out == cudaGraphInstantiateSuccess) {
    parameters->result_out = cudaGraphInstantiateError;
  }
  return error;
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t handle, unsigned long long* flags) {
  return with_exec(handle, [&](Device&, GraphExec& exec) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = exec.flags();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream) {
  return with_exec(handle, [&](Device& device, GraphExec&) {
    return device.stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return with_exec(handle, [&](Device& device, GraphExec& exec) {
    const auto stream = device.stream(stream_handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (stream->capture) {
      stream->capture->invalidate();
      return cudaErrorStreamCaptureUnsupported;
    }
    return exec.launch(device, *stream);
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return with_graphs([&](Device&) { return graphs().destroy(exec) ? cudaSuccess : cudaErrorInvalidValue; });
}

// Nodes correspond in the order in which they were made.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec_handle, cudaGraph_t handle, cudaGraphExecUpdateResultInfo* told) {
  return with_exec(exec_handle, [&](Device&, GraphExec& exec) {
    const auto graph = graphs().graph(handle);
    if (!graph || told == nullptr) return cudaErrorInvalidValue;
    *told = {};
    const auto refuse = [told](cudaGraphExecUpdateResult result, const GraphNode* node) {
      told->result = result;
      told->errorNode = handle_of(node);
      return cudaErrorGraphExecUpdateFailure;
    };
    const auto& before = exec.graph().nodes();
    const auto& now = graph->nodes();
    if (before.size() != now.size()) return refuse(cudaGraphExecUpdateErrorTopologyChanged, nullptr);
    const auto position = [](const auto& nodes, const GraphNode* node) {
      return std::ranges::find(nodes, node, [](const auto& each) { return each.get(); }) - nodes.begin();
    };
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (before[i]->type() != now[i]->type()) return refuse(cudaGraphExecUpdateErrorNodeTypeChanged, now[i].get());
      std::vector<std::ptrdiff_t> was, is;
      for (const GraphNode* each : before[i]->after) was.push_back(position(before, each));
      for (const GraphNode* each : now[i]->after) is.push_back(position(now, each));
      if (!std::ranges::is_permutation(was, is)) return refuse(cudaGraphExecUpdateErrorTopologyChanged, now[i].get());
    }
    exec.update(*graph);
    return cudaSuccess;
  });
}
