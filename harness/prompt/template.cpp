// SPDX-License-Identifier: Apache-2.0
#include "harness/prompt/template.h"

#include <fmt/format.h>

#include <fstream>
#include <kainjow/mustache.hpp>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>

#include "harness/error/error.h"

namespace pkb::prompt {
namespace {

namespace fs = std::filesystem;
using kainjow::mustache::data;

struct Folders {
  const fs::path &folder, &own;

  fs::path find(const std::string& file) const {
    if (!own.empty())
      if (const fs::path replaced = own / file; fs::exists(replaced)) return replaced;
    return folder / file;
  }
  std::string read(const std::string& name) const {
    const fs::path path = find(name + ".mustache");
    std::ifstream in(path, std::ios::binary);
    if (!in) throw InputError({.where = path.string(), .fault = "cannot be read", .remedy = "restore prompts/"});
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

/// Every name that appears anywhere among the values.
void collect_names(const nlohmann::json& values, std::set<std::string>& names) {
  if (values.is_object())
    for (const auto& [name, value] : values.items()) {
      names.insert(name);
      collect_names(value, names);
    }
  if (values.is_array())
    for (const nlohmann::json& each : values) collect_names(each, names);
}

/// A template and, behind it, those that it takes in.
class Checked {
 public:
  Checked(const nlohmann::json& values, const Folders& folders) : x_folders(folders) { collect_names(values, x_names); }

  void check(const std::string& name) {
    if (!x_partials.insert({name, {}}).second) return;
    // The library keeps both under one name.
    if (x_names.contains(name)) throw std::logic_error(fmt::format("{} is a template and a value", name));
    const std::string text = x_partials[name] = x_folders.read(name);
    const auto fail = [&](const std::string& fault) {
      throw InputError({.where = x_folders.find(name + ".mustache").string(), .fault = fault, .remedy = {}});
    };
    if (const kainjow::mustache::mustache parsed(text); !parsed.is_valid()) fail(parsed.error_message());
    static const std::regex tag(R"(\{\{\{?\s*([#^/>!&]?)\s*([A-Za-z0-9_.]*)\s*\}?\}\})");
    for (std::sregex_iterator found(text.begin(), text.end(), tag), end; found != end; ++found) {
      const std::string kind = found->str(1), word = found->str(2);
      if (kind == ">")
        check(word);
      else if (kind != "!" && !x_names.contains(word))
        fail(fmt::format("{{{{{}}}}} names nothing that this template is given", word));
    }
  }
  const std::map<std::string, std::string>& partials() const { return x_partials; }

 private:
  const Folders& x_folders;
  std::set<std::string> x_names;
  std::map<std::string, std::string> x_partials;
};

data to_data(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_null()) return false;
  if (value.is_array()) {
    data list(data::type::list);
    for (const nlohmann::json& each : value) list << to_data(each);
    return list;
  }
  if (value.is_object()) {
    data object;
    for (const auto& [name, member] : value.items()) object.set(name, to_data(member));
    return object;
  }
  return value.dump();
}

}  // namespace

std::string render(const std::string& name, const nlohmann::json& values, const fs::path& folder, const fs::path& own,
                   Escape escape) {
  const Folders folders{folder, own};
  Checked checked(values, folders);
  checked.check(name);
  data context = to_data(values);
  kainjow::mustache::mustache main(checked.partials().at(name));
  if (escape == Escape::none) main.set_custom_escape([](const std::string& text) { return text; });
  for (const auto& [partial, text] : checked.partials())
    context.set(partial, kainjow::mustache::partial([text = text] { return text; }));
  return main.render(context);
}

}  // namespace pkb::prompt
