// SPDX-License-Identifier: Apache-2.0
// The viewer: what a reader does, and what follows from it.

function about({ host, start, end, event }) {
  const until = end.slice(0, 10) === start.slice(0, 10) ? end.slice(11) : end;
  const span = start ? `${start} to ${until} UTC` : end && `until ${end} UTC`;

  return { title: host ? `${host}: ${event}` : event, span: span.replace(/T(?=\d)/g, " ") };
}

function showAbout(v) {
  const abouts = v.model.profiles.map((profile) => profile.about);
  const { title, span } = about(abouts[0]);
  const words = (one, other) => [one.host === (other && other.host) ? "" : one.host,
    about(one).span, `${formatNumber(one.samples)} ${one.unit}`].filter(Boolean).join(", ");

  v.el.host.textContent = title;
  v.el.span.textContent = v.isDiff ? "compared with another profile" :
    `${span}${span ? ", " : ""}${formatNumber(abouts[0].samples)} ${abouts[0].unit}`;
  v.el.compareBar.hidden = !v.isDiff;
  if (v.isDiff) {
    v.el.before.textContent = words(abouts[0]);
    v.el.after.textContent = words(abouts[1], abouts[0]);
    v.el.widths.value = v.widths;
  }
}

function showToast(v, text) {
  v.el.toast.textContent = text;
  v.el.toast.classList.add("gv-shown");
  clearTimeout(v.toastTimer);
  v.toastTimer = setTimeout(() => v.el.toast.classList.remove("gv-shown"), 3500);
}

// Two raw profiles, or one; everything chosen before is forgotten.
function setProfiles(v, raws) {
  v.raws = raws;
  v.model = joinProfiles(raws);
  v.isDiff = raws.length > 1;
  v.shades = v.model.names.map((name) => hash(name) % 9 - 4);
  v.filter = { process: "", container: null };
  v.hidden = new Set();
  v.order = { key: v.isDiff ? "totalChange" : "self", isDown: true };
  v.mode = "graph";
  v.tree = null;
  v.zooms = [0];
  fillFilters(v);
  showAbout(v);
  rebuild(v);
}

// The same place in the new tree, if it is there still.
function rebuild(v) {
  const path = v.tree ? pathOf(v.tree, v.mode === "sandwich" ? v.graphZoom : v.zooms[0]) : [];

  v.tree = finishTree(buildTree(v.model, {
    accepts: acceptor(v), hides: hiddenNames(v), mergesRecursion: v.isMerged,
  }), v.widths);
  v.lines = null;
  v.history = [];
  v.selected = v.hover = null;
  v.zooms = [nodeOfPath(v.tree, path)];
  if (!v.tree.width[v.zooms[0]])
    v.zooms = [0];
  v.isEmpty = !v.model.profiles.some((profile) => profile.about.samples || profile.rows.length);
  showLegend(v);
  findMatches(v);
  showMode(v);
}

function showMode(v) {
  const { el, mode } = v;

  if (mode === "sandwich") {
    if (v.zooms.length === 1)
      v.graphZoom = v.zooms[0];
    v.sandwich = sandwichTrees(v.tree, v.focus, v.widths);
    v.zooms = [0, 0];
    v.selected = { part: 1, node: 0 };
  } else if (v.zooms.length > 1) {
    v.zooms = [v.graphZoom];
  }
  showTabs(v);
  el.scroll.hidden = mode === "table";
  el.table.hidden = mode !== "table";
  el.details.hidden = mode === "table";
  el.turn.textContent = v.isFlame ? "↑ Flame" : "↓ Icicle";
  el.turn.disabled = mode !== "graph";
  setPressed(el.merge, v.isMerged);
  el.empty.hidden = v.tree.width[0] > 0 || mode === "table";
  el.empty.textContent = v.isEmpty ? "There are no samples in this profile." :
    "No samples are left: another process, container or language may have some.";
  el.space.hidden = !el.empty.hidden;
  el.turn.hidden = el.merge.hidden = v.isEmpty;
  v.root.classList.toggle("gv-none", v.isEmpty);
  if (mode === "table")
    fillTable(v);
  showCrumbs(v);
  layout(v);
  scrollHome(v);
  showDetails(v);
}

