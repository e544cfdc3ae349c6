// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/virtual_gpu/exec/fault.h"
#include "harness/virtual_gpu/exec/memory.h"
#include "harness/virtual_gpu/exec/wait.h"
#include "harness/virtual_gpu/ptx/module.h"

/// Executes decoded PTX: a warp is 32-wide vectors with an active mask.
namespace pkb::virtual_gpu {

namespace check {
class Grid;
}

inline constexpr int kLanes = 32;

/// Generic addresses of shared and local memory lie in windows that no host mapping can have.
inline constexpr std::uint64_t kSharedWindow = 1ull << 60, kLocalWindow = 2ull << 60;

/// The parameter space of a kernel, for generic addresses of parameters.
inline constexpr std::uint64_t kParameterWindow = 3ull << 60;

class DeviceHeap;
class PastCode;
class Warp;
struct Instruction;
using Handler = void (*)(Warp&, const Instruction&);

/// Addresses that linking gives to a module's symbols (global and constant variables, functions).
using Symbols = std::unordered_map<std::string, std::uint64_t>;

/// A kernel decoded for execution. Immutable, shared by all its launches.
struct Kernel {
  std::string name;          ///< mangled
  std::string display_name;  ///< demangled, without arguments
  std::vector<Instruction> code;
  struct Parameter {
    std::size_t offset, bytes;
  };
  std::vector<Parameter> parameters;  ///< in order; offsets into the parameter buffer
  std::size_t parameter_bytes = 0;
  std::size_t static_shared = 0;  ///< bytes; dynamic shared memory follows at `dynamic_shared_offset`
  std::size_t dynamic_shared_offset = 0;
  std::size_t local_bytes = 0;              ///< per thread
  std::uint32_t registers_per_thread = 32;  ///< estimate of ptxas's count without the limits below, for occupancy
  std::uint32_t max_registers = 255;        ///< .maxnreg
  std::uint32_t promised_threads = 1;       ///< of an SM, for which launch bounds ask ptxas to leave registers
  std::uint32_t max_threads = 1024;
  std::uint32_t cluster[3] = {0, 0, 0};  ///< required size; zeros: none is
  std::vector<std::string> files;  ///< for Place::file

  /// Where an instruction comes from.
  struct Place {
    std::string opcode;
    std::uint32_t file = 0, line = 0;  ///< of the source, 0 when unknown; `file` indexes `files`
    std::uint32_t ptx_line = 0;
    std::uint32_t inner_file = 0, inner_line = 0;  ///< where `line` calls what was inlined; 0 where it is the line itself
  };
  std::vector<Place> places;  ///< one per PTX statement, for Instruction::place
  /// A function that the code calls; the kernel itself is the first.
  struct Function {
    std::uint64_t address = 0;  ///< what a pointer to it holds
    std::uint32_t entry = 0;    ///< index into `code`
    std::uint32_t register_bytes = 0, register_image_offset = 0;
    std::vector<std::byte> register_image;
    std::uint64_t local_bytes = 0;               ///< of a thread in one activation, parameters included
    std::vector<Parameter> returns, parameters;  ///< offsets into the activation's local memory
  };
  std::vector<Function> functions;
  std::vector<std::uint32_t> lists;   ///< register offsets of vector operands
  std::uint32_t memory_accesses = 0;  ///< instructions that cache the allocation they hit
  std::uint32_t max_cluster = 0;  ///< blocks; 0: no limit of its own
  bool explicit_cluster = false;  ///< a launch has to be in clusters
  bool blocks_are_clusters = false;  ///< the launch's grid counts clusters
  bool allocates = false;             ///< calls malloc or free: its launches need a heap
  std::unique_ptr<PastCode> past_code;

