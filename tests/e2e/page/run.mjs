// SPDX-License-Identifier: Apache-2.0
// Runs checks of the page in Chromium: node run.mjs CONFIG.json
// CONFIG: {playwright, chromium, pages: {name: path}, files: {name: path}}.
// Prints a line of JSON for each check: {name, error, notes}.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { checks } from "./check.mjs";
import "./graph.mjs";
import "./search.mjs";
import "./filters.mjs";
import "./table.mjs";
import "./compare.mjs";
import "./looks.mjs";
import "./names.mjs";
import "./speed.mjs";

const config = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { chromium } = await import(pathToFileURL(config.playwright).href);

async function openPage(browser, { page: name, ...options }) {
  const context = await browser.newContext({
    viewport: { width: 1000, height: 800 }, colorScheme: "light", ...options,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  const errors = [], requests = [];

  page.setDefaultTimeout(20000);
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("request", (request) => requests.push(request.url()));
  page.on("dialog", (dialog) => {
    errors.push("a dialog: " + dialog.message());
    dialog.dismiss();
  });
  await page.goto(pathToFileURL(config.pages[name]).href);
  return { page, context, errors, requests };
}

async function run(browser, { name, options, fn }) {
  const { page, context, errors, requests } = await openPage(browser, options);
  const notes = [];

  try {
    await fn(page, { requests, files: config.files, note: (text) => notes.push(text) });
    if (errors.length)
      throw new Error("errors in the page: " + errors.join("; "));
    return { name, error: null, notes };
  } catch (error) {
    return { name, error: String(error.message), notes };
  } finally {
    await context.close();
  }
}

const browser = await chromium.launch({
  executablePath: config.chromium, args: ["--no-sandbox", "--disable-gpu"],
});

try {
  for (const check of checks)
    console.log(JSON.stringify(await run(browser, check)));
} finally {
  await browser.close();
}
