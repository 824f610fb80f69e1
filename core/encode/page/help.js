// SPDX-License-Identifier: Apache-2.0
// The help overlay, and the menu of a frame.

const KEYS = [
  ["/", "search; Enter: next match; Esc: clear"],
  ["g  t  s", "graph; table; callers and callees of the chosen frame"],
  ["← ↑ ↓ →", "choose a frame"],
  ["Enter", "zoom into the chosen frame"],
  ["Backspace", "the zoom before"],
  ["Esc", "show everything"],
  ["i", "icicle or flame"],
  ["r", "merge recursion"],
  ["c", "copy the chosen stack"],
  ["p", "choose a process"],
  ["o", "compare with another profile"],
  ["d", "dark or light"],
  ["?", "this help"],
];
const WORDS = [
  "Wide means much: a frame's width is its share of all samples. What it called stands below it " +
    "(above it in a flame). A click zooms; the right button, or a long touch, has more.",
  "Colours tell kinds of frames. A click on a language in the legend leaves its frames out; their " +
    "samples go to whoever called them. With Shift, only that language is kept.",
  "In a comparison red frames have a larger share after than before, blue ones a smaller share. A " +
    "difference that may be chance, by the number of samples, is pale.",
];

function makeHelp() {
  const close = button("Close", "Close (Esc)", () => dialog.close());
  const dialog = make("dialog", { className: "gv-help" },
    make("h2", {}, "Keys and colours"),
    make("table", {}, ...KEYS.map(([keys, what]) => make("tr", {},
      make("th", {}, ...keys.split("  ").map((key) => make("kbd", {}, key))),
      make("td", {}, what)))),
    ...WORDS.map((words) => make("p", {}, words)), close);

  dialog.setAttribute("aria-label", "Keys and colours");
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}

// entries: [text, action] each. The menu goes when something else is done.
function openMenu(root, x, y, entries) {
  const menu = make("div", { className: "gv-menu", role: "menu" });
  const end = new AbortController();

  function close() {
    end.abort();
    menu.remove();
  }

  function press(event) {
    const items = [...menu.children], at = items.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];

    event.stopPropagation();
    if (event.key === "Escape" || event.key === "Tab")
      close();
    else if (step)
      items[(at + step + items.length) % items.length].focus();
    else
      return;
    event.preventDefault();
  }

  for (const [text, action] of entries) {
    const item = button(text, "", () => {
      close();
      action();
    });

    item.role = "menuitem";
    menu.append(item);
  }
  menu.addEventListener("keydown", press);
  document.addEventListener("pointerdown", (event) => menu.contains(event.target) || close(),
    { signal: end.signal, capture: true });
  window.addEventListener("blur", close, { signal: end.signal });
  root.append(menu);
  menu.style.left = Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 4)) + "px";
  menu.style.top = Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 4)) + "px";
  menu.firstChild.focus();
}
