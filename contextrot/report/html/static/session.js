"use strict";
// One session out of its chunk: what was said, the exact messages of every call, and what became of the others.
// The shapes are those of contextrot/report/html/details.py.
contextrot.xray = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  /** What a call says where its record in the chunk does not. */
  const USUAL = { branch: null, purpose: "turn", outcome: "ok", occupancy_source: "usage", attempts: 1, latency: 0, view: null, reply: null };

  /** An element with attributes, listeners (functions, by the name of the event) and children; text stays text. */
  function element(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") made.addEventListener(name, value);
      else made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return made;
  }

  /** An SVG element with attributes and children. */
  function svg(tag, attributes = {}, ...children) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /** ``1 message``, ``2,400 messages``. */
  function counted(n, what) {
    return `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
  }

  /** ``contextrot show RUN KEY`` as a shell takes it; the run's path comes quoted with the page. */
  function command(name, key, before = "") {
    const plainKey = /^[\w@%+=:,./-]+$/.test(key) ? key : `'${key.replaceAll("'", `'"'"'`)}'`;
    return `contextrot ${name} ${document.getElementById("xray").dataset.run} ${before}${contextrot.clean(plainKey)}`;
  }

  /** A word of a record for the eye: an underscore is a space; what should be a word and is none is shown as it is. */
  function word(value) {
    return contextrot.clean(typeof value === "string" ? value : JSON.stringify(value) ?? "").replace("_", " ");
  }

  /** A recorded text, cleaned for the eye; of one that is too long for the page, its beginning and its end. */
  function plain(value, command) {
    if (value === null || value === undefined) return "";
    if (typeof value === "string") return contextrot.clean(value);
    const cut = value.cut;
    if (Array.isArray(cut) && cut.length === 3 && typeof cut[0] === "string" && typeof cut[1] === "string") {
      const [head, tail, length] = cut;
      const gone = (length - [...head].length - [...tail].length).toLocaleString("en");
      return `${contextrot.clean(head)}\n[${gone} characters are not kept in this file: ${command} prints them]\n${contextrot.clean(tail)}`;
    }
    return contextrot.clean(JSON.stringify(value));
  }

  /** The readable parts of a message: its text, parts that are no text, and its tool calls. */
  function parts(message, command) {
    const said = [];
    const content = message.content;
    if (Array.isArray(content)) {
      for (const part of content) {
        if (part && typeof part === "object" && part.text !== undefined) said.push(plain(part.text, command));
        else said.push(`[${plain(part, command)}]`);
      }
    } else if (content !== null && content !== undefined) said.push(plain(content, command));
    for (const call of message.tool_calls ?? []) {
      const what = call.function ?? {};
      said.push(`→ ${plain(what.name, command)}(${plain(what.arguments, command)})`);
    }
    return said;
  }

  class Session {
    constructor(row, data, texts) {
      Object.assign(this, { row, data, texts });
      this.head = data.head;
      data.calls = data.calls.map((call) => ({ ...USUAL, ...call }));
      data.verdicts = data.verdicts.map((verdict) => ({ branch: null, call: null, ...verdict }));
      this.calls = new Map(data.calls.map((call) => [call.n, call]));
      this.tested = new Map(); // number of a call → its verdicts
      for (const verdict of data.verdicts) {
        if (verdict.call === null) continue;
        if (!this.tested.has(verdict.call)) this.tested.set(verdict.call, []);
        this.tested.get(verdict.call).push(verdict);
      }
      const spread = (runs) => runs.flatMap(([cell, n]) => Array(n).fill(cell));
      this.standings = data.standings.map((one) => ({ ...one, cells: spread(one.cells) }));
      /** index in the log → the rules and facts it states, each with the turn from which another value holds, if any */
      this.states = new Map();
      for (const one of this.standings) {
        one.versions.forEach(([, index], k) => {
          const until = one.versions[k + 1]?.[0] ?? null;
          this.states.set(index, [...(this.states.get(index) ?? []), { ...one, until }]);
        });
      }
      this.columns = data.columns.map((n, at) => this.#column(this.calls.get(n), at));
    }

    #column(call, at) {
      return { at, call, turn: call.turn, branch: call.branch, verdicts: this.tested.get(call.n) ?? [] };
    }

    /** The command that shows what stands behind this page. */
    command(turn = null) {
      return `${contextrot.xray.command("show", this.row.key)}${turn === null ? "" : ` --turn ${turn}`}`;
    }

    /** The log message at `index` as seen from a branch; past the fork point a branch has its own. */
    message(index, branch = null) {
      const own = branch === null ? undefined : this.data.branches[branch];
      const mine = own !== undefined && index >= own.from;
      const entry = mine ? own.log[index - own.from] : this.data.log[index];
      if (!entry) return null;
      const [turn, origin, pinned, text] = entry;
      return { index, turn, origin, pinned: Boolean(pinned), branch: mine ? branch : null, text, message: this.texts[text] };
    }

    /** What became of the log message at `index` in a call; null before it was said, or where it is not known. */
    status(call, index) {
      const run = (call.view?.manifest ?? []).find(([, start, end]) => start <= index && index < end);
      return run ? run[0] : null;
    }

    /** The messages a call was sent, in order; null where they are not known. */
    sent(call) {
      if (call.view === null) return null;
      if (call.view.texts) return call.view.texts.map((text) => ({ made: false, message: this.texts[text], origin: null, status: null }));
      const sent = [];
      for (const [start, end] of call.view.ranges)
        for (let index = start; index < end; index++) {
          const entry = this.message(index, call.branch);
          if (entry) sent.push({ ...entry, status: this.status(call, index), made: false });
        }
      const made = [...call.view.made].sort((one, other) => one[0] - other[0]);
      for (const [position, text] of made)
        sent.splice(position, 0, { made: true, message: this.texts[text], index: null, origin: null, status: "made" });
      return sent;
    }

    /** What was said at a column, on its branch or at its turn, but for the replies. */
    saidAt(column) {
      const own = column.branch === null ? null : this.data.branches[column.branch];
      const indexes = own ? range(own.from, own.from + own.log.length) : range(0, this.data.log.length);
      return indexes.map((index) => this.message(index, column.branch))
        .filter((entry) => entry.turn === column.turn && entry.message.role !== "assistant");
    }

    /** The log messages that a call was not sent as they are, with what became of them. */
    leftOut(call) {
      const sentAsIs = new Set((call.view?.ranges ?? []).flatMap(([start, end]) => range(start, end)));
      const out = [];
      for (const [status, start, end] of call.view?.manifest ?? [])
        for (const index of range(start, end)) {
          const entry = sentAsIs.has(index) ? null : this.message(index, call.branch);
          if (entry) out.push({ ...entry, status });
        }
      return out;
    }

    /** Calls of helpers and judges that belong to a column: helpers before it, judges after it. */
    beside(column) {
      const before = this.columns[column.at - 1]?.call.n ?? -1;
      const after = this.columns[column.at + 1]?.call.n ?? Infinity;
      return this.data.calls.filter(
        (call) =>
          (call.purpose === "auxiliary" && call.n > before && call.n < column.call.n) ||
          (call.purpose === "judge" && call.n > column.call.n && call.n < after),
      );
    }

    /** Events of the turn a column belongs to, on its own branch or on the main line. */
    events(column) {
      return this.data.events.filter(([turn, branch]) => turn === column.turn && (branch === column.branch || branch === null));
    }
  }

  function range(start, end) {
    return Array.from({ length: Math.max(0, end - start) }, (_, k) => start + k);
  }

  /** The session of a row of the index. Rejects when its details are not in this file. */
  async function load(row) {
    for (const script of await contextrot.chunk(row.chunk)) {
      const place = script.findIndex((entry) => entry.session.key === row.key);
      if (place < 0) continue;
      const texts = [];
      for (const entry of script.slice(0, place + 1)) for (const text of entry.texts) texts.push(text);
      return new Session(row, script[place].session, texts);
    }
    throw new Error(`session ${row.key} is not in chunk ${row.chunk}`);
  }

  return { element, svg, counted, plain, parts, word, command, load, Session };
})();
