// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/virtual_gpu/ptx/lexer.h"
#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {

/// What the names in a function body mean. Inline assembly opens scopes with { } whose registers, variables
/// and labels are its own; those get names that are unique in the function.
class Names {
 public:
  struct Entity {
    enum class Kind : std::uint8_t { reg, vector_register, variable } kind;
    std::uint32_t index;  ///< of the (first) register or of the variable
    std::uint32_t count;  ///< registers of a vector register, or of a %r<count> range
    std::uint32_t depth;
  };

  Names(const Lexer& lexer, Function& function) : x_lexer(lexer), x_function(function), x_scopes(1) {}

  void open_scope(const Token& brace);
  void close_scope();
  bool nested() const { return x_scopes.size() > 1; }

  void add_register(const Token& name, Type type);
  void add_vector_register(const Token& name, Type type, std::uint32_t count);
  void add_register_range(const Token& prefix, Type type, std::uint64_t count);
  void add_variable(Variable variable, const Token& name);

  /// The register, vector register or nested variable that `name` means here; nothing for all other names.
  std::optional<Entity> find(std::string_view name) const;

  /// A label at the next statement, or (`at_statement` false) the name of a list or prototype.
  /// Returns its unique name.
  std::string define_label(const Token& name, bool at_statement);
  /// `written` names a label of this or an enclosing scope, defined before or after; it is replaced by the
  /// unique name and must stay where it is until then. `place` is for messages.
  void refer_to_label(std::string& written, const Token& place);
  /// Settles the labels that no nested scope settled.
  /// @throws ParseError for one that does not exist
  void close_function();

 private:
  struct Reference {
    std::string* written;
    Token token;
  };
  struct Scope {
    std::uint32_t number = 0;  ///< 0: the function's own
    std::unordered_map<std::string_view, std::string> labels;
    std::vector<Reference> references;
    std::vector<std::pair<std::string_view, std::optional<Entity>>> hidden;  ///< what its names meant before
    std::vector<std::pair<std::string_view, std::optional<Entity>>> hidden_ranges;
  };
  using Table = std::unordered_map<std::string_view, Entity>;

  std::string unique(std::string_view name) const;
  void declare(const Token& name, Entity entity);
  std::uint32_t append_registers(const Token& token, std::uint64_t count);

  const Lexer& x_lexer;
  Function& x_function;
  std::vector<Scope> x_scopes;
  std::uint32_t x_scope_count = 0;
  Table x_names, x_ranges;
};

}  // namespace pkb::virtual_gpu::ptx