function fillTable(v) {
  const columns = tableColumns(v.isDiff);

  v.lines = v.lines || tableLines(v.model, v.tree);
  v.table.fill(sortLines(v.matches ? v.lines.filter(({ name }) => v.matches[name]) :
    v.lines.slice(), columns, v.order), columns, v.order);
}

// Widest first, for the search's Enter.
function findMatches(v) {
  const text = v.el.search.value.trim();

  v.matches = v.found = null;
  v.foundAt = -1;
  v.el.share.textContent = "";
  v.el.find.classList.remove("gv-bad");
  if (!text)
    return;
  try {
    v.matches = findNames(v.model.names, text, v.isRegex);
  } catch (error) { // a regular expression that is not finished yet
    v.el.find.classList.add("gv-bad");
    v.el.share.textContent = "not a regular expression";
    return;
  }
  const nodes = outermostMatches(v.tree, v.matches);
  const sums = matchedSamples(v.tree, nodes), { all, width } = v.tree;

  v.found = nodes.sort((a, b) => width[b] - width[a]);
  v.el.share.textContent = v.isDiff ?
    `${formatShare(sums[0], all[0])} → ${formatShare(sums[1], all[1])}` :
    `${formatShare(sums[0], all[0])} (${formatNumber(sums[0])})`;
}

function search(v) {
  const begin = performance.now();

  findMatches(v);
  if (v.mode === "table")
    fillTable(v);
  draw(v);
  performance.measure("gpc-search", { start: begin });
}

function setTheme(v, isDark) {
  v.isDark = isDark;
  v.palette = newPalette(isDark);
  v.el.theme.textContent = isDark ? "☀" : "☾";
  if (v.tree) {
    showLegend(v);
    if (v.mode === "table")
      fillTable(v);
    redraw(v);
  }
}

function listenToTheme(v) {
  const system = matchMedia("(prefers-color-scheme: dark)");

  setTheme(v, system.matches);
  system.addEventListener("change", () => v.root.dataset.theme || setTheme(v, system.matches));
}

function actionsOf(v) {
  return {
    rebuild: () => rebuild(v),
    search: () => search(v),
    setMode(mode) {
      if (mode === "sandwich" && v.focus === null)
        return;
      v.mode = mode;
      v.selected = v.hover = null;
      v.history = [];
      showMode(v);
      if (mode === "table")
        v.table.focus();
    },
    showName(name) {
      v.focus = name;
      v.setMode("sandwich");
    },
    showAround(frame) {
      const name = frame && chosenTree(v, frame).name[frame.node];

      if (frame && name >= 0)
        v.showName(name);
      else
        v.setMode("sandwich");
    },
    async copyStack(frame) {
      if (!frame || v.mode === "table")
        return;
      try {
        await copyText(stackOf(v, frame).join("\n"));
        showToast(v, "The stack has been copied.");
      } catch (error) {
        showToast(v, "The browser does not allow to copy.");
      }
    },
    turn() {
      v.isFlame = !v.isFlame;
      showMode(v);
    },
    toggleMerge() {
      v.isMerged = !v.isMerged;
      rebuild(v);
    },
    toggleTheme() {
      v.root.dataset.theme = v.isDark ? "light" : "dark";
      setTheme(v, !v.isDark);
    },
    async compareWith(file) {
      try {
        setProfiles(v, [v.raws[0], await readGivenFile(file)]);
      } catch (error) {
        showToast(v, error.message);
      }
    },
  };
}

