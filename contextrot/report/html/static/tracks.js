"use strict";
// How things are marked in the picture of a session, and the tracks above its messages: turns, how full the window
// was, where each rule and fact stood, what the checks said, and how many messages the strategy made.
contextrot.xray.tracks = (() => {
  const { svg } = contextrot.xray;
  const AXIS = 19, OCCUPANCY = 30, BAND = 27, CHECK = 18, STRIP = 17;
  /** Share of the window from which on the budget monitor warns. */
  const FILLING = 0.6;
  const CELLS = {
    verbatim: "sent as it is", retrieved: "brought back by retrieval", summarised: "in a summary only",
    masked: "replaced by a placeholder", offloaded: "stored outside, a handle in its place", dropped: "not sent",
    elsewhere: "not sent itself, but its text stood in another message", question: "stated in the question itself",
    incomplete: "sent, but not all the answer needs", unknown: "what was sent is not known",
  };

  /** The verdict that marks a column: the worst where it has several. */
  function worst(verdicts) {
    const order = (verdict) => (verdict.outcome === "fail" ? 0 : verdict.outcome === "pass" ? 2 : 1);
    return [...verdicts].sort((one, other) => order(one) - order(other))[0];
  }

  function mark(outcome) {
    return outcome === "pass" ? "✓" : outcome === "fail" ? "✗" : "○";
  }

  /** Patterns that tell the statuses apart without colour. Their ids are the page's, as one X-ray is open at a time. */
  function patterns() {
    const tile = (name, size, ...shapes) =>
      svg("pattern", { id: `xr-${name}`, width: size, height: size, patternUnits: "userSpaceOnUse", class: `st-${name}` },
        svg("rect", { width: size, height: size, class: "ground" }), ...shapes);
    return svg("defs", {},
      tile("summarised", 5, svg("path", { d: "M-1 6L6 -1M-1 1L1 -1M4 6L6 4", class: "ink" })),
      tile("masked", 4, svg("path", { d: "M0 1H4", class: "ink" })),
      tile("offloaded", 5, svg("path", { d: "M1 1h2v2h-2z", class: "fillink" })),
      tile("elsewhere", 5, svg("path", { d: "M-1 -1L6 6M4 -1L6 1M-1 4L1 6", class: "ink" })),
      tile("retrieved", 6, svg("rect", { width: 6, height: 6, class: "fillink" }), svg("path", { d: "M3 0V6", class: "cut" })));
  }

  /** A small picture of a status, for the legend and beside a message; `gone`: of a rule or fact that was dropped. */
  function sample(status, gone = false) {
    const box = svg("svg", { width: 14, height: 12, class: "sample", "aria-hidden": "true" });
    if (status === "dropped") box.append(svg("path", gone ? { d: "M1 6H13", class: "st-dropped gone" } : { d: "M7 0V12", class: "st-dropped line" }));
    else box.append(svg("rect", { x: 1, y: 1, width: 12, height: 10, class: `cell st-${status}` }));
    return box;
  }

  /** A small picture of a window that is being filled, for the legend. */
  function filling() {
    return svg("svg", { width: 14, height: 12, class: "sample", "aria-hidden": "true" }, svg("rect", { x: 1, y: 3, width: 12, height: 8, class: "occupancy warn" }));
  }

  /** Turn → its columns, in order. */
  function turns(columns) {
    const found = new Map();
    for (const column of columns) found.set(column.turn, [...(found.get(column.turn) ?? []), column]);
    return found;
  }

  function axis(columns, y) {
    const drawn = [];
    let free = -Infinity;
    for (const [turn, its] of turns(columns)) {
      const middle = (its[0].x + its.at(-1).x + its.at(-1).width) / 2;
      const needed = String(turn).length * 7 + 4;
      if (middle - needed / 2 < free) continue;
      free = middle + needed / 2;
      drawn.push(svg("text", { x: middle, y: y + 13, class: "turn" }, String(turn)));
    }
    return drawn;
  }

  /** Bars up to the dotted line of a full window. */
  function occupancy(columns, width, y) {
    const floor = y + OCCUPANCY - 4, tall = OCCUPANCY - 8;
    const drawn = [svg("path", { d: `M0 ${floor - tall}H${width}`, class: "full" }), svg("path", { d: `M0 ${floor + 0.5}H${width}`, class: "base" })];
    for (const column of columns) {
      const share = column.call.occupancy;
      if (share === null || share === undefined) continue;
      const high = Math.max(1, tall * Math.min(1, share));
      drawn.push(svg("rect", { x: column.x, y: floor - high, width: column.inner, height: high, class: `occupancy ${share >= FILLING ? "warn" : ""}` }));
    }
    return drawn;
  }

  /** Where a rule or fact stood, call by call, with what its checks said. */
  function band(one, columns, y) {
    const drawn = [];
    columns.forEach((column, at) => {
      const cell = one.cells[at];
      if (cell === "dropped") drawn.push(svg("path", { d: `M${column.x} ${y + 20.5}h${column.inner}`, class: "st-dropped gone" }));
      else if (cell) drawn.push(svg("rect", { x: column.x, width: column.inner, y: y + 16, height: 9, class: `cell st-${cell}` }));
      const verdicts = column.verdicts.filter((verdict) => verdict.subject === one.id);
      if (verdicts.length) drawn.push(verdictMark(worst(verdicts), column, y + 12.5));
    });
    return drawn;
  }

  /** What a check said that is about no rule or fact of its own. */
  function checks(id, subjects, columns, y) {
    return columns.flatMap((column) => {
      const verdicts = column.verdicts.filter((verdict) => verdict.id === id && !subjects.has(verdict.subject));
      return verdicts.length ? [verdictMark(worst(verdicts), column, y + 14)] : [];
    });
  }

  function verdictMark(verdict, column, y) {
    const kind = verdict.outcome === "fail" ? "fail" : verdict.outcome === "pass" ? "pass" : "open";
    if (column.width < 5) // too narrow for a letter: a failure stands tall, the others are a dash
      return svg("rect", { x: column.x, width: column.inner, y: kind === "fail" ? y - 10 : y - 3, height: kind === "fail" ? 11 : 2, class: `mark ${kind}` });
    const small = column.width < 9 && kind !== "fail" ? " small" : "";
    return svg("text", { x: column.x + (column.width - 1) / 2, y, class: `mark ${kind}${small}` }, mark(verdict.outcome));
  }

  function made(columns, y) {
    return columns.flatMap((column) => {
      const n = column.call.view?.made?.length ?? 0;
      if (!n) return [];
      const box = svg("rect", { x: column.x, y: y + 3, width: column.inner, height: STRIP - 5, class: "made" });
      const text = svg("text", { x: column.x + (column.width - 1) / 2, y: y + 12.5, class: "count" }, String(n));
      return column.width >= 10 ? [box, text] : [box];
    });
  }

  /** The tracks of a session from top to bottom: label, kind, title, height, and `draw(columns, width, y)`. */
  function tracks(session) {
    const { columns, standings } = session;
    const list = [{ label: "turn", height: AXIS, draw: (placed, width, y) => axis(placed, y) }];
    if (columns.some((column) => column.call.occupancy !== null && column.call.occupancy !== undefined))
      list.push({ label: "window filled", height: OCCUPANCY, draw: occupancy });
    const subjects = new Set(standings.map((one) => one.id));
    for (const one of standings) {
      const kind = one.kind === "constraint" ? "rule" : "fact";
      list.push({ label: one.id, kind, title: one.words, height: BAND, draw: (placed, width, y) => band(one, placed, y) });
    }
    const others = new Set(session.data.verdicts.filter((one) => one.call !== null && !subjects.has(one.subject)).map((one) => one.id));
    for (const id of others) list.push({ label: id, kind: "check", height: CHECK, draw: (placed, width, y) => checks(id, subjects, placed, y) });
    if (columns.some((column) => column.call.view?.made?.length))
      list.push({ label: "made by the strategy", height: STRIP, draw: (placed, width, y) => made(placed, y) });
    return list;
  }

  return { tracks, patterns, sample, filling, mark, CELLS, AXIS, FILLING };
})();
