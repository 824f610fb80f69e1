// SPDX-License-Identifier: Apache-2.0
// Trees of frames as parallel arrays; a parent stands before its children, 0 is
// the root. self and total have one array for each profile of the model. width
// is what a frame is drawn by, start is where it begins, in the same unit.
// While a tree is made its arrays have room to spare (size tells how many frames
// there are); finishTree() cuts them.

const LONGEST_CYCLE = 8; // frames of a recursion that is merged
const LONG_LIST = 12; // children that are looked through; more are hashed

function newTree(rootName, profiles, room) {
  const tree = {
    size: 1, name: new Int32Array(room), parent: new Int32Array(room), depth: new Int32Array(room),
    first: new Int32Array(room), next: new Int32Array(room), // lists of children
    children: new Int32Array(room),
    self: Array.from({ length: profiles }, () => new Float64Array(room)),
    hashed: new Map(), // parent -> name -> child, of those with many children
  };

  tree.name[0] = rootName;
  return tree;
}

function doubled(array) {
  const larger = new array.constructor(array.length * 2);

  larger.set(array);
  return larger;
}

function growTree(tree) {
  for (const key of ["name", "parent", "depth", "first", "next", "children"])
    tree[key] = doubled(tree[key]);
  tree.self = tree.self.map(doubled);
}

function findChild(tree, parent, name) {
  if (tree.children[parent] > LONG_LIST)
    return tree.hashed.get(parent).get(name) || 0;
  let child = tree.first[parent];

  while (child && tree.name[child] !== name)
    child = tree.next[child];
  return child;
}

function hashChild(tree, parent, node) {
  if (tree.children[parent] === LONG_LIST + 1) {
    const names = new Map();

    for (let child = tree.first[parent]; child; child = tree.next[child])
      names.set(tree.name[child], child);
    tree.hashed.set(parent, names);
  } else {
    tree.hashed.get(parent).set(tree.name[node], node);
  }
}

// The child of parent with that name, made when there is none.
function childOf(tree, parent, name) {
  const found = findChild(tree, parent, name), node = tree.size;

  if (found)
    return found;
  if (node === tree.name.length)
    growTree(tree);
  tree.size++;
  tree.name[node] = name;
  tree.parent[node] = parent;
  tree.depth[node] = tree.depth[parent] + 1;
  tree.next[node] = tree.first[parent];
  tree.first[parent] = node;
  if (++tree.children[parent] > LONG_LIST)
    hashChild(tree, parent, node);
  return node;
}

// Do the last n frames, of which name comes on top of node, repeat the n before?
function repeats(tree, node, name, n) {
  let late = node, early = node;

  for (let i = 1; i < n; i++)
    early = tree.parent[early];
  if (!early || tree.name[early] !== name)
    return -1;
  const end = early;

  for (let i = 1; i < n; i++) {
    early = tree.parent[early];
    if (!early || tree.name[early] !== tree.name[late])
      return -1;
    late = tree.parent[late];
  }
  return end;
}

// Where a call of name from node leads when recursion is merged: back to where
// the cycle began, or -1.
function recursionTarget(tree, node, name) {
  for (let n = 1; n <= LONGEST_CYCLE; n++) {
    const target = repeats(tree, node, name, n);

    if (target >= 0)
      return target;
  }
  return -1;
}

// choice: accepts(process), hides (by name: 1 leaves frames out, their samples
// go to the caller), mergesRecursion. Also sums the self values by kind, of
// frames that are hidden too.
function buildTree(model, choice) {
  const frames = model.profiles.reduce((sum, { rows }) => sum + rows.length, 0);
  const tree = newTree(-1, model.profiles.length, 1024 + frames);

  tree.byKind = new Map();
  model.profiles.forEach((profile, which) => addRows(tree, model, profile, which, choice));
  return tree;
}

function addRows(tree, model, profile, which, choice) {
  const { rows, names } = profile, self = tree.self[which];
  const at = [0], leaves = [0], sums = new Float64Array(model.names.length);
  const seen = new Uint8Array(model.names.length);
  let i = 0;

  function step(node, name) {
    if (choice.hides && choice.hides[name])
      return node;
    const target = choice.mergesRecursion ? recursionTarget(tree, node, name) : -1;

    return target >= 0 ? target : childOf(tree, node, name);
  }
  for (const process of profile.processes) {
    if (!choice.accepts(process)) {
      for (let row = 0; row < process.rows; row++)
        i += rows[i + 1] + 3;
      continue;
    }
    at[0] = childOf(tree, 0, process.comm);
    leaves[0] = process.comm;
    if (process.appid >= 0)
      at[0] = childOf(tree, at[0], process.appid);
    for (let row = 0; row < process.rows; row++) {
      let depth = rows[i++];
      const end = depth + rows[i++];

      for (; depth < end; depth++) {
        const name = names[rows[i++]];

        at[depth + 1] = step(at[depth], name);
        leaves[depth + 1] = name;
        seen[name] = 1;
      }
      self[at[depth]] += rows[i];
      sums[leaves[depth]] += rows[i++];
    }
  }
  sums.forEach((sum, name) => {
    const kind = model.kinds[name], found = tree.byKind.get(kind) || [0, 0];

    found[which] += sum;
    if (sum || seen[name])
      tree.byKind.set(kind, found);
  });
}

