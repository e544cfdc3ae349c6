// SPDX-License-Identifier: Apache-2.0
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const {el, fixed, percent, times, compact, day, dash} = pkb;
  const all = pkb.data.get("boards");
  const filters = document.getElementById("filters"), place = document.getElementById("boards");
  const chosen = pkb.address.read();
  const get = (name, otherwise = "") => chosen.get(name) ?? otherwise;

  const distinct = (member) => [...new Set(all.boards.map((board) => String(board[member])))].sort((a, b) => a.localeCompare(b, "en", {numeric: true}));
  const anyOf = (values) => [["", "all"], ...values.map((each) => [each, each])];

  function set(name, value) {
    chosen.set(name, value);
    pkb.address.write(chosen);
    showBoards();
  }

  function showFilters() {
    const attempts = Math.max(1, ...all.boards.flatMap((board) => board.rows.map((row) => row.by_attempt.length)));
    const choose = (name, label, options, otherwise) => pkb.choice(label, options, get(name, otherwise), (value) => set(name, value));
    const search = el("input", {type: "search", value: get("name"), oninput: () => set("name", search.value)});
    filters.replaceChildren(
      choose("device", "Device", anyOf(distinct("device"))),
      choose("hardware", "Hardware", anyOf(distinct("hardware"))),
      choose("size", "Size", anyOf(distinct("size"))),
      choose("dtype", "Type", anyOf(distinct("dtype"))),
      choose("ranks", "Ranks W", anyOf(distinct("ranks"))),
      choose("family", "Family", [["", "all problems"], ...all.families.map((each, i) => [i, each])]),
      choose("attempts", "Attempts", [["", "with repairs"], ...Array.from({length: attempts}, (_, i) => [i + 1, i === 0 ? "first only" : "first " + (i + 1)])]),
      choose("k", "k", all.draws.map((each, i) => [i, each]), 1),
      el("label", {}, "Submitter", search));
    filters.onsubmit = (event) => event.preventDefault();
  }

  /** The figures that the filters ask for; of a family those with all attempts. */
  function figuresOf(row) {
    if (get("family") !== "") return row.by_family[Number(get("family"))];
    if (get("attempts") !== "") return row.by_attempt[Math.min(Number(get("attempts")), row.by_attempt.length) - 1];
    return row.figures;
  }

  /** A value with its interval below it. */
  function estimate(numbers, show) {
    if (!numbers) return dash;
    const [value, low, high] = numbers;
    return [show(value), low === null || high === null ? null : el("span", {class: "ci"}, show(low) + "\u2013" + show(high))];
  }
  const first = (numbers) => numbers ? numbers[0] : null;

  function correct(row) {
    const {correct: numbers, problems} = row.shown;
    if (!numbers) return dash;
    const fill = el("i");
    fill.style.width = (100 * numbers[0] / problems) + "%";
    return [...estimate(numbers, (value) => Number.isInteger(value) ? String(value) : value.toFixed(1)), el("span", {class: "bar", "aria-hidden": "true"}, fill)];
  }

  function who(row) {
    return [...pkb.submitter(all.submitters[row.submitter]), row.unstable > 0 ? el("span", {class: "tag doubt", title: "evaluations whose times are doubtful"}, row.unstable + " unstable") : null];
  }

  function outlier(row) {
    const {speedup, without_best: best, without_worst: worst} = row.shown;
    if (!speedup) return dash;
    const skewed = best !== null && speedup[0] / best > 1.15;
    return [...estimate(speedup, times), skewed ? el("span", {class: "ci", title: "one problem moves the mean by more than 15 %"}, "without best " + times(best)) : null];
  }

  function columnsOf(board) {
    const k = Number(get("k", 1)), draws = all.draws[k];
    const columns = [
      {title: "Submitter", value: (row) => all.submitters[row.submitter].label, show: who, class: "who pin"},
      {title: "Correct", help: "problems that one sample solves, on average", number: true, value: (row) => first(row.shown.correct), show: correct},
      {title: "pass@" + draws, help: "chance that one of k samples is correct, mean over problems", number: true, value: (row) => first(row.shown.pass_at[k]), show: (row) => estimate(row.shown.pass_at[k], percent)}];
    if (!board.verdict_only) {
      all.thresholds.forEach((threshold, i) => columns.push(
        {title: "fast_" + threshold, help: "share of problems solved with a speedup above " + threshold, number: true, value: (row) => first(row.shown.fast[i]), show: (row) => estimate(row.shown.fast[i], percent)}));
      columns.push(
        {title: "fast_1@" + draws, help: "chance that one of k samples is correct and faster than the baseline", number: true, value: (row) => first(row.shown.fast_1_at[k]), show: (row) => estimate(row.shown.fast_1_at[k], percent)},
        {title: "Speedup", help: "geometric mean over the problems solved", number: true, value: (row) => first(row.shown.speedup), show: outlier},
        {title: "Roofline", help: "median utilisation over the problems solved", number: true, value: (row) => first(row.shown.utilisation), show: (row) => estimate(row.shown.utilisation, percent)});
    }
    const tokens = (row) => row.replies > 0 ? row.usage.input + row.usage.output : null;
    columns.push(
      {title: "Solved", help: "problems of which some sample is correct", number: true, value: (row) => row.shown.solved},
      {title: "Samples", help: "samples of each problem; missing ones count as failures", number: true, value: (row) => row.shown.samples,
       show: (row) => [String(row.shown.samples), row.shown.missing > 0 ? el("span", {class: "ci"}, row.shown.missing + " missing") : null]},
      {title: "Tokens", help: "of prompts and replies", number: true, value: tokens, show: (row) => compact(tokens(row))},
      {title: "Price", help: "as the price file has it; at least, where some replies have no price", number: true, value: (row) => row.usage.price,
       show: (row) => row.usage.price === null ? dash : (row.unpriced > 0 ? "\u2265 " : "") + fixed(2)(row.usage.price)},
      {title: "Date", number: true, value: (row) => row.last, show: (row) => day(row.last)});
    return columns;
  }

  /** What others have published: beside the board, no part of it. */
  function published(columns) {
    if (all.published.length === 0) return null;
    return el("tfoot", {}, all.published.map((each) => el("tr", {},
      el("td", {class: "who pin"}, "Published: " + each.label),
      columns.slice(1).map((column) => el("td", {class: "num"},
        column.title === "Correct" && each.correct !== null ? String(each.correct) :
        column.title === "fast_1@3" && each.fast_1_at_3 !== null ? percent(each.fast_1_at_3) : "")))));
  }

  function showBoard(board) {
    const wanted = get("name").toLowerCase();
    const family = get("family") === "" ? null : all.families[Number(get("family"))];
    const problems = family === null ? all.problem_count : all.problems.filter((each) => each.family === family).length;
    const rows = board.rows.map((row) => ({...row, shown: {problems, ...figuresOf(row)}}))
      .filter((row) => all.submitters[row.submitter].label.toLowerCase().includes(wanted));
    if (rows.length === 0) return false;
    const kind = board.verdict_only ? board.device === "virtual" ? "virtual GPUs: correctness alone" : "one shared GPU: correctness alone" : "timed";
    const section = el("section", {}, el("h2", {}, board.name, el("span", {class: "tag"}, kind),
      board.generated_inputs ? null : el("span", {class: "tag doubt"}, "inputs of the evaluator's own")));
    place.append(section);
    const columns = columnsOf(board);
    pkb.table(section, {caption: board.name, columns, rows, order: [[1, "desc"]], page: 50, foot: board.verdict_only || family !== null ? null : published(columns)});
    section.append(el("p", {class: "note"}, "Out of " + problems + " problems" + (family === null ? "" : " of the family " + family) +
      ". Small figures: 95 % intervals over problems." + (board.verdict_only ? " Nothing here was timed." : "")));
    return true;
  }

  function showBoards() {
    place.replaceChildren();
    const fits = (board) => ["device", "hardware", "size", "dtype", "ranks"].every((each) => get(each) === "" || get(each) === String(board[each]));
    const shown = all.boards.filter(fits).filter(showBoard).length;
    if (shown === 0) place.append(el("p", {class: "muted"}, "No board has what the filters ask for."));
    if (shown > 0 && all.published.length > 0)
      place.append(el("p", {class: "note"}, "Published figures were measured elsewhere, on other hardware and by another method, and are not ranked: " +
        all.published.map((each) => each.label + " (" + each.source + ")").join("; ") + "."));
  }

  showFilters();
  showBoards();
});
