"use strict";
/* Survival and compliance as small multiples, by Observable Plot. Every figure comes from the page's data; hovering a
   line, a legend entry or a row lights that series in all charts, and a legend entry switches it off and on. */
(() => {
  const { element, clean, toggle } = contextrot;
  const page = contextrot.page;
  const COLOURS = 8; // --s0 … --s7
  const DASHES = ["", "6,3", "2,2.5", "9,3,2,3", "12,4", "5,2,1,2,1,2", "1,4", "8,2"];
  const SYMBOLS = ["circle", "square", "triangle", "diamond2", "star", "cross", "wye", "times"];
  const MOST_PANELS = 12;
  const KINDS = { probe: "probes", passive: "standing rules on live replies" };
  const AXES = {
    turn: { button: "by turn", label: "turn" },
    occupancy: { button: "by occupancy", label: "tokens of the prompt ÷ window" },
    tokens: { button: "by tokens", label: "tokens of the prompt" },
  };
  /* What a line is, and what a panel is: one line a strategy and one panel a model, or the other way round. */
  const VIEWS = {
    strategy: { names: page.strategies, panel: "model", panels: page.models, button: "a line per strategy" },
    model: { names: page.models, panel: "strategy", panels: page.strategies, button: "a line per model" },
  };
  const state = {
    view: page.models.length > 3 && page.models.length > 2 * page.strategies.length ? "model" : "strategy",
    x: "turn", off: { strategy: new Set(), model: new Set() }, all: { survival: false, compliance: false },
  };

  const names = () => VIEWS[state.view].names;
  const crowded = () => names().length > COLOURS;
  const colour = (place) => (crowded() ? "var(--quiet-series)" : `var(--s${place})`);
  const dash = (place) => (crowded() ? "" : DASHES[place]);
  /* Lines that lie on one another stay visible: the earlier a series, the broader its line. */
  const width = (place) => (crowded() ? 1.2 : 1.5 + (1.7 * (names().length - 1 - place)) / Math.max(1, names().length - 1));
  const off = () => state.off[state.view];
  const label = (place) => shorten(clean(names()[place]), 60);
  const shorten = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

  /** The series of one chart by panel, in the order of the run; a panel per scenario and model (or strategy, or kind). */
  function panels(series) {
    const found = new Map();
    for (const one of series) {
      const key = [one.scenario, one[VIEWS[state.view].panel], one.kind ?? ""].join(" ");
      if (!found.has(key)) found.set(key, []);
      found.get(key).push({ ...one, place: one[state.view] });
    }
    return [...found.values()];
  }

  function caption(first, panel) {
    const view = VIEWS[state.view];
    const parts = [element("b", {}, clean(page.scenarios[first.scenario]))];
    if (view.panels.length > 1) parts.push(" · ", clean(view.panels[first[view.panel]]));
    if (first.kind) parts.push(element("small", {}, ` ${KINDS[first.kind] ?? first.kind}`));
    for (const one of panel.filter((each) => each.unfollowed)) {
      parts.push(element("small", { class: "open" }, `${label(one.place)}: ${clean(one.unfollowed)}; its curve is no length`));
    }
    return element("figcaption", {}, ...parts);
  }

  // ---- marks

  const percent = { domain: [0, 1], ticks: [0, 0.25, 0.5, 0.75, 1], tickFormat: (share) => `${share * 100} %`, label: null, grid: true };

  function line(series, rows, extra) {
    const { place } = series;
    return Plot.line(rows, {
      x: "x", y: "y", stroke: colour(place), strokeWidth: width(place), strokeDasharray: dash(place),
      className: `series series-${place}`, ...extra,
    });
  }

  function band(series, rows, extra) {
    return Plot.areaY(rows, {
      x: "x", y1: "low", y2: "high", fill: colour(series.place), className: `band band-${series.place}`, ...extra,
    });
  }

  function tip(rows) {
    return Plot.tip(rows, Plot.pointer({
      x: "x", y: "y", title: "title", maxRadius: 60, fill: "var(--bg)", stroke: "var(--muted)", fontSize: 12,
      lineHeight: 1.35, lineWidth: 34, textPadding: 7, pathFilter: "none",
    }));
  }

  const watermark = () => (page.simulated
    ? [Plot.text(["SIMULATED"], { frameAnchor: "middle", fontSize: 34, rotate: -16, className: "watermark" })] : []);

  function reference(rate, text) {
    return [
      Plot.ruleY([rate], { stroke: "var(--muted)", strokeDasharray: "1,3" }),
      Plot.text([text], { frameAnchor: "right", y: rate, dy: -9, textAnchor: "end", fill: "var(--muted)", stroke: "var(--bg)", strokeWidth: 4, fontSize: 10.5 }),
    ];
  }

  // ---- names at the ends of the lines

  const NAME_SIZE = 11;
  const NAME_STEP = 12.5; // px between two names
  /** Names short enough to stand at a line: what comes before the bracket, where that tells them apart. */
  function shortNames() {
    const bare = names().map((name) => clean(name).replace(/\(.*$/s, "").trim());
    const enough = new Set(bare).size === bare.length && bare.every(Boolean);
    return (enough ? bare : names().map((name) => clean(name))).map((name) => shorten(name, 20));
  }

  /** The room that names need at the right: none where they would be crowded, or would take too much of the chart. */
  function nameRoom(shown, wide) {
    if (crowded() || names().length < 2 || !shown.length) return 0;
    const longest = Math.max(...shown.map((one) => shortNames()[one.place].length));
    const room = Math.ceil(longest * NAME_SIZE * 0.62) + 10;
    return room <= wide * 0.3 ? room : 0;
  }

  /** Names beside the last points of their lines, moved apart where they would cover one another. */
  function endNames(rows, wide, height, marginTop, marginBottom) {
    if (!nameRoom([...rows.keys()], wide)) return [];
    const labels = shortNames();
    const inside = height - marginTop - marginBottom;
    const ends = [...rows].map(([one, own]) => ({ one, last: own.filter((row) => row.y !== null).at(-1) })).filter(({ last }) => last);
    const placed = ends.map((end) => ({ ...end, at: marginTop + inside * (1 - end.last.y) })).sort((a, b) => a.at - b.at || a.one.place - b.one.place);
    for (let i = 1; i < placed.length; i += 1) placed[i].at = Math.max(placed[i].at, placed[i - 1].at + NAME_STEP);
    const most = marginTop + inside + 4;
    for (let i = placed.length - 1; i >= 0; i -= 1) placed[i].at = Math.min(placed[i].at, most - (placed.length - 1 - i) * NAME_STEP);
    return placed.map(({ one, at }) => Plot.text([labels[one.place]], {
      text: (name) => name, frameAnchor: "top-right", textAnchor: "start", lineAnchor: "middle", dx: 8, dy: at - marginTop,
      fill: colour(one.place), fontSize: NAME_SIZE, className: `series end series-${one.place}`,
    }));
  }

  const drawn = (options) => Plot.plot({
    marginLeft: 46, marginTop: 16, style: { fontSize: "11.5px", background: "none", overflow: "visible" },
    y: percent, ...options,
  });

  // ---- survival

  function survivalRows(series) {
    const rows = [{ x: 0, y: 1, low: 1, high: 1, place: series.place, title: `${label(series.place)}\n${series.text}\nn ${series.n}` }];
    for (const [turn, y, low, high, risk, failures, overflows, censored, text] of series.steps) {
      const events = [[failures, "failed"], [overflows, "ran out of window"], [censored, "censored"]];
      const what = events.filter(([n]) => n).map(([n, word]) => `${n} ${word}`).join(", ");
      rows.push({
        x: turn, y, low, high, censored, place: series.place,
        title: `${label(series.place)}\nafter turn ${turn}: ${text} without a failure\nat risk ${risk}: ${what}\nmedian ${series.text}${series.unfollowed ? `\n${clean(series.unfollowed)}` : ""}`,
      });
    }
    return rows;
  }

  const atRisk = (series, turn) => (series.steps.find((step) => step[0] >= turn) ?? [0, 0, 0, 0, 0])[4];

  function survival(panel, wide) {
    const end = Math.max(1, ...panel.map((one) => Math.max(one.planned ?? 0, one.steps.at(-1)?.[0] ?? 0)));
    const shown = panel.filter((one) => !off().has(one.place));
    const rows = new Map(shown.map((one) => [one, survivalRows(one)]));
    const every = [...rows.values()].flat();
    const censored = every.filter((row) => row.censored);
    const ticks = d3.ticks(0, end, Math.max(2, Math.floor(wide / 70))).filter(Number.isInteger);
    const risk = crowded() ? [] : shown;
    const riskMark = (one, row) => Plot.text(ticks, {
      x: (turn) => turn, text: (turn) => String(atRisk(one, turn)), frameAnchor: "bottom", dy: 47 + 13 * row,
      fill: colour(one.place), fontSize: 10.5, className: `series series-${one.place}`,
    });
    const sample = (one, row) => Plot.text([0], {
      frameAnchor: "bottom-left", dx: -42, dy: 47 + 13 * row, textAnchor: "start", text: () => "●", fill: colour(one.place), fontSize: 9,
    });
    const below = 34 + (risk.length ? 20 + 13 * risk.length : 0);
    const height = 196 + below;
    return drawn({
      width: wide, height, marginBottom: below, marginRight: Math.max(14, nameRoom(shown, wide)),
      x: { domain: [0, end], ticks, tickFormat: String, label: "turn", labelAnchor: "right", labelArrow: "none", labelOffset: 30 },
      marks: [
        ...watermark(),
        Plot.ruleY([0.5], { stroke: "var(--muted)", strokeDasharray: "1,3" }),
        ...[...rows].map(([one, line]) => band(one, line, { curve: "step-after" })),
        ...[...rows].map(([one, own]) => line(one, own, { curve: "step-after" })),
        Plot.link(censored, {
          x1: "x", x2: "x", y1: (row) => row.y - 0.028, y2: (row) => row.y + 0.028, strokeWidth: 1.5,
          stroke: (row) => colour(row.place), className: "ticks",
        }),
        ...(risk.length ? [Plot.text(["sessions at risk"], { frameAnchor: "bottom-left", dx: -42, dy: 34, textAnchor: "start", fill: "var(--muted)", fontSize: 10.5 })] : []),
        ...risk.flatMap((one, row) => [riskMark(one, row), sample(one, row)]),
        ...endNames(rows, wide, height, 16, below),
        tip(every),
      ],
      color: { type: "identity" },
    });
  }

  // ---- compliance

  function complianceRows(series) {
    return series.points.map(([x, y, low, high, n, sessions, undecided, at, text]) => ({
      x, y, low, high, n, place: series.place,
      title: `${label(series.place)}\n${state.x === "turn" ? "turn " : ""}${at}${state.x === "tokens" ? " tokens" : ""}: ${text}\n${sessions} sessions${undecided ? `, ${undecided} undecided` : ""}`,
    }));
  }

  function compliance(panel, wide) {
    const shown = panel.filter((one) => !off().has(one.place));
    const rows = new Map(shown.map((one) => [one, complianceRows(one)]));
    const every = [...rows.values()].flat();
    const decided = every.filter((row) => row.y !== null);
    const far = Math.max(1, ...panel.flatMap((one) => one.points.map((point) => point[0])));
    const share = state.x === "occupancy";
    const levels = share ? Object.entries(page.levels) : [];
    const first = panel[0];
    const references = [first.ceiling, first.floor].filter(Boolean).map((one) => reference(one.rate, one.text));
    const estimated = panel.some((one) => one.estimated) ? " (partly estimated)" : "";
    const turns = d3.ticks(0, far, Math.max(2, Math.floor(wide / 60))).filter(Number.isInteger);
    const x = {
      turn: { domain: [0, far], ticks: turns, tickFormat: String },
      occupancy: { domain: [0, Math.max(1, far)], ticks: [0, 0.2, 0.4, 0.6, 0.8, 1], tickFormat: (at) => `${Math.round(at * 100)} %` },
      tokens: { domain: [0, far], ticks: Math.floor(wide / 80), tickFormat: (at) => at.toLocaleString("en") },
    }[state.x];
    return drawn({
      width: wide, height: 240, marginBottom: 36, marginTop: 22, marginRight: Math.max(14, nameRoom(shown, wide)),
      x: { ...x, label: AXES[state.x].label + estimated, labelAnchor: "right", labelArrow: "none" },
      marks: [
        ...watermark(),
        Plot.ruleX(levels, { x: ([, at]) => at, stroke: "var(--warn)", strokeOpacity: 0.55, strokeDasharray: "4,3" }),
        Plot.text(levels, { x: ([, at]) => at, text: ([name, at]) => `${name} level (≥ ${Math.round(at * 100)} % full)`, frameAnchor: "middle", rotate: -90, dx: 8, fill: "var(--warn)", fontSize: 10 }),
        ...references.map(([rule]) => rule),
        ...[...rows].map(([one, own]) => band(one, own)),
        ...[...rows].map(([one, own]) => line(one, own)),
        ...[...rows].map(([one, own]) => Plot.dot(own.filter((row) => row.y !== null), {
          x: "x", y: "y", symbol: crowded() ? "circle" : SYMBOLS[one.place], r: crowded() ? 1.8 : 3.2, fill: "var(--bg)", stroke: colour(one.place),
          strokeWidth: 1.5, className: `series series-${one.place}`,
        })),
        ...references.map(([, text]) => text),
        ...endNames(rows, wide, 240, 22, 36),
        tip(decided),
      ],
    });
  }

  // ---- lighting, legend, switches

  function light(place) {
    const curves = document.getElementById("curves");
    curves.classList.toggle("has-lit", place !== null);
    for (const one of curves.querySelectorAll(".lit")) one.classList.remove("lit");
    if (place === null) return;
    for (const one of curves.querySelectorAll(`.series-${place}, .band-${place}, [data-place="${place}"]`)) {
      one.classList.add("lit");
      if (one.classList.contains("series")) one.parentNode.insertBefore(one, one.parentNode.querySelector('[aria-label="tip"]'));
    }
  }

  function sample(place) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [name, value] of Object.entries({ width: 26, height: 10, "aria-hidden": "true" })) svg.setAttribute(name, value);
    const stroke = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const look = { x1: 0, x2: 26, y1: 5, y2: 5, stroke: colour(place), "stroke-width": crowded() ? 1.5 : 2.2, "stroke-dasharray": dash(place) };
    for (const [name, value] of Object.entries(look)) stroke.setAttribute(name, value);
    svg.append(stroke);
    if (!crowded()) {
      const marker = document.createElementNS("http://www.w3.org/2000/svg", "path");
      const symbol = { diamond2: d3.symbolDiamond2, square: d3.symbolSquare, triangle: d3.symbolTriangle, star: d3.symbolStar, cross: d3.symbolCross, wye: d3.symbolWye, times: d3.symbolTimes }[SYMBOLS[place]] ?? d3.symbolCircle;
      for (const [name, value] of Object.entries({ d: d3.symbol(symbol, 34)(), transform: "translate(13,5)", fill: "var(--bg)", stroke: colour(place), "stroke-width": 1.4 })) marker.setAttribute(name, value);
      svg.append(marker);
    }
    return svg;
  }

  function legend() {
    const box = document.getElementById("legend");
    const entries = names().map((name, place) => {
      const change = (on) => { off()[on ? "delete" : "add"](place); redraw(); };
      const button = toggle(clean(name), !off().has(place), change, sample(place));
      button.dataset.place = place;
      for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => light(place));
      for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => light(null));
      return button;
    });
    const every = (text, set) => {
      const button = element("button", { type: "button", class: "quiet" }, text);
      button.addEventListener("click", () => {
        const place = [...box.children].indexOf(button);
        set();
        legend();
        redraw();
        box.children[place]?.focus(); // the buttons were made anew
      });
      return button;
    };
    if (names().length > 2) {
      entries.push(every("all", () => off().clear()), every("none", () => names().forEach((_, place) => off().add(place))));
    }
    box.replaceChildren(...entries);
    box.hidden = names().length < 2;
  }

  function choice(options, now, choose) {
    return options.map(([value, text]) => {
      const button = element("button", { type: "button", "aria-pressed": String(value === now) }, text);
      button.addEventListener("click", () => {
        const box = button.parentElement;
        choose(value);
        box.querySelector("[aria-pressed=true]")?.focus(); // the buttons were made anew
      });
      return button;
    });
  }

  function switches() {
    const box = document.getElementById("axes");
    const known = Object.keys(AXES).filter((x) => page.compliance.some((one) => one.x === x));
    const options = known.map((x) => [x, AXES[x].button]);
    box.replaceChildren(...choice(options, state.x, (x) => { state.x = x; switches(); redraw("compliance"); }));
    const views = document.getElementById("views");
    views.hidden = page.models.length < 2;
    const looks = Object.entries(VIEWS).map(([view, { button }]) => [view, button]);
    views.replaceChildren(...choice(looks, state.view, (view) => { state.view = view; light(null); switches(); legend(); redraw(); }));
  }

  const CHARTS = {
    survival: { series: () => page.survival, draw: survival },
    compliance: { series: () => page.compliance.filter((one) => one.x === state.x), draw: compliance },
  };

  function redraw(only) {
    document.getElementById("curves").classList.toggle("crowded", crowded());
    for (const [name, chart] of Object.entries(CHARTS)) {
      if (only && only !== name) continue;
      const box = document.getElementById(name);
      const all = panels(chart.series());
      const shown = state.all[name] ? all : all.slice(0, MOST_PANELS);
      box.classList.toggle("single", all.length === 1);
      const figures = shown.map((panel) => element("figure", { class: "panel" }, caption(panel[0], panel)));
      box.replaceChildren(...figures);
      figures.forEach((figure, place) => {
        const plot = chart.draw(shown[place], Math.max(280, figure.clientWidth));
        plot.setAttribute("aria-label", `${name} chart: ${figure.textContent}; its figures are in the table below`);
        plot.addEventListener("input", () => light(plot.value ? plot.value.place : null));
        plot.addEventListener("pointerleave", () => light(null));
        figure.append(plot);
      });
      if (shown.length < all.length) {
        const more = element("button", { type: "button", class: "quiet more" }, `Draw all ${all.length} panels`);
        more.addEventListener("click", () => { state.all[name] = true; redraw(name); });
        box.append(element("p", { class: "more" }, more));
      }
    }
  }

  contextrot.draw = () => {
    if (!document.getElementById("legend")) return;
    switches();
    legend();
    redraw();
    let wide = window.innerWidth;
    let waiting = 0;
    window.addEventListener("resize", () => {
      if (window.innerWidth === wide) return; // a phone's bars come and go
      wide = window.innerWidth;
      clearTimeout(waiting);
      waiting = setTimeout(() => redraw(), 150);
    });
  };
})();
