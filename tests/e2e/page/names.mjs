// SPDX-License-Identifier: Apache-2.0
// Names of any kind do nothing but stand there.
import assert from "node:assert/strict";

import { check, chooseProcess, clickFrame, crumbsOf, detailsOf, hoverFrame, linesOf } from "./check.mjs";

const EVIL = "<script>alert(1)</script>";
check("a process called as an element", {}, async (page) => {
  assert.equal((await hoverFrame(page, 950, 1)).name, EVIL);
  await clickFrame(page, 920, 2);
  assert.deepEqual(await crumbsOf(page), ["all", EVIL, "<b>evil</b>"]);
});

check("such names in the choices, the table and the menu", {}, async (page) => {
  await chooseProcess(page, EVIL);
  assert.equal((await hoverFrame(page, 10, 1)).name, EVIL);
  await page.keyboard.press("t");
  assert.ok((await linesOf(page)).some(([name]) => name === "<b>evil</b>"));
  await page.locator("tr[data-line]", { hasText: "evil" }).click();
  assert.equal((await detailsOf(page)).name, "<b>evil</b>");
  assert.equal(await page.locator(".gv-table b, .gv-table script, img").count(), 0);
});

check("no element is made of a name", {}, async (page) => {
  const before = await page.locator("script").count();

  await clickFrame(page, 950, 1);
  await clickFrame(page, 950, 1, { button: "right" });
  assert.equal(await page.locator("script").count(), before);
  assert.equal(before, 3);
  assert.equal(await page.locator("img, [onerror]").count(), 0);
  assert.equal(await page.locator("b", { hasText: "evil" }).locator("b").count(), 0);
});

check("Java's signatures have their semicolons", {}, async (page) => {
  assert.equal((await hoverFrame(page, 990, 2)).name, "f(Ljava/lang/String;)V_[j]");
});

check("nothing is asked of the network", { page: "real" }, async (page, { requests }) => {
  for (const key of ["t", "g", "i", "?", "Escape", "d"])
    await page.keyboard.press(key);
  assert.equal(requests.length, 1);
  assert.match(requests[0], /^file:/);
});

check("nothing is left in the window", {}, async (page) => {
  const own = await page.evaluate(() => {
    const frame = document.createElement("iframe");

    document.body.append(frame);
    const plain = new Set(Object.getOwnPropertyNames(frame.contentWindow));

    frame.remove();
    return Object.getOwnPropertyNames(window).filter((name) => !plain.has(name));
  });

  // Elements with an id are named by the browser itself.
  assert.deepEqual(own.filter((name) => /viewer|tree|gpc|open(?!er|$)|model|profile/i.test(name)), []);
});

check("a real profile has the samples of its .col file", { page: "real" }, async (page, { files }) => {
  const { samples } = JSON.parse(await (await import("node:fs/promises")).readFile(files.facts, "utf8"));
  const { numbers } = await hoverFrame(page, 500, 0);

  assert.ok(samples > 0);
  assert.equal(numbers.split(" ")[0].replaceAll(",", ""), String(samples));
});
