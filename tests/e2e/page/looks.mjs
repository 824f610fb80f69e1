// SPDX-License-Identifier: Apache-2.0
// Dark and light, small and large windows, an empty profile.
import assert from "node:assert/strict";

import { check, colourOf, hoverFrame } from "./check.mjs";

const backOf = (page) => page.locator(".gpc-viewer").evaluate((e) => getComputedStyle(e).backgroundColor);
const luminance = (text) => text.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
const isDark = (text) => luminance(text) < 150;

check("dark where the system is dark", { colorScheme: "dark" }, async (page) => {
  assert.ok(isDark(await backOf(page)));
  const [r, g, b] = await colourOf(page, 600, 2);

  assert.ok(r + g + b < 400, "frames are dark too");
});

check("light where the system is light", {}, async (page) => {
  assert.ok(!isDark(await backOf(page)));
});

check("the system's change is followed", {}, async (page) => {
  await page.emulateMedia({ colorScheme: "dark" });
  assert.ok(isDark(await backOf(page)));
  const [r, g, b] = await colourOf(page, 600, 2);

  assert.ok(r + g + b < 400);
});

check("the key turns dark and light", {}, async (page) => {
  const light = await colourOf(page, 600, 2);

  await page.keyboard.press("d");
  assert.ok(isDark(await backOf(page)));
  assert.notDeepEqual(await colourOf(page, 600, 2), light);
  await page.keyboard.press("d");
  assert.deepEqual(await colourOf(page, 600, 2), light);
});

check("what a reader chose stays when the system changes", {}, async (page) => {
  await page.getByLabel("Dark or light").click();
  await page.emulateMedia({ colorScheme: "dark" });
  await page.getByLabel("Dark or light").click();
  await page.emulateMedia({ colorScheme: "light" });
  await page.emulateMedia({ colorScheme: "dark" });
  assert.ok(!isDark(await backOf(page)));
});

for (const width of [390, 2560])
  check(`nothing sticks out at ${width} pixels`, { viewport: { width, height: 800 } }, async (page) => {
    const sizes = await page.evaluate(() => [document.documentElement.scrollWidth,
      document.querySelector("canvas").clientWidth, document.documentElement.scrollHeight]);

    assert.deepEqual(sizes, [width, width, 800]);
    assert.equal((await hoverFrame(page, width * 0.7, 1)).name, "db");
    await page.keyboard.press("t");
    const table = await page.locator(".gv-table").evaluate((e) => [e.scrollWidth, e.clientWidth]);

    assert.equal(table[0], table[1]);
    const name = await page.locator("tr[data-line] td").first().boundingBox();

    assert.ok(name.width > width * 0.4, `names have ${name.width} pixels`);
  });

check("a table of changes on a phone", { page: "two", viewport: { width: 390, height: 800 } },
  async (page) => {
    await page.keyboard.press("t");
    const name = await page.locator("tr[data-line] td").first().boundingBox();

    assert.ok(name.width > 160, `names have ${name.width} pixels`);
    assert.equal(await page.locator("tr[data-line]").first().locator("td:visible").count(), 3);
  });

check("sharp on a screen with more pixels", { deviceScaleFactor: 2 }, async (page) => {
  assert.equal(await page.locator("canvas").evaluate((canvas) => canvas.width), 2000);
  assert.equal((await hoverFrame(page, 700, 1)).name, "db");
});

check("the graph follows the window's size", {}, async (page) => {
  await page.setViewportSize({ width: 500, height: 600 });
  await page.waitForFunction(() => document.querySelector("canvas").clientWidth === 500);
  assert.equal((await hoverFrame(page, 305, 1)).name, "db");
});

check("an empty profile says so", { page: "empty" }, async (page) => {
  assert.equal(await page.locator(".gv-empty").textContent(), "There are no samples in this profile.");
  for (const key of ["i", "t", "Enter", "ArrowDown"])
    await page.keyboard.press(key);
});
