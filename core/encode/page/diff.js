// SPDX-License-Identifier: Apache-2.0
// Comparison of two profiles: how a frame's share has changed, and files that
// are dropped on the page.

// -1 (gone) to 1 (new); half as much is -0.7. A change that may be chance, by the
// number of samples, is paler; one of less than one standard error is none.
function changeOf(before, after, allBefore, allAfter) {
  const a = before / (allBefore || 1), b = after / (allAfter || 1);
  const larger = Math.max(a, b);

  if (!larger || a === b)
    return 0;
  const error = Math.sqrt(before / (allBefore || 1) ** 2 + after / (allAfter || 1) ** 2);
  const surety = Math.min(1, Math.max(0, (Math.abs(b - a) / error - 1) / 2));

  return Math.sign(b - a) * surety * Math.sqrt(Math.abs(b - a) / larger);
}

function nodeChange(tree, node) {
  const [before, after] = tree.total;

  return changeOf(before[node], after[node], tree.all[0], tree.all[1]);
}

async function readGivenFile(file) {
  try {
    return readFile(await file.text());
  } catch (error) {
    throw new Error(`${file.name} cannot be compared: ${error.message}`);
  }
}

// Calls onFile for a file that is dropped on element, and marks the element
// while one is held over it.
function takeDrops(element, onFile) {
  let depth = 0; // dragenter and dragleave come for each child

  const isFile = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  const mark = () => element.classList.toggle("gv-dropping", depth > 0);

  element.addEventListener("dragenter", (event) => {
    if (isFile(event)) {
      event.preventDefault();
      depth++;
      mark();
    }
  });
  element.addEventListener("dragover", (event) => isFile(event) && event.preventDefault());
  element.addEventListener("dragleave", (event) => {
    if (isFile(event)) {
      depth = Math.max(0, depth - 1);
      mark();
    }
  });
  element.addEventListener("drop", (event) => {
    if (!isFile(event))
      return;
    event.preventDefault();
    depth = 0;
    mark();
    if (event.dataTransfer.files.length)
      onFile(event.dataTransfer.files[0]);
  });
}
