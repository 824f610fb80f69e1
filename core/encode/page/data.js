// SPDX-License-Identifier: Apache-2.0
// Profiles as the viewer keeps them. A raw profile is what a file holds:
//   about      {host, start, end, event, unit, samples}
//   names      texts of frames
//   rows       numbers, for each stack: frames kept of the stack before, number
//              of new frames, their names (root first), value
//   processes  {rows, pid, comm, container, appid}, in the order of the rows
// A model joins one or two raw profiles over one list of names.

const JAVA = /_\[[ji01]\]$/;

// What is written in place of a name is not the same in .col and in a page
// (docs/formats.md); two profiles are compared by what .col would have.
function folded(text) {
  const line = text.replace(/[\u0000-\u0020\u007f-\u009f\u2028\u2029]/g, " ").trim();

  return line.replace(/;/g, "|") || "[unknown]";
}

function shownName(text) {
  return JAVA.test(text) ? text.replace(/\|/g, ";") : text;
}

function readPage(json) {
  return {
    about: {
      host: json.host, start: json.start, end: json.end, event: json.event, unit: json.unit,
      samples: json.samples,
    },
    names: json.names,
    rows: json.rows,
    processes: json.processes.map(([rows, pid, comm, container, appid]) =>
      ({ rows, pid, comm, container, appid: appid || "" })),
  };
}

// The JSON object of the first line, and what the lines begin with.
function readHeader(text) {
  const end = text.indexOf("\n");
  const line = end < 0 ? text : text.slice(0, end);
  let header = null;

  if (line.startsWith("# {")) {
    try {
      header = JSON.parse(line.slice(2));
    } catch (error) {
      throw new Error("the first line is no header: " + error.message);
    }
  }
  const metadata = (header && header.metadata) || {};
  const arguments_ = metadata.run_arguments || {};
  const own = (header && header.gprofiler_core) || {};
  const isPlain = !header || arguments_.profile_api_version === "v1" ||
    own.profile_api_version === "v1";

  return {
    hasIndex: !isPlain && header.application_metadata_enabled === true,
    hasContainer: !isPlain,
    about: {
      host: metadata.hostname || "", start: "", end: metadata.current_time || "",
      event: (header && header.profiling_mode) || "profile", unit: "samples", samples: 0,
    },
  };
}

// Collects rows; each writes only what it does not share with the one before.
function rowWriter() {
  const numbers = new Map();
  const raw = { names: [], rows: [], processes: [] };
  let last = [], key = null;

  function number(text) {
    let found = numbers.get(text);

    if (found === undefined) {
      found = raw.names.length;
      numbers.set(text, found);
      raw.names.push(text);
    }
    return found;
  }

  function add(process, frames, value) {
    const now = JSON.stringify(process);
    let kept = 0;

    if (now !== key) {
      raw.processes.push({ rows: 0, pid: 0, ...process });
      last = [];
      key = now;
    }
    while (kept < last.length && kept < frames.length && last[kept] === frames[kept])
      kept++;
    raw.rows.push(kept, frames.length - kept);
    for (let i = kept; i < frames.length; i++)
      raw.rows.push(number(frames[i]));
    raw.rows.push(value);
    raw.processes[raw.processes.length - 1].rows++;
    last = frames;
  }
  return { raw, add };
}

function readFolded(text) {
  const { hasIndex, hasContainer, about } = readHeader(text);
  const { raw, add } = rowWriter();
  let samples = 0;

  text.split("\n").forEach((line, i) => {
    const space = line.lastIndexOf(" ");
    const value = Number(line.slice(space + 1));

    if (!line.trim() || line.startsWith("#"))
      return;
    if (space < 1 || !Number.isFinite(value) || value < 0)
      throw new Error(`line ${i + 1} does not end with a count`);
    const fields = line.slice(0, space).split(";");
    let at = hasIndex ? 1 : 0;
    const container = hasContainer ? fields[at++] || "" : "";
    const comm = (fields[at++] || "[unknown]").trim();
    const appid = (fields[at] || "").startsWith("appid: ") ? fields[at++] : "";

    add({ comm, container: container.trim(), appid }, fields.slice(at).map(shownName), value);
    samples += value;
  });
  return { ...raw, about: { ...about, samples } };
}

// A page that somebody gives us may hold anything.
function checkRows({ rows, names, processes }) {
  const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
  let i = 0;

  for (const process of processes) {
    for (let row = 0, depth = 0; row < process.rows; row++) {
      const kept = rows[i++], more = rows[i++];

      if (!isCount(kept) || !isCount(more) || kept > depth || more > rows.length - i)
        throw new Error("its rows do not fit together");
      depth = kept + more;
      for (const end = i + more; i < end; i++)
        if (!isCount(rows[i]) || rows[i] >= names.length)
          throw new Error("its rows have frames without a name");
      if (!(rows[i++] >= 0))
        throw new Error("its rows have no counts");
    }
  }
  if (i !== rows.length || !names.every((name) => typeof name === "string"))
    throw new Error("its rows do not belong to its processes");
}

// Text of a file that somebody gives us: .col, folded stacks, or our own page.
function readFile(text) {
  const page = /<script id="data" type="application\/json">([^<]*)<\/script>/.exec(text);

  if (page) {
    const given = readPage(JSON.parse(page[1]));

    checkRows(given);
    return given;
  }
  const raw = readFolded(text);

  if (!raw.processes.length)
    throw new Error("there are no stacks in it");
  return raw;
}

// Processes and appids are names of their own: a process may be called as a
// function is.
function joinProfiles(raws) {
  const model = { names: [], kinds: [], profiles: [] };
  const numbers = new Map();

  function number(text, kind) {
    const key = (kind || "") + "\n" + folded(text);
    let found = numbers.get(key);

    if (found === undefined) {
      found = model.names.length;
      numbers.set(key, found);
      model.names.push(text);
      model.kinds.push(kind || kindOf(text));
    }
    return found;
  }
  for (const raw of raws)
    model.profiles.push({
      about: raw.about,
      rows: raw.rows,
      names: Int32Array.from(raw.names, (text) => number(text, "")),
      processes: raw.processes.map((process) => ({
        ...process,
        comm: number(process.comm || "[unknown]", "process"),
        appid: process.appid ? number(process.appid, "appid") : -1,
      })),
    });
  return model;
}
