// SPDX-License-Identifier: Apache-2.0
// Zoom, breadcrumb, icicle and flame, callers and callees, copying, keys.
import assert from "node:assert/strict";

import { check, clickFrame, colourAt, crumbsOf, detailsOf, hoverFrame, placeOf, ROW } from "./check.mjs";

check("frames stand where their samples are", {}, async (page) => {
  assert.equal((await hoverFrame(page, 590, 1)).name, "web");
  assert.equal((await hoverFrame(page, 610, 1)).name, "db");
  assert.equal((await hoverFrame(page, 890, 1)).name, "db");
  assert.equal((await hoverFrame(page, 10, 5)).name, "render_[p]");
});

check("details tell total and self", {}, async (page) => {
  const { numbers } = await hoverFrame(page, 700, 3);

  assert.equal(numbers, "260 samples, 26.00 % of all; itself 200 (20.00 %)");
});

check("a click zooms", {}, async (page) => {
  await clickFrame(page, 700, 1);
  assert.equal((await hoverFrame(page, 10, 1)).name, "db");
  assert.equal((await hoverFrame(page, 990, 1)).name, "db");
  assert.equal((await hoverFrame(page, 860, 3)).name, "scan");
  assert.equal((await hoverFrame(page, 880, 3)).name, "sort");
  assert.match((await hoverFrame(page, 10, 3)).numbers, /26\.00 % of all, 86\.67 % of the zoomed/);
});

check("the breadcrumb shows the path and leads back", {}, async (page) => {
  await clickFrame(page, 10, 5);
  assert.deepEqual(await crumbsOf(page), ["all", "web", "main", "serve", "handle_[p]", "render_[p]"]);
  await page.locator(".gv-crumbs button", { hasText: "serve" }).click();
  assert.deepEqual(await crumbsOf(page), ["all", "web", "main", "serve"]);
  await page.locator(".gv-crumbs button", { hasText: "all" }).click();
  assert.deepEqual(await crumbsOf(page), []);
});

check("a deep frame that is zoomed comes into sight", { viewport: { width: 1000, height: 320 } },
  async (page) => {
    const { y, height } = await page.locator("canvas").boundingBox();

    await page.locator(".gv-scroll").evaluate((scroll) => { scroll.scrollTop = 9999; });
    await page.mouse.click(500, y + height - ROW / 2); // the deepest, leaf
    assert.deepEqual((await crumbsOf(page)).slice(-2), ["walk", "leaf"]);
    assert.equal((await hoverFrame(page, 10, 3)).name, "leaf");
    await page.keyboard.press("i");
    const flame = await page.locator("canvas").boundingBox();

    assert.equal((await hoverFrame(page, 10, flame.height / ROW - 4)).name, "leaf");
  });

check("Backspace goes one zoom back, Escape to everything", {}, async (page) => {
  await clickFrame(page, 10, 1);
  await clickFrame(page, 10, 3);
  await clickFrame(page, 10, 4);
  await page.keyboard.press("Backspace");
  assert.equal((await crumbsOf(page)).at(-1), "serve");
  await page.keyboard.press("Escape");
  assert.deepEqual(await crumbsOf(page), []);
  assert.equal((await hoverFrame(page, 890, 1)).name, "db");
});

check("a flame stands on the ground", {}, async (page) => {
  await page.keyboard.press("i");
  const { width, height } = await page.locator("canvas").boundingBox();
  const rows = height / ROW;

  assert.equal(width, 1000);
  assert.equal((await hoverFrame(page, 500, rows - 1)).name, "all");
  assert.equal((await hoverFrame(page, 500, rows - 2)).name, "web");
  assert.equal((await hoverFrame(page, 10, rows - 6)).name, "render_[p]");
  await page.getByRole("button", { name: "Flame" }).click();
  assert.equal((await hoverFrame(page, 500, 0)).name, "all");
});

check("arrows choose frames, Enter zooms", {}, async (page) => {
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"])
    await page.keyboard.press(key);
  assert.equal((await detailsOf(page)).name, "db");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowDown");
  assert.equal((await detailsOf(page)).name, "main");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  assert.deepEqual(await crumbsOf(page), ["all", "web"]);
});

