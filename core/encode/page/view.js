// SPDX-License-Identifier: Apache-2.0
// The canvas of a viewer: which scene it shows, zoom, choice, details. v is the
// viewer's state (ui.js).

const HINT = "Click: zoom. Right click: more. / searches, ? shows all keys.";

function nameOf(v, tree, node) {
  return tree.name[node] < 0 ? "all" : v.model.names[tree.name[node]];
}

function fillOf(v, tree, node) {
  const name = tree.name[node];

  if (v.isDiff)
    return v.palette.ofChange(nodeChange(tree, node));
  return name < 0 ? v.palette.ofKind("process", 3) :
    v.palette.ofKind(v.model.kinds[name], v.shades[name]);
}

function matchOf(v, tree, node) {
  return v.matches ? Boolean(tree.name[node] >= 0 && v.matches[tree.name[node]]) : undefined;
}

function draw(v) {
  const pen = v.el.canvas.getContext("2d");

  if (v.mode === "table" || !v.scene)
    return;
  drawScene(pen, v.scene, {
    width: v.width, height: v.height, scroll: v.el.scroll.scrollTop, letter: v.letter,
    palette: v.palette, hover: v.hover, selected: v.selected,
    nameOf: (tree, node) => nameOf(v, tree, node),
    fillOf: (tree, node) => fillOf(v, tree, node),
    matchOf: (tree, node) => matchOf(v, tree, node),
  });
}

function redraw(v) {
  if (v.isDrawing)
    return;
  v.isDrawing = true;
  requestAnimationFrame(() => {
    v.isDrawing = false;
    draw(v);
  });
}

// Makes the scene anew, for the size that there is.
function layout(v) {
  const { canvas, scroll, space } = v.el, ratio = window.devicePixelRatio || 1;
  const pen = canvas.getContext("2d");

  if (v.mode === "table") {
    v.table.show();
    return;
  }
  v.width = scroll.clientWidth;
  v.height = scroll.clientHeight;
  v.scene = v.mode === "sandwich" ? sandwichScene(v.sandwich, v.zooms, v.height) :
    graphScene(v.tree, v.zooms[0], v.isFlame, v.height);
  space.style.height = v.scene.height + "px";
  v.width = scroll.clientWidth; // a scroll bar may have come
  canvas.width = Math.round(v.width * ratio);
  canvas.height = Math.round(v.height * ratio);
  canvas.style.width = v.width + "px";
  canvas.style.height = v.height + "px";
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = FONT;
  v.letter = pen.measureText("MMMMMMMMMM").width / 10;
  draw(v);
}

function scrollHome(v) {
  if (v.mode !== "table")
    v.el.scroll.scrollTop = v.scene.home;
}

function chosenTree(v, frame) {
  return v.scene.parts[frame.part].tree;
}

// The frames of a stack, innermost first. Above callers stands the function
// that they called.
function stackOf(v, frame) {
  const tree = chosenTree(v, frame), names = [];

  for (let node = frame.node; node || tree.name[0] >= 0; node = tree.parent[node]) {
    names.push(v.model.names[tree.name[node]]);
    if (!node)
      break;
  }
  return v.scene.parts[frame.part].isUp && v.mode === "sandwich" ? names.reverse() : names;
}

function describe(v, frame) {
  const tree = chosenTree(v, frame), { node } = frame, { unit } = v.model.profiles[0].about;
  const zoomed = v.zooms[frame.part], isAround = v.mode === "sandwich";
  const share = (values, which) => formatShare(values[which][node], tree.all[which]);

  if (v.isDiff) {
    const change = tree.total[1][node] / (tree.all[1] || 1) - tree.total[0][node] / (tree.all[0] || 1);

    return `${share(tree.total, 0)} → ${share(tree.total, 1)} of all ` +
      `(${formatChange(change)} points); ` +
      `${formatNumber(tree.total[0][node])} → ${formatNumber(tree.total[1][node])} ${unit}` +
      (isAround ? "" : `; itself ${share(tree.self, 0)} → ${share(tree.self, 1)}`);
  }
  return `${formatNumber(tree.total[0][node])} ${unit}, ${share(tree.total, 0)} of all` +
    (zoomed ? `, ${formatShare(tree.total[0][node], tree.total[0][zoomed])} of the zoomed` : "") +
    (isAround ? `, ${formatShare(tree.total[0][node], tree.total[0][0])} of the function` :
      `; itself ${formatNumber(tree.self[0][node])} (${share(tree.self, 0)})`);
}

