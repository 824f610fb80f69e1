// SPDX-License-Identifier: Apache-2.0
// Draws one profile as an icicle or a flame graph. The data: names, and rows of
// numbers, each [frames kept of the row before, number of new frames, the new
// frames' names root first, value].
"use strict";

const ROW = 18; // pixels a frame is high
const SMALLEST = 0.4; // pixels; narrower frames are left out with all they hold
const FONT = '11.5px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");

// ---- the tree: parallel arrays, a parent stands before its children ----

function readTree(rows) {
  const tree = { name: [-1], parent: [0], depth: [0], self: [0] };
  const children = new Map();
  const scale = data.names.length + 1;
  const path = [0];

  for (let i = 0; i < rows.length; ) {
    const kept = rows[i++];
    let n = rows[i++];

    path.length = kept + 1;
    for (; n > 0; n--) {
      const parent = path[path.length - 1];
      const key = parent * scale + rows[i];
      let node = children.get(key);

      if (node === undefined) {
        node = tree.name.length;
        children.set(key, node);
        tree.name.push(rows[i]);
        tree.parent.push(parent);
        tree.depth.push(path.length);
        tree.self.push(0);
      }
      path.push(node);
      i++;
    }
    tree.self[path[path.length - 1]] += rows[i++];
  }
  return tree;
}

function addTotals(tree) {
  const n = tree.name.length;

  tree.total = Float64Array.from(tree.self);
  tree.deepest = Int32Array.from(tree.depth); // depth of the deepest frame below
  for (let i = n - 1; i > 0; i--) {
    const parent = tree.parent[i];

    tree.total[parent] += tree.total[i];
    if (tree.deepest[parent] < tree.deepest[i])
      tree.deepest[parent] = tree.deepest[i];
  }
}

// The children of all frames in one array, each frame's together.
function childLists(tree) {
  const n = tree.name.length;
  const from = new Int32Array(n + 2), list = new Int32Array(n);

  for (let i = 1; i < n; i++)
    from[tree.parent[i] + 2]++;
  for (let i = 2; i < n + 2; i++)
    from[i] += from[i - 1];
  for (let i = 1; i < n; i++)
    list[from[tree.parent[i] + 1]++] = i;
  return { from, list };
}

// Larger ones stand left; start is where a frame begins, in samples.
function addPlaces(tree) {
  const n = tree.name.length;
  const { from, list } = childLists(tree);
  const bySize = (a, b) => tree.total[b] - tree.total[a] || tree.name[a] - tree.name[b];

  tree.first = new Int32Array(n);
  tree.next = new Int32Array(n);
  tree.start = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const children = list.subarray(from[i], from[i + 1]);
    let start = tree.start[i], last = 0;

    if (children.length > 1)
      children.sort(bySize);
    for (const child of children) {
      if (last)
        tree.next[last] = child;
      else
        tree.first[i] = child;
      last = child;
      tree.start[child] = start;
      start += tree.total[child];
    }
  }
}

const tree = readTree(data.rows);
addTotals(tree);
addPlaces(tree);
const all = tree.total[0];

// ---- kinds of frames and their colours ----

const HUES = {
  process: [215, 14], appid: [215, 30], kernel: [22, 78], native: [46, 72], error: [356, 78],
  j: [128, 42], i: [160, 40], 0: [92, 38], 1: [110, 46], p: [208, 72], pn: [194, 58],
  pe: [356, 60], rb: [340, 66], php: [262, 56], net: [284, 52],
};
const TITLES = {
  process: "process", appid: "application", kernel: "kernel", native: "native",
  error: "profiling error", j: "Java", i: "Java, inlined", 0: "Java, interpreted",
  1: "Java, C1", p: "Python", pn: "Python's native", pe: "Python, incomplete", rb: "Ruby",
  php: "PHP", net: ".NET",
};

function hash(text) {
  let h = 2166136261;

  for (let i = 0; i < text.length; i++)
    h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h ^ (h >>> 15)) >>> 0;
}

function kindOf(name) {
  const suffix = /_\[([^\]]*)\]$/.exec(name);

  if (suffix)
    return suffix[1] === "k" ? "kernel" : suffix[1];
  if (name.startsWith("[Profiling "))
    return "error";
  return name.startsWith("appid: ") ? "appid" : "native";
}

const kinds = data.names.map(kindOf);
const shades = data.names.map((name) => hash(name) % 9 - 4);

function kindOfNode(node) {
  return tree.depth[node] === 1 ? "process" : kinds[tree.name[node]];
}

const colours = new Map(); // by kind, shade; emptied when the scheme changes

