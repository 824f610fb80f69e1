// SPDX-License-Identifier: Apache-2.0
// Comparison with another profile.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { check, colourOf, hoverFrame, linesOf } from "./check.mjs";

const bar = (page) => page.locator(".gv-compare");
const give = async (page, path) => {
  await page.locator("input[type=file]").setInputFiles(path);
  await bar(page).waitFor();
};
const isRed = ([r, g, b]) => r > b + 40 && r > g + 40;
const isBlue = ([r, g, b]) => b > r + 40;
const widths = (page, value) => page.getByLabel("Widths").selectOption(value);

async function drop(page, path) {
  const transfer = await page.evaluateHandle(([text, name]) => {
    const made = new DataTransfer();

    made.items.add(new File([text], name));
    return made;
  }, [readFileSync(path, "utf8"), path.split("/").pop()]);

  for (const type of ["dragenter", "dragover", "drop"])
    await page.dispatchEvent("canvas", type, { dataTransfer: transfer });
}

check("a .col file dropped on the page is compared", {}, async (page, { files }) => {
  await drop(page, files.changed);
  await bar(page).waitFor();
  assert.match(await bar(page).textContent(), /Before known.* 1,000 samples.*after other.* 1,000 samples/);
});

// In the changed profile db's sort has 240 samples instead of 40, scan none of its own.
check("more is red, less is blue, the same is grey", {}, async (page, { files }) => {
  await give(page, files.changed);
  await widths(page, "before");
  const more = await colourOf(page, 900, 3), less = await colourOf(page, 860, 3);
  const same = await colourOf(page, 600, 1);

  assert.ok(isRed(more), String(more));
  assert.ok(isBlue(less), String(less));
  assert.ok(Math.max(...same.slice(0, 3)) - Math.min(...same.slice(0, 3)) < 12, String(same));
});

check("details tell the shares before and after", {}, async (page, { files }) => {
  await give(page, files.changed);
  await widths(page, "before");
  assert.equal((await hoverFrame(page, 880, 3)).numbers,
    "4.00 % → 24.00 % of all (+20.00 points); 40 → 240 samples; itself 4.00 % → 24.00 %");
});

check("widths of after", {}, async (page, { files }) => {
  await give(page, files.changed);
  await widths(page, "after");
  assert.equal((await hoverFrame(page, 610, 3)).name, "sort");
  assert.equal((await hoverFrame(page, 835, 3)).name, "sort");
  assert.equal((await hoverFrame(page, 850, 3)).name, "scan");
});

check("swap turns red to blue", {}, async (page, { files }) => {
  await give(page, files.changed);
  await page.getByRole("button", { name: "Swap" }).click();
  await widths(page, "after");
  assert.ok(isBlue(await colourOf(page, 900, 3)));
});

check("the table has changes, the largest first", {}, async (page, { files }) => {
  await give(page, files.changed);
  await page.keyboard.press("t");
  const lines = await linesOf(page);
  const byName = new Map(lines.map(([name, ...cells]) => [name, cells]));

  assert.deepEqual(byName.get("sort"), ["4.00 %", "24.00 %", "+20.00", "4.00 %", "24.00 %", "+20.00"]);
  assert.deepEqual(byName.get("scan").slice(0, 3), ["20.00 %", "0.00 %", "−20.00"]);
  assert.deepEqual(lines.slice(0, 2).map(([name]) => name).sort(), ["scan", "sort"]);
});

check("a search tells both shares", {}, async (page, { files }) => {
  await give(page, files.changed);
  await page.getByLabel("Search functions").fill("sort");
  assert.equal(await page.locator(".gv-share").textContent(), "4.00 % → 24.00 %");
});

check("our own page can be given too", {}, async (page, { files }) => {
  await give(page, files.turns);
  assert.match(await bar(page).textContent(), /after turns/);
});

check("folded stacks without a header", {}, async (page, { files }) => {
  await give(page, files.folded);
  await widths(page, "after");
  assert.equal((await hoverFrame(page, 10, 1)).name, "web");
  assert.equal((await hoverFrame(page, 10, 3)).name, "serve");
});

check("stacks of the older protocol", {}, async (page, { files }) => {
  await give(page, files.v1);
  await widths(page, "after");
  assert.equal((await hoverFrame(page, 10, 1)).name, "web");
  assert.equal((await hoverFrame(page, 10, 3)).name, "serve");
});

check("a file that is no profile is refused with the reason", {}, async (page, { files }) => {
  await drop(page, files.bad);
  const toast = page.locator(".gv-toast.gv-shown");

  await toast.waitFor();
  assert.match(await toast.textContent(), /^bad\.col cannot be compared: line 1 does not end/);
  assert.ok(!await bar(page).isVisible());
  assert.equal((await hoverFrame(page, 610, 1)).name, "db");
});

for (const damage of ["depth", "names", "processes", "endless"])
  check(`a damaged page is refused: ${damage}`, {}, async (page, { files }) => {
    await page.locator("input[type=file]").setInputFiles(files[damage]);
    const toast = page.locator(".gv-toast.gv-shown");

    await toast.waitFor();
    assert.match(await toast.textContent(), /cannot be compared: its rows /);
    assert.ok(!await bar(page).isVisible());
  });

check("comparing ends", {}, async (page, { files }) => {
  await give(page, files.changed);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  assert.ok(!await bar(page).isVisible());
  assert.equal((await hoverFrame(page, 700, 3)).numbers,
    "260 samples, 26.00 % of all; itself 200 (20.00 %)");
});

// The page's own data and the .col file were written by different code.
check("a real profile does not differ from its .col file", { page: "real" }, async (page, { files }) => {
  await give(page, files.real);
  await page.keyboard.press("t");
  const lines = await linesOf(page); // the largest change first

  assert.ok(lines.length > 20);
  for (const [name, before, after, change, totalBefore, totalAfter, totalChange] of lines)
    assert.deepEqual([name, before, change, totalBefore, totalChange],
      [name, after, "0.00", totalAfter, "0.00"]);
});

check("a page of two profiles opens comparing", { page: "two" }, async (page) => {
  assert.match(await bar(page).textContent(), /Before known.*after turns/);
});
