// SPDX-License-Identifier: Apache-2.0
// What every page needs: data, light and dark, building elements out of texts.
"use strict";

/** Data by name. A data file is a script that calls this. */
function pkb_data(name, value) {
  pkb.data.set(name, value);
}

const pkb = (() => {
  const data = new Map();
  const loading = new Map();

  /** A promise of the data called `name`, from data/NAME.js. */
  function load(name) {
    if (data.has(name)) return Promise.resolve(data.get(name));
    if (!/^[\w\/.-]+$/.test(name) || name.includes("..")) return Promise.reject(new Error("no such data"));
    if (!loading.has(name))
      loading.set(name, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = root() + "data/" + name + ".js";
        script.onload = () => data.has(name) ? resolve(data.get(name)) : reject(new Error("no data in " + name));
        script.onerror = () => reject(new Error("data/" + name + ".js cannot be read"));
        document.head.append(script);
      }));
    return loading.get(name);
  }

  /** From this page to the root of the site. */
  function root() { return document.body.dataset.root; }

  /**
   * An element. Children that are no elements become text, never markup. `attributes.href` is a path within the site.
   */
  function el(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === undefined || value === null || value === false) continue;
      if (name === "href") element.setAttribute("href", within(String(value)));
      else if (name === "onclick" || name === "onchange" || name === "oninput") element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : String(value));
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  }

  function within(path) {
    if (!/^[\w#.\/-]+$/.test(path)) return "#";
    return path.startsWith("#") ? path : root() + path;
  }

  // Numbers. Undefined is a dash, never 0.
  const dash = "\u2013";
  const fixed = (digits) => (value) => value === null || value === undefined ? dash : value.toFixed(digits);
  const significant = (value) => {
    if (value === null || value === undefined) return dash;
    if (value === 0) return "0";
    const magnitude = Math.floor(Math.log10(Math.abs(value)));
    return magnitude >= 4 || magnitude < -4 ? value.toExponential(2) : value.toFixed(Math.max(0, 2 - magnitude));
  };
  const percent = (value) => value === null || value === undefined ? dash : (100 * value).toFixed(value < 0.0995 ? 1 : 0) + "\u00a0%";
  const compact = (value) => {
    if (value === null || value === undefined) return dash;
    for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]])
      if (value >= size) return (value / size).toPrecision(3) + "\u00a0" + unit;
    return String(Math.round(value));
  };
  const times = (value) => value === null || value === undefined ? dash : (value < 10 ? value.toFixed(2) : significant(value)) + "\u00d7";
  const day = (created) => created ? created.slice(0, 10) : dash;

  // The classes of verdicts that share a colour.
  const groups = {correct: "correct", wrong_result: "wrong", nondeterministic: "sync", race: "sync", deadlock: "sync", timeout: "sync",
                  crash: "memory", memory_fault: "memory"};
  const group = (verdict) => groups[verdict] || "other";
  const verdict = (name) => el("span", {class: "verdict " + group(name)}, name);

  /** Who made a candidate: the name, below it what was unusual. A label is "name (settings)". */
  function submitter({name, label}) {
    const settings = label.startsWith(name) ? label.slice(name.length).trim() : "";
    return settings === "" ? [label] : [name, el("span", {class: "settings"}, settings.replace(/^\((.*)\)$/, "$1"))];
  }

  /** A text that leaves room for others. */
  const short = (text, length = 26) => text.length > length ? text.slice(0, length - 1) + "\u2026" : text;

  /** The board that says most: of those with times, the one with most evaluations. */
  function mainBoard({boards}) {
    const weight = (board) => (board.verdict_only ? 0 : 1e9) + board.rows.reduce((sum, row) => sum + row.evaluations, 0);
    return boards.reduce((best, board, i) => weight(board) > weight(boards[best]) ? i : best, 0);
  }

  /** An evaluation as the rows of a problem and the details of a candidate hold it. */
  const evaluation = ([page, board, submitter, sample, attempt, verdict, category, what, speedup, candidate_ms, baseline_ms, utilisation, links, mechanisms, created, unstable, counted]) =>
    ({page, board, submitter, sample, attempt, verdict: data.get("boards").verdicts[verdict], category, what, speedup, candidate_ms, baseline_ms, utilisation, links, mechanisms, created, unstable, counted});

  /** A labelled choice for a form of filters. `options` are [value, text]. */
  function choice(label, options, value, onchange) {
    const select = el("select", {onchange: () => onchange(select.value)});
    for (const [each, text] of options) select.append(el("option", {value: each, selected: String(each) === String(value)}, text));
    return el("label", {}, label, select);
  }

  /** What the address says after #, as a map; and back. */
  const address = {
    read: () => new Map(new URLSearchParams(location.hash.slice(1))),
    write: (map) => history.replaceState(null, "", "#" + new URLSearchParams([...map].filter(([, value]) => value !== ""))),
  };

  // Light or dark: the reader's choice, else the system's.
  const themes = {
    stored() { try { return localStorage.getItem("pkb-theme"); } catch { return null; } },
    apply(theme) {
      document.documentElement.dataset.theme = theme;
      document.dispatchEvent(new Event("pkb-theme"));
    },
    now: () => document.documentElement.dataset.theme,
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const printing = matchMedia("print");
  const wanted = () => printing.matches ? "light" : themes.stored() || (system.matches ? "dark" : "light");
  themes.apply(wanted());
  system.addEventListener("change", () => themes.apply(wanted()));
  printing.addEventListener("change", () => themes.apply(wanted()));

  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", () => {
      const other = themes.now() === "dark" ? "light" : "dark";
      try { localStorage.setItem("pkb-theme", other); } catch { /* kept for this page alone */ }
      themes.apply(other);
    });
    const here = location.pathname.split("/").pop() || "index.html";
    for (const link of document.querySelectorAll(".top nav a"))
      if (link.getAttribute("href").split("/").pop() === here) link.setAttribute("aria-current", "page");
  });

  return {data, load, el, fixed, significant, percent, compact, times, day, dash, group, verdict, submitter, short, mainBoard, evaluation, choice, address, root};
})();
