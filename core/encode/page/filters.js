// SPDX-License-Identifier: Apache-2.0
// The legend, and the choice of a process or a container.

const MOST_PIDS = 200; // processes of one name that are listed one by one
const IDLE = "swapper"; // the kernel's name for a CPU that has nothing to do

function acceptor(v) {
  const { process, container } = v.filter;
  const idle = v.model.names.findIndex((text, i) => text === IDLE && v.model.kinds[i] === "process");

  return (one) => {
    if (container !== null && one.container !== container)
      return false;
    if (process === "")
      return true;
    if (process === "busy")
      return one.comm !== idle;
    return process === "c" + one.comm || process === "p" + one.pid;
  };
}

function hiddenNames(v) {
  return v.hidden.size ?
    Uint8Array.from(v.model.kinds, (kind) => (v.hidden.has(languageOf(kind)) ? 1 : 0)) : null;
}

// The samples of each process, by turns.
function eachProcess(model, fn) {
  for (const profile of model.profiles) {
    let i = 0;

    for (const process of profile.processes) {
      let sum = 0;

      for (let row = 0; row < process.rows; row++) {
        i += rowLength(profile.rows, i);
        sum += profile.rows[i - 1];
      }
      fn(process, sum);
    }
  }
}

const rowLength = (rows, i) => rows[i + 1] + 3;
const bySum = (a, b) => b[1].sum - a[1].sum;

// names: comm -> {sum, pids: pid -> sum}; containers: name -> sum.
function countProcesses(model) {
  const names = new Map(), containers = new Map();
  let all = 0;

  eachProcess(model, (process, sum) => {
    const found = names.get(process.comm) || { sum: 0, pids: new Map() };

    names.set(process.comm, found);
    found.sum += sum;
    if (process.pid)
      found.pids.set(process.pid, (found.pids.get(process.pid) || 0) + sum);
    containers.set(process.container, (containers.get(process.container) || 0) + sum);
    all += sum;
  });
  return { names, containers, all };
}

function fillProcesses(v, { names, all }) {
  const options = [["", "All processes"]];

  if ([...names.keys()].some((name) => v.model.names[name] === IDLE))
    options.push(["busy", "All but idle CPUs"]);
  for (const [name, { sum, pids }] of [...names].sort(bySum)) {
    options.push(["c" + name, `${v.model.names[name]}  ${formatShare(sum, all)}`]);
    if (pids.size > 1)
      for (const [pid, part] of [...pids].sort((a, b) => b[1] - a[1]).slice(0, MOST_PIDS))
        options.push(["p" + pid, `\u2003pid ${pid}  ${formatShare(part, all)}`]);
  }
  v.el.process.replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
}

function fillContainers(v, { containers, all }) {
  const sorted = [...containers].sort((a, b) => b[1] - a[1]);

  v.el.container.hidden = !sorted.some(([name]) => name);
  v.el.container.replaceChildren(make("option", { value: "all" }, "All containers"),
    ...sorted.map(([name, sum]) => make("option", { value: "=" + name },
      `${name || "no container"}  ${formatShare(sum, all)}`)));
}

function fillFilters(v) {
  const counts = countProcesses(v.model);

  fillProcesses(v, counts);
  fillContainers(v, counts);
}

// Languages with their own share; kinds that are no language are not shown.
function legendEntries(v) {
  const languages = new Map();

  for (const [kind, sums] of v.tree.byKind) {
    const language = languageOf(kind);
    const entry = languages.get(language) || { kind, sums: [0, 0], most: -1 };

    if (!language)
      continue;
    languages.set(language, entry);
    sums.forEach((sum, i) => { entry.sums[i] += sum; });
    if (sums[0] > entry.most) {
      entry.most = sums[0];
      entry.kind = kind;
    }
  }
  return [...languages].sort((a, b) => b[1].sums[0] - a[1].sums[0]);
}

function toggleLanguage(v, language, isOnly) {
  const all = legendEntries(v).map(([name]) => name);
  const others = all.filter((name) => name !== language);
  const isAlone = !v.hidden.has(language) && others.every((name) => v.hidden.has(name));

  if (isOnly)
    v.hidden = new Set(isAlone ? [] : others);
  else if (!v.hidden.delete(language))
    v.hidden.add(language);
  v.rebuild();
}

function showLegend(v) {
  const entries = legendEntries(v), [all, allAfter] = v.tree.all;

  v.el.legend.hidden = !entries.length;
  v.el.legend.replaceChildren(...entries.map(([language, { kind, sums }]) => {
    const swatch = make("i", { style: `background:${v.palette.ofKind(kind, 0)}` });
    const share = formatShare(sums[0], all) +
      (v.isDiff ? " → " + formatShare(sums[1], allAfter) : "");
    const chip = button("", "Hide these frames; with Shift: only these",
      (event) => toggleLanguage(v, language, event.shiftKey));

    chip.append(v.isDiff ? "" : swatch, language, make("span", {}, share));
    chip.dataset.language = language;
    setPressed(chip, !v.hidden.has(language));
    return chip;
  }));
}
