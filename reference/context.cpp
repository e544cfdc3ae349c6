// SPDX-License-Identifier: Apache-2.0
#include "reference/context.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "reference/cuda_backend.h"
#include "reference/mpi_communicator.h"
#include "reference/parallel.h"

namespace pkb::ref {
namespace {

void check(int status, const char* what) {
  if (status != MPI_SUCCESS) throw std::runtime_error(std::string(what) + " failed");
}

/// The machine's cores are shared by the ranks on it.
void share_cores(MPI_Comm comm) {
  MPI_Comm local = MPI_COMM_NULL;
  check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local), "MPI_Comm_split_type");
  int ranks = 1;
  MPI_Comm_size(local, &ranks);
  MPI_Comm_free(&local);
  set_host_threads(usable_cores() / ranks);
}

std::unique_ptr<Communicator> make_communicator(MPI_Comm comm, const ContextOptions& options) {
  if (options.place == Place::host) return make_mpi_communicator(comm);
  return options.staged ? make_staged_communicator(comm) : cuda_backend().nccl(comm);
}

/// The first and the last rank of the world stand in each other's groups, but for groups of all and where each rank is
/// alone.
bool mix(std::vector<GroupLayout>& layouts, int ranks) {
  bool mixed = false;
  for (GroupLayout& layout : layouts) {
    if (std::ranges::all_of(layout.ranks_of, [](const auto& members) { return members.size() == 1; })) continue;
    for (std::vector<int>& members : layout.ranks_of) {
      if (static_cast<int>(members.size()) == ranks) continue;
      for (int& member : members)
        if (member == 0 || member == ranks - 1) {
          member = ranks - 1 - member;
          mixed = true;
        }
    }
  }
  return mixed;
}

template <class Map>
std::string names_of(const Map& map) {
  std::string names;
  for (const auto& [name, value] : map) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "none" : names;
}

}  // namespace

std::int64_t Parameter::integer() const {
  if (x_value != std::trunc(x_value) || std::fabs(x_value) > 0x1p53)
    throw std::runtime_error(show("parameter {} is {}, not an integer", {x_name, x_value}));
  return static_cast<std::int64_t>(x_value);
}

Context::Context(MPI_Comm comm, ContextOptions options) : x_options(std::move(options)) {
  int rank = 0, size = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  share_cores(comm);
  std::vector<int> everyone(static_cast<std::size_t>(size));
  std::iota(everyone.begin(), everyone.end(), 0);
  std::vector<GroupLayout> layouts = x_options.groups;
  std::erase_if(layouts, [](const GroupLayout& layout) { return layout.name == "world"; });
  layouts.insert(layouts.begin(), {"world", {everyone}});
  if (x_options.sabotage && x_options.sabotage->kind == Sabotage::Kind::mixed_groups && !x_options.sabotage->only)
    x_sabotage_record.acted = mix(layouts, size);
  for (const GroupLayout& layout : layouts) {
    // Color: which of the groups; key: the place in it. A rank in none takes part in the split all the same.
    int color = MPI_UNDEFINED, key = 0;
    for (std::size_t g = 0; g < layout.ranks_of.size(); ++g) {
      const std::vector<int>& members = layout.ranks_of[g];
      if (const auto self = std::ranges::find(members, rank); self != members.end()) {
        color = static_cast<int>(g);
        key = static_cast<int>(self - members.begin());
      }
    }
    MPI_Comm split = MPI_COMM_NULL;
    check(MPI_Comm_split(comm, color, key, &split), "MPI_Comm_split");
    if (split == MPI_COMM_NULL) continue;
    MPI_Comm_set_errhandler(split, MPI_ERRORS_RETURN);
    x_comms.push_back(split);
    const std::vector<int>& members = layout.ranks_of[static_cast<std::size_t>(color)];
    std::unique_ptr<Communicator> communicator = make_communicator(split, x_options);
    if (x_options.sabotage)
      communicator = sabotage(std::move(communicator), *x_options.sabotage, members, x_sabotage_record);
    x_groups[layout.name] = std::make_unique<Group>(std::move(communicator), members);
  }
}

Context::~Context() {
  x_groups.clear();
  for (MPI_Comm& comm : x_comms) MPI_Comm_free(&comm);
}

Group& Context::group(std::string_view name) {
  const auto found = x_groups.find(name);
  if (found == x_groups.end())
    throw std::out_of_range("no group \"" + std::string(name) + "\" here; there are: " + names_of(x_groups));
  return *found->second;
}

Parameter Context::param(std::string_view name) const {
  const auto found = x_options.parameters.find(name);
  if (found == x_options.parameters.end())
    throw std::out_of_range("no parameter \"" + std::string(name) +
                            "\"; there are: " + names_of(x_options.parameters));
  return {found->first, found->second};
}

Stream Context::stream() const { return place() == Place::cuda ? current_stream() : nullptr; }

void Context::synchronize() const {
  if (place() == Place::cuda) ref::synchronize();
}

}  // namespace pkb::ref
