"use strict";
// Opening a session: why it failed in words, the matrix, the reading pane, and the ways from one call to the next.
(() => {
  const { element, load, word, command } = contextrot.xray;
  const { Matrix } = contextrot.xray.matrix;
  const { sample, filling, mark, CELLS, FILLING } = contextrot.xray.tracks;
  const { show } = contextrot.xray.reading;
  const WIDE = 1100; // from here on the matrix and what is read stand side by side; the same in xray.css
  const NARROWEST_PANE = 400, PANE_SHARE = 0.34, GAP = 22, LEAST_LEFT = 620, LOWEST = 380, NARROW_SHARE = 0.6;
  let open = null; // {row, session, matrix}
  let left = null; // where the page was scrolled to, and what had the focus
  let asked = 0;

  const part = (name) => document.getElementById(`xray-${name}`);

  /** Open a session by its key, at the first call of `turn`, else where it failed first. */
  async function openSession(key, { turn } = {}) {
    const row = contextrot.sessions.find((one) => one.key === key);
    const mine = ++asked;
    const entered = !document.body.classList.contains("xraying");
    if (entered) left = { scroll: window.scrollY, title: document.title, focus: document.activeElement };
    document.body.classList.add("xraying");
    document.getElementById("xray").hidden = false;
    if (entered) { // what had the focus is out of sight now, and so is the place the page was scrolled to
      window.scrollTo({ top: 0, behavior: "instant" });
      part("close").focus({ preventScroll: true });
    }
    if (open?.row.key !== key) clear();
    if (row === undefined) return fail(key, "There is no session of this name in this report.");
    heading(row);
    if (row.problem) return fail(key, `Its file could not be read: ${contextrot.clean(row.problem)}.`);
    if (row.chunk === undefined) return fail(key, "Its details did not fit into this file.", true);
    try {
      if (open?.row.key !== key) {
        const session = await load(row);
        if (mine === asked) draw(row, session);
      }
      if (mine !== asked) return;
      goTo(turn);
      if (entered) open.matrix.root.focus({ preventScroll: true, focusVisible: false });
    } catch (fault) {
      if (mine === asked) fail(key, `It cannot be opened: ${contextrot.clean(fault.message)}`);
    }
  }

  function clear() {
    open = null;
    part("why").className = "why";
    for (const name of ["marks", "why", "standings", "picture", "reading", "legend"]) part(name).replaceChildren();
    document.getElementById("xray").classList.remove("loaded");
  }

  /** Say why a session cannot be shown; `kept`: whether the run directory has it. */
  function fail(key, sentence, kept = false) {
    part("why").replaceChildren(sentence);
    if (!kept) return;
    part("why").append(" ", element("code", {}, command("show", key)), " shows it; ",
      element("code", {}, command("report", key, "--session ")), " puts it into this file.");
  }

  function heading(row) {
    const name = `${row.scenario} · ${row.strategy ?? "controls"} · repeat ${row.repeat}`;
    part("title").textContent = contextrot.clean(name);
    document.title = `${contextrot.clean(name)} · contextrot`;
    const ended = row.ended ? `${word(row.ended)}${row.last_turn === undefined ? "" : ` at turn ${row.last_turn}`}` : "still running";
    part("marks").replaceChildren(
      ...(row.simulated ? [element("b", { class: "mark" }, "SIMULATED"), " "] : []),
      ...(row.control ? [element("b", { class: "mark" }, "CONTROL"), " "] : []),
      `${contextrot.clean(row.model)} · ${ended}`);
  }

  function draw(row, session) {
    const { head, data } = session;
    const window_ = head.window ? `${head.window.toLocaleString("en")} tokens${head.window_source === "virtual" ? " (virtual)" : ""}` : "unknown";
    part("marks").append(` · history ${head.history} · window ${window_} · seed ${head.seed}`, element("span", { class: "whole said" }, ` · ${contextrot.clean(row.key)}`));
    part("why").textContent = contextrot.clean(data.why);
    part("why").className = "why " + (data.failed_turn === null ? (data.end && data.end.ended === "completed" ? "held" : "broke") : "failed");
    if (data.end?.detail) part("why").append(element("small", { class: "said" }, ` ${contextrot.xray.plain(data.end.detail)}`));
    part("standings").replaceChildren(...session.standings.map((one) =>
      element("li", {}, element("b", { class: "letter" }, one.kind === "constraint" ? "R" : "F"), element("b", {}, ` ${contextrot.clean(one.id)} `),
        element("span", { class: "muted" }, `(${one.kind === "constraint" ? "rule" : "fact"}) `), one.words)));
    document.getElementById("xray").classList.add("loaded");
    open = { row, session, matrix: null };
    legend(session);
    place();
    part("failure").hidden = data.failed_turn === null;
    if (!session.columns.length) part("reading").replaceChildren(element("p", { class: "muted" }, "No call was made in this session."));
  }

  /** Draw the matrix as large as there is room for; again when the room changes. What it leaves is for reading. */
  function place() {
    const { session, matrix } = open;
    const holder = part("picture");
    const columns = holder.closest(".xr-columns");
    const wide = window.innerWidth >= WIDE;
    const all = columns.clientWidth;
    const width = wide ? all - Math.max(NARROWEST_PANE, Math.round(PANE_SHARE * all)) - GAP : all;
    const top = columns.getBoundingClientRect().top + window.scrollY;
    const next = new Matrix(session, chosen, { width, height: wide ? window.innerHeight - top - 150 : NARROW_SHARE * window.innerHeight, label: wide ? 228 : 122 });
    if (matrix) Object.assign(next, { overview: matrix.overview, chosen: matrix.chosen });
    columns.style.setProperty("--left", `${Math.max(LEAST_LEFT, next.outer)}px`); // so wide is the legend as well
    const beneath = part("legend").offsetHeight + part("keys").offsetHeight + 46; // with the line that says what is pointed at
    const height = wide ? Math.max(LOWEST, window.innerHeight - top - beneath) : Math.round(NARROW_SHARE * window.innerHeight);
    next.fit(height);
    columns.style.setProperty("--tall", `${height + beneath}px`);
    open.matrix = next;
    holder.replaceChildren(next.root, next.readout);
    part("overview").hidden = !next.long;
    sayOverview();
  }

  function sayOverview() {
    const { matrix } = open;
    part("overview").setAttribute("aria-pressed", String(matrix.overview));
    part("legend").classList.toggle("overview", matrix.low);
  }

  /** Between the whole session at once and rows that can be read. */
  function turnOver() {
    const { matrix } = open;
    if (!matrix?.long) return;
    matrix.overview = !matrix.overview;
    matrix.draw();
    sayOverview();
    matrix.choose(matrix.chosen.at ?? 0, matrix.chosen.index);
  }

  function legend(session) {
    const used = new Set(session.columns.flatMap((column) => (column.call.view?.manifest ?? []).map(([status]) => status)));
    for (const one of session.standings) for (const cell of one.cells) if (cell) used.add(cell);
    if (session.columns.some((column) => column.call.view === null)) used.add("unknown");
    const words = Object.keys(CELLS).filter((cell) => used.has(cell));
    const item = (first, ...rest) => element("li", {}, first, ...rest);
    part("legend").replaceChildren(
      ...words.map((cell) => item(sample(cell), ...(cell === "dropped" && session.standings.length ? [" ", sample(cell, true)] : []), element("b", {}, ` ${cell}`), ` ${CELLS[cell]}${cell === "dropped" && session.standings.length ? " (the bar: a rule or fact)" : ""}`)),
      ...(session.columns.some((column) => column.call.view?.made?.length) ? [item(sample("made"), element("b", {}, " made"), " messages the strategy wrote itself")] : []),
      ...[["pass", "passed"], ["fail", "failed"], ["open", "undecided"]].map(([kind, word]) => item(element("b", { class: `mark ${kind}` }, mark(kind)), ` ${word}`)),
      ...(session.columns.some((column) => column.call.purpose === "probe" && column.branch !== null) ? [item(element("b", {}, "▾"), " a probe's question, asked on a branch")] : []),
      ...(session.columns.some((column) => column.call.occupancy >= FILLING) ? [item(filling(), ` window filled to ${100 * FILLING} % or more`)] : []),
      item(element("b", { class: "letter" }, "R"), " rule"), item(element("b", { class: "letter" }, "F"), " fact"), item(element("b", { class: "letter" }, "?"), " a check, where it was asked"), item(element("b", { class: "letter" }, "S"), " system prompt"),
      ...(session.data.log.some(([, origin]) => origin === "distractor") ? [item(element("b", { class: "letter" }, "D"), " distractor")] : []),
      ...(session.data.log.some(([, origin]) => origin === "tool") ? [item(element("b", { class: "letter" }, "C"), " tool call"), item(element("b", { class: "letter" }, "T"), " its result")] : []));
  }

  /** What happens when a call or a message is chosen in the matrix. */
  function chosen(column, index, how) {
    const message = show(part("reading"), open.session, column, index);
    const places = `#session=${encodeURIComponent(open.row.key)}&turn=${column.turn}`;
    if (location.hash !== places) history.replaceState(null, "", places);
    document.title = `turn ${column.turn} · ${part("title").textContent} · contextrot`;
    part("reading").scrollTop = 0;
    if (message && how) {
      message.open = true;
      message.scrollIntoView({ block: "nearest" });
    } else if (message) part("reading").scrollTop = message.offsetTop - part("reading").offsetTop - 40;
    if (how && window.innerWidth < WIDE && index === null) part("reading").scrollIntoView({ block: "start" });
    if (how === "enter") (message?.querySelector("summary") ?? part("reading")).focus({ preventScroll: true });
  }

  function goTo(turn) {
    const { session, matrix } = open;
    if (!session.columns.length) return;
    const failed = session.data.failed_call;
    const of = (test) => session.columns.findIndex(test);
    let at = -1;
    if (turn !== undefined) {
      at = of((column) => column.turn === turn && column.verdicts.some((one) => one.outcome === "fail"));
      if (at < 0) at = of((column) => column.turn >= turn);
    } else at = failed === null ? session.columns.length - 1 : of((column) => column.call.n === failed);
    matrix.choose(at < 0 ? session.columns.length - 1 : at);
  }

  /** The next call (1) or the one before (-1) that the test holds for. */
  function step(by, test = () => true) {
    if (!open?.matrix) return;
    const { session, matrix } = open;
    const now = matrix.chosen.at ?? 0;
    for (let at = now + by; at >= 0 && at < session.columns.length; at += by)
      if (test(session.columns[at])) return matrix.choose(at, matrix.chosen.index);
    if (by > 0 && test.name === "failed") { // once more from the start
      const at = session.columns.findIndex(test);
      if (at >= 0) matrix.choose(at);
    }
  }

  function failed(column) {
    return column.verdicts.some((verdict) => verdict.outcome === "fail");
  }

  function close() {
    if (!document.body.classList.contains("xraying")) return;
    asked++;
    document.body.classList.remove("xraying");
    document.getElementById("xray").hidden = true;
    history.replaceState(null, "", location.pathname + location.search);
    if (left) {
      document.title = left.title;
      window.scrollTo({ top: left.scroll, behavior: "instant" });
      left.focus?.focus?.({ preventScroll: true });
    }
    left = null;
  }

  document.addEventListener("DOMContentLoaded", () => {
    part("close").addEventListener("click", close);
    part("previous").addEventListener("click", () => step(-1));
    part("next").addEventListener("click", () => step(1));
    part("failure").addEventListener("click", () => step(1, failed));
    part("overview").addEventListener("click", turnOver);
    document.addEventListener("keydown", (event) => {
      if (!document.body.classList.contains("xraying") || event.target.matches?.("input, select, textarea")) return;
      if (event.key === "Escape") close();
      if (event.ctrlKey || event.metaKey || event.altKey || !open?.matrix) return;
      if (event.key === "f") step(1, failed);
      if (event.key === "w") turnOver();
      if (event.key === "m") open.matrix.root.focus();
    });
    window.addEventListener("hashchange", () => {
      if (!location.hash.startsWith("#session=")) close();
    });
    let waiting = 0;
    const size = () => (window.innerWidth < WIDE ? String(window.innerWidth) : `${window.innerWidth} ${window.innerHeight}`);
    let before = size();
    window.addEventListener("resize", () => {
      if (before === size()) return; // the bars of a phone come and go
      before = size();
      clearTimeout(waiting);
      waiting = setTimeout(() => open?.matrix && place(), 150);
    });
  });

  contextrot.open = openSession;
  contextrot.close = close;
})();