  Kernel();
  ~Kernel();
  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;
};

/// Decodes `function`. An instruction that the virtual GPU lacks becomes one that raises Fault::unsupported
/// with its name when it is executed; what cannot be laid out at all throws ptx::ParseError.
Kernel decode(const ptx::Module& module, const ptx::Function& function, const Symbols& symbols);

/// What a launch counts, summed over its warps.
struct Counters {
  std::uint64_t lane_instructions = 0, warp_instructions = 0;
  std::uint64_t global_read = 0, global_written = 0, shared_read = 0, shared_written = 0;  ///< bytes
  std::vector<std::uint64_t> read_from, written_to;  ///< global bytes by owner rank of the memory

  Counters& operator+=(const Counters& other);
};

/// One kernel launch.
struct Launch {
  std::shared_ptr<const Kernel> kernel;
  Dim3 grid, block, cluster;
  std::uint32_t dynamic_shared = 0;
  std::vector<std::byte> parameters;  ///< kernel->parameter_bytes
  std::uint64_t id = 0;
  int ranks = 1;  ///< size of Counters::read_from
  int rank = 0;
  std::uint32_t sm_count = 132;
  /// Cooperative launches: zeroed global memory for the grid's barrier, which cooperative groups find in
  /// %envreg1 and %envreg2; 0 for other launches.
  std::uint64_t grid_workspace = 0;
  std::shared_ptr<check::Grid> check;  ///< null: nothing is checked beyond bounds
  std::shared_ptr<DeviceHeap> heap;  ///< what malloc of device code allocates from
  std::shared_ptr<const void> owned;  ///< what has to live as long as the launch
  bool explicit_cluster = false;  ///< the launch or the kernel says that there are clusters, of one block even
  /// Programmatic dependent launch: it may start as soon as the kernel before it in its stream lets it
  /// (griddepcontrol.launch_dependents in all blocks). `prerequisite` then says when that kernel is done; null where
  /// it was from the start.
  bool programmatic = false;
  const std::atomic<bool>* prerequisite = nullptr;
  std::shared_ptr<check::Grid> prerequisite_check;  ///< that kernel, for the checks
};

/// The first block of cluster `index`, which counts the clusters of the grid, x first.
Dim3 first_block(const Launch& launch, std::uint64_t index);

/// What is resident together: a block, its shared memory, barriers and warps, or the blocks of a cluster. Used by
/// one thread at a time. The launch and the memory outlive it.
class Block {
 public:
  /// `index` counts the grid's blocks, or its clusters, x first; `sms` is where the block or each block is.
  Block(const Launch& launch, Memory& memory, std::uint64_t index, std::span<const std::uint32_t> sms);
  Block(const Launch& launch, Memory& memory, std::uint64_t index, std::uint32_t sm);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  enum class Outcome : std::uint8_t {
    finished,
    budget,   ///< used up its budget and made progress
    polling,  ///< every live warp only repeats the same loads and no copy is under way: see may_go_on()
    fault,
  };
  /// Runs the block's warps in turn until all exit, a fault occurs, all are polling, or about `budget`
  /// instructions of each warp were executed. `seed` 0 takes warps in order, others shuffle.
  Outcome run(std::uint32_t budget, std::uint64_t seed = 0);

  /// After Outcome::polling: whether what the block looks at has changed since, or may have. Cheap against another
  /// run, which would be in vain otherwise.
  bool may_go_on() const;

  const Fault& fault() const;  ///< after Outcome::fault
  const Counters& counters() const;  ///< as of now
  /// Grows with every step that may change memory.
  std::uint64_t progress_count() const;
  /// How many of its blocks have let dependent launches start.
  std::uint32_t triggered() const;
  /// What its threads wait for. Those that poll go round their loop once more to show it, which costs at most
  /// `budget` instructions; with 0 it stays unknown.
  std::vector<Wait> waits(std::uint64_t budget);

 private:
  std::unique_ptr<class ClusterState> x_state;
};

/// Opcodes that `decode` knows, for documentation and coverage tests.
std::vector<std::string> supported_instructions();

}  // namespace pkb::virtual_gpu