function colour(kind, shade) {
  const key = kind + shade;
  let found = colours.get(key);

  if (!found) {
    const [hue, strength] = HUES[kind] || [hash(kind) % 360, 50];
    const light = dark.matches ? 34 + shade : 72 + shade * 1.5;

    found = `hsl(${hue + shade} ${dark.matches ? strength * 0.62 : strength}% ${light}%)`;
    colours.set(key, found);
  }
  return found;
}

// ---- drawing ----

const canvas = $("canvas");
const scroll = $("scroll");
const pen = canvas.getContext("2d");
const view = { zoom: 0, isFlame: false, hover: -1, matches: null, width: 0, height: 0, letter: 7 };

function fullName(node) {
  return node ? data.names[tree.name[node]] : "all";
}

const depthShown = () => tree.deepest[view.zoom] + 1;
const topOf = (depth) =>
  (view.isFlame ? (depthShown() - 1 - depth) * ROW + padding() : depth * ROW) - scroll.scrollTop;
const padding = () => Math.max(0, view.height - depthShown() * ROW); // a flame stands on the ground

function isDimmed(node) {
  return view.matches && !(node && view.matches[tree.name[node]]);
}

function drawBox(node, x, y, width) {
  const shown = Math.max(width - (width > 3 ? 1 : 0), 0.5);

  if (view.matches && !isDimmed(node))
    pen.fillStyle = dark.matches ? "#c04fd0" : "#e77cf0";
  else if (isDimmed(node))
    pen.fillStyle = dark.matches ? "#2b2e34" : "#e8eaee";
  else
    pen.fillStyle = node ? colour(kindOfNode(node), shades[tree.name[node]]) :
      colour("process", 3);
  pen.fillRect(x, y, shown, ROW - 1);
  if (node === view.hover) {
    pen.strokeStyle = dark.matches ? "#ffffff" : "#000000";
    pen.strokeRect(x + 0.5, y + 0.5, Math.max(shown - 1, 1), ROW - 2);
  }
}

function drawText(node, x, y, width) {
  const letters = Math.floor((width - 7) / view.letter);
  let text = fullName(node);

  if (letters < 2)
    return;
  if (text.length > letters)
    text = text.slice(0, letters - 1) + "…";
  if (isDimmed(node))
    pen.fillStyle = dark.matches ? "#8b929c" : "#70767f";
  else
    pen.fillStyle = dark.matches ? "#f3f4f6" : "#16181c";
  pen.fillText(text, x + 3, y + ROW / 2);
}

// Calls fn(node, x, width) for what the zoom shows; fn's false leaves out what
// lies below. The zoomed frame's ancestors span the whole width.
function eachShown(fn) {
  const path = [], todo = [view.zoom];
  const from = tree.start[view.zoom], scale = view.width / (tree.total[view.zoom] || 1);

  for (let node = view.zoom; node; node = tree.parent[node])
    path.push(tree.parent[node]);
  path.forEach((node) => fn(node, 0, view.width));
  while (todo.length) {
    const node = todo.pop();
    const x = (tree.start[node] - from) * scale, width = tree.total[node] * scale;

    if (width < SMALLEST || fn(node, x, width) === false)
      continue;
    for (let child = tree.first[node]; child; child = tree.next[child])
      todo.push(child);
  }
}

function draw() {
  pen.clearRect(0, 0, view.width, view.height);
  pen.font = FONT;
  pen.textBaseline = "middle";
  eachShown((node, x, width) => {
    const y = topOf(tree.depth[node]);

    if (y > -ROW && y < view.height) {
      drawBox(node, x, y, width);
      drawText(node, Math.max(x, 0), y, width);
    }
    return view.isFlame ? y > -ROW : y < view.height; // what follows lies further out
  });
}

let isDrawing = false;

function redraw() {
  if (isDrawing)
    return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    draw();
  });
}

function resize() {
  const ratio = window.devicePixelRatio || 1;

  view.width = scroll.clientWidth;
  view.height = scroll.clientHeight;
  canvas.width = Math.round(view.width * ratio);
  canvas.height = Math.round(view.height * ratio);
  canvas.style.width = view.width + "px";
  canvas.style.height = view.height + "px";
  $("space").style.height = Math.max(depthShown() * ROW, view.height) + "px";
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = FONT;
  view.letter = pen.measureText("MMMMMMMMMM").width / 10;
  draw();
}

function nodeAt(x, y) {
  let found = -1;

  eachShown((node, left, width) => {
    const top = topOf(tree.depth[node]);

    if (x < left || x >= left + width)
      return false;
    if (y >= top && y < top + ROW)
      found = node;
    return found < 0;
  });
  return found;
}

// ---- words ----

const number = new Intl.NumberFormat("en");
const percent = (part, whole) => (whole ? (100 * part / whole).toFixed(2) : "0.00") + " %";

