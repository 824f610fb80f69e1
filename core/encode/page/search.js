// SPDX-License-Identifier: Apache-2.0
// Search: a piece of a name, or a regular expression; case does not matter.

// Throws a SyntaxError for an expression that is not finished.
function matcher(text, isRegex) {
  const quoted = /^\/(.+?)\/?$/.exec(text);
  const wanted = text.toLowerCase();

  if (!isRegex && !quoted)
    return (name) => name.toLowerCase().includes(wanted);
  const compiled = new RegExp(isRegex ? text : quoted[1], "i");

  return (name) => compiled.test(name);
}

function findNames(names, text, isRegex) {
  const test = matcher(text, isRegex);
  const found = new Uint8Array(names.length);

  for (let i = 0; i < names.length; i++)
    found[i] = test(names[i]) ? 1 : 0;
  return found;
}

// The outermost frames that match: what is below one is counted with it.
function outermostMatches(tree, matches) {
  const covered = new Uint8Array(tree.name.length), found = [];

  covered[0] = 0;
  for (let i = 1; i < tree.name.length; i++) {
    const above = covered[tree.parent[i]];

    covered[i] = above | matches[tree.name[i]];
    if (covered[i] && !above)
      found.push(i);
  }
  return found;
}

// For each profile, the samples whose stack holds a match.
function matchedSamples(tree, nodes) {
  return tree.total.map((total) => nodes.reduce((sum, node) => sum + total[node], 0));
}
