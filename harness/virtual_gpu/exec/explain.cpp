// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/explain.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/control.h"
#include "harness/virtual_gpu/exec/space.h"

namespace pkb::virtual_gpu {
namespace {

using Values = std::array<std::uint64_t, kLanes>;

constexpr std::size_t kMostPlaces = 4;     // named one by one
constexpr std::size_t kMostEvents = 4096;  // of a turn of the loop, which several fragments may make long

struct Test {
  std::string_view name, inverse, swapped, symbol;
};
// Unordered comparisons of floats say the same to a reader.
constexpr Test kTests[] = {{"eq", "ne", "eq", "=="}, {"ne", "eq", "ne", "!="}, {"lt", "ge", "gt", "<"},
                           {"le", "gt", "ge", "<="}, {"gt", "le", "lt", ">"},  {"ge", "lt", "le", ">="},
                           {"lo", "hs", "hi", "<"},  {"ls", "hi", "hs", "<="}, {"hi", "ls", "lo", ">"},
                           {"hs", "lo", "ls", ">="}};

const Test* test_named(std::string_view name) {
  if (name.size() == 3 && name.ends_with('u')) name.remove_suffix(1);
  const auto found = std::ranges::find(kTests, name, &Test::name);
  return found == std::end(kTests) ? nullptr : found;
}

bool is_signed(ptx::Type type) {
  return type == ptx::Type::s8 || type == ptx::Type::s16 || type == ptx::Type::s32 || type == ptx::Type::s64;
}

std::int64_t as_signed(std::uint64_t bits, ptx::Type type) {
  const auto unused = static_cast<int>(64 - 8 * std::min<std::size_t>(ptx::size_of(type), 8));
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

std::uint64_t as_unsigned(std::uint64_t bits, ptx::Type type) {
  const auto unused = static_cast<int>(64 - 8 * std::min<std::size_t>(ptx::size_of(type), 8));
  return bits << unused >> unused;
}

std::string number(std::uint64_t bits, ptx::Type type) {
  if (type == ptx::Type::f32) return fmt::format("{}", std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  if (type == ptx::Type::f64) return fmt::format("{}", std::bit_cast<double>(bits));
  if (is_signed(type)) return fmt::format("{}", as_signed(bits, type));
  const std::uint64_t value = as_unsigned(bits, type);
  return value >= 1u << 31 ? fmt::format("{:#x}", value) : fmt::format("{}", value);
}

/// Executes along with a warp and remembers what was read, compared and decided.
class Recorder final : public Warp::Observer {
 public:
  explicit Recorder(const Kernel& kernel) : x_kernel(kernel) {}

  void before(Warp& warp, const Instruction& in) override {
    x_registers = warp.at<std::byte>(0);
    x_lanes = warp.mask();
    x_executed.insert(&in);
    x_taken = 0;
    if (is_branch(in)) {
      const std::uint32_t holds = warp.predicate(in.guard);
      x_taken = x_lanes & (in.negated ? ~holds : holds);
    }
    if (reads_memory(in)) {
      const bool wide = (in.flags & kWideAddress) != 0;
      for (int lane = 0; lane < kLanes; ++lane)
        x_addresses[static_cast<std::size_t>(lane)] =
            (wide ? warp.at<std::uint64_t>(in.a)[lane] : warp.at<std::uint32_t>(in.a)[lane]) + in.immediate;
    }
  }

  void after(const Instruction& in) override {
    const std::string_view name = opcode(in);
    if (x_loads.size() + x_comparisons.size() + x_branches.size() + x_mbarriers.size() >= kMostEvents) return;
    if (is_branch(in)) {
      const auto from = x_compared.find(at(in.guard));
      if (from != x_compared.end()) x_branches.push_back({&in, x_lanes, x_taken, from->second});
    } else if (reads_memory(in)) {
      note_load(in);
    } else if (name.starts_with("setp.")) {
      note_comparison(in);
    } else if (name.starts_with("mbarrier.") && name.find("_wait") != std::string_view::npos) {
      x_mbarriers.push_back({&in, x_lanes});
    } else if (name.starts_with("mov.") || name.starts_with("cvt.")) {
      const auto from = x_loaded.find(at(in.a));
      if (from != x_loaded.end()) {
        const Source source = from->second;
        x_loaded[at(in.d)] = source;
      } else {
        x_loaded.erase(at(in.d));
      }
    } else if (writes_register(name)) {
      x_loaded.erase(at(in.d));
      x_compared.erase(at(in.d));
    }
  }

  std::vector<Wait> waits(const BlockState& block) const {
    std::vector<Found> found;
    std::uint32_t explained = 0;
    for (const Branch& branch : x_branches) {
      const bool taken = branch.taken == branch.lanes;
      if (!taken && branch.taken != 0) continue;
      const Instruction* other = taken ? branch.in + 1 : branch.in + branch.in->target;
      if (x_executed.contains(other)) continue;
      const Comparison& comparison = x_comparisons[branch.comparison];
      const bool when_true = taken ? branch.in->negated : !branch.in->negated;
      explained |= branch.lanes;
      add(found, block, x_loads[comparison.source.load], branch.lanes, &comparison, when_true);
    }
    for (const Load& load : x_loads) add(found, block, load, load.lanes & ~explained, nullptr, false);
    std::vector<Wait> waits;
    for (const auto& [in, lanes] : x_mbarriers) {
      Wait wait;
      wait.action = fmt::format("poll in {}", opcode(*in));
      wait.at = place_of(*in);
      const auto same = std::ranges::find_if(found, [&](const Found& known) { return known.wait.key() == wait.key(); });
      if (same == found.end())
        found.push_back({std::move(wait), lanes});
      else
        same->lanes |= lanes;
    }
    for (Found& each : found) {
      each.wait.threads = static_cast<std::uint32_t>(std::popcount(each.lanes));
      waits.push_back(std::move(each.wait));
    }
    return waits;
  }

 private:
  struct Source {
    std::size_t load = 0, element = 0;
  };
  struct Load {
    const Instruction* in;
    std::uint32_t lanes;
    std::size_t bytes;
    Values addresses;
    std::vector<Values> values;  ///< of each element
  };
  struct Comparison {
    const Test* test;
    ptx::Type type;
    Source source;
    bool loaded_second;
    Values other;
  };
  struct Found {
    Wait wait;
    std::uint32_t lanes;
  };
  struct Branch {
    const Instruction* in;
    std::uint32_t lanes, taken;
    std::size_t comparison;
  };

  std::string place_of(const Instruction& in) const {
    const Kernel::Place& place = x_kernel.places[in.place];
    if (place.file >= x_kernel.files.size() || place.line == 0) return "";
    return fmt::format("{}:{}", x_kernel.files[place.file], place.line);
  }
  std::string_view opcode(const Instruction& in) const { return x_kernel.places[in.place].opcode; }
  const std::byte* at(std::uint32_t offset) const { return x_registers + offset; }
  static bool is_branch(const Instruction& in) { return in.execute == branch_if; }
  bool last_of_statement(const Instruction& in) const { return (&in)[1].place != in.place; }
  bool reads_memory(const Instruction& in) const {
    const std::string_view name = opcode(in);
    return (name.starts_with("ld.") || name.starts_with("atom.")) && name.find(".param") == std::string_view::npos &&
           last_of_statement(in);
  }
  static bool writes_register(std::string_view name) {
    for (const std::string_view silent : {"st.", "red.", "bar.", "barrier.", "membar", "fence", "nanosleep", "bra",
                                          "call", "ret", "exit", "prefetch", "cp.", "mbarrier."})
      if (name.starts_with(silent)) return false;
    return true;
  }

  Values read(std::uint32_t offset, std::size_t bytes) const {
    Values values{};
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      values[lane] = bytes == 8 ? reinterpret_cast<const std::uint64_t*>(at(offset))[lane]
                                : reinterpret_cast<const std::uint32_t*>(at(offset))[lane];
    return values;
  }

  void note_load(const Instruction& in) {
    const std::string_view name = opcode(in);
    const auto type = ptx::type_from(name.substr(name.rfind('.') + 1));
    if (!type || ptx::size_of(*type) > 8) return;
    Load load{&in, x_lanes, ptx::size_of(*type), x_addresses, {}};
    const bool vector = in.count > 1;
    // atom's list holds its sources first; vectors of those are sums, not flags.
    if (vector && name.starts_with("atom.")) return;
    for (std::size_t i = 0; i < in.count; ++i) {
      const std::uint32_t offset = vector ? x_kernel.lists[in.list() + i] : in.d;
      load.values.push_back(read(offset, load.bytes));
      x_loaded[at(offset)] = {x_loads.size(), i};
    }
    x_loads.push_back(std::move(load));
  }

  void note_comparison(const Instruction& in) {
    x_compared.erase(at(in.d));
    const std::string_view name = opcode(in);
    const std::size_t dot = name.find('.', 5), last = name.rfind('.');
    if (dot != last || dot == std::string_view::npos || in.e != 0 || !last_of_statement(in)) return;
    const Test* test = test_named(name.substr(5, dot - 5));
    const auto type = ptx::type_from(name.substr(last + 1));
    if (test == nullptr || !type || ptx::size_of(*type) > 8) return;
    const auto first = x_loaded.find(at(in.a)), second = x_loaded.find(at(in.b));
    if ((first == x_loaded.end()) == (second == x_loaded.end())) return;
    const bool loaded_second = first == x_loaded.end();
    x_compared[at(in.d)] = x_comparisons.size();
    x_comparisons.push_back({test, *type, loaded_second ? second->second : first->second, loaded_second,
                             read(loaded_second ? in.a : in.b, ptx::size_of(*type))});
  }

  void add(std::vector<Found>& to, const BlockState& block, const Load& load, std::uint32_t lanes,
           const Comparison* comparison, bool when_true) const {
    const std::size_t element = comparison == nullptr ? 0 : comparison->source.element;
    const bool shared = opcode(*load.in).find(".shared") != std::string_view::npos;
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      Wait wait;
      wait.action = "poll";
      wait.at = place_of(*load.in);
      const BlockState::Location location = block.location(load.addresses[lane] + element * load.bytes, shared);
      wait.memory = location.memory;
      wait.places = {location.offset / load.bytes};
      const std::uint64_t value = load.values[element][lane];
      const ptx::Type type = comparison != nullptr ? comparison->type
                             : load.bytes == 8     ? ptx::Type::u64
                                                   : ptx::Type::u32;
      wait.found = number(value, type);
      if (comparison != nullptr) {
        const Test* test = comparison->test;
        if (!when_true) test = test_named(test->inverse);
        if (comparison->loaded_second) test = test_named(test->swapped);
        const std::uint64_t other = comparison->other[lane];
        wait.wanted = fmt::format("{} {}", test->symbol, number(other, type));
        // Locks wait for 0, and what is negative is no count.
        const bool counts = type != ptx::Type::f32 && type != ptx::Type::f64 && as_signed(other, type) > 0;
        wait.passed_by = test->symbol == "==" && counts &&
                         (is_signed(type) ? as_signed(value, type) > as_signed(other, type)
                                          : as_unsigned(value, type) > as_unsigned(other, type));
      }
      const auto same = std::ranges::find_if(to, [&](const Found& known) { return known.wait.key() == wait.key(); });
      if (same == to.end()) {
        to.push_back({std::move(wait), 1u << lane});
      } else {
        same->wait.merge(wait);
        same->lanes |= 1u << lane;
      }
    }
  }

  const Kernel& x_kernel;
  const std::byte* x_registers = nullptr;
  std::uint32_t x_lanes = 0, x_taken = 0;
  Values x_addresses{};
  std::unordered_set<const Instruction*> x_executed;
  std::vector<std::pair<const Instruction*, std::uint32_t>> x_mbarriers;  ///< waits, and their lanes
  std::vector<Load> x_loads;
  std::vector<Comparison> x_comparisons;
  std::vector<Branch> x_branches;
  std::unordered_map<const std::byte*, Source> x_loaded;         ///< by register: the load it holds
  std::unordered_map<const std::byte*, std::size_t> x_compared;  ///< by predicate: the comparison it holds
};

}  // namespace

std::vector<Wait> explain_polling(Warp& warp, std::uint64_t budget) {
  Recorder recorder(warp.block().kernel());
  warp.observe(budget, recorder);
  return recorder.waits(warp.block());
}

std::string to_string(const Wait& wait) {
  const std::string text = fmt::format("{}{}{} thread{} ", wait.who, wait.who.empty() ? "" : ": ", wait.threads,
                                       wait.threads == 1 ? "" : "s");
  const std::string at = wait.at.empty() ? "" : fmt::format(" ({})", wait.at);
  if (wait.memory.empty()) return text + wait.action + at;
  std::string places;
  if (wait.places.size() <= kMostPlaces)
    places = fmt::format("[{}]", fmt::join(wait.places, ", "));
  else
    places = fmt::format("[{} places from {} to {}]", wait.places.size(), *wait.places.begin(), *wait.places.rbegin());
  std::string memory = wait.memory;
  memory.insert(std::min(memory.find(" of rank "), memory.size()), places);
  const char* s = wait.threads == 1 ? "s" : "";
  const std::string polls = fmt::format("{}poll{} {}{}, which is {}", text, s, memory, at, wait.found);
  if (wait.wanted.empty()) return polls;
  return fmt::format("{}, until it is {}{}", polls, wait.wanted, wait.passed_by ? ": that value has passed by" : "");
}

}  // namespace pkb::virtual_gpu
