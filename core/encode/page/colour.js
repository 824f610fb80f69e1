// SPDX-License-Identifier: Apache-2.0
// Kinds of frames, told by the suffix of a name, and their colours. Kinds of one
// language stand in the legend together.

const KINDS = { // hue, strength, language
  process: [215, 14, ""], appid: [215, 28, ""],
  kernel: [18, 80, "Kernel"], native: [44, 82, "Native"], error: [356, 80, "Profiling errors"],
  j: [134, 42, "Java"], i: [160, 42, "Java"], 0: [92, 38, "Java"], 1: [112, 46, "Java"],
  p: [208, 74, "Python"], pn: [194, 58, "Python"], pe: [356, 60, "Python"],
  rb: [338, 66, "Ruby"], php: [258, 58, "PHP"], net: [286, 54, ".NET"],
  js: [66, 62, "JavaScript"],
};
const V8_NAME = /^(?:LazyCompile|Function|Script|Eval|JS|RegExp|Builtin|BytecodeHandler|Stub):/;

function hash(text) {
  let h = 2166136261;

  for (let i = 0; i < text.length; i++)
    h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return (h ^ (h >>> 15)) >>> 0;
}

function kindOf(name) {
  const suffix = name.endsWith("]") && /_\[([^\]]*)\]$/.exec(name);

  if (suffix)
    return suffix[1] === "k" ? "kernel" : suffix[1];
  if (name.startsWith("[Profiling "))
    return "error";
  return V8_NAME.test(name) ? "js" : "native";
}

function languageOf(kind) {
  return Object.hasOwn(KINDS, kind) ? KINDS[kind][2] : kind;
}

// A palette remembers what it made; there is one for each scheme.
function newPalette(isDark) {
  const made = new Map();

  function ofKind(kind, shade) {
    const key = kind + "\n" + shade;
    let found = made.get(key);

    if (!found) {
      const [hue, strength] = Object.hasOwn(KINDS, kind) ? KINDS[kind] : [hash(kind) % 360, 50];
      const light = isDark ? 37 + shade : 73 + shade * 1.5;

      found = `hsl(${hue + shade} ${isDark ? strength * 0.68 : strength}% ${light}%)`;
      made.set(key, found);
    }
    return found;
  }

  // strength: -1 (blue, less than before) to 1 (red, more)
  function ofChange(strength) {
    const step = Math.round(Math.abs(strength) * 20) / 20;
    const [hue, full] = strength > 0 ? [4, isDark ? 62 : 84] : [216, isDark ? 58 : 84];
    const light = isDark ? 27 + 17 * step : 91 - 27 * step;

    return `hsl(${hue} ${step ? 12 + (full - 12) * step : 3}% ${light}%)`;
  }

  return {
    ofKind, ofChange,
    match: isDark ? "#b845cb" : "#e47bef",
    matchText: isDark ? "#ffffff" : "#16181c",
    dim: isDark ? "#2a2e35" : "#eceef1",
    dimText: isDark ? "#89909b" : "#7c828b",
    text: isDark ? "#f1f3f5" : "#17191d",
    outline: isDark ? "#ffffff" : "#0b0c0e",
  };
}
