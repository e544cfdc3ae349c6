// SPDX-License-Identifier: Apache-2.0
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const {el, times, percent} = pkb;
  const all = pkb.data.get("boards");
  const place = document.getElementById("map"), filters = document.getElementById("filters");
  const address = pkb.address.read();

  function cellOf(cell) {
    if (cell.length === 2) return el("td", {class: "missing"}, "missing");
    const [samples, correct, verdict, speedup] = cell, name = all.verdicts[verdict];
    return el("td", {class: pkb.group(name), title: correct + " of " + samples + " samples correct"},
      el("a", {href: cell[7]}, el("span", {}, name), el("span", {class: "num"}, speedup !== null ? times(speedup) : samples > 1 ? correct + "/" + samples : "")));
  }

  function rowOf(problem, index, rows) {
    return el("tr", {}, el("th", {scope: "row", class: "pin"}, el("a", {href: problem.page}, String(problem.id).padStart(3, "0") + " " + problem.name)),
      rows.map((row) => cellOf(row.cells[index])));
  }

  async function show(number) {
    const board = all.boards[number], rows = board ? await pkb.load("cells-" + number) : [];
    const table = el("table", {class: "map", "aria-label": "Best verdict by problem and submitter"});
    const solved = (row, problems) => problems.filter((i) => all.verdicts[row.cells[i][2]] === "correct").length;
    table.append(el("thead", {}, el("tr", {}, el("th", {scope: "col", class: "pin"}, "Problem"), board ? board.rows.map((row) => el("th", {scope: "col"}, pkb.submitter(all.submitters[row.submitter]))) : [])));
    for (const family of [...all.families, ""]) {
      const members = all.problems.map((_, i) => i).filter((i) => all.problems[i].family === family);
      if (members.length === 0) continue;
      table.append(el("tbody", {},
        el("tr", {class: "family"}, el("th", {scope: "rowgroup", class: "pin"}, family || "of no known family"),
          rows.map((row) => el("th", {class: "muted"}, solved(row, members) + " of " + members.length + ", " + percent(solved(row, members) / members.length)))),
        members.map((i) => rowOf(all.problems[i], i, rows))));
    }
    place.replaceChildren(
      el("p", {class: "legend"}, ["correct", "wrong_result", "race", "memory_fault", "compile_error"].map((each) => pkb.verdict(each)), el("span", {class: "muted"}, "A number is the speedup, or how many samples are correct.")),
      el("div", {class: "scroll"}, table));
  }

  if (all.boards.length > 0)
    filters.append(pkb.choice("Board", all.boards.map((each, i) => [i, each.name]), address.get("board") ?? pkb.mainBoard(all), (value) => {
      address.set("board", value);
      pkb.address.write(address);
      show(Number(value));
    }));
  show(Math.min(Number(address.get("board") ?? pkb.mainBoard(all)) || 0, Math.max(0, all.boards.length - 1)));
});
