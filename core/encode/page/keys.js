// SPDX-License-Identifier: Apache-2.0
// The keyboard (help.js says what each key does).

function pressInSearch(v, event) {
  if (event.key === "Escape") {
    if (v.el.search.value) {
      v.el.search.value = "";
      v.search();
    } else {
      v.el.scroll.focus();
    }
  } else if (event.key === "Enter") {
    nextMatch(v);
  } else {
    return;
  }
  event.preventDefault();
}

function keyActions(v) {
  const arrow = (key) => () => v.mode !== "table" && moveChoice(v, key);

  return {
    "/": () => v.el.search.focus(),
    "?": () => v.help.showModal(),
    g: () => v.setMode("graph"),
    t: () => v.setMode("table"),
    s: () => v.showAround(v.selected || v.hover),
    i: () => v.turn(),
    r: () => v.toggleMerge(),
    c: () => v.copyStack(v.selected || v.hover),
    p: () => v.el.process.focus(),
    o: () => v.el.file.click(),
    d: () => v.toggleTheme(),
    Enter: () => v.mode !== "table" && v.selected && zoomTo(v, v.selected),
    Backspace: () => zoomBack(v),
    Escape: () => (v.mode === "table" ? v.setMode("graph") : zoomOut(v)),
    ArrowLeft: arrow("ArrowLeft"), ArrowRight: arrow("ArrowRight"),
    ArrowUp: arrow("ArrowUp"), ArrowDown: arrow("ArrowDown"),
  };
}

function listenToKeys(v) {
  const actions = keyActions(v);

  v.root.ownerDocument.addEventListener("keydown", (event) => {
    const { target } = event;
    const isOurs = target === document.body || v.root.contains(target);

    if (!isOurs || event.ctrlKey || event.metaKey || event.altKey || v.help.open || v.isEmpty)
      return;
    if (target === v.el.search) {
      pressInSearch(v, event);
      return;
    }
    const isControl = target.closest("button, select");

    if (isControl && (/^(Enter|Arrow|Tab)/.test(event.key) || target.tagName === "SELECT"))
      return;
    if (Object.hasOwn(actions, event.key)) {
      actions[event.key]();
      event.preventDefault();
    }
  });
}
