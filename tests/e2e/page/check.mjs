// SPDX-License-Identifier: Apache-2.0
// What the checks of the page share. In the known profile (known.py) there are
// 1000 samples, and the window is 1000 pixels wide: a sample is a pixel.
export const checks = [];
export const ROW = 19;

// One matter. options: page (of CONFIG.pages, "known" if not said), and those of
// a browser context.
export function check(name, options, fn) {
  checks.push({ name, options: { page: "known", ...options }, fn });
}

// As the row of depth stands in an icicle that is not scrolled.
export async function placeOf(page, x, depth) {
  const box = await page.locator("canvas").boundingBox();

  return { x: box.x + x, y: box.y + depth * ROW + ROW / 2 };
}

export async function clickFrame(page, x, depth, options) {
  const place = await placeOf(page, x, depth);

  await page.mouse.click(place.x, place.y, options);
}

export async function hoverFrame(page, x, depth) {
  const place = await placeOf(page, x, depth);

  await page.mouse.move(place.x, place.y);
  return detailsOf(page);
}

export async function detailsOf(page) {
  return {
    name: await page.locator(".gv-words b").textContent(),
    numbers: await page.locator(".gv-words span").textContent(),
  };
}

export async function crumbsOf(page) {
  const crumbs = page.locator(".gv-crumbs");

  return (await crumbs.isVisible()) ? crumbs.locator("button").allTextContents() : [];
}

// The colour of a pixel of the canvas, after the next drawing.
export async function colourAt(page, x, y) {
  return page.evaluate(([left, top]) => new Promise((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const canvas = document.querySelector("canvas"), ratio = devicePixelRatio;

      resolve([...canvas.getContext("2d").getImageData(left * ratio, top * ratio, 1, 1).data]);
    }));
  }), [x, y]);
}

// Near the right lower corner of a frame, where there is no text.
export const colourOf = (page, right, depth) => colourAt(page, right - 3, depth * ROW + ROW - 4);

export async function linesOf(page) {
  return page.locator(".gv-table tr[data-line]").evaluateAll((rows) =>
    rows.map((row) => [...row.children].map((cell) => cell.textContent)));
}

export async function chooseProcess(page, text) {
  const select = page.getByLabel("Processes");
  const value = await select.locator("option").evaluateAll((options, wanted) =>
    options.find((option) => option.textContent.trim().startsWith(wanted)).value, text);

  await select.selectOption(value);
}