check("callers above and callees below", {}, async (page) => {
  await clickFrame(page, 10, 0);
  await clickFrame(page, 310, 6, { button: "right" });
  await page.getByRole("menuitem", { name: "Callers & callees" }).click();
  assert.equal(await page.locator(".gv-crumbs b").textContent(), "do_read_[k]");
  const details = await detailsOf(page);

  assert.equal(details.name, "do_read_[k]");
  assert.match(details.numbers, /^210 samples, 21\.00 % of all/);
  // Callers in the row above, by their part of the 210 samples.
  const { height } = await page.locator("canvas").boundingBox();
  const names = new Set();

  for (let y = 0; y < height; y += ROW / 2)
    names.add((await hoverFrame(page, 990, y / ROW)).name + " right")
      .add((await hoverFrame(page, 10, y / ROW)).name + " left");
  for (const name of ["query_[p] left", "web left", "scan right", "db right", "do_read_[k] right"])
    assert.ok(names.has(name), `${name} in ${[...names]}`);
  assert.ok(!names.has("query_[p] right"));
});

check("the button leads to the chosen frame's callers", {}, async (page) => {
  const tab = page.locator(".gv-tabs button", { hasText: "Callers" });

  assert.ok(await tab.isDisabled());
  await clickFrame(page, 700, 3);
  await tab.click();
  assert.equal(await page.locator(".gv-crumbs b").textContent(), "scan");
});

check("the graph is where it was left", {}, async (page) => {
  await clickFrame(page, 700, 3);
  await page.keyboard.press("s");
  await page.keyboard.press("r");
  await page.keyboard.press("g");
  assert.deepEqual(await crumbsOf(page), ["all", "db", "main", "scan"]);
});

check("callers of a recursive function count once", {}, async (page) => {
  await page.keyboard.press("t");
  await page.locator("tr[data-line]", { hasText: "walk" }).click();
  assert.match((await detailsOf(page)).numbers, /^100 samples, 10\.00 % of all/);
  await page.keyboard.press("ArrowUp");
  assert.equal((await detailsOf(page)).name, "serve");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.equal((await detailsOf(page)).name, "walk");
});

check("merged recursion is one call", {}, async (page) => {
  assert.equal((await hoverFrame(page, 500, 6)).name, "walk");
  await page.keyboard.press("r");
  assert.equal((await hoverFrame(page, 500, 4)).name, "walk");
  assert.equal((await hoverFrame(page, 500, 5)).name, "leaf");
  assert.match((await hoverFrame(page, 500, 5)).numbers, /^100 samples/);
});

check("merged recursion of two functions in turn", { page: "turns" }, async (page) => {
  await page.keyboard.press("r");
  const names = [];

  for (let depth = 1; depth < 6; depth++)
    names.push((await hoverFrame(page, 10, depth)).name);
  assert.deepEqual(names.slice(0, 4), ["lisp", "eval", "apply", "prim"]);
});

check("a stack is copied, innermost first", {}, async (page) => {
  await clickFrame(page, 700, 3);
  await page.keyboard.press("c");
  await page.locator(".gv-toast.gv-shown").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "scan\nmain\ndb");
});

check("the menu copies too", {}, async (page) => {
  await clickFrame(page, 640, 3, { button: "right" });
  await page.getByRole("menuitem", { name: "Copy name" }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "scan");
});

check("the menu closes with Escape and leaves the zoom", {}, async (page) => {
  await clickFrame(page, 10, 1);
  await clickFrame(page, 10, 2, { button: "right" });
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".gv-menu").count(), 0);
  assert.deepEqual(await crumbsOf(page), ["all", "web"]);
});

check("the help lists the keys", {}, async (page) => {
  await page.keyboard.press("?");
  const help = page.locator("dialog.gv-help");

  assert.ok(await help.isVisible());
  const keys = await help.locator("kbd").allTextContents();

  for (const key of ["/", "g", "t", "s", "i", "r", "c", "p", "o", "d", "Enter", "Backspace", "Esc"])
    assert.ok(keys.includes(key), key);
  await page.keyboard.press("t"); // not while the help is open
  await page.keyboard.press("Escape");
  assert.ok(!await help.isVisible());
  assert.ok(!await page.locator(".gv-table").isVisible());
});

check("keys with Ctrl are the browser's", {}, async (page) => {
  await page.keyboard.press("Control+i");
  const { y } = await placeOf(page, 10, 0);

  await page.mouse.move(500, y);
  assert.equal((await detailsOf(page)).name, "all");
});

check("the chosen frame has an outline", {}, async (page) => {
  await clickFrame(page, 700, 1);
  await page.mouse.move(500, 780);
  const edge = await colourAt(page, 500, ROW);

  assert.deepEqual(edge.slice(0, 3), [11, 12, 14]);
});