function listenToTools(v) {
  const { el } = v;

  el.tabs.graph.addEventListener("click", () => v.setMode("graph"));
  el.tabs.table.addEventListener("click", () => v.setMode("table"));
  el.tabs.sandwich.addEventListener("click", () => v.showAround(v.selected));
  el.search.addEventListener("input", v.search);
  el.regex.addEventListener("click", () => {
    v.isRegex = !v.isRegex;
    setPressed(el.regex, v.isRegex);
    v.search();
  });
  el.turn.addEventListener("click", v.turn);
  el.merge.addEventListener("click", v.toggleMerge);
  el.process.addEventListener("change", () => {
    v.filter.process = el.process.value;
    rebuild(v);
  });
  el.container.addEventListener("change", () => {
    v.filter.container = el.container.value === "all" ? null : el.container.value.slice(1);
    rebuild(v);
  });
  el.theme.addEventListener("click", v.toggleTheme);
  el.help.addEventListener("click", () => v.help.showModal());
  el.compare.addEventListener("click", () => el.file.click());
  el.file.addEventListener("change", () => {
    if (el.file.files.length)
      v.compareWith(el.file.files[0]);
    el.file.value = "";
  });
  el.widths.addEventListener("change", () => {
    v.widths = el.widths.value;
    rebuild(v);
  });
  el.swap.addEventListener("click", () => setProfiles(v, [v.raws[1], v.raws[0]]));
  el.stop.addEventListener("click", () => setProfiles(v, [v.raws[0]]));
  el.around.addEventListener("click", () => v.showAround(v.selected));
  el.copy.addEventListener("click", () => v.copyStack(v.selected));
}

function frameMenu(v, event, frame) {
  const tree = chosenTree(v, frame), name = tree.name[frame.node];
  const entries = [["Zoom in", () => zoomTo(v, frame)],
    ["Copy stack", () => v.copyStack(frame)]];

  if (name >= 0) {
    entries.splice(1, 0, ["Callers & callees", () => v.showName(name)]);
    entries.push(["Copy name", () => copyText(v.model.names[name])]);
    if (v.model.kinds[name] === "process")
      entries.push(["Only this process", () => {
        v.el.process.value = v.filter.process = "c" + name;
        rebuild(v);
      }]);
  }
  openMenu(v.root, event.clientX, event.clientY, entries);
}

function listenToCanvas(v) {
  const { canvas, scroll } = v.el;
  const find = (event) => {
    const box = canvas.getBoundingClientRect();

    return frameAt(v.scene, v.width, event.clientX - box.left,
      event.clientY - box.top + scroll.scrollTop);
  };
  const hover = (frame) => {
    const { hover: last } = v;

    if (frame === last || (frame && last && frame.node === last.node && frame.part === last.part))
      return;
    v.hover = frame;
    canvas.style.cursor = frame ? "pointer" : "";
    showDetails(v);
    redraw(v);
  };

  canvas.addEventListener("mousemove", (event) => hover(find(event)));
  canvas.addEventListener("mouseleave", () => hover(null));
  canvas.addEventListener("click", (event) => {
    const frame = find(event);

    if (frame)
      zoomTo(v, frame);
  });
  canvas.addEventListener("contextmenu", (event) => {
    const frame = find(event);

    if (!frame)
      return;
    event.preventDefault();
    choose(v, frame);
    frameMenu(v, event, frame);
  });
  scroll.addEventListener("scroll", () => redraw(v));
}

// Shows a profile (and another one to compare it with, or null) in an element.
function openViewer(root, data, other) {
  const v = {
    root, widths: "both", isFlame: false, isMerged: false, isRegex: false, hidden: new Set(),
    focus: null, hover: null, selected: null, history: [],
  };

  v.el = makeParts(root);
  Object.assign(v, actionsOf(v));
  v.help = makeHelp();
  root.append(v.help);
  v.table = newTable(v.el.table, {
    onChoose: v.showName,
    onSort(key) {
      v.order = { key, isDown: v.order.key === key ? !v.order.isDown : key !== "name" };
      fillTable(v);
    },
    swatch: (line) => v.palette.ofKind(line.kind, 0),
    cell: (column, line) => tableCell(v, column, line),
  });
  setPressed(v.el.regex, false);
  listenToTheme(v);
  setProfiles(v, [data, ...(other ? [other] : [])].map(readPage));
  listenToTools(v);
  listenToCanvas(v);
  listenToKeys(v);
  takeDrops(root, v.compareWith);
  new ResizeObserver(() => layout(v)).observe(v.el.scroll);
  new ResizeObserver(() => v.mode === "table" && v.table.show()).observe(v.el.table);
}
