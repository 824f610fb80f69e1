// SPDX-License-Identifier: Apache-2.0
// Draws a scene on a canvas. A scene is a list of parts: {tree, zoom, isUp,
// base}; base is where the row of the part's root begins, in pixels from the
// scene's top. Callers and callees are two parts that share that row.

const ROW = 19; // pixels a frame is high
const ANCESTORS = 3; // rows above the zoomed frame that are in sight
const SMALLEST = 0.4; // pixels; narrower frames are left out with all they hold
const FONT = '11.5px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

const topOf = (part, depth) => part.base + (part.isUp ? -depth : depth) * ROW;

// One tree over the whole scene; a flame stands on the ground. home is where it
// is scrolled to: with a few of the ancestors of the zoomed frame in sight.
function graphScene(tree, zoom, isFlame, height) {
  const hidden = Math.max(0, tree.depth[zoom] - ANCESTORS) * ROW;
  const all = Math.max((tree.deepest[zoom] + 1) * ROW, hidden + height);

  return {
    height: all,
    home: isFlame ? all - height - hidden : hidden,
    parts: [{ tree, zoom, isUp: isFlame, base: isFlame ? all - ROW : 0 }],
  };
}

function sandwichScene(trees, zooms, height) {
  const up = trees.callers.deepest[zooms[0]], down = trees.callees.deepest[zooms[1]];
  const base = Math.max(up * ROW, Math.min(height * 0.4, height - (down + 1) * ROW)) | 0;

  return {
    height: Math.max(base + (down + 1) * ROW, height),
    home: base - height * 0.4,
    parts: [
      { tree: trees.callers, zoom: zooms[0], isUp: true, base },
      { tree: trees.callees, zoom: zooms[1], isUp: false, base },
    ],
  };
}

// Calls fn(node, x, width) for what the zoom shows; fn's false leaves out what
// lies beyond. The zoomed frame's ancestors span the whole width.
function eachShown(part, width, fn) {
  const { tree, zoom } = part, todo = [zoom], path = [];
  const from = tree.start[zoom], scale = width / (tree.width[zoom] || 1);

  for (let node = zoom; node; node = tree.parent[node])
    path.push(tree.parent[node]);
  path.forEach((node) => fn(node, 0, width));
  while (todo.length) {
    const node = todo.pop();
    const x = (tree.start[node] - from) * scale, wide = tree.width[node] * scale;

    if (wide < SMALLEST || fn(node, x, wide) === false)
      continue;
    for (let child = tree.first[node]; child; child = tree.next[child])
      todo.push(child);
  }
}

// Where a frame stands, however narrow it is; null when the zoom leaves it out.
function boxOf(part, node, width) {
  const { tree, zoom } = part;
  const scale = width / (tree.width[zoom] || 1);
  const x = (tree.start[node] - tree.start[zoom]) * scale, wide = tree.width[node] * scale;
  const y = topOf(part, tree.depth[node]);

  for (let above = zoom; ; above = tree.parent[above]) {
    if (above === node)
      return { x: 0, y, width };
    if (!above)
      break;
  }
  return x < -0.01 || x + wide > width + 0.01 ? null : { x, y, width: wide };
}

// The frame at a place of the scene: {part, node} or null.
function frameAt(scene, width, x, y) {
  let found = null;

  scene.parts.forEach((part, number) => eachShown(part, width, (node, left, wide) => {
    const top = topOf(part, part.tree.depth[node]);

    if (found || x < left || x >= left + wide)
      return false;
    if (y >= top && y < top + ROW)
      found = { part: number, node };
    return !found;
  }));
  return found;
}

// look: {width, height, scroll, letter, palette, nameOf(tree, node),
// fillOf(tree, node), matchOf(tree, node) (undefined while nothing is searched),
// hover, selected}
function drawScene(pen, scene, look) {
  pen.clearRect(0, 0, look.width, look.height);
  pen.font = FONT;
  pen.textBaseline = "middle";
  for (const part of scene.parts)
    drawPart(pen, part, look);
  for (const [frame, thick] of [[look.hover, 1], [look.selected, 2]])
    if (frame && scene.parts[frame.part])
      drawOutline(pen, scene.parts[frame.part], frame.node, look, thick);
}

function drawPart(pen, part, look) {
  const { tree } = part, zoomDepth = tree.depth[part.zoom];

  eachShown(part, look.width, (node, x, width) => {
    const y = topOf(part, tree.depth[node]) - look.scroll;

    if (y > -ROW && y < look.height) {
      pen.globalAlpha = tree.depth[node] < zoomDepth ? 0.55 : 1;
      drawBox(pen, part, node, { x, y, width }, look);
    }
    return part.isUp ? y > -ROW : y < look.height; // what follows lies further out
  });
  pen.globalAlpha = 1;
}

function drawBox(pen, part, node, { x, y, width }, look) {
  const { palette } = look, match = look.matchOf(part.tree, node);
  const letters = Math.floor((width - 7) / look.letter);

  if (match === undefined)
    pen.fillStyle = look.fillOf(part.tree, node);
  else
    pen.fillStyle = match ? palette.match : palette.dim;
  pen.fillRect(x, y, Math.max(width - (width > 3 ? 1 : 0), 0.5), ROW - 1);
  if (letters < 2)
    return;
  let text = look.nameOf(part.tree, node);

  if (text.length > letters)
    text = text.slice(0, letters - 1) + "…";
  if (match === undefined)
    pen.fillStyle = palette.text;
  else
    pen.fillStyle = match ? palette.matchText : palette.dimText;
  pen.fillText(text, Math.max(x, 0) + 3, y + ROW / 2);
}

function drawOutline(pen, part, node, look, thick) {
  const box = boxOf(part, node, look.width);

  if (!box)
    return;
  pen.strokeStyle = look.palette.outline;
  pen.lineWidth = thick;
  pen.strokeRect(box.x + thick / 2, box.y - look.scroll + thick / 2,
    Math.max(box.width - thick - 1, 1), ROW - 1 - thick);
}
