// SPDX-License-Identifier: Apache-2.0
// One candidate. The address says which: #FILE.NUMBER of data/details/FILE.js.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const {el, significant, percent, times, compact, dash} = pkb;
  const place = document.getElementById("candidate");
  const all = pkb.data.get("boards");
  const padded = (id) => String(id).padStart(3, "0");
  const range = (numbers, show) => numbers ? show(numbers[0]) + (numbers[1] === null ? "" : " (" + show(numbers[1]) + "\u2013" + show(numbers[2]) + ")") : dash;

  /** Highlighted source. highlight.js escapes what it is given. */
  function code(text, language) {
    const element = el("code", {}, text);
    if (text.length < 200000) element.innerHTML = hljs.highlight(language, text, true).value;
    return el("pre", {class: "code", tabindex: "0"}, element);
  }

  /** A message: its fenced blocks as code, the rest as the text it is. */
  function message(text) {
    const parts = [];
    let fence = null, lines = [];
    const flush = () => {
      const content = lines.join("\n");
      if (content.trim() !== "") parts.push(fence !== null ? code(content, "cpp") : el("p", {}, content.trim()));
      lines = [];
    };
    for (const each of text.split("\n")) {
      const found = /^\s*(```+|~~~+)/.exec(each);
      if (found && (fence === null || found[1].startsWith(fence))) {
        flush();
        fence = fence === null ? found[1] : null;
      } else lines.push(each);
    }
    flush();
    return parts;
  }

  async function find(hash) {
    const found = /^#(\d+)\.(\d+)$/.exec(hash);
    if (!found) return null;
    const file = await pkb.load("details/" + Number(found[1]));
    const candidate = file.candidates[Number(found[2])];
    if (!candidate) return null;
    const {from, list} = file.siblings, page = (index) => "candidate.html#" + Math.floor(index / file.per_file) + "." + index % file.per_file;
    const [first, end] = candidate.siblings;
    const siblings = list.slice(first - from, end - from).map(([sample, attempt, verdict, speedup], i) => ({page: page(first + i), sample, attempt, verdict: all.verdicts[verdict], speedup}));
    const text = (number) => number === null || number === undefined ? "" : file.texts[number];
    return {...candidate, ...pkb.evaluation(candidate.row), siblings, sourceText: text(candidate.source), promptText: text(candidate.prompt), replyText: text(candidate.reply)};
  }

  function headline(it) {
    const number = (title, value) => value === dash ? null : el("div", {}, el("b", {}, value), title);
    return el("div", {class: "headline"},
      el("div", {}, el("b", {}, pkb.verdict(it.verdict)), "verdict"),
      number("speedup, 95 % interval", range(it.speedup, times)),
      number("ms, median", range(it.candidate_ms, significant)),
      number("of the roofline", percent(it.utilisation)),
      number("times the least bytes over links", significant(it.links)),
      it.usage ? number("tokens", compact(it.usage[0] + it.usage[1])) : null);
  }

  function findings(it) {
    if (it.unstable) return [el("p", {class: "finding"}, "Times are doubtful: " + it.unstable), ...diagnoses(it)];
    return diagnoses(it);
  }
  function diagnoses(it) {
    if (!it.findings || it.findings.length === 0) return [];
    return [el("h2", {}, "Diagnosis"), ...it.findings.map(([verdict, rank, trial, text, category, what, explanation]) => el("div", {class: "finding"},
      pkb.verdict(all.verdicts[verdict]), " ", el("span", {class: "muted"}, [rank >= 0 ? "rank " + rank : "", trial >= 0 ? "trial " + trial : "", category, what].filter(Boolean).join(", ")),
      el("p", {}, text), explanation ? el("p", {}, "Explained by: " + explanation) : null))];
  }

  function outputs(it) {
    if (!it.outputs || it.outputs.length === 0) return [];
    const head = ["Output", "Elements", "Mismatches", "Largest error / bound", "RMS error", "Baseline's RMS"];
    return [el("h2", {}, "Outputs"), el("p", {class: "note"}, "The worst of " + it.trials + " trials" + (it.schedules > 1 ? " under " + it.schedules + " schedules each" : "") + "; an error over its bound beyond 1 is a mismatch."),
      el("div", {class: "scroll"}, el("table", {class: "plain"}, el("thead", {}, el("tr", {}, head.map((each, i) => el("th", {scope: "col", class: i ? "num" : null}, each)))),
        el("tbody", {}, it.outputs.map(([name, ...numbers]) => el("tr", {}, el("th", {scope: "row"}, name), numbers.map((each, i) => el("td", {class: "num"}, i < 2 ? String(each) : significant(each))))))))];
  }

  function samples(it) {
    if (!it.candidate_ms_samples || it.candidate_ms_samples.length === 0) return [];
    const {figure, style, linear} = pkb.charts;
    const section = el("section", {}, el("h2", {}, "Samples"));
    figure(section, {
      title: "Milliseconds of each pair of runs", note: it.method,
      config: () => ({type: "scatter", data: {datasets: [["baseline", it.baseline_ms_samples], ["candidate", it.candidate_ms_samples]].map(([label, values], i) => ({label, ...style(1 - i), pointRadius: 2.5, data: values.map((y, x) => ({x, y}))}))},
        options: {scales: {x: linear("pair"), y: linear("ms", {beginAtZero: true})}}}),
      table: {head: ["Pair", "Baseline ms", "Candidate ms"], rows: it.candidate_ms_samples.map((each, i) => [i, it.baseline_ms_samples[i] ?? null, each])}});
    return [section];
  }

  function text(title, content, open) {
    return content ? [el("h2", {}, title), el("details", {open}, el("summary", {}, content.split("\n").length + " lines"), el("pre", {class: "wrap", tabindex: "0"}, content))] : [];
  }

  /** What was said up to this attempt, as far as this report has it. */
  async function conversation(it) {
    const before = it.siblings.filter(({sample, attempt}) => sample === it.sample && attempt < it.attempt);
    const turns = [];
    for (const {page} of before) turns.push(await find(page.slice(page.indexOf("#"))));
    turns.push(it);
    const told = turns.filter((turn) => turn && (turn.promptText || turn.replyText));
    if (told.length === 0) return [];
    return [el("h2", {}, "Prompt and conversation"), ...told.flatMap((turn) => [
      el("details", {class: "turn"}, el("summary", {}, turn.attempt === 0 ? "Prompt" : "Asked for attempt " + turn.attempt), message(turn.promptText)),
      el("details", {class: "turn", open: turn === it}, el("summary", {}, "Reply: " + turn.verdict), message(turn.replyText))])];
  }

  function attempts(it) {
    if (it.siblings.length < 2) return [];
    return [el("ol", {class: "attempts", "aria-label": "Other attempts"}, it.siblings.map(({page, sample, attempt, verdict, speedup}) => el("li", {},
      el("a", {href: page, "aria-current": page === it.page ? "page" : null, title: verdict}, el("span", {class: "verdict " + pkb.group(verdict)}, "sample " + sample + (attempt > 0 ? ", attempt " + attempt : "") + (speedup !== null ? " " + times(speedup) : ""))))))];
  }

  function facts(it) {
    const list = [["Submitter", all.submitters[it.submitter].label], ["Board", all.boards[it.board].name], ["Sample, attempt", it.sample + ", " + it.attempt], ["Judged", it.created], ["Result", it.id],
      ["Candidate", it.candidate], ["SHA-256", it.candidate_sha256], ["Problem's SHA-256", it.problem_sha256], ["Seed", it.seed], ["Mechanisms", it.mechanisms.map((each) => all.mechanisms[each].replaceAll("_", " ")).join(", ")]];
    if (it.times) list.push(["Baseline", significant(it.baseline_ms) + " ms"], ["Least time", it.times.least_ms === null ? "" : significant(it.times.least_ms) + " ms, by " + it.times.limit], ["Floor of the method", significant(it.times.floor_ms) + " ms"]);
    if (it.link_bytes[0] !== null) list.push(["Bytes over links", compact(it.link_bytes[0]) + ", least " + compact(it.link_bytes[1])]);
    if (it.usage) list.push(["Tokens", it.usage[0] + " in (" + it.usage[2] + " cached), " + it.usage[1] + " out (" + it.usage[3] + " reasoning)"], ["Price", it.usage[4] === null ? "" : significant(it.usage[4])]);
    const show = (pairs) => el("dl", {class: "facts"}, pairs.filter(([, value]) => value).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))]));
    return el("div", {class: "columns"}, el("section", {}, el("h2", {}, "Evaluation"), show(list)), el("section", {}, el("h2", {}, "Environment"), show(it.environment || [])));
  }

  async function show() {
    let it;
    try {
      it = await find(location.hash);
    } catch (error) {
      return place.replaceChildren(el("h1", {}, "Candidate"), el("p", {}, "This candidate cannot be shown: " + error.message));
    }
    if (!it) return;
    const candidate = {...it, candidate_ms_samples: it.samples?.[1], baseline_ms_samples: it.samples?.[0]};
    const problem = all.problems[it.problem];
    document.title = padded(problem.id) + " " + problem.name + " by " + all.submitters[it.submitter].label;
    place.replaceChildren(...[
      el("p", {class: "crumbs"}, el("a", {href: "problems.html"}, "Problems"), " / ", el("a", {href: problem.page}, padded(problem.id) + " " + problem.name)),
      el("h1", {}, el("span", {class: "number"}, padded(problem.id) + " "), problem.name, " by ", all.submitters[it.submitter].name),
      attempts(it), headline(it), it.gone ? el("p", {class: "finding"}, it.gone) : null, findings(it),
      it.sourceText ? [el("h2", {}, "Source"), code(it.sourceText, "cpp")] : el("p", {class: "muted"}, "The reply held no code."),
      text("Compiler output", it.compiler, it.verdict === "compile_error"), outputs(it), samples(candidate), facts(it),
      (it.worker || []).flatMap((each, rank) => text("Printed by rank " + rank, each, false)), await conversation(it)].flat().filter(Boolean));
    document.getElementById("main").focus({preventScroll: true});
    scrollTo(0, 0);
  }

  addEventListener("hashchange", show);
  show();
});
