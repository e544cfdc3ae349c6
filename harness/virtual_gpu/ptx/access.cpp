// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/ptx/access.h"

#include <string_view>
#include <unordered_map>

namespace pkb::virtual_gpu::ptx {
namespace {

// Families (the opcode up to its first dot) by form. Where the first operand is an address, as in `red` or
// `mbarrier.init`, writes_first comes to the same as reads.
const std::unordered_map<std::string_view, Form>& families() {
  static const std::unordered_map<std::string_view, Form> table = [] {
    std::unordered_map<std::string_view, Form> forms;
    for (const std::string_view name : {"applypriority",
                                        "bar",
                                        "barrier",
                                        "bra",
                                        "brkpt",
                                        "brx",
                                        "cp",
                                        "discard",
                                        "exit",
                                        "fence",
                                        "griddepcontrol",
                                        "membar",
                                        "nanosleep",
                                        "pmevent",
                                        "prefetch",
                                        "prefetchu",
                                        "red",
                                        "ret",
                                        "setmaxnreg",
                                        "st",
                                        "stackrestore",
                                        "stmatrix",
                                        "sured",
                                        "sust",
                                        "tensormap",
                                        "trap"})
      forms.emplace(name, Form::reads);
    for (const std::string_view name : {"abs",
                                        "activemask",
                                        "add",
                                        "addc",
                                        "alloca",
                                        "and",
                                        "atom",
                                        "bfe",
                                        "bfi",
                                        "bfind",
                                        "bmsk",
                                        "brev",
                                        "clusterlaunchcontrol",
                                        "clz",
                                        "cnot",
                                        "copysign",
                                        "cos",
                                        "createpolicy",
                                        "cvt",
                                        "cvta",
                                        "div",
                                        "dp2a",
                                        "dp4a",
                                        "elect",
                                        "ex2",
                                        "fma",
                                        "fns",
                                        "getctarank",
                                        "isspacep",
                                        "istypep",
                                        "ld",
                                        "ldmatrix",
                                        "ldu",
                                        "lg2",
                                        "lop3",
                                        "mad",
                                        "mad24",
                                        "madc",
                                        "mapa",
                                        "match",
                                        "max",
                                        "mbarrier",
                                        "min",
                                        "mma",
                                        "mov",
                                        "movmatrix",
                                        "mul",
                                        "mul24",
                                        "multimem",
                                        "neg",
                                        "not",
                                        "or",
                                        "popc",
                                        "prmt",
                                        "rcp",
                                        "redux",
                                        "rem",
                                        "rsqrt",
                                        "sad",
                                        "selp",
                                        "set",
                                        "setp",
                                        "shf",
                                        "shfl",
                                        "shl",
                                        "shr",
                                        "sin",
                                        "slct",
                                        "sqrt",
                                        "stacksave",
                                        "sub",
                                        "subc",
                                        "suld",
                                        "suq",
                                        "szext",
                                        "tanh",
                                        "tcgen05",
                                        "testp",
                                        "tex",
                                        "tld4",
                                        "txq",
                                        "vabsdiff",
                                        "vabsdiff2",
                                        "vabsdiff4",
                                        "vadd",
                                        "vadd2",
                                        "vadd4",
                                        "vavrg2",
                                        "vavrg4",
                                        "vmad",
                                        "vmax",
                                        "vmax2",
                                        "vmax4",
                                        "vmin",
                                        "vmin2",
                                        "vmin4",
                                        "vote",
                                        "vset",
                                        "vset2",
                                        "vset4",
                                        "vshl",
                                        "vshr",
                                        "vsub",
                                        "vsub2",
                                        "vsub4",
                                        "wmma",
                                        "xor"})
      forms.emplace(name, Form::writes_first);
    return forms;
  }();
  return table;
}

}  // namespace

Form form_of(const Statement& statement) {
  const std::string_view opcode = statement.opcode;
  const auto begins = [&](std::string_view prefix) { return opcode.starts_with(prefix); };
  const std::size_t dot = std::min(opcode.find('.'), opcode.size());
  const std::string_view family = opcode.substr(0, dot), rest = opcode.substr(dot);
  if (family == "call")  // (returns), callee, ...
    return !statement.operands.empty() && statement.operands[0].kind == Operand::Kind::call_list
               ? Form::writes_first
               : Form::reads;
  if (family == "wgmma") return rest.starts_with(".mma_async") ? Form::updates_first : Form::reads;
  if ((family == "bar" || family == "barrier") && rest.find(".red") != rest.npos) return Form::writes_first;
  if (begins("wmma.store") || begins("tcgen05.dealloc")) return Form::reads;
  if (begins("tcgen05.ld") && rest.find(".red") != rest.npos) return Form::writes_two;
  const auto known = families().find(family);
  return known == families().end() ? Form::updates_first : known->second;
}

}  // namespace pkb::virtual_gpu::ptx
