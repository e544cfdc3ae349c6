// SPDX-License-Identifier: Apache-2.0
// Figures: a Chart.js canvas in the colours of the page, and its numbers as a table for who cannot see it.
"use strict";

pkb.charts = (() => {
  const {el, significant} = pkb;
  // Told apart in greyscale and by the colour-blind: after Okabe and Ito, with a marker of its own each.
  const palette = {light: ["#0b63b0", "#c8560a", "#17855e", "#9a4d87", "#a07800", "#3b9bd6", "#5b5f66", "#b3261e"],
                   dark: ["#6db3f2", "#f0954f", "#57c79c", "#d998c6", "#e0bd4c", "#9ad4f5", "#b4b8be", "#f28b82"]};
  const markers = ["circle", "triangle", "rect", "rectRot"];
  const color = (i) => palette[document.documentElement.dataset.theme === "dark" ? "dark" : "light"][i % 8];
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const ahead = new Set(), drawn = new Set();  // figures that have not been in sight yet, and the others

  /** How dataset number i of many looks. */
  const style = (i) => ({borderColor: color(i), backgroundColor: color(i), pointStyle: markers[i % 4]});

  function colors() {
    Chart.defaults.color = css("--soft");
    Chart.defaults.borderColor = css("--line");
    Chart.defaults.font.family = css("--sans");
    Chart.defaults.font.size = 11;
    Chart.defaults.animation = false;
    Chart.defaults.maintainAspectRatio = false;
    Object.assign(Chart.defaults.plugins.legend.labels, {usePointStyle: true, boxWidth: 6, boxHeight: 6, padding: 10});
    Chart.defaults.plugins.legend.position = "bottom";
    Chart.defaults.plugins.legend.align = "start";
  }

  /**
   * A figure below `parent`. `config()` makes the chart's configuration, again whenever light turns dark; `table` is
   * {head: [...], rows: [[...]]}: the same numbers. It is drawn when it comes into sight.
   */
  function figure(parent, {title, note, config, table, tall = false}) {
    const canvas = el("canvas", {role: "img", "aria-label": title + ". " + (note || "") + " The numbers follow as a table."});
    const box = el("div", {class: tall ? "canvas tall" : "canvas"}, canvas);
    const details = el("details", {}, el("summary", {}, "Numbers"));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(numbers(table));
    });
    const element = el("figure", {}, el("figcaption", {}, title), note ? el("p", {class: "note"}, note) : null, box, details);
    parent.append(element);
    const chart = {draw() {
      this.drawing?.destroy();
      colors();
      this.drawing = new Chart(canvas, config());
    }, canvas};
    const observer = new IntersectionObserver((seen) => {
      if (seen.some((each) => each.isIntersecting)) chart.begin();
    }, {rootMargin: "300px"});
    chart.begin = () => {
      observer.disconnect();
      chart.draw();
      ahead.delete(chart);
      drawn.add(chart);
    };
    ahead.add(chart);
    observer.observe(box);
    return element;
  }

  function numbers({head, rows}) {
    return el("table", {class: "plain"}, el("thead", {}, el("tr", {}, head.map((each) => el("th", {scope: "col"}, each)))),
      el("tbody", {}, rows.slice(0, 2000).map((row) => el("tr", {}, row.map((each) => el("td", {class: typeof each === "number" ? "num" : null},
        typeof each === "number" ? significant(each) : each === null ? pkb.dash : String(each)))))));
  }

  document.addEventListener("pkb-theme", () => {
    for (const chart of drawn) chart.canvas.isConnected ? chart.draw() : (chart.drawing?.destroy(), drawn.delete(chart));
  });
  addEventListener("beforeprint", () => {
    for (const chart of drawn) chart.drawing?.resize();
    for (const chart of [...ahead]) chart.canvas.isConnected ? chart.begin() : ahead.delete(chart);
  });

  // Scales.
  const plainTick = (value) => Number(value.toPrecision(3)).toString();
  const log = (title, more = {}) => ({type: "logarithmic", title: {display: true, text: title},
    ticks: {callback: (value) => /^[125]/.test(String(value).replace(/^0\.0*/, "")) && !/[346789]/.test(String(value)) ? plainTick(value) : "", maxRotation: 0}, ...more});
  const linear = (title, more = {}) => ({type: "linear", title: {display: true, text: title}, ...more});
  const share = (title) => linear(title, {min: 0, max: 1, ticks: {callback: (value) => Math.round(100 * value) + " %"}});

  /** A straight line as a dataset, without a place among what the pointer finds. */
  const line = (label, from, to, paint) => ({label, type: "line", data: [from, to], borderColor: paint || css("--faint"), backgroundColor: "transparent", borderDash: [4, 3],
    borderWidth: 1, pointRadius: 0, pointHitRadius: 0, pointStyle: "line"});

  return {figure, style, color, css, log, linear, share, line};
})();
