// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/graph.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "harness/virtual_gpu/runtime/capture.h"

namespace pkb::virtual_gpu {

cudaGraphNodeType GraphNode::type() const {
  constexpr std::array kTypes = {cudaGraphNodeTypeEmpty,     cudaGraphNodeTypeKernel,      cudaGraphNodeTypeMemcpy,
                                 cudaGraphNodeTypeMemset,    cudaGraphNodeTypeHost,        cudaGraphNodeTypeEventRecord,
                                 cudaGraphNodeTypeWaitEvent, cudaGraphNodeTypeGraph,      cudaGraphNodeTypeKernel};
  static_assert(kTypes.size() == std::variant_size_v<Operation>);
  return kTypes[operation.index()];
}

Graph::Graph(Graphs& all) : x_all(all) { x_all.x_existing.insert(this); }

Graph::~Graph() {
  const std::lock_guard lock(x_all.mutex());
  x_all.x_existing.erase(this);
  for (const auto& node : x_nodes) x_all.x_nodes.erase(node.get());
}

GraphNode* Graph::add(Operation operation, std::vector<GraphNode*> after) {
  auto node = std::make_unique<GraphNode>();
  node->graph = this;
  node->operation = std::move(operation);
  node->after = std::move(after);
  node->id = ++x_all.x_ids;
  x_all.x_nodes.insert(node.get());
  return x_nodes.emplace_back(std::move(node)).get();
}

void Graph::remove(GraphNode* node) {
  x_all.x_nodes.erase(node);
  for (const auto& each : x_nodes) std::erase(each->after, node);
  std::erase_if(x_nodes, [node](const auto& each) { return each.get() == node; });
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>(x_all);
  std::unordered_map<const GraphNode*, GraphNode*> copies;
  for (const auto& node : x_nodes) {
    GraphNode* const twin = copies[node.get()] = copy->add(node->operation, {});
    twin->original = node->id;
    twin->enabled = node->enabled;
    if (auto* child = std::get_if<ChildGraph>(&twin->operation)) child->graph = child->graph->clone();
  }
  for (const auto& node : x_nodes) {
    for (const GraphNode* before : node->after) copies[node.get()]->after.push_back(copies.at(before));
  }
  return copy;
}

GraphNode* Graph::copy_of(const GraphNode& original) const {
  const auto found = std::ranges::find_if(x_nodes, [&](const auto& node) { return node->original == original.id; });
  return found == x_nodes.end() ? nullptr : found->get();
}

std::optional<std::vector<GraphNode*>> Graph::in_order() const {
  std::unordered_map<const GraphNode*, std::size_t> missing;
  std::unordered_map<const GraphNode*, std::vector<GraphNode*>> behind;
  std::deque<GraphNode*> next;
  for (const auto& node : x_nodes) {
    missing[node.get()] = node->after.size();
    for (const GraphNode* before : node->after) behind[before].push_back(node.get());
    if (node->after.empty()) next.push_back(node.get());
  }
  std::vector<GraphNode*> order;
  for (; !next.empty(); next.pop_front()) {
    order.push_back(next.front());
    for (GraphNode* node : behind[next.front()]) {
      if (--missing[node] == 0) next.push_back(node);
    }
  }
  if (order.size() < x_nodes.size()) return std::nullopt;
  return order;
}

std::vector<GraphNode*> Graph::leaves() const {
  std::unordered_set<const GraphNode*> inner;
  for (const auto& node : x_nodes) inner.insert(node->after.begin(), node->after.end());
  std::vector<GraphNode*> ends;
  for (const auto& node : x_nodes) {
    if (!inner.contains(node.get())) ends.push_back(node.get());
  }
  return ends;
}

cudaError_t GraphExec::launch(Device& device, StreamObject& stream) {
  if (const cudaError_t error = check_capture(device, stream); error != cudaSuccess) return error;
  if (stream.capture) return stream.capture->append(stream, ChildGraph{x_graph->clone()});
  std::vector<Point> before;
  if (x_end.stream) before.push_back(x_end);
  const Point start = device.engine().submit(stream.stream, DeviceWork{}, std::move(before));
  std::size_t streams = 0;
  const Enqueued done = run(device, *x_graph, start, streams);
  x_end = device.engine().submit(stream.stream, DeviceWork{}, {done.end});
  return done.error;
}

// A node goes on the stream of the first node that it comes after and that nothing follows there yet; others begin
// a stream of their own, so that branches are as independent as on a real GPU.
Enqueued GraphExec::run(Device& device, const Graph& graph, const Point& start, std::size_t& streams) {
  struct Placed {
    std::size_t stream = 0;
    Point end;
    bool followed = false;
  };
  std::unordered_map<const GraphNode*, Placed> placed;
  const auto new_stream = [&] {
    if (streams == x_streams.size()) x_streams.push_back(device.engine().create_stream(Stream::Kind::non_blocking));
    return streams++;
  };
  Enqueued result;
  const auto order = graph.in_order();
  for (const GraphNode* node : order.value_or(std::vector<GraphNode*>{})) {
    std::vector<Point> after;
    std::optional<std::size_t> stream;
    for (const GraphNode* before : node->after) {
      Placed& place = placed.at(before);
      after.push_back(place.end);
      if (!stream && !place.followed) {
        stream = place.stream;
        place.followed = true;
      }
    }
    if (after.empty()) after.push_back(start);
    if (!stream) stream = new_stream();
    Placed& place = placed[node];
    place.stream = *stream;
    Enqueued done;
    if (const auto* child = std::get_if<ChildGraph>(&node->operation); child != nullptr && node->enabled) {
      const Point begin = device.engine().submit(x_streams[*stream], DeviceWork{}, std::move(after));
      done = run(device, *child->graph, begin, streams);
      place.end = device.engine().submit(x_streams[*stream], DeviceWork{}, {done.end});
    } else {
      done = perform(device, x_streams[*stream], node->enabled ? node->operation : Operation{}, after);
      place.end = done.error == cudaSuccess ? done.end
                                            : device.engine().submit(x_streams[*stream], DeviceWork{}, std::move(after));
    }
    if (result.error == cudaSuccess) result.error = done.error;
  }
  std::vector<Point> ends{start};
  for (const GraphNode* leaf : graph.leaves()) ends.push_back(placed.at(leaf).end);
  result.end = device.engine().submit(x_streams.empty() ? start.stream : x_streams[0], DeviceWork{}, std::move(ends));
  return result;
}

void GraphExec::update(const Graph& graph) {
  const std::shared_ptr<Graph> now = graph.clone();
  for (std::size_t i = 0; i < now->nodes().size(); ++i) {
    GraphNode& node = *x_graph->nodes()[i];
    node.operation = now->nodes()[i]->operation;
    node.enabled = now->nodes()[i]->enabled;
  }
}

cudaGraph_t Graphs::add(std::shared_ptr<Graph> graph) {
  const cudaGraph_t handle = handle_of(graph.get());
  x_graphs.emplace(handle, std::move(graph));
  return handle;
}

std::shared_ptr<Graph> Graphs::graph(cudaGraph_t handle) const {
  const auto found = x_existing.find(reinterpret_cast<Graph*>(handle));
  return found == x_existing.end() ? nullptr : (*found)->shared_from_this();
}

cudaGraphExec_t Graphs::add(std::shared_ptr<GraphExec> exec) {
  const auto handle = reinterpret_cast<cudaGraphExec_t>(exec.get());
  x_execs.emplace(handle, std::move(exec));
  return handle;
}

std::shared_ptr<GraphExec> Graphs::exec(cudaGraphExec_t handle) const {
  const auto found = x_execs.find(handle);
  return found == x_execs.end() ? nullptr : found->second;
}

GraphNode* Graphs::node(cudaGraphNode_t handle) const {
  auto* const node = reinterpret_cast<GraphNode*>(handle);
  return x_nodes.contains(node) ? node : nullptr;
}

void Graphs::clear() {
  const std::lock_guard lock(x_mutex);
  x_execs.clear();
  x_graphs.clear();
}

// Never destroyed, like the device.
Graphs& graphs() {
  static auto* const all = new Graphs;
  return *all;
}

}  // namespace pkb::virtual_gpu
