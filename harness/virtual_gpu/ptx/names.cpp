// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/ptx/names.h"

#include <fmt/format.h>

#include <charconv>

namespace pkb::virtual_gpu::ptx {
namespace {

constexpr std::size_t kMostRegisters = 1 << 20;  // of a function; the largest real ones stay far below
constexpr std::size_t kDeepestScope = 256;

}  // namespace

void Names::open_scope(const Token& brace) {
  if (x_scopes.size() > kDeepestScope) x_lexer.fail_at(brace, "scopes nested too deeply");
  x_scopes.emplace_back().number = ++x_scope_count;
}

void Names::close_scope() {
  Scope scope = std::move(x_scopes.back());
  x_scopes.pop_back();
  for (const Reference& reference : scope.references) {
    if (const auto found = scope.labels.find(*reference.written); found != scope.labels.end())
      *reference.written = found->second;
    else
      x_scopes.back().references.push_back(reference);
  }
  const auto restore = [](Table& table, const auto& hidden) {
    for (auto entry = hidden.rbegin(); entry != hidden.rend(); ++entry) {
      if (entry->second)
        table.insert_or_assign(entry->first, *entry->second);
      else
        table.erase(entry->first);
    }
  };
  restore(x_names, scope.hidden);
  restore(x_ranges, scope.hidden_ranges);
}

std::string Names::unique(std::string_view name) const {
  return nested() ? fmt::format("{}@{}", name, x_scopes.back().number) : std::string(name);
}

void Names::declare(const Token& name, Entity entity) {
  entity.depth = std::uint32_t(x_scopes.size());
  const auto [place, fresh] = x_names.try_emplace(name.text, entity);
  if (!fresh && place->second.depth == entity.depth)
    x_lexer.fail_at(name, fmt::format("'{}' is declared twice", name.text));
  x_scopes.back().hidden.emplace_back(name.text, fresh ? std::nullopt : std::optional(place->second));
  place->second = entity;
}

std::uint32_t Names::append_registers(const Token& token, std::uint64_t count) {
  const std::size_t first = x_function.registers.size();
  if (count > kMostRegisters - first) x_lexer.fail_at(token, "too many registers");
  x_function.registers.resize(first + count);
  return std::uint32_t(first);
}

void Names::add_register(const Token& name, Type type) {
  const std::uint32_t index = append_registers(name, 1);
  x_function.registers[index] = {unique(name.text), type};
  declare(name, {Entity::Kind::reg, index, 1, 0});
}

void Names::add_vector_register(const Token& name, Type type, std::uint32_t count) {
  const std::uint32_t first = append_registers(name, count);
  for (std::uint32_t i = 0; i < count; ++i)
    x_function.registers[first + i] = {fmt::format("{}.{}", unique(name.text), "xyzw"[i]), type};
  declare(name, {Entity::Kind::vector_register, first, count, 0});
}

void Names::add_register_range(const Token& prefix, Type type, std::uint64_t count) {
  const std::uint32_t first = append_registers(prefix, count);
  std::string name(prefix.text);
  for (std::uint64_t i = 0; i < count; ++i) {
    name.resize(prefix.text.size());
    char digits[20];
    name.append(digits, std::to_chars(digits, digits + sizeof digits, i).ptr);
    x_function.registers[first + i] = {nested() ? unique(name) : name, type};
  }
  const Entity range{Entity::Kind::reg, first, std::uint32_t(count), std::uint32_t(x_scopes.size())};
  const auto [place, fresh] = x_ranges.try_emplace(prefix.text, range);
  if (!fresh && place->second.depth == range.depth)
    x_lexer.fail_at(prefix, fmt::format("registers '{}' are declared twice", prefix.text));
  x_scopes.back().hidden_ranges.emplace_back(prefix.text,
                                             fresh ? std::nullopt : std::optional(place->second));
  place->second = range;
}

void Names::add_variable(Variable variable, const Token& name) {
  variable.name = unique(name.text);
  declare(name, {Entity::Kind::variable, std::uint32_t(x_function.variables.size()), 1, 0});
  x_function.variables.push_back(std::move(variable));
}

std::optional<Names::Entity> Names::find(std::string_view name) const {
  std::optional<Entity> best;
  std::size_t prefix = name.size();
  while (prefix > 0 && name[prefix - 1] >= '0' && name[prefix - 1] <= '9') --prefix;
  // The range %r<9> has %r0 but not %r00: the number starts with a zero only where it is zero.
  if (prefix < name.size() && (name[prefix] != '0' || prefix + 1 == name.size())) {
    if (const auto range = x_ranges.find(name.substr(0, prefix)); range != x_ranges.end()) {
      std::uint32_t number = 0;
      const auto [end, error] = std::from_chars(name.data() + prefix, name.data() + name.size(), number);
      if (error == std::errc() && number < range->second.count) {
        best = range->second;
        best->index += number;
        best->count = 1;
        if (best->depth == x_scopes.size()) return best;
      }
    }
  }
  if (const auto found = x_names.find(name); found != x_names.end())
    if (!best || found->second.depth > best->depth) best = found->second;
  return best;
}

std::string Names::define_label(const Token& name, bool at_statement) {
  std::string label = unique(name.text);
  if (!x_scopes.back().labels.try_emplace(name.text, label).second)
    x_lexer.fail_at(name, fmt::format("label '{}' is defined twice", name.text));
  if (at_statement) x_function.labels.emplace(label, std::uint32_t(x_function.body.size()));
  return label;
}

void Names::refer_to_label(std::string& written, const Token& place) {
  x_scopes.back().references.push_back({&written, place});
}

void Names::close_function() {
  const Scope& scope = x_scopes.front();
  for (const Reference& reference : scope.references)
    if (!scope.labels.contains(*reference.written))
      x_lexer.fail_at(reference.token, fmt::format("label '{}' does not exist", *reference.written));
}

}  // namespace pkb::virtual_gpu::ptx
