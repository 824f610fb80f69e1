// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";

import { check, colourOf, crumbsOf, linesOf } from "./check.mjs";

const shareOf = (page) => page.locator(".gv-share").textContent();
const search = (page, text) => page.getByLabel("Search functions").fill(text);

check("a search tells its share", {}, async (page) => {
  await search(page, "do_read");
  assert.equal(await shareOf(page), "21.00 % (210)");
});

check("a match within another counts once", {}, async (page) => {
  await search(page, "walk");
  assert.equal(await shareOf(page), "10.00 % (100)");
});

check("case does not matter", {}, async (page) => {
  await search(page, "DO_READ");
  assert.equal(await shareOf(page), "21.00 % (210)");
});

check("a search is not an expression unless asked", {}, async (page) => {
  await search(page, "s(can|ort)");
  assert.equal(await shareOf(page), "0.00 % (0)");
});

check("an expression between slashes", {}, async (page) => {
  await search(page, "/^s(can|ort)$/");
  assert.equal(await shareOf(page), "30.00 % (300)");
});

check("the button makes it an expression", {}, async (page) => {
  await search(page, "^s(can|ort)$");
  await page.getByRole("button", { name: ".*" }).click();
  assert.equal(await shareOf(page), "30.00 % (300)");
});

check("an unfinished expression is said to be one", {}, async (page) => {
  await search(page, "/(");
  assert.equal(await shareOf(page), "not a regular expression");
  await search(page, "/(scan)");
  assert.equal(await shareOf(page), "26.00 % (260)");
});

check("matches are coloured, others are pale", {}, async (page) => {
  const before = await colourOf(page, 860, 3);

  await search(page, "scan");
  const match = await colourOf(page, 860, 3), other = await colourOf(page, 900, 3);

  assert.deepEqual(match.slice(0, 3), [228, 123, 239]);
  assert.deepEqual(other.slice(0, 3), [236, 238, 241]);
  await page.getByLabel("Search functions").press("Escape");
  assert.deepEqual(await colourOf(page, 860, 3), before);
  assert.equal(await shareOf(page), "");
});

check("Enter goes to the widest match, then to the next", {}, async (page) => {
  await page.keyboard.press("/");
  await page.keyboard.type("do_read");
  await page.keyboard.press("Enter");
  assert.deepEqual(await crumbsOf(page),
    ["all", "web", "main", "serve", "handle_[p]", "query_[p]", "do_read_[k]"]);
  await page.keyboard.press("Enter");
  assert.deepEqual(await crumbsOf(page), ["all", "db", "main", "scan", "do_read_[k]"]);
});

check("letters typed into the search are no commands", {}, async (page) => {
  await page.keyboard.press("/");
  await page.keyboard.type("tgs");
  assert.ok(!await page.locator(".gv-table").isVisible());
});

check("a search keeps the table's lines", {}, async (page) => {
  await page.keyboard.press("t");
  await search(page, "/^s/");
  const names = (await linesOf(page)).map(([name]) => name);

  assert.deepEqual(names.sort(), ["scan", "serve", "sort"]);
});
