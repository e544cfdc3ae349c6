// SPDX-License-Identifier: Apache-2.0
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const {el} = pkb;
  const all = pkb.data.get("boards"), notices = pkb.data.get("notices"), place = document.getElementById("sources");
  place.append(el("h2", {}, "Submitters"));
  pkb.table(place, {caption: "Submitters", rows: all.submitters, page: 50, columns: [
    {title: "Label", value: (row) => row.label, class: "pin"},
    {title: "Name", value: (row) => row.name},
    {title: "Kind", value: (row) => row.is_model ? "model" : "person"},
    {title: "Settings", value: (row) => row.settings.map(([name, value]) => name + ": " + value).join(", ")}]});
  place.append(el("h2", {}, "Notices"));
  const {count, list} = notices;
  if (count === 0) return place.append(el("p", {class: "muted"}, "None: every file was taken as it is."));
  if (count > list.length) place.append(el("p", {class: "note"}, "The gravest " + list.length + " of " + count + "; tables/notices.csv beside this page has all."));
  pkb.table(place, {caption: "Notices", rows: list, page: 50, search: true, columns: [
    {title: "Kind", value: (row) => row[0]},
    {title: "File", value: (row) => row[1]},
    {title: "What", value: (row) => row[2]}]});
});
