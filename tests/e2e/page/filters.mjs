// SPDX-License-Identifier: Apache-2.0
// Processes, containers, languages.
import assert from "node:assert/strict";

import { check, chooseProcess, clickFrame, crumbsOf, hoverFrame, linesOf } from "./check.mjs";

const legend = (page) => page.locator(".gv-legend button").allTextContents();
const chip = (page, language) => page.locator(`.gv-legend [data-language="${language}"]`);

check("one process", {}, async (page) => {
  await chooseProcess(page, "db");
  assert.equal((await hoverFrame(page, 10, 0)).numbers, "300 samples, 100.00 % of all; itself 0 (0.00 %)");
  assert.equal((await hoverFrame(page, 990, 1)).name, "db");
});

check("one pid of several of a name", { page: "pids" }, async (page) => {
  await chooseProcess(page, "worker");
  assert.match((await hoverFrame(page, 10, 0)).numbers, /^70 samples/);
  await chooseProcess(page, "pid 22");
  assert.match((await hoverFrame(page, 10, 0)).numbers, /^30 samples/);
});

check("all but idle CPUs", { page: "pids" }, async (page) => {
  await chooseProcess(page, "All but idle");
  assert.match((await hoverFrame(page, 10, 0)).numbers, /^70 samples/);
});

check("one container", {}, async (page) => {
  const select = page.getByLabel("Containers");

  await select.selectOption({ index: 1 });
  assert.match(await select.locator("option:checked").textContent(), /^shop\s+60\.00 %$/);
  assert.match((await hoverFrame(page, 10, 0)).numbers, /^600 samples/);
  assert.equal((await hoverFrame(page, 990, 1)).name, "web");
});

check("no choice of containers where there are none", { page: "turns" }, async (page) => {
  assert.ok(!await page.getByLabel("Containers").isVisible());
});

check("the zoom stays when a filter allows it", {}, async (page) => {
  await clickFrame(page, 700, 3);
  await chooseProcess(page, "db");
  assert.deepEqual(await crumbsOf(page), ["all", "db", "main", "scan"]);
  await chooseProcess(page, "web");
  assert.deepEqual(await crumbsOf(page), []);
});

check("what a filter leaves empty says so", {}, async (page) => {
  await chooseProcess(page, "db");
  await page.getByLabel("Containers").selectOption({ index: 1 });
  assert.match(await page.locator(".gv-empty").textContent(), /^No samples are left/);
});

check("the legend has languages by their own share", {}, async (page) => {
  assert.deepEqual(await legend(page),
    ["Native45.00 %", "Python30.00 %", "Kernel21.00 %", "Java4.00 %"]);
});

check("a hidden language's samples go to the caller", {}, async (page) => {
  await chip(page, "Kernel").click();
  assert.equal(await chip(page, "Kernel").getAttribute("aria-pressed"), "false");
  assert.equal((await hoverFrame(page, 700, 3)).numbers,
    "260 samples, 26.00 % of all; itself 260 (26.00 %)");
  assert.equal((await legend(page))[2], "Kernel21.00 %");
  await chip(page, "Kernel").click();
  assert.match((await hoverFrame(page, 700, 3)).numbers, /itself 200/);
});

check("a hidden language in the middle of stacks", {}, async (page) => {
  await chip(page, "Python").click();
  assert.equal((await hoverFrame(page, 10, 3)).name, "serve");
  assert.match((await hoverFrame(page, 10, 3)).numbers, /itself 300 /);
  assert.equal((await hoverFrame(page, 10, 4)).name, "do_read_[k]");
});

check("only one language with Shift, and all again", {}, async (page) => {
  await chip(page, "Python").click({ modifiers: ["Shift"] });
  assert.equal((await hoverFrame(page, 10, 2)).name, "handle_[p]");
  assert.equal(await page.locator('.gv-legend [aria-pressed="true"]').count(), 1);
  await chip(page, "Python").click({ modifiers: ["Shift"] });
  assert.equal(await page.locator('.gv-legend [aria-pressed="true"]').count(), 4);
});

check("hidden languages are not in the table", {}, async (page) => {
  await chip(page, "Kernel").click();
  await page.keyboard.press("t");
  assert.ok(!(await linesOf(page)).some(([name]) => name.endsWith("_[k]")));
});

check("only this process, from the menu", {}, async (page) => {
  await clickFrame(page, 700, 1, { button: "right" });
  await page.getByRole("menuitem", { name: "Only this process" }).click();
  assert.match((await hoverFrame(page, 10, 0)).numbers, /^300 samples/);
  assert.match(await page.getByLabel("Processes").locator("option:checked").textContent(), /^db/);
});
