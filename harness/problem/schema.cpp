// SPDX-License-Identifier: Apache-2.0
#include "harness/problem/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include <vector>

namespace pkb::problem {

extern const char* const kSchemaText;  // problems/schema.json, from the build

namespace {

/// The steps from the root to a value: names of members and indices. valijson writes "<root>", "[name]",
/// "[0]".
std::vector<std::string> steps_of(const std::vector<std::string>& context) {
  std::vector<std::string> steps;
  for (const std::string& step : context)
    if (step.starts_with('[')) steps.push_back(step.substr(1, step.size() - 2));
  return steps;
}

/// A place in a schema.
class Node {
 public:
  explicit Node(const nlohmann::json& schema) : x_schema(&schema), x_node(&schema) {}
  const nlohmann::json* operator->() const { return x_node; }

  Node member(const std::string& name) const {
    static const nlohmann::json kAnything = nlohmann::json::object();
    if (x_node->contains("properties") && x_node->at("properties").contains(name))
      return at(x_node->at("properties").at(name));
    if (x_node->contains("additionalProperties") && x_node->at("additionalProperties").is_object())
      return at(x_node->at("additionalProperties"));
    if (x_node->contains("items")) return at(x_node->at("items"));
    return at(kAnything);
  }

 private:
  Node at(const nlohmann::json& node) const {
    Node found = *this;
    found.x_node = node.contains("$ref")
                       ? &x_schema->at(nlohmann::json::json_pointer(node["$ref"].get<std::string>().substr(1)))
                       : &node;
    return found;
  }

  const nlohmann::json* x_schema;
  const nlohmann::json* x_node;
};

std::string field_of(const JsonFile& file, const std::vector<std::string>& steps) {
  std::string field;
  const Json* value = &file.json;
  for (const std::string& step : steps) {
    if (value->is_array()) {
      field += fmt::format("[{}]", step);
      value = &value->at(std::stoul(step));
    } else {
      field += field.empty() ? step : "." + step;
      value = &value->at(step);
    }
  }
  return field;
}

/// The name that a message of valijson ends with, in single quotes.
std::string quoted_name(const std::string& description) {
  const std::size_t close = description.rfind('\'');
  if (close == std::string::npos || close == 0) return "";
  const std::size_t open = description.rfind('\'', close - 1);
  return open == std::string::npos ? "" : description.substr(open + 1, close - open - 1);
}

/// valijson reports a breach of propertyNames only through the object around it: the first member of
/// `object[name]` that its pattern refuses.
std::optional<std::string> bad_member_name(const Node& node, const Json& object, const std::string& name) {
  if (!object.is_object() || !object.contains(name)) return std::nullopt;
  const Node inner = node.member(name);
  if (!inner->contains("propertyNames") || !object[name].is_object()) return std::nullopt;
  const std::regex pattern(inner->at("propertyNames").at("pattern").get<std::string>());
  for (const auto& [key, unused] : object[name].items())
    if (!std::regex_search(key, pattern)) return key;
  return std::nullopt;
}

InputError translate(const nlohmann::json& schema, const JsonFile& file,
                     const valijson::ValidationResults::Error& error) {
  const std::vector<std::string> steps = steps_of(error.context);
  Node node(schema);
  const Json* value = &file.json;
  for (const std::string& step : steps) {
    node = node.member(step);
    value = value->is_array() ? &value->at(std::stoul(step)) : &value->at(step);
  }
  const std::string field = field_of(file, steps);
  const std::string name = quoted_name(error.description);

  if (error.description.starts_with("Missing required property")) {
    return file.error(field, fmt::format("\"{}\" is missing", name),
                      fmt::format("add it: {}", node.member(name)->value("description", "")));
  }
  if (error.description.find("'additionalProperties'") != std::string::npos) {
    std::vector<std::string> known;
    for (const auto& [key, unused] : node->at("properties").items()) known.push_back(key);
    return file.error(field, fmt::format("\"{}\" is not known here", name),
                      fmt::format("known are {}", fmt::join(known, ", ")));
  }
  if (const std::optional<std::string> bad = bad_member_name(node, *value, name))
    return file.error(field.empty() ? name : field + "." + name, fmt::format("\"{}\" is no name", *bad),
                      "names are letters, digits and underscores after a letter");
  std::string shown = value->dump();
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  return file.error(field, fmt::format("{} does not fit", shown),
                    fmt::format("expected {}", node->value("description", error.description)));
}

}  // namespace

struct Schema::Parsed {
  nlohmann::json json;
  valijson::Schema rules;
};

Schema::Schema(std::string_view text) {
  auto parsed = std::make_unique<Parsed>();
  parsed->json = nlohmann::json::parse(text);
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(parsed->json), parsed->rules);
  x_parsed = std::move(parsed);
}

Schema::~Schema() = default;

void Schema::validate(const JsonFile& file) const {
  const nlohmann::json json = file.json;
  const valijson::adapters::NlohmannJsonAdapter adapter(json);
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(x_parsed->rules, adapter, &results)) return;
  // An error is followed by one for each value around it; the deepest is the cause.
  const auto depth = [](const auto& a, const auto& b) { return a.context.size() < b.context.size(); };
  throw translate(x_parsed->json, file, *std::max_element(results.begin(), results.end(), depth));
}

const Schema& problem_schema() {
  static const Schema* const schema = new Schema(kSchemaText);  // lives as long as the program
  return *schema;
}

}  // namespace pkb::problem
