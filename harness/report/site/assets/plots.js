// SPDX-License-Identifier: Apache-2.0
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const {el, significant, percent} = pkb;
  const {figure, style, css, log, linear, share, line} = pkb.charts;
  const all = pkb.data.get("boards");
  const place = document.getElementById("plots"), filters = document.getElementById("filters");
  const address = pkb.address.read();
  const verdicts = all.verdicts;
  let shown = 0;
  // A cell as cells_data writes it.
  const [kVerdict, kSpeedup, kUtilisation, kLinks, kMechanisms, kPage] = [2, 3, 4, 5, 6, 7];

  if (all.boards.length === 0) return place.append(el("p", {class: "muted"}, "There are no results."));

  /** The name, where that tells a submitter from all others on the board. */
  function label(row) {
    const rows = all.boards[shown].rows;
    const submitter = all.submitters[row.submitter];
    return rows.filter((each) => all.submitters[each.submitter].name === submitter.name).length === 1 ? submitter.name : submitter.label;
  }
  function nameOf(problem) { return String(problem.id).padStart(3, "0") + " " + problem.name; }

  /** Points of a scatter plot lead to the candidate's page. */
  const follow = {onClick: (event, hits, chart) => {
    const point = hits.length > 0 ? chart.data.datasets[hits[0].datasetIndex].data[hits[0].index] : null;
    if (point?.page) location.href = point.page;
  }};
  const tooltip = {callbacks: {title: (items) => items[0]?.raw?.problem ?? "", label: (item) => item.dataset.label + ": " + (item.raw.text ?? significant(item.raw.y))}};

  function curves(board, cells) {
    figure(place, {
      title: "Share of problems solved faster than p times the baseline", note: "fast_p over p. Where a curve crosses p = 1 is fast_1.",
      config: () => ({type: "line", data: {datasets: [...board.rows.map((row, i) => ({label: pkb.short(label(row), 48), data: cells[i].curve.map((y, j) => ({x: all.curve_p[j], y})), ...style(i), pointRadius: 0, borderWidth: 1.8, stepped: "before", pointStyle: "line"})),
        line("p = 1", {x: 1, y: 0}, {x: 1, y: 1})]},
        options: {scales: {x: linear("p", {min: 0, max: all.curve_p.at(-1)}), y: share("fast_p")}, interaction: {mode: "nearest", axis: "x", intersect: false},
          plugins: {tooltip: {callbacks: {title: (items) => "p = " + items[0].raw.x, label: (item) => item.dataset.label + ": " + percent(item.raw.y)}}}}}),
      table: {head: ["p", ...board.rows.map(label)], rows: all.curve_p.map((p, j) => [p, ...cells.map((row) => row.curve[j])])}});
  }

  /** Best candidates of solved problems as points {x, y}, one dataset for each submitter. */
  function points(board, cells, point) {
    return board.rows.map((row, i) => ({label: pkb.short(label(row), 48), ...style(i), pointRadius: 3.5, data: cells[i].cells.flatMap((cell, problem) => {
      const found = cell.length > 2 ? point(cell, all.problems[problem], i) : null;
      return found ? [{problem: nameOf(all.problems[problem]), page: cell[kPage], ...found}] : [];
    })}));
  }
  const rowsOf = (datasets) => datasets.flatMap((set) => set.data.map((each) => [set.label, each.problem, each.x, each.y]));

  function rooflines(board, cells) {
    const make = () => points(board, cells, (cell) => cell[kSpeedup] !== null && cell[kUtilisation] !== null
      ? {x: cell[kUtilisation], y: cell[kSpeedup], text: significant(cell[kSpeedup]) + "\u00d7 at " + percent(cell[kUtilisation]) + " of the roofline"} : null);
    figure(place, {
      title: "Speedup against roofline utilisation", note: "Each submitter's best candidate of each problem. Upper left: the baseline was slow. Right: little is left to gain.",
      config: () => ({type: "scatter", data: {datasets: [...make(), line("baseline", {x: 0, y: 1}, {x: 1, y: 1})]},
        options: {scales: {x: share("utilisation"), y: log("speedup")}, plugins: {tooltip}, ...follow}}),
      table: {head: ["Submitter", "Problem", "Utilisation", "Speedup"], rows: rowsOf(make())}});
  }

  function families(board, cells) {
    const shares = board.rows.map((row) => row.by_family.map((each) => each.solved));
    const sizes = all.families.map((family) => all.problems.filter((each) => each.family === family).length);
    figure(place, {
      title: "Solved by family", note: "Share of a family's problems of which some sample is correct.", tall: true,
      config: () => ({type: "bar", data: {labels: all.families.map((each, i) => each + " (" + sizes[i] + ")"), datasets: board.rows.map((row, i) => ({label: pkb.short(label(row), 48), ...style(i), pointStyle: "rect", data: shares[i].map((each, j) => each / sizes[j])}))},
        options: {indexAxis: "y", scales: {x: share("solved"), y: {grid: {display: false}}}}}),
      table: {head: ["Family", "Problems", ...board.rows.map(label)], rows: all.families.map((each, j) => [each, sizes[j], ...shares.map((row) => row[j])])}});
  }

  /** Bars that are stacked by `kinds`; `count(row, kind)` */
  function stacked(board, title, note, kinds, count) {
    figure(place, {
      title, note,
      config: () => ({type: "bar", data: {labels: board.rows.map((row) => pkb.short(label(row))), datasets: kinds.map((kind, i) => ({label: kind, ...style(i), pointStyle: "rect", data: board.rows.map((_, j) => count(j, kind))}))},
        options: {indexAxis: "y", scales: {x: {...linear("evaluations"), stacked: true}, y: {stacked: true, grid: {display: false}}}}}),
      table: {head: ["Submitter", ...kinds], rows: board.rows.map((row, j) => [label(row), ...kinds.map((kind) => count(j, kind))])}});
  }

  function failures(board, cells) {
    const sum = (j, wanted, which) => cells[j].failures.filter((each) => which(each) === wanted).reduce((total, each) => total + each[3], 0);
    const kinds = (which) => [...new Set(cells.flatMap((row) => row.failures.map(which)))].sort();
    const verdictOf = (each) => verdicts[each[0]];
    stacked(board, "Failures by kind", "The verdict of every evaluation that is not correct.", verdicts.filter((each) => kinds(verdictOf).includes(each)), (j, kind) => sum(j, kind, verdictOf));
    const categoryOf = (each) => each[1] || "none named";
    stacked(board, "Failures by root category", "As the diagnosis names it: what went wrong, not how it showed.", kinds(categoryOf), (j, kind) => sum(j, kind, categoryOf));
  }

  function attempts(board) {
    const most = Math.max(...board.rows.map((row) => row.by_attempt.length));
    if (most < 2) return;
    const draw = (title, value, axis, note) => figure(place, {
      title, note,
      config: () => ({type: "line", data: {labels: Array.from({length: most}, (_, i) => i + 1), datasets: board.rows.map((row, i) => ({label: pkb.short(label(row), 48), ...style(i), borderWidth: 1.8, pointRadius: 3.5, data: row.by_attempt.map(value)}))},
        options: {scales: {x: {title: {display: true, text: "attempts allowed"}}, y: axis}}}),
      table: {head: ["Submitter", ...Array.from({length: most}, (_, i) => "attempts " + (i + 1))], rows: board.rows.map((row) => [label(row), ...row.by_attempt.map(value)])}});
    draw("Correct over attempts", (each) => each.correct ? each.correct[0] : null, linear("problems, of " + all.problem_count, {min: 0}), "What repair rounds gain: a sample is as good as its best attempt so far.");
    if (!board.verdict_only) draw("fast_1 over attempts", (each) => each.fast[0] ? each.fast[0][0] : null, share("fast_1"), "The same for problems solved faster than the baseline.");
  }

  function mechanisms(board, cells) {
    const make = () => points(board, cells, () => null).map((set, i) => ({...set, data: cells[i].cells.flatMap((cell, problem) =>
      cell.length > 2 && cell[kSpeedup] !== null ? cell[kMechanisms].map((each) => ({x: cell[kSpeedup], y: each + (i - (board.rows.length - 1) / 2) * 0.6 / Math.max(1, board.rows.length),
        problem: nameOf(all.problems[problem]), page: cell[kPage], text: significant(cell[kSpeedup]) + "\u00d7, " + all.mechanisms[each]})) : [])}));
    figure(place, {
      title: "Mechanisms against speedup", note: "What the source of each best candidate uses; one candidate may use several.", tall: true,
      config: () => ({type: "scatter", data: {datasets: [...make(), line("baseline", {x: 1, y: -0.5}, {x: 1, y: all.mechanisms.length - 0.5})]},
        options: {scales: {x: log("speedup"), y: linear("", {min: -0.5, max: all.mechanisms.length - 0.5, reverse: true, afterBuildTicks: (axis) => { axis.ticks = all.mechanisms.map((_, value) => ({value})); },
          ticks: {autoSkip: false, callback: (value) => (all.mechanisms[value] ?? "").replaceAll("_", " ")}})}, plugins: {tooltip}, ...follow}}),
      table: {head: ["Submitter", "Problem", "Mechanism", "Speedup"], rows: make().flatMap((set) => set.data.map((each) => [set.label, each.problem, all.mechanisms[Math.round(each.y)], each.x]))}});
  }

  function links(board, cells) {
    const make = () => points(board, cells, (cell, problem, i) => cell[kLinks] !== null && verdicts[cell[kVerdict]] === "correct" ? {x: problem.id + 0.12 * i, y: cell[kLinks], text: significant(cell[kLinks]) + " times the least"} : null);
    if (make().every((set) => set.data.length === 0)) return;
    figure(place, {
      title: "Bytes over the links", note: "What kernels of the busiest rank moved, over the least that the problem needs. 1 is the minimum.",
      config: () => ({type: "scatter", data: {datasets: [...make(), line("minimum", {x: 0, y: 1}, {x: 88, y: 1})]},
        options: {scales: {x: linear("problem", {min: 0, max: 88}), y: log("times the least")}, plugins: {tooltip}, ...follow}}),
      table: {head: ["Submitter", "Problem", "Number", "Ratio"], rows: rowsOf(make())}});
  }

  async function show(index) {
    shown = index;
    const board = all.boards[index];
    const cells = await pkb.load("cells-" + index);
    place.replaceChildren();
    if (!board.verdict_only) curves(board, cells);
    if (!board.verdict_only) rooflines(board, cells);
    attempts(board);
    if (all.families.length > 0) families(board, cells);
    failures(board, cells);
    if (!board.verdict_only) mechanisms(board, cells);
    links(board, cells);
  }

  filters.append(pkb.choice("Board", all.boards.map((each, i) => [i, each.name]), address.get("board") ?? pkb.mainBoard(all), (value) => {
    address.set("board", value);
    pkb.address.write(address);
    show(Number(value));
  }));
  show(Math.min(Number(address.get("board") ?? pkb.mainBoard(all)) || 0, all.boards.length - 1));
});
