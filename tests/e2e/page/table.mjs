// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { check, linesOf } from "./check.mjs";

const sortBy = (page, title) => page.locator(".gv-table th button", { hasText: title }).first().click();
const column = async (page, i) => (await linesOf(page)).map((cells) => cells[i]);

check("self and total of functions", {}, async (page) => {
  await page.keyboard.press("t");
  const lines = new Map((await linesOf(page)).map(([name, ...cells]) => [name, cells]));

  assert.deepEqual(lines.get("main"), ["0", "0.00 %", "900", "90.00 %"]);
  assert.deepEqual(lines.get("scan"), ["200", "20.00 %", "260", "26.00 %"]);
  assert.deepEqual(lines.get("do_read_[k]"), ["210", "21.00 %", "210", "21.00 %"]);
});

check("a recursive function counts once in a stack", {}, async (page) => {
  await page.keyboard.press("t");
  const walk = (await linesOf(page)).find(([name]) => name === "walk");

  assert.deepEqual(walk.slice(1), ["0", "0.00 %", "100", "10.00 %"]);
});

check("a click on a title sorts, another turns the order", {}, async (page) => {
  await page.keyboard.press("t");
  assert.equal((await column(page, 0))[0], "render_[p]"); // by self at first
  await sortBy(page, "Total %");
  const down = (await column(page, 3)).map(Number);

  assert.deepEqual(down, down.toSorted((a, b) => b - a));
  assert.equal(down[0], 900);
  await sortBy(page, "Total %");
  const up = (await column(page, 3)).map(Number);

  assert.deepEqual(up, up.toSorted((a, b) => a - b));
});

check("sorted by name", {}, async (page) => {
  await page.keyboard.press("t");
  await sortBy(page, "Function");
  const names = await column(page, 0);

  assert.deepEqual(names, names.toSorted());
  assert.equal(await page.locator("th.gv-name").getAttribute("aria-sort"), "ascending");
});

check("a line leads to callers and callees", {}, async (page) => {
  await page.keyboard.press("t");
  await page.locator("tr[data-line]", { hasText: "scan" }).click();
  assert.equal(await page.locator(".gv-crumbs b").textContent(), "scan");
});

check("the table by keyboard", {}, async (page) => {
  await page.keyboard.press("t");
  await page.keyboard.press("ArrowDown");
  const second = (await column(page, 0))[1];

  await page.keyboard.press("Enter");
  assert.equal(await page.locator(".gv-crumbs b").textContent(), second);
});

check("a long table makes only what can be seen", { page: "large" }, async (page) => {
  await page.keyboard.press("t");
  assert.ok((await linesOf(page)).length < 80);
  await page.locator(".gv-table").evaluate((table) => { table.scrollTop = table.scrollHeight; });
  await page.waitForFunction(() => {
    const table = document.querySelector(".gv-table"), rows = table.querySelectorAll("tr[data-line]");

    return Number(rows[rows.length - 1].dataset.line) > 5000;
  });
});

// The numbers were counted from the .col file, not by the page.
check("a real profile's table equals its .col file", { page: "real" }, async (page, { files }) => {
  const expected = JSON.parse(readFileSync(files.expected, "utf8"));

  await page.keyboard.press("t");
  const lines = await linesOf(page);

  assert.ok(lines.length > 20);
  for (const [name, self, , total] of lines.slice(0, 30))
    assert.deepEqual([name, self.replaceAll(",", ""), total.replaceAll(",", "")],
      [name, String(expected[name][0]), String(expected[name][1])]);
});
