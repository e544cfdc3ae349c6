// SPDX-License-Identifier: Apache-2.0
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const {el, times, percent, dash} = pkb;
  const all = pkb.data.get("boards"), comparison = pkb.data.get("comparison"), place = document.getElementById("comparison");
  const kinds = ["regression", "slower", "improvement", "faster", "missing", "same"];
  const first = (numbers) => numbers ? numbers[0] : null;

  place.append(el("dl", {class: "facts"}, el("dt", {}, "Before"), el("dd", {}, comparison.before), el("dt", {}, "After"), el("dd", {}, comparison.after)));

  function side(cell) {
    if (cell.verdict === null) return "missing";
    return [el("a", {href: cell.page}, pkb.verdict(all.verdicts[cell.verdict])), " ", el("span", {class: "muted"}, cell.correct + "/" + cell.samples)];
  }

  function summary(part) {
    const figure = (title, get, show) => {
      const before = get(part.before), after = get(part.after);
      const change = before === null || after === null ? "" : after > before ? "faster" : after < before ? "slower" : "";
      return el("tr", {}, el("th", {scope: "row"}, title), el("td", {class: "num"}, show(before)), el("td", {class: "num"}, el("span", {class: change}, show(after))));
    };
    const number = (value) => value === null ? dash : Number.isInteger(value) ? String(value) : value.toFixed(1);
    return el("table", {class: "plain"}, el("thead", {}, el("tr", {}, ["", "Before", "After"].map((each) => el("th", {scope: "col", class: each ? "num" : null}, each)))),
      el("tbody", {}, figure("Correct", (each) => first(each.correct), number), figure("Solved", (each) => each.solved, number),
        part.verdict_only ? null : [figure("fast_1", (each) => first(each.fast[0]), percent), figure("Speedup", (each) => first(each.speedup), times)],
        figure("Missing", (each) => -each.missing, (value) => String(-value))));
  }

  for (const part of comparison.parts) {
    const counts = kinds.map((kind) => [kind, part.changes.filter((each) => each.kind === kind).length]).filter(([, count]) => count > 0);
    const section = el("section", {}, el("h2", {}, part.board), el("div", {class: "headline"}, counts.map(([kind, count]) => el("div", {}, el("b", {}, String(count)), kind))), summary(part), el("h3", {}, "Changes, regressions first"));
    place.append(section);
    const ratio = (row) => row.before.speedup && row.after.speedup ? row.after.speedup / row.before.speedup : null;
    pkb.table(section, {caption: "Changes on " + part.board, rows: part.changes.filter((each) => each.kind !== "same"), page: 100, columns: [
      {title: "Change", value: (row) => kinds.indexOf(row.kind), show: (row) => el("span", {class: {regression: "slower", slower: "slower", improvement: "faster", faster: "faster"}[row.kind]}, row.kind)},
      {title: "Problem", class: "pin", value: (row) => all.problems[row.problem].id, show: (row) => el("a", {href: all.problems[row.problem].page}, String(all.problems[row.problem].id).padStart(3, "0") + " " + all.problems[row.problem].name)},
      {title: "Before", value: (row) => row.before.verdict, show: (row) => side(row.before)},
      {title: "After", value: (row) => row.after.verdict, show: (row) => side(row.after)},
      {title: "Speedup before", number: true, value: (row) => row.before.speedup, show: (row) => times(row.before.speedup)},
      {title: "Speedup after", number: true, value: (row) => row.after.speedup, show: (row) => times(row.after.speedup)},
      {title: "After / before", number: true, value: ratio, show: (row) => times(ratio(row))}], order: [[0, "asc"]]});
  }
});
