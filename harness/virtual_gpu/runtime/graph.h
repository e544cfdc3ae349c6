// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "harness/virtual_gpu/runtime/operation.h"

namespace pkb::virtual_gpu {

class Graphs;

/// What a cudaGraphNode_t points to.
struct GraphNode {
  Graph* graph = nullptr;
  Operation operation;
  std::vector<GraphNode*> after = {};     ///< its dependencies
  std::uint64_t id = 0;                   ///< its own
  std::uint64_t original = 0;             ///< id of the node that this is a copy of
  bool enabled = true;
  std::vector<void*> arguments = {};      ///< of a kernel, as cudaGraphKernelNodeGetParams hands them out

  cudaGraphNodeType type() const;
};

/// What a cudaGraph_t points to.
class Graph : public std::enable_shared_from_this<Graph> {
 public:
  explicit Graph(Graphs& all);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// With graphs of its child nodes copied too.
  std::shared_ptr<Graph> clone() const;

  GraphNode* add(Operation operation, std::vector<GraphNode*> after);
  void remove(GraphNode* node);
  /// Of a clone: the copy of `original`, or null.
  GraphNode* copy_of(const GraphNode& original) const;

  const std::vector<std::unique_ptr<GraphNode>>& nodes() const { return x_nodes; }
  /// The nodes, each behind all that it comes after; nothing when they form a cycle.
  std::optional<std::vector<GraphNode*>> in_order() const;
  /// Those that no other node comes after.
  std::vector<GraphNode*> leaves() const;

 private:
  Graphs& x_all;
  std::vector<std::unique_ptr<GraphNode>> x_nodes;
};

/// What a cudaGraphExec_t points to: a copy of a graph that can be launched. Its launches follow each other.
class GraphExec {
 public:
  GraphExec(std::shared_ptr<Graph> copy, unsigned long long flags) : x_graph(std::move(copy)), x_flags(flags) {}

  Graph& graph() { return *x_graph; }
  /// Takes over what the nodes of `graph` do, which correspond to its own in order. It keeps knowing the nodes of the
  /// graph that it was made from.
  void update(const Graph& graph);
  unsigned long long flags() const { return x_flags; }
  cudaError_t launch(Device& device, StreamObject& stream);

 private:
  Enqueued run(Device& device, const Graph& graph, const Point& start, std::size_t& streams);

  std::shared_ptr<Graph> x_graph;
  unsigned long long x_flags;
  std::vector<StreamPtr> x_streams;  ///< branches of a graph run side by side
  Point x_end;                       ///< of the last launch
};

/// All graphs of the device, by handle. Whoever uses graphs holds the mutex.
class Graphs {
 public:
  std::recursive_mutex& mutex() { return x_mutex; }

  cudaGraph_t add(std::shared_ptr<Graph> graph);
  /// Null for a handle that is none.
  std::shared_ptr<Graph> graph(cudaGraph_t handle) const;
  bool destroy(cudaGraph_t handle) { return x_graphs.erase(handle) > 0; }

  cudaGraphExec_t add(std::shared_ptr<GraphExec> exec);
  std::shared_ptr<GraphExec> exec(cudaGraphExec_t handle) const;
  bool destroy(cudaGraphExec_t handle) { return x_execs.erase(handle) > 0; }

  /// Null for a handle that is none.
  GraphNode* node(cudaGraphNode_t handle) const;

  void clear();

 private:
  friend class Graph;

  std::recursive_mutex x_mutex;
  std::unordered_set<const GraphNode*> x_nodes;  ///< of all graphs that exist
  std::unordered_set<Graph*> x_existing;         ///< those of child nodes too
  std::uint64_t x_ids = 0;
  std::unordered_map<cudaGraph_t, std::shared_ptr<Graph>> x_graphs;
  std::unordered_map<cudaGraphExec_t, std::shared_ptr<GraphExec>> x_execs;
};

inline cudaGraph_t handle_of(const Graph* graph) { return reinterpret_cast<cudaGraph_t>(const_cast<Graph*>(graph)); }
inline cudaGraphNode_t handle_of(const GraphNode* node) {
  return reinterpret_cast<cudaGraphNode_t>(const_cast<GraphNode*>(node));
}

/// The device's graphs.
Graphs& graphs();

}  // namespace pkb::virtual_gpu
