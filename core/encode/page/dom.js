// SPDX-License-Identifier: Apache-2.0
// Elements. Text becomes text nodes, never markup.

function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  const { style, ...rest } = properties || {};

  Object.assign(element, rest);
  if (style)
    element.style.cssText = style;
  element.append(...children);
  return element;
}

function button(text, title, onclick, className) {
  const made = make("button", { type: "button", title, onclick }, text);

  if (className)
    made.className = className;
  return made;
}

function setPressed(element, isPressed) {
  element.setAttribute("aria-pressed", String(isPressed));
}

const numbers = new Intl.NumberFormat("en");
const formatNumber = (value) => numbers.format(value);
const formatShare = (part, whole) => (whole ? (100 * part / whole).toFixed(2) : "0.00") + " %";

// A difference of two shares, in points.
function formatChange(difference) {
  const points = (100 * difference).toFixed(2);

  return (difference > 0 && Number(points) ? "+" : "") + points.replace("-", "−");
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch (error) { // not allowed, or not there
    const area = make("textarea", { value: text, style: "position:fixed;opacity:0" });

    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");

    area.remove();
    if (!isCopied)
      throw error;
  }
}
