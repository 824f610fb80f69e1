// SPDX-License-Identifier: Apache-2.0
// What the viewer consists of; nothing here does anything.

function select(label) {
  const made = make("select", { title: label });

  made.setAttribute("aria-label", label);
  return made;
}

function makeHead() {
  const el = {
    host: make("h1"), span: make("p"),
    share: make("output", { className: "gv-share" }),
    search: make("input", {
      type: "search", placeholder: "Search functions", autocomplete: "off", spellcheck: false,
      title: "Search (/); Enter goes to the next match",
    }),
    regex: button(".*", "Regular expression", null, "gv-regex"),
  };

  el.search.setAttribute("aria-label", "Search functions");
  el.find = make("div", { className: "gv-find", role: "search" }, el.share, el.search, el.regex);
  el.head = make("header", { className: "gv-head" },
    make("div", { className: "gv-about" }, el.host, el.span), el.find);
  return el;
}

function makeTools() {
  const el = {
    tabs: {
      graph: button("Graph", "Flame graph (g)"),
      table: button("Table", "Functions by cost (t)"),
      sandwich: button("Callers & callees", "Of the chosen function (s)"),
    },
    turn: button("", "Switch between icicle and flame (i)"),
    merge: button("Merge recursion", "Show a recursion as one call (r)"),
    process: select("Processes (p)"), container: select("Containers"),
    compare: button("Compare…", "With another profile: .col or .html; or drop it here (o)"),
    theme: button("", "Dark or light (d)", null, "gv-icon"),
    help: button("?", "Keys and colours (?)", null, "gv-icon"),
    file: make("input", { type: "file", accept: ".col,.html,.txt,.folded", hidden: true }),
  };
  const tabs = make("div", { className: "gv-tabs", role: "group" }, ...Object.values(el.tabs));

  tabs.setAttribute("aria-label", "View");
  el.theme.setAttribute("aria-label", "Dark or light");
  el.help.setAttribute("aria-label", "Help");
  el.tools = make("div", { className: "gv-tools", role: "toolbar" }, tabs, el.turn, el.merge,
    el.process, el.container, make("span", { className: "gv-gap" }), el.compare, el.theme, el.help,
    el.file);
  return el;
}

function makeCompare() {
  const el = {
    before: make("b"), after: make("b"), widths: select("Widths"),
    swap: button("Swap", "Exchange before and after"),
    stop: button("Stop", "Show the profile before alone"),
  };

  el.widths.append(make("option", { value: "both" }, "widths: both"),
    make("option", { value: "before" }, "widths: before"),
    make("option", { value: "after" }, "widths: after"));
  el.bar = make("div", { className: "gv-compare", hidden: true },
    make("span", { className: "gv-pair" }, "Before ", el.before, " → after ", el.after),
    make("span", { className: "gv-ramp" }, make("i", { className: "gv-less" }), "less ",
      make("i", { className: "gv-more" }), "more"),
    el.widths, el.swap, el.stop);
  return { compareBar: el.bar, ...el };
}

function makeParts(root) {
  const el = { ...makeHead(), ...makeTools(), ...makeCompare() };

  el.legend = make("nav", { className: "gv-legend" });
  el.legend.setAttribute("aria-label", "Languages, by their own share; a click hides one");
  el.crumbs = make("nav", { className: "gv-crumbs" });
  el.crumbs.setAttribute("aria-label", "Zoom");
  el.canvas = make("canvas", { role: "img" });
  el.canvas.setAttribute("aria-label", "Flame graph; the table has the same as text");
  el.space = make("div", { className: "gv-space" }, el.canvas);
  el.empty = make("p", { className: "gv-empty", hidden: true });
  el.scroll = make("main", { className: "gv-scroll", tabIndex: 0 }, el.space, el.empty);
  el.table = make("div", { className: "gv-table", hidden: true, tabIndex: -1 });
  el.name = make("b");
  el.numbers = make("span");
  el.around = button("Callers & callees", "Of this function (s)");
  el.copy = button("Copy stack", "Copy this stack, innermost frame first (c)");
  el.actions = make("div", { className: "gv-actions", hidden: true }, el.around, el.copy);
  el.details = make("footer", { className: "gv-details" },
    make("div", { className: "gv-words" }, el.name, el.numbers), el.actions);
  el.toast = make("div", { className: "gv-toast", role: "status" });
  root.classList.add("gpc-viewer");
  root.replaceChildren(el.head, el.tools, el.compareBar, el.legend, el.crumbs, el.scroll, el.table,
    el.details, el.toast);
  return el;
}
