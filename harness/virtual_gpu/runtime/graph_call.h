// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>

#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/graph.h"

/// How the functions about graphs run: with the mutex of the graphs, for handles that mean something.
namespace pkb::virtual_gpu {

template <class Body>
cudaError_t with_graphs(Body&& body) {
  return call([&](Device& device) {
    const std::lock_guard lock(graphs().mutex());
    return body(device);
  });
}

template <class Body>
cudaError_t with_graph(cudaGraph_t handle, Body&& body) {
  return with_graphs([&](Device& device) {
    const auto graph = graphs().graph(handle);
    return graph ? body(device, graph) : cudaErrorInvalidValue;
  });
}

template <class Body>
cudaError_t with_node(cudaGraphNode_t handle, Body&& body) {
  return with_graphs([&](Device& device) {
    GraphNode* const node = graphs().node(handle);
    return node != nullptr ? body(device, *node) : cudaErrorInvalidValue;
  });
}

template <class Body>
cudaError_t with_exec(cudaGraphExec_t handle, Body&& body) {
  return with_graphs([&](Device& device) {
    const auto exec = graphs().exec(handle);
    return exec ? body(device, *exec) : cudaErrorInvalidValue;
  });
}

}  // namespace pkb::virtual_gpu