function showDetails(node) {
  const box = $("details"), name = document.createElement("b"),
    numbers = document.createElement("span");

  box.replaceChildren();
  if (node < 0)
    return;
  name.textContent = fullName(node);
  numbers.textContent = `${number.format(tree.total[node])} ${data.unit}, ` +
    `${percent(tree.total[node], all)} of all` +
    (view.zoom ? `, ${percent(tree.total[node], tree.total[view.zoom])} of the zoomed` : "") +
    `; itself ${number.format(tree.self[node])} (${percent(tree.self[node], all)})`;
  box.append(name, numbers);
}

function showLegend() {
  const shares = new Map();

  for (let i = 1; i < tree.name.length; i++)
    if (tree.self[i])
      shares.set(kindOfNode(i), (shares.get(kindOfNode(i)) || 0) + tree.self[i]);
  $("legend").hidden = !shares.size;
  $("legend").replaceChildren(...[...shares].sort((a, b) => b[1] - a[1]).map(([kind, value]) => {
    const entry = document.createElement("span"), swatch = document.createElement("i");

    swatch.style.background = colour(kind, 0);
    entry.append(swatch, `${TITLES[kind] || kind} ${percent(value, all)}`);
    return entry;
  }));
}

// ---- what the reader does ----

function zoom(node) {
  view.zoom = node;
  $("reset").disabled = !node;
  resize();
  if (view.isFlame)
    scroll.scrollTop = scroll.scrollHeight;
  redraw();
}

function turn() {
  view.isFlame = !view.isFlame;
  $("turn").textContent = view.isFlame ? "Icicle" : "Flame";
  scroll.scrollTop = view.isFlame ? scroll.scrollHeight : 0;
  redraw();
}

function matcher(text) {
  const regex = /^\/(.+?)\/?$/.exec(text);
  const wanted = text.toLowerCase();

  if (!regex)
    return (name) => name.toLowerCase().includes(wanted);
  const compiled = new RegExp(regex[1], "i");
  return (name) => compiled.test(name);
}

// Samples whose stack holds a match; one in another counts once.
function matchedSamples(matches) {
  const covered = new Uint8Array(tree.name.length);
  let sum = 0;

  for (let i = 1; i < tree.name.length; i++) {
    covered[i] = covered[tree.parent[i]] | matches[tree.name[i]];
    if (covered[i] && !covered[tree.parent[i]])
      sum += tree.total[i];
  }
  return sum;
}

function search() {
  const text = $("search").value.trim();

  $("tools").classList.remove("bad");
  view.matches = null;
  $("share").textContent = "";
  if (text) {
    try {
      view.matches = Uint8Array.from(data.names, matcher(text));
      const sum = matchedSamples(view.matches);
      $("share").textContent = `${percent(sum, all)} matched (${number.format(sum)})`;
    } catch (error) { // a regular expression that is not finished yet
      view.matches = null;
      $("tools").classList.add("bad");
    }
  }
  redraw();
}

function hover(event) {
  const box = canvas.getBoundingClientRect();
  const node = nodeAt(event.clientX - box.left, event.clientY - box.top);

  if (node === view.hover)
    return;
  view.hover = node;
  canvas.style.cursor = node < 0 ? "" : "pointer";
  showDetails(node);
  redraw();
}

function leave() {
  view.hover = -1;
  showDetails(-1);
  redraw();
}

function press(event) {
  const inSearch = event.target === $("search");

  if (event.key === "Escape" && inSearch && $("search").value) {
    $("search").value = "";
    search();
  } else if (event.key === "Escape") {
    zoom(0);
  } else if (event.key === "/" && !inSearch) {
    $("search").focus();
    event.preventDefault();
  } else if (event.key === "i" && !inSearch && !event.ctrlKey && !event.metaKey) {
    turn();
  }
}

function begin() {
  $("host").textContent = data.host ? `${data.host}: ${data.event}` : data.event;
  $("span").textContent = `${data.start} to ${data.end} UTC, ` +
    `${number.format(data.samples)} ${data.unit}`;
  $("turn").textContent = "Flame";
  $("empty").hidden = all > 0;
  $("space").hidden = $("tools").hidden = !all;
  showLegend();
  if (!all)
    return;
  canvas.addEventListener("mousemove", hover);
  canvas.addEventListener("mouseleave", leave);
  canvas.addEventListener("click", () => view.hover >= 0 && zoom(view.hover));
  scroll.addEventListener("scroll", redraw);
  document.addEventListener("keydown", press);
  $("tools").addEventListener("submit", (event) => event.preventDefault());
  $("search").addEventListener("input", search);
  $("turn").addEventListener("click", turn);
  $("reset").addEventListener("click", () => zoom(0));
  dark.addEventListener("change", () => {
    colours.clear();
    showLegend();
    redraw();
  });
  new ResizeObserver(resize).observe(scroll);
  resize();
}

begin();
