// SPDX-License-Identifier: Apache-2.0
// What became of one problem: its candidates by board, their times against the roofline.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const {el, significant, percent, times, day, dash} = pkb;
  const place = document.getElementById("problem");
  if (!place) return;
  const all = pkb.data.get("boards");
  const label = (row) => all.submitters[row.submitter].label;
  const first = (numbers) => numbers ? numbers[0] : null;
  const interval = (numbers, show) => numbers ? [show(numbers[0]), numbers[1] === null ? null : el("span", {class: "ci"}, show(numbers[1]) + "\u2013" + show(numbers[2]))] : dash;

  function times_(section, board, rows) {
    const timed = rows.filter((row) => row.candidate_ms);
    if (timed.length === 0) return;
    const {figure, style, css, log, line} = pkb.charts;
    const submitters = [...new Set(timed.map((row) => row.submitter))];
    const least = timed.filter((row) => row.utilisation).map((row) => row.utilisation * row.candidate_ms[0]);
    const baselines = timed.map((row) => row.baseline_ms).filter((each) => each !== null).sort((a, b) => a - b);
    const bottom = -0.6, top = submitters.length - 0.4;
    const vertical = (name, x, paint) => line(name, {x, y: bottom}, {x, y: top}, paint);
    figure(section, {
      title: "Times against the roofline", note: "Medians of correct candidates. Nothing can be left of the roofline but by error; right of the baseline is slower than it.",
      config: () => ({type: "scatter", data: {datasets: [
        ...submitters.map((submitter, i) => ({label: all.submitters[submitter].label, ...style(i), pointRadius: 4, data: timed.filter((row) => row.submitter === submitter).map((row, j) => ({x: row.candidate_ms[0], y: i + ((j % 5) - 2) * 0.09, row}))})),
        least.length > 0 ? vertical("roofline", least[0], css("--good")) : null,
        baselines.length > 0 ? vertical("baseline", baselines[Math.floor(baselines.length / 2)], css("--bad")) : null].filter(Boolean)},
        options: {scales: {x: log("milliseconds"), y: {min: bottom, max: top, reverse: true, afterBuildTicks: (axis) => { axis.ticks = submitters.map((_, value) => ({value})); },
          ticks: {autoSkip: false, callback: (value) => all.submitters[submitters[value]]?.label ? pkb.short(all.submitters[submitters[value]].label) : ""}, grid: {display: false}}},
          plugins: {legend: {labels: {filter: (item) => item.text === "roofline" || item.text === "baseline"}}, tooltip: {callbacks: {label: (item) => item.raw.row ? label(item.raw.row) + ", sample " + item.raw.row.sample + ", attempt " + item.raw.row.attempt + ": " + significant(item.raw.x) + " ms" : ""}}},
          onClick: (event, hits, chart) => {
            const point = hits.length > 0 ? chart.data.datasets[hits[0].datasetIndex].data[hits[0].index] : null;
            if (point?.row) location.href = pkb.root() + point.row.page;
          }}}),
      table: {head: ["Submitter", "Sample", "Attempt", "Candidate ms", "Baseline ms", "Utilisation"], rows: timed.map((row) => [label(row), row.sample, row.attempt, row.candidate_ms[0], row.baseline_ms, row.utilisation])}});
  }

  function columns(board) {
    const common = [
      {title: "Submitter", class: "who pin", value: label, show: (row) => el("a", {href: row.page, title: label(row)}, all.submitters[row.submitter].name)},
      {title: "Sample", number: true, ascending: true, value: (row) => row.sample},
      {title: "Attempt", number: true, ascending: true, value: (row) => row.attempt},
      {title: "Verdict", value: (row) => row.verdict, show: (row) => [pkb.verdict(row.verdict), row.counted ? null : el("span", {class: "tag", title: "another evaluation of the same attempt counts"}, "repeated"),
        row.unstable ? el("span", {class: "tag doubt", title: row.unstable}, "unstable") : null]},
      {title: "Cause", value: (row) => [row.category, row.what].filter(Boolean).join(": ")}];
    const timed = [
      {title: "Speedup", number: true, value: (row) => first(row.speedup), show: (row) => interval(row.speedup, times)},
      {title: "ms", number: true, ascending: true, value: (row) => first(row.candidate_ms), show: (row) => interval(row.candidate_ms, significant)},
      {title: "Baseline ms", number: true, ascending: true, value: (row) => row.baseline_ms, show: (row) => significant(row.baseline_ms)},
      {title: "Roofline", number: true, value: (row) => row.utilisation, show: (row) => percent(row.utilisation)}];
    const last = [
      {title: "Links", help: "bytes over the links, times the least", number: true, ascending: true, value: (row) => row.links, show: (row) => times(row.links)},
      {title: "Mechanisms", value: (row) => row.mechanisms.map((each) => all.mechanisms[each].replaceAll("_", " ")).join(", ")},
      {title: "Date", number: true, value: (row) => row.created, show: (row) => day(row.created)}];
    return [...common, ...(board.verdict_only ? [] : timed), ...last];
  }

  function show(rows) {
    place.replaceChildren();
    const boards = all.boards.map((_, i) => i).filter((i) => rows.some((row) => row.board === i));
    if (boards.length === 0) place.append(el("p", {class: "muted"}, "Nobody has tried this problem yet."));
    for (const i of boards) {
      const board = all.boards[i], here = rows.filter((row) => row.board === i);
      const right = here.filter((row) => row.verdict === "correct").length;
      const section = el("section", {}, el("h2", {}, board.name), el("p", {class: "note"}, right + " of " + here.length + " evaluations correct."));
      place.append(section);
      times_(section, board, here);
      const order = columns(board).findIndex((each) => each.title === (board.verdict_only ? "Links" : "Speedup"));
      pkb.table(section, {caption: "Candidates on " + board.name, columns: columns(board), rows: here, order: [[order, board.verdict_only ? "asc" : "desc"]], page: 25, search: here.length > 10});
    }
  }

  const names = Array.from({length: Number(place.dataset.files)}, (_, i) => "problems/" + place.dataset.problem + "-" + i);
  Promise.all(names.map(pkb.load)).then((parts) => show(parts.flat().map(pkb.evaluation)), (error) => place.append(el("p", {class: "banner"}, String(error.message))));

  for (const code of document.querySelectorAll("code[data-language]")) code.innerHTML = hljs.highlight(code.dataset.language, code.textContent, true).value;
});
