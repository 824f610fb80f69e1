// SPDX-License-Identifier: Apache-2.0
// Trees of frames as parallel arrays; a parent stands before its children, 0 is
// the root. self and total have one array for each profile of the model. width
// is what a frame is drawn by, start is where it begins, in the same unit.

const LONGEST_CYCLE = 8; // frames of a recursion that is merged

function newTree(rootName, profiles) {
  return {
    name: [rootName], parent: [0], depth: [0],
    self: Array.from({ length: profiles }, () => [0]),
    slots: new Int32Array(1 << 12), // a hash table of children: node + 1, or 0
  };
}

function slotOf(tree, parent, name) {
  const mask = tree.slots.length - 1;
  let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(name + 1, 0x85ebca6b)) >>> 0;

  for (at = (at ^ (at >>> 15)) & mask; tree.slots[at]; at = (at + 1) & mask) {
    const node = tree.slots[at] - 1;

    if (tree.name[node] === name && tree.parent[node] === parent)
      break;
  }
  return at;
}

function growSlots(tree) {
  tree.slots = new Int32Array(tree.slots.length * 2);
  for (let i = 1; i < tree.name.length; i++)
    tree.slots[slotOf(tree, tree.parent[i], tree.name[i])] = i + 1;
}

// The child of parent with that name, made when there is none.
function childOf(tree, parent, name) {
  let at = slotOf(tree, parent, name);
  const node = tree.name.length;

  if (tree.slots[at])
    return tree.slots[at] - 1;
  if (node * 2 > tree.slots.length) {
    growSlots(tree);
    at = slotOf(tree, parent, name);
  }
  tree.slots[at] = node + 1;
  tree.name.push(name);
  tree.parent.push(parent);
  tree.depth.push(tree.depth[parent] + 1);
  for (const self of tree.self)
    self.push(0);
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
  const tree = newTree(-1, model.profiles.length);

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
  const n = tree.name.length;

  tree.total = tree.self.map((self) => Float64Array.from(self));
  for (let i = n - 1; i > 0; i--)
    for (const total of tree.total)
      total[tree.parent[i]] += total[i];
  tree.all = all || tree.total.map((total) => total[0]);
  return placeTree(tree, mode);
}

function placeTree(tree, mode) {
  const [before, after] = tree.total;

  if (after && mode === "both") {
    const [a, b] = tree.all.map((all) => all || 1);

    tree.width = before.map((total, i) => total / a + after[i] / b);
  } else {
    tree.width = after && mode === "after" ? after : before;
  }
  addDepths(tree);
  addPlaces(tree);
  return tree;
}

// The depth of the deepest frame below each that has a width.
function addDepths(tree) {
  tree.deepest = Int32Array.from(tree.depth);
  for (let i = tree.name.length - 1; i > 0; i--) {
    const parent = tree.parent[i];

    if (tree.width[i] && tree.deepest[parent] < tree.deepest[i])
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

// Larger ones stand left; those without a width are left out.
function addPlaces(tree) {
  const n = tree.name.length, { width, name } = tree;
  const { from, list } = childLists(tree);
  const bySize = (a, b) => width[b] - width[a] || name[a] - name[b];

  tree.first = new Int32Array(n);
  tree.next = new Int32Array(n);
  tree.start = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const children = list.subarray(from[i], from[i + 1]);
    let start = tree.start[i], last = 0;

    if (children.length > 1)
      children.sort(bySize);
    for (const child of children) {
      if (!width[child])
        break;
      if (last)
        tree.next[last] = child;
      else
        tree.first[i] = child;
      last = child;
      tree.start[child] = start;
      start += width[child];
    }
  }
}

// Callers and callees of all calls of a function. One within another of itself
// counts once, with the outer.
function sandwichTrees(tree, name, mode) {
  const profiles = tree.self.length;
  const callers = newTree(name, profiles), callees = newTree(name, profiles);
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
    const at = tree.slots[slotOf(tree, node, name)];

    if (!at)
      break;
    node = at - 1;
  }
  return node;
}
