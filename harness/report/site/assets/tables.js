// SPDX-License-Identifier: Apache-2.0
// Tables that sort: DataTables, given elements and numbers, never markup.
"use strict";

pkb.table = (() => {
  const {el, dash} = pkb;

  // Undefined comes last, whichever way a column is sorted.
  const absent = (value) => value === null || value === undefined || value === "";
  const compare = (sign) => (a, b) => {
    if (absent(a) || absent(b)) return absent(a) - absent(b);
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true}));
  };

  /**
   * A sortable table of `rows` below `parent`. A column is {title, help, value(row), show(row), number}: `value` is what
   * is sorted and searched by, `show` makes the cell's content and defaults to the value as text.
   */
  function table(parent, {caption, columns, rows, order = [], page = 0, search = false, foot = null}) {
    Object.assign(jQuery.fn.dataTable.ext.type.order, {"pkb-asc": compare(1), "pkb-desc": compare(-1)});
    const head = el("tr", {}, columns.map((each) => el("th", {scope: "col", title: each.help, class: each.number ? "num" : each.class}, each.title)));
    const element = el("table", {class: "wide", "aria-label": caption}, el("thead", {}, head), el("tbody"), foot);
    const wrapper = el("div", {class: "scroll"}, element);
    parent.append(wrapper);
    const show = (column) => (cell, unused, row) => {
      const content = column.show ? column.show(row) : absent(column.value(row)) ? dash : String(column.value(row));
      cell.replaceChildren(...[content].flat().filter((each) => each !== null && each !== undefined));
      if (cell.textContent === dash) cell.classList.add("none");
    };
    const paging = page > 0 && rows.length > page;
    const table = jQuery(element).DataTable({
      data: rows,
      columns: columns.map((each) => ({
        type: "pkb",
        className: [each.number ? "num" : "", each.class || ""].join(" "),
        data: (row, kind) => kind === "display" ? "" : kind === "filter" ? String(each.value(row) ?? "") : each.value(row),
        createdCell: show(each),
        orderSequence: each.number && !each.ascending ? ["desc", "asc"] : ["asc", "desc"],
      })),
      order,
      autoWidth: false,
      deferRender: true,
      paging,
      pageLength: page || 10,
      lengthMenu: [25, 50, 100, 500],
      searching: search,
      info: paging,
      dom: search ? "flrtip" : "rtip",
      language: {search: "Search", emptyTable: "Nothing here", zeroRecords: "Nothing matches"},
    });
    if (paging) {
      // Paper has no next page to turn to.
      let shown = page;
      addEventListener("beforeprint", () => {
        shown = table.page.len();
        table.page.len(-1).draw();
      });
      addEventListener("afterprint", () => table.page.len(shown).draw());
    }
    return table;
  }
  return table;
})();