// mode: "before", "after" or "both"; with one profile there is only "before".
// all: what shares are shares of, by profile.
function finishTree(tree, mode, all) {
  const n = tree.size;

  for (const key of ["name", "parent", "depth", "first", "next", "children"])
    tree[key] = tree[key].subarray(0, n);
  tree.self = tree.self.map((self) => self.subarray(0, n));
  tree.total = tree.self.map((self) => self.slice());
  tree.hashed = null;
  for (const total of tree.total)
    for (let i = n - 1; i > 0; i--)
      total[tree.parent[i]] += total[i];
  tree.all = all || tree.total.map((total) => total[0]);
  addWidths(tree, mode);
  addDepths(tree);
  addPlaces(tree);
  return tree;
}

function addWidths(tree, mode) {
  const [before, after] = tree.total;

  if (after && mode === "both") {
    const [a, b] = tree.all.map((all) => all || 1);

    tree.width = before.map((total, i) => total / a + after[i] / b);
  } else {
    tree.width = after && mode === "after" ? after : before;
  }
}

// The depth of the deepest frame below each that has a width.
function addDepths(tree) {
  const deepest = tree.depth.slice();

  for (let i = deepest.length - 1; i > 0; i--) {
    const parent = tree.parent[i];

    if (tree.width[i] && deepest[parent] < deepest[i])
      deepest[parent] = deepest[i];
  }
  tree.deepest = deepest;
}

// Larger ones stand left; those without a width are left out.
function addPlaces(tree) {
  const { width, name, first, next } = tree, start = new Float64Array(tree.size);
  const bySize = (a, b) => width[b] - width[a] || name[a] - name[b];
  const children = [];

  for (let i = 0; i < tree.size; i++) {
    let last = 0, x = start[i];

    if (first[i] && !next[first[i]] && width[first[i]]) {
      start[first[i]] = x;
      continue;
    }
    children.length = 0;
    for (let child = first[i]; child; child = next[child])
      if (width[child])
        children.push(child);
    children.sort(bySize);
    first[i] = children.length ? children[0] : 0;
    for (const child of children) {
      if (last)
        next[last] = child;
      last = child;
      next[child] = 0;
      start[child] = x;
      x += width[child];
    }
  }
  tree.start = start;
}

// Callers and callees of all calls of a function. One within another of itself
// counts once, with the outer.
function sandwichTrees(tree, name, mode) {
  const profiles = tree.self.length;
  const callers = newTree(name, profiles, 1024), callees = newTree(name, profiles, 1024);
  const copy = new Int32Array(tree.name.length).fill(-1);

  for (let i = 1; i < tree.name.length; i++) {
    const above = copy[tree.parent[i]];

    if (above < 0 && tree.name[i] !== name)
      continue;
    if (above < 0) {
      copy[i] = 0;
      addCallers(callers, tree, i);
    } else {
      copy[i] = childOf(callees, above, tree.name[i]);
    }
    callees.self.forEach((self, which) => { self[copy[i]] += tree.self[which][i]; });
  }
  return {
    callers: finishTree(callers, mode, tree.all),
    callees: finishTree(callees, mode, tree.all),
  };
}

function addCallers(callers, tree, node) {
  let at = 0;

  for (let above = tree.parent[node]; above; above = tree.parent[above])
    at = childOf(callers, at, tree.name[above]);
  callers.self.forEach((self, which) => { self[at] += tree.total[which][node]; });
}

// The names from below the root to the node, and the node of such names again
// (or the last one on the way that is there).
function pathOf(tree, node) {
  const path = [];

  for (; node; node = tree.parent[node])
    path.unshift(tree.name[node]);
  return path;
}

function nodeOfPath(tree, path) {
  let node = 0;

  for (const name of path) {
    let child = tree.first[node];

    while (child && tree.name[child] !== name)
      child = tree.next[child];
    if (!child)
      break;
    node = child;
  }
  return node;
}
