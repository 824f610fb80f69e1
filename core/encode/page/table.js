// SPDX-License-Identifier: Apache-2.0
// The table of functions: what each cost itself and with all it called.

const LINE = 27; // pixels a line of the table is high; as in viewer.css

// By name number: self and total of each profile. A function that calls itself
// counts once in a stack.
function functionTotals(model, tree) {
  const n = model.names.length;
  const sums = tree.self.map(() => ({ self: new Float64Array(n), total: new Float64Array(n) }));
  const open = new Int32Array(n); // how often a name stands on the path
  let node = tree.first[0];

  while (node) {
    const name = tree.name[node];

    sums.forEach((sum, which) => {
      sum.self[name] += tree.self[which][node];
      if (!open[name])
        sum.total[name] += tree.total[which][node];
    });
    open[name]++;
    if (tree.first[node]) {
      node = tree.first[node];
      continue;
    }
    while (node && !tree.next[node]) {
      open[tree.name[node]]--;
      node = tree.parent[node];
    }
    if (node) {
      open[tree.name[node]]--;
      node = tree.next[node];
    }
  }
  return sums;
}

// Columns: key, title, value(line). Shares are of all samples that are shown.
function tableColumns(isDiff) {
  const column = (key, title, of) => ({ key, title, of });

  if (!isDiff)
    return [
      column("self", "Self", (line) => line.self[0]),
      column("selfShare", "Self %", (line) => line.selfShare[0]),
      column("total", "Total", (line) => line.total[0]),
      column("totalShare", "Total %", (line) => line.totalShare[0]),
    ];
  return [
    column("selfBefore", "Self before", (line) => line.selfShare[0]),
    column("selfAfter", "Self after", (line) => line.selfShare[1]),
    column("selfChange", "Self Δ", (line) => line.selfShare[1] - line.selfShare[0]),
    column("totalBefore", "Total before", (line) => line.totalShare[0]),
    column("totalAfter", "Total after", (line) => line.totalShare[1]),
    column("totalChange", "Total Δ", (line) => line.totalShare[1] - line.totalShare[0]),
  ];
}

// One line a function; processes and applications are none.
function tableLines(model, tree) {
  const sums = functionTotals(model, tree);
  const all = tree.total.map((total) => total[0] || 1);
  const lines = [];

  model.names.forEach((text, name) => {
    const kind = model.kinds[name];

    if (kind === "process" || kind === "appid" || !sums.some((sum) => sum.total[name]))
      return;
    const self = sums.map((sum) => sum.self[name]), total = sums.map((sum) => sum.total[name]);

    lines.push({
      name, text, kind, self, total,
      selfShare: self.map((value, i) => value / all[i]),
      totalShare: total.map((value, i) => value / all[i]),
    });
  });
  return lines;
}

// Changes are sorted by how large they are, in whichever direction.
function sortLines(lines, columns, order) {
  const column = columns.find(({ key }) => key === order.key);
  const direction = order.isDown ? -1 : 1;
  const size = column && (column.key.endsWith("Change") ? (line) => Math.abs(column.of(line)) :
    column.of);
  const byText = (a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0);

  if (!column)
    return lines.sort((a, b) => direction * byText(a, b));
  return lines.sort((a, b) => direction * (size(a) - size(b)) || byText(a, b));
}

// A table that makes only the lines that can be seen. host: its scrolling
// element; onChoose(name) when a line is chosen; cell(column, line) is its text.
function newTable(host, { onChoose, onSort, cell, swatch }) {
  const head = make("thead"), body = make("tbody");
  let lines = [], columns = [], at = -1;

  function lineOf(i) {
    const line = lines[i];
    const row = make("tr", { tabIndex: i === Math.max(at, 0) ? 0 : -1 },
      make("td", { className: "gv-name", title: line.text },
        make("i", { style: `background:${swatch(line)}` }), line.text),
      ...columns.map((column) => make("td", { className: "gv-" + column.key },
        ...cell(column, line))));

    row.dataset.line = i;
    row.setAttribute("aria-rowindex", i + 2);
    return row;
  }

  function gap(count) {
    return make("tr", { ariaHidden: "true" },
      make("td", { style: `height:${count * LINE}px;padding:0` }));
  }

  function show() {
    const first = Math.max(0, Math.floor(host.scrollTop / LINE) - 10);
    const end = Math.min(lines.length, first + Math.ceil(host.clientHeight / LINE) + 20);
    const rows = [], hadFocus = body.contains(document.activeElement);

    if (first)
      rows.push(gap(first));
    for (let i = first; i < end; i++)
      rows.push(lineOf(i));
    if (end < lines.length)
      rows.push(gap(lines.length - end));
    body.replaceChildren(...rows);
    if (hadFocus)
      takeFocus();
  }

  // The lines are made anew while one of them has the focus.
  function takeFocus() {
    const row = body.querySelector(`[data-line="${Math.max(at, 0)}"]`);

    if (row)
      row.focus({ preventScroll: true });
    else
      host.focus({ preventScroll: true });
  }

  function focusLine(i) {
    at = Math.max(0, Math.min(lines.length - 1, i));
    const top = at * LINE;

    if (top < host.scrollTop)
      host.scrollTop = top;
    else if (top + 2 * LINE > host.scrollTop + host.clientHeight)
      host.scrollTop = top + 2 * LINE - host.clientHeight;
    show();
    takeFocus();
  }

  function fill(newLines, newColumns, order) {
    lines = newLines;
    columns = newColumns;
    at = -1;
    const titles = [{ key: "name", title: "Function" }, ...columns];

    head.replaceChildren(make("tr", {}, ...titles.map(({ key, title }) => {
      const isChosen = order.key === key;
      const th = make("th", { className: "gv-" + key },
        make("button", { type: "button", onclick: () => onSort(key) },
          title, make("span", { className: "gv-arrow" },
            isChosen ? (order.isDown ? "▼" : "▲") : "")));

      th.setAttribute("aria-sort", isChosen ? (order.isDown ? "descending" : "ascending") : "none");
      return th;
    })));
    host.scrollTop = 0;
    show();
  }

  function choose(event) {
    const row = event.target.closest("tr[data-line]");

    if (row)
      onChoose(lines[Number(row.dataset.line)].name);
  }

  body.addEventListener("click", choose);
  body.addEventListener("keydown", (event) => {
    const row = event.target.closest("tr[data-line]");
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 };

    if (!row || event.ctrlKey || event.metaKey || event.altKey)
      return;
    if (event.key === "Enter" || event.key === "s")
      choose(event);
    else if (steps[event.key])
      focusLine(Number(row.dataset.line) + steps[event.key]);
    else
      return;
    event.preventDefault();
    event.stopPropagation();
  });
  host.addEventListener("scroll", show);
  host.append(make("table", {}, head, body));
  return { fill, show, focus: () => lines.length && focusLine(Math.max(at, 0)) };
}

// What stands in a cell: a number, a share with its bar, or a change.
function tableCell(v, column, line) {
  const value = column.of(line);

  if (column.key.endsWith("Change"))
    return [make("span", { className: value > 0 ? "gv-up" : value < 0 ? "gv-down" : "" },
      formatChange(value))];
  if (column.key === "self" || column.key === "total")
    return [formatNumber(value)];
  return [make("i", { className: "gv-bar", style: `width:${(90 * value).toFixed(1)}%` }),
    make("span", {}, formatShare(value, 1))];
}