function showDetails(v) {
  const frame = v.hover || v.selected;

  v.el.name.textContent = frame ? nameOf(v, chosenTree(v, frame), frame.node) : "";
  v.el.numbers.textContent = frame ? describe(v, frame) : HINT;
  v.el.name.title = v.el.name.textContent;
  v.el.actions.hidden = !v.selected;
}

function showTabs(v) {
  for (const [name, tab] of Object.entries(v.el.tabs))
    setPressed(tab, name === v.mode);
  v.el.tabs.sandwich.disabled = v.focus === null && !v.selected;
}

function showCrumbs(v) {
  const zoom = v.zooms[0], { crumbs } = v.el, items = [];

  crumbs.hidden = v.mode !== "sandwich" && !(v.mode === "graph" && zoom);
  if (v.mode === "sandwich") {
    items.push(button("‹ Graph", "Back to the graph (g)", () => v.setMode("graph")),
      make("span", {}, "callers above, callees below: "),
      make("b", {}, v.model.names[v.focus]));
  } else {
    for (let node = zoom; ; node = v.tree.parent[node]) {
      const target = node, name = nameOf(v, v.tree, node);

      items.unshift(button(name, name, () => zoomTo(v, { part: 0, node: target })));
      if (!node)
        break;
    }
    items[items.length - 1].setAttribute("aria-current", "true");
  }
  crumbs.replaceChildren(...items);
  crumbs.scrollLeft = v.mode === "sandwich" ? 0 : crumbs.scrollWidth;
}

function choose(v, frame) {
  v.selected = frame;
  showDetails(v);
  showTabs(v);
  redraw(v);
}

// Without remembering where we were.
function setZooms(v, zooms) {
  v.zooms = zooms;
  v.hover = null;
  showCrumbs(v);
  layout(v);
}

function zoomTo(v, frame) {
  const zooms = v.zooms.slice();

  zooms[frame.part] = frame.node;
  if (zooms[frame.part] !== v.zooms[frame.part]) {
    v.history.push(v.zooms);
    setZooms(v, zooms);
    scrollHome(v);
  }
  choose(v, frame.node ? frame : null);
}

function zoomBack(v) {
  const zooms = v.history.pop();

  if (!zooms)
    return;
  setZooms(v, zooms);
  scrollHome(v);
  choose(v, null);
}

function zoomOut(v) {
  v.history = [];
  setZooms(v, v.mode === "sandwich" ? [0, 0] : [0]);
  scrollHome(v);
  choose(v, null);
}

function scrollToFrame(v, frame) {
  const part = v.scene.parts[frame.part], { scroll } = v.el;
  const y = topOf(part, part.tree.depth[frame.node]);

  if (y < scroll.scrollTop)
    scroll.scrollTop = y - ROW;
  else if (y + 2 * ROW > scroll.scrollTop + v.height)
    scroll.scrollTop = y + 2 * ROW - v.height;
}

// Moves the choice as the arrow points on the screen. Where a part ends, up and
// down lead into the other.
function moveChoice(v, key) {
  const frame = v.selected || { part: v.scene.parts.length - 1, node: v.zooms[v.zooms.length - 1] };
  const part = v.scene.parts[frame.part], { tree } = part;
  let { node } = frame, next = node, other = frame.part;

  if (!v.selected) {
    choose(v, frame);
    return;
  }
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const siblings = [];

    for (let i = tree.first[tree.parent[node]]; i && node; i = tree.next[i])
      siblings.push(i);
    next = siblings[siblings.indexOf(node) + (key === "ArrowRight" ? 1 : -1)] || node;
  } else if ((key === "ArrowUp") === part.isUp) {
    next = tree.first[node] || node;
  } else if (node) {
    next = tree.parent[node];
  } else if (v.mode === "sandwich") {
    other = 1 - frame.part;
    next = v.scene.parts[other].tree.first[0] || 0;
  }
  const chosen = { part: other, node: next };

  if (!boxOf(v.scene.parts[other], next, v.width))
    return;
  choose(v, chosen);
  scrollToFrame(v, chosen);
}

// The next match by size: the widest first, around again after the last.
function nextMatch(v) {
  if (!v.found || !v.found.length || v.mode !== "graph")
    return;
  v.foundAt = (v.foundAt + 1) % v.found.length;
  const frame = { part: 0, node: v.found[v.foundAt] };

  zoomTo(v, frame);
  scrollToFrame(v, frame);
}
