// SPDX-License-Identifier: Apache-2.0
#include "harness/problem/description.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "harness/problem/formula.h"
#include "harness/problem/schema.h"

namespace pkb::problem {
namespace {

/// A formula as text; a number becomes its shortest spelling that means the same.
std::string formula_of(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_boolean()) return json.get<bool>() ? "1" : "0";
  return json.is_number_integer() ? json.dump() : fmt::format("{}", json.get<double>());
}

Assignments assignments_of(const Json& json) {
  Assignments values;
  for (const auto& [name, value] : json.items())
    if (name != "ranks" && name != "variants") values[name] = formula_of(value);
  return values;
}

Values::Kind kind_of(const std::string& name) {
  static const std::map<std::string, Values::Kind> kKinds = {{"normal", Values::Kind::normal},
                                                             {"uniform", Values::Kind::uniform},
                                                             {"integers", Values::Kind::integers},
                                                             {"bits", Values::Kind::bits},
                                                             {"custom", Values::Kind::custom}};
  return kKinds.at(name);  // the schema lists the same names
}

Check::Kind check_kind_of(const std::string& name) {
  static const std::map<std::string, Check::Kind> kKinds = {{"exact", Check::Kind::exact},
                                                            {"floating", Check::Kind::floating},
                                                            {"rows", Check::Kind::rows},
                                                            {"custom", Check::Kind::custom}};
  return kKinds.at(name);  // the schema lists the same names
}

/// Turns a validated document into a Description, and refuses what a schema cannot say.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& folder) {
    std::error_code failed;
    x_description.folder = std::filesystem::weakly_canonical(folder, failed);
    if (failed) x_description.folder = std::filesystem::absolute(folder);
    x_description.file = read_json(folder / "problem.json");
    problem_schema().validate(x_description.file);
  }

  Description read() && {
    const Json& json = x_description.file.json;
    read_identity(json);
    read_parameters(json);
    for (const Json& each : json["inputs"]) read_tensor(each, "inputs", x_description.inputs);
    for (const Json& each : json["outputs"]) read_tensor(each, "outputs", x_description.outputs);
    for (const auto& [name, size] : json["sizes"].items()) read_size(name, size);
    if (json.contains("groups"))
      for (const Json& each : json["groups"]) read_group(each);
    if (json.contains("constraints"))
      for (const Json& each : json["constraints"]) read_constraint(each);
    for (const auto& [name, check] : json["check"].items()) read_check(name, check);
    require_extents();
    require_checks();
    x_description.sabotage = json.value("sabotage", "all");
    if (json.contains("harmless"))
      x_description.harmless = json["harmless"].get<std::map<std::string, std::string>>();
    read_cost(json["cost"]);
    return std::move(x_description);
  }

 private:
  InputError error(std::string_view field, std::string fault, std::string remedy = "") const {
    return x_description.file.error(field, std::move(fault), std::move(remedy));
  }

  void read_identity(const Json& json) {
    Description& d = x_description;
    d.id = json["id"];
    d.name = json["name"];
    d.title = json["title"];
    d.family = json["family"];
    d.parallelism = json["parallelism"];
    d.workload = json["workload"];
    const std::string expected = fmt::format("{:03}_{}", d.id, d.name);
    if (d.folder.filename() != expected)
      throw error("id",
                  fmt::format("id {} and name {} do not fit the folder {}", d.id, d.name,
                              d.folder.filename().string()),
                  fmt::format("rename the folder to {}, or correct id and name", expected));
  }

  void read_parameters(const Json& json) {
    const auto add = [this](const std::string& field, const Parameter& parameter) {
      if (is_builtin(parameter.name))
        throw error(
            field,
            fmt::format("{} has a meaning of its own (W ranks, b bytes of T, rank, T)", parameter.name),
            "choose another name");
      claim(field, parameter.name);
      x_description.parameters.push_back(parameter);
    };
    for (const auto& [name, doc] : json["symbols"].items()) {
      x_numbers.insert(name);
      add("symbols." + name, {.name = name, .doc = doc, .real = false, .value = ""});
    }
    if (!json.contains("params")) return;
    for (const auto& [name, each] : json["params"].items()) x_numbers.insert(name);
    for (const auto& [name, each] : json["params"].items()) {
      const std::string field = "params." + name;
      const Parameter parameter{.name = name,
                                .doc = each["doc"],
                                .real = each.value("type", "integer") == "real",
                                .value = formula_of(each["default"])};
      require_known(field + ".default", parameter.value);
      add(field, parameter);
    }
  }

  void read_tensor(const Json& json, const std::string& list, std::vector<TensorDescription>& into) {
    TensorDescription tensor;
    tensor.name = json["name"];
    tensor.doc = json["doc"];
    const std::string field = fmt::format("{}.{}", list, tensor.name);
    if (is_builtin(tensor.name))
      throw error(field, "this name has a meaning of its own", "choose another name");
    claim(field, tensor.name);
    for (const Json& extent : json["shape"]) {
      tensor.shape.push_back(formula_of(extent));
      require_known(field + ".shape", tensor.shape.back(), /*may_use=*/kRank);
    }
    const std::string dtype = json["dtype"];
    if (dtype != "T") tensor.dtype = dtype_from(dtype);
    tensor.replicated = json.value("replicated", false);
    tensor.in_out = json.value("in_out", false);
    tensor.extent = json.value("extent", "");
    if (json.contains("values"))
      for (const Json& each : json["values"]) tensor.values.push_back(read_values(field + ".values", each));
    into.push_back(std::move(tensor));
  }

  Values read_values(const std::string& field, const Json& json) const {
    const std::string kind = json["kind"];
    const bool is_range = kind == "uniform" || kind == "integers";
    const std::set<std::string> allowed = kind == "normal" ? std::set<std::string>{"kind", "mean", "stddev"}
                                          : is_range       ? std::set<std::string>{"kind", "low", "high"}
                                                           : std::set<std::string>{"kind"};
    for (const auto& [name, value] : json.items())
      if (!allowed.contains(name))
        throw error(field, fmt::format("\"{}\" means nothing for {}", name, kind),
                    fmt::format("{} takes {}", kind, fmt::join(allowed, ", ")));
    Values values{.kind = kind_of(kind)};
    values.mean = json.value("mean", values.mean);
    values.stddev = json.value("stddev", values.stddev);
    if (is_range) {
      if (!json.contains("low") || !json.contains("high"))
        throw error(field, fmt::format("{} needs low and high", kind), "add both");
      values.low = json["low"];
      values.high = json["high"];
      if (kind == "uniform" ? values.low >= values.high : values.low > values.high)
        throw error(field, fmt::format("low {} leaves nothing below high {}", values.low, values.high),
                    "swap them");
      if (kind == "integers" && (values.low != static_cast<double>(static_cast<std::int64_t>(values.low)) ||
                                 values.high != static_cast<double>(static_cast<std::int64_t>(values.high))))
        throw error(field, "low and high of integers must be integers");
    }
    return values;
  }

  void read_size(const std::string& name, const Json& json) {
    const std::string field = "sizes." + name;
    SizeDescription size{
        .name = name, .ranks = json["ranks"], .values = assignments_of(json), .variants = {}};
    require_declared(field, size.values);
    for (const Parameter& parameter : x_description.parameters)
      if (parameter.value.empty() && !size.values.contains(parameter.name))
        throw error(field, fmt::format("no value for {}{}", parameter.name, user_of(parameter.name)),
                    fmt::format("add \"{}\"", parameter.name));
    if (json.contains("variants"))
      for (const Json& variant : json["variants"]) {
        size.variants.push_back(assignments_of(variant));
        require_declared(fmt::format("{}.variants[{}]", field, size.variants.size() - 1),
                         size.variants.back());
      }
    x_description.sizes.push_back(std::move(size));
  }

  void read_group(const Json& json) {
    const std::string name = json["name"];
    const std::string field = "groups." + name;
    GroupDescription group{
        .name = name, .size = formula_of(json["size"]), .stride = formula_of(json["stride"])};
    const auto same = [&](const GroupDescription& other) { return other.name == name; };
    if (name == "world" || std::ranges::any_of(x_description.groups, same))
      throw error(field, "this group exists already", "choose another name");
    require_known(field + ".size", group.size);
    require_known(field + ".stride", group.stride);
    x_description.groups.push_back(std::move(group));
  }

  void read_constraint(const Json& json) {
    require_known(fmt::format("constraints[{}].require", x_description.constraints.size()),
                  formula_of(json["require"]));
    x_description.constraints.push_back({formula_of(json["require"]), json["message"]});
  }

  void read_check(const std::string& name, const Json& json) {
    const std::string field = "check." + name;
    const auto same = [&](const TensorDescription& tensor) { return tensor.name == name; };
    const bool is_in_out = std::ranges::any_of(
        x_description.inputs, [&](const TensorDescription& t) { return same(t) && t.in_out; });
    if (!is_in_out && std::ranges::none_of(x_description.outputs, same))
      throw error(field, "there is no such output, nor an input that is in_out", "name one");
    Check check{.output = name};
    check.kind = check_kind_of(json["kind"]);
    if (check.kind != Check::Kind::floating) {
      if (json.size() != 1)
        throw error(field, "only a floating check has a bound", "remove all but kind");
    } else {
      check.model_bound = json.value("model_bound", false);
      check.atol = json.value("atol", 0.0);
      check.rtol = json.value("rtol", 0.0);
      check.rms_factor = json.value("rms_factor", check.rms_factor);
      if (check.model_bound == (json.contains("atol") || json.contains("rtol")))
        throw error(field, "a floating check has either a model_bound or atol and rtol",
                    "give one of the two");
    }
    const std::string exact =
        json.contains("exact_on_integers") ? formula_of(json["exact_on_integers"]) : "0";
    require_known(field + ".exact_on_integers", exact);
    x_description.checks.push_back({check, exact});
  }

  void require_extents() const {
    for (const TensorDescription& output : x_description.outputs) {
      if (output.extent.empty()) continue;
      const auto says = [&](const TensorDescription& other) {
        return other.name == output.extent && other.dtype == DType::i64 && other.shape == std::vector<std::string>{"1"};
      };
      if (output.shape.empty() || std::ranges::none_of(x_description.outputs, says))
        throw error("outputs." + output.name + ".extent",
                    fmt::format("{} is not an output of dtype int64 and shape [1]", output.extent), "add one");
    }
  }

  void require_checks() const {
    const auto require = [this](const TensorDescription& tensor) {
      const auto same = [&](const CheckDescription& each) { return each.check.output == tensor.name; };
      if (std::ranges::none_of(x_description.checks, same))
        throw error("check", fmt::format("nothing says how {} is judged", tensor.name),
                    fmt::format("add \"{}\": {{\"kind\": \"exact\"}} or a floating check", tensor.name));
    };
    for (const TensorDescription& input : x_description.inputs)
      if (input.in_out) require(input);
    for (const TensorDescription& output : x_description.outputs) require(output);
  }

  void read_cost(const Json& json) {
    const auto read = [&](const char* name, std::string& into) {
      into = formula_of(json[name]);
      require_known(fmt::format("cost.{}", name), into);
    };
    read("flops", x_description.flops);
    read("hbm", x_description.hbm);
    read("sent", x_description.sent);
    read("received", x_description.received);
  }

  /// Tensors and scalars are members of one struct.
  void claim(const std::string& field, const std::string& name) {
    if (!x_members.insert(name).second)
      throw error(field, fmt::format("the name {} is taken", name),
                  "tensors, symbols and params need different names");
  }

  static bool is_builtin(std::string_view name) {
    return name == kRanks || name == kBytes || name == kRank || name == "T";
  }

  void require_known(const std::string& field, const std::string& formula,
                     std::string_view may_use = "") const {
    try {
      for (const std::string& name : names_in(formula))
        if (name != kRanks && name != kBytes && name != may_use && !x_numbers.contains(name))
          throw error(field,
                      fmt::format("\"{}\" uses {}, which is neither a symbol nor a parameter", formula, name),
                      declared());
    } catch (const FormulaError& fault) {
      throw error(field, fault.what(), "see problems/README.md for what a formula may contain");
    }
  }

  void require_declared(const std::string& field, const Assignments& values) const {
    for (const auto& [name, formula] : values) {
      if (!x_numbers.contains(name))
        throw error(field, fmt::format("{} is neither a symbol nor a parameter", name), declared());
      require_known(fmt::format("{}.{}", field, name), formula);
    }
  }

  std::string declared() const { return fmt::format("declared are {}", fmt::join(x_numbers, ", ")); }

  /// ", which inputs.A_local needs": the first tensor whose shape uses a symbol.
  std::string user_of(const std::string& symbol) const {
    const auto uses = [&](const TensorDescription& tensor) {
      return std::ranges::any_of(tensor.shape, [&](const std::string& extent) {
        return std::ranges::count(names_in(extent), symbol) != 0;
      });
    };
    for (const TensorDescription& tensor : x_description.inputs)
      if (uses(tensor)) return fmt::format(", which inputs.{} needs", tensor.name);
    for (const TensorDescription& tensor : x_description.outputs)
      if (uses(tensor)) return fmt::format(", which outputs.{} needs", tensor.name);
    return "";
  }

  Description x_description;
  std::set<std::string> x_numbers, x_members;
};

}  // namespace

Description describe(const std::filesystem::path& folder) { return Reader(folder).read(); }

}  // namespace pkb::problem
