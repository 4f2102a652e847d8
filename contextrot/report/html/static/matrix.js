"use strict";
// The picture of a session: a column for every call, a row for every message, and the tracks above them. One path for
// each status, so that a thousand messages by a hundred calls are a dozen elements.
contextrot.xray.matrix = (() => {
  const { element, svg, word } = contextrot.xray;
  const { tracks, patterns, mark, CELLS, AXIS } = contextrot.xray.tracks;
  const LOWEST = 15, HIGHEST = 19, NARROWEST = 7, WIDEST = 44, LONGEST_LABEL = 420, GAP = 2, PREVIEW = 100;
  /** Rows from this height on have labels of their own. */
  const READABLE = 8;
  /** A log that would take more screens than these is shown at once, with the rows as low as that makes them. */
  const MOST_SCREENS = 3;
  const LETTERS = { system: "S", constraint: "R", fact: "F", distractor: "D", filler: "", probe: "P", reply: "", tool: "T" };

  class Matrix {
    /**
     * `pick(column, index, how)` is called with what was chosen: index null for the whole call, `how` one of "" (the
     * page did it), "click" and "enter". `room` is `{width, height, label}` in pixels: what the page can give, and
     * how wide the labels have to be. It shows nothing before `fit`.
     */
    constructor(session, pick, room) {
      Object.assign(this, { session, pick, room });
      this.length = session.data.log.length;
      this.chosen = { at: null, index: null };
      this.tracks = tracks(session);
      this.head = this.tracks.reduce((sum, track) => sum + track.height, 0) + 4;
      this.#makeRoom(room.height);
      this.overview = this.length * LOWEST > MOST_SCREENS * this.space;
      this.root = element("div", { class: "xr-scroll", tabindex: "0", role: "application", "aria-roledescription": "matrix", "aria-label": "Calls by messages: arrow keys move, Enter reads", "aria-describedby": "xray-keys" });
      this.readout = element("p", { class: "xr-readout", "aria-live": "polite" });
      this.#places();
      this.root.addEventListener("keydown", (event) => this.#key(event));
    }

    /** Draw it so that it takes at most `height` pixels of the page. */
    fit(height) {
      this.#makeRoom(height);
      this.root.style.setProperty("--max", `${height}px`);
      this.draw();
    }

    #makeRoom(height) {
      this.space = Math.max(height - this.head - 12, 120); // what is left for the rows
    }

    /** True where the log is longer than the screen at readable rows, so that an overview shows something else. */
    get long() {
      return this.length * LOWEST > this.space;
    }

    /** Height of a row: what fits the screen, within what can be read; in the overview whatever shows all. */
    get row() {
      const fits = this.space / Math.max(1, this.length);
      return this.overview ? Math.min(HIGHEST, fits) : Math.max(LOWEST, Math.min(HIGHEST, Math.floor(fits)));
    }

    get low() {
      return this.row < READABLE;
    }

    /** Where each column stands: branches are narrower, and turns stand apart; in the overview all columns fit. */
    #places() {
      const columns = this.session.columns;
      const share = columns.reduce((sum, column) => sum + (column.branch === null ? 1 : 0.75), 0);
      const turns = new Set(columns.map((column) => column.turn)).size;
      const free = this.room.width - this.room.label - 28;
      const unit = Math.max(NARROWEST, Math.min(WIDEST, (free - turns * GAP) / Math.max(1, share)));
      const squeezed = this.overview && unit * share + turns * GAP > free;
      let x = 4, before = null;
      for (const column of columns) {
        if (before !== null && before !== column.turn && !squeezed) x += GAP;
        before = column.turn;
        column.x = x;
        column.width = (column.branch === null ? 1 : 0.75) * (squeezed ? free / share : unit);
        if (!squeezed) column.width = Math.max(5, Math.floor(column.width));
        column.inner = column.width > 4 ? column.width - 1 : column.width;
        x += column.width;
      }
      this.end = x + 2;
      this.width = Math.max(60, x + (this.#broke() ? 20 : 8));
      const label = Math.max(this.room.label, Math.min(LONGEST_LABEL, this.room.width - this.width - 4));
      this.root.style.setProperty("--label", `${Math.round(label)}px`);
      /** all that it takes of the page, in pixels */
      this.outer = Math.min(this.room.width, Math.round(label) + this.width + 2);
    }

    /** How the session broke off; null when it came to its end. */
    #broke() {
      const { end } = this.session.data;
      return end === null ? "running" : end.ended === "completed" ? null : word(end.ended);
    }

    draw() {
      this.#places();
      const height = Math.max(this.row * this.length, 1) + 8;
      const top = svg("svg", { width: this.width, height: this.head, class: "xr-top" });
      const corner = element("div", { class: "xr-corner" });
      let y = 0;
      for (const track of this.tracks) {
        top.append(...track.draw(this.session.columns, this.width, y));
        corner.append(element("div", { class: `xr-track ${track.kind ?? ""}`, style: `height:${track.height}px`, title: track.title },
          track.kind ? element("b", { class: "letter" }, { rule: "R", fact: "F", check: "?" }[track.kind]) : null,
          element("span", { class: "name" }, contextrot.clean(track.label))));
        y += track.height;
      }
      const cells = svg("svg", { width: this.width, height, class: "xr-cells", "data-row": this.row });
      cells.append(patterns(), ...this.#highlights(), ...this.#cells(), this.#grid(height));
      this.cursor = svg("g", { class: "cursor" });
      this.hover = svg("g", { class: "hover" });
      this.topCursor = svg("g", { class: "cursor" });
      cells.append(this.hover, this.cursor);
      top.append(this.topCursor);
      this.labels = this.#labels();
      for (const [picture, inBody] of [[top, false], [cells, true]]) {
        picture.addEventListener("mousemove", (event) => this.#point(event, inBody));
        picture.addEventListener("mouseleave", () => this.#leave());
        picture.addEventListener("click", (event) => this.#click(event, inBody));
      }
      this.root.replaceChildren(corner, element("div", { class: "xr-head" }, top), this.labels, element("div", { class: "xr-body" }, cells));
      this.root.classList.toggle("overview", this.low);
      this.root.style.setProperty("--size", `${Math.min(12.5, Math.max(11.5, this.row - 4))}px`);
      this.#showChosen();
    }

    /** How much of the log a column can show: what was said by then; past the fork point a branch has its own. */
    #until(column) {
      const { log, branches } = this.session.data;
      if (column.branch !== null) return Math.min(this.length, branches[column.branch]?.from ?? this.length);
      if (column.call.view) return this.length; // its manifest says it
      const later = log.findIndex(([turn]) => turn > column.turn);
      return later < 0 ? this.length : later;
    }

    /** Behind the cells: rows of rules and facts, and what had been said by the calls in which a check failed. */
    #highlights() {
      const drawn = [];
      for (const index of this.session.states.keys())
        drawn.push(svg("rect", { x: 0, y: index * this.row, width: this.width, height: Math.max(1.5, this.row), class: "stated" }));
      for (const column of this.session.columns) {
        if (!column.verdicts.some((verdict) => verdict.outcome === "fail")) continue;
        const last = column.call.view ? (column.call.view.manifest ?? []).reduce((most, [, , end]) => Math.max(most, end), 0) : this.length;
        const height = Math.min(this.#until(column), last) * this.row;
        if (height > 0) drawn.push(svg("rect", { x: column.x - 1, y: 0, width: column.width + 1, height, class: "failed" }));
      }
      return drawn;
    }

    /** One path a status; of rows that state a rule or fact another, so that they can be told from the rest. */
    #cells() {
      const paths = new Map();
      const draw = (name, d) => paths.set(name, (paths.get(name) ?? "") + d);
      const row = this.row;
      for (const column of this.session.columns) {
        const width = column.inner;
        for (const [status, start, end] of column.call.view?.manifest ?? []) {
          const until = Math.min(end, this.#until(column));
          if (until <= start) continue;
          if (status === "dropped") draw(status, `M${column.x + width / 2} ${start * row}V${until * row}`);
          else {
            const tall = (until - start) * row; // what is brought back by ones must not vanish in the overview
            draw(status, `M${column.x} ${start * row}h${width}v${status === "verbatim" ? tall : Math.max(1.5, tall)}h${-width}z`);
          }
          for (const index of this.session.states.keys()) {
            if (index < start || index >= until) continue;
            if (status === "dropped") draw("gone", `M${column.x} ${(index + 0.5) * row}h${width}`);
            else draw(`${status} strong`, `M${column.x} ${index * row}h${width}v${Math.max(1.5, row)}h${-width}z`);
          }
        }
        if (!column.call.view) draw("unknown", `M${column.x} 0h${width}v${this.#until(column) * row}h${-width}z`);
      }
      const thin = Math.min(1, 0.3 * (this.session.columns[0]?.width ?? 1));
      const lines = { dropped: ["st-dropped line", thin], gone: ["st-dropped gone", Math.max(1, Math.min(2, row / 2))] };
      const drawn = [...paths].sort(([one], [other]) => (one in lines ? 0 : 1) - (other in lines ? 0 : 1)).map(([name, d]) =>
        name in lines ? svg("path", { d, class: lines[name][0], style: `stroke-width:${lines[name][1]}px` }) : svg("path", { d, class: `cell st-${name}` }));
      return [...drawn, ...this.#questions(), ...this.#ending()];
    }

    /** A mark under what was said when a probe was asked on a branch: its question stands there and nowhere else. */
    #questions() {
      let d = "";
      for (const column of this.session.columns) {
        const own = column.branch === null ? undefined : this.session.data.branches[column.branch];
        if (!own || column.call.purpose !== "probe" || column.width < 4) continue;
        const middle = column.x + (column.width - 1) / 2, half = Math.min(4, column.width / 2), y = own.from * this.row + 1;
        d += `M${middle - half} ${y}h${2 * half}l${-half} ${Math.min(6, Math.max(3, this.row - 4))}z`;
      }
      return [svg("path", { d, class: "asked" })];
    }

    /** Where a session broke off, and by what. */
    #ending() {
      const broke = this.#broke();
      if (!broke) return [];
      const height = Math.max(this.row * this.length, 1);
      return [
        svg("path", { d: `M${this.end} 0V${height}`, class: "end" }),
        svg("text", { transform: `translate(${this.end + 5} 6) rotate(90)`, class: "ending" }, broke),
      ];
    }

    #grid(height) {
      let d = "";
      if (this.row >= 6) for (let y = this.row; y < height; y += this.row) d += `M0 ${y - 0.5}H${this.width}`;
      return svg("path", { d, class: "rules" });
    }

    #labels() {
      const list = element("div", { class: "xr-labels" });
      let below = 0; // with low rows: where the label before ends
      for (let index = 0; index < this.length; index++) {
        const states = this.session.states.get(index) ?? [];
        if (this.low && !states.length) continue;
        const { origin, message } = this.session.message(index);
        const letter = LETTERS[origin] || (message.role === "assistant" && message.tool_calls?.length ? "C" : "");
        const names = states.map((one) => `${contextrot.clean(one.id)}${one.until === null ? "" : ` (until turn ${one.until})`}`).join(", ");
        const top = Math.max(below, index * this.row - 6);
        below = top + 14;
        const label = element("div", { class: `xr-label${states.length ? " states" : ""}`, "data-index": index, style: this.low ? `top:${top}px;height:14px` : `height:${this.row}px` },
          element("span", { class: "number" }, String(index)),
          element("b", { class: `letter ${origin}` }, letter),
          names ? element("span", { class: "states" }, names) : null,
          element("span", { class: "name" }, `${message.role === "assistant" ? "↳ " : ""}${this.#words(message)}`));
        label.addEventListener("click", () => this.choose(this.chosen.at ?? this.session.columns.length - 1, index, "click"));
        list.append(label);
      }
      return list;
    }

    /** The beginning of a message in one line. */
    #words(message) {
      return contextrot.xray.parts(message, "").join(" ").slice(0, PREVIEW).replace(/\s+/g, " ");
    }

    #at(event, inBody) {
      const box = event.currentTarget.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      const columns = this.session.columns;
      let column = columns.find((one) => x >= one.x - GAP && x < one.x + one.width);
      if (!column && columns.length && x >= columns.at(-1).x) column = columns.at(-1);
      const index = inBody ? Math.min(this.length - 1, Math.floor(y / this.row)) : null;
      return column ? { at: column.at, index } : null;
    }

    #point(event, inBody) {
      const at = this.#at(event, inBody);
      if (!at) return this.#leave();
      this.#frame(this.hover, at);
      this.readout.textContent = this.says(at.at, at.index);
    }

    #leave() {
      this.hover.replaceChildren();
      this.readout.textContent = this.chosen.at === null ? "" : this.says(this.chosen.at, this.chosen.index);
    }

    #click(event, inBody) {
      const at = this.#at(event, inBody);
      if (at) this.choose(at.at, at.index, "click");
    }

    /** One line on a column, or on a message in it. */
    says(at, index) {
      const column = this.session.columns[at];
      const where = `Turn ${column.turn}, call ${column.call.n}${column.branch === null ? "" : `, branch ${contextrot.clean(column.branch)}`}`;
      if (index === null) return `${where}: ${column.verdicts.map((v) => `${mark(v.outcome)} ${contextrot.clean(v.id)}`).join(" ") || "nothing checked"}`;
      const status = index >= this.#until(column) ? null : column.call.view === null ? "unknown" : this.session.status(column.call, index);
      const log = this.session.message(index);
      if (log === null) return `${where}: message ${index} is not in the log`;
      return `${where} · message ${index} (${log.origin}, ${log.message.role}, turn ${log.turn}): ${status === null ? "not yet said" : `${status}: ${CELLS[status] ?? status}`} · ${this.#words(log.message)}`;
    }

    #frame(group, { at, index }) {
      const column = this.session.columns[at];
      const height = Math.max(1, this.row * this.length);
      const frames = [svg("rect", { x: column.x - 1.5, y: 0, width: column.width + 2, height })];
      if (index !== null) frames.push(svg("rect", { x: 0.5, y: index * this.row - 0.5, width: this.width - 1, height: Math.max(2, this.row) }));
      group.replaceChildren(...frames);
    }

    /** Choose a call, or a message in it. */
    choose(at, index = null, how = "") {
      if (!this.session.columns.length) return;
      this.chosen = { at: Math.max(0, Math.min(this.session.columns.length - 1, at)), index };
      this.#showChosen();
      this.#intoSight();
      this.pick(this.session.columns[this.chosen.at], index, how);
    }

    #showChosen() {
      for (const label of this.labels.querySelectorAll(".chosen")) label.classList.remove("chosen");
      if (this.chosen.at === null) return;
      const column = this.session.columns[this.chosen.at];
      this.#frame(this.cursor, this.chosen);
      this.topCursor.replaceChildren(svg("rect", { x: column.x - 1.5, y: AXIS - 1.5, width: column.width + 2, height: this.head }));
      if (this.chosen.index !== null) this.labels.querySelector(`[data-index="${this.chosen.index}"]`)?.classList.add("chosen");
      this.readout.textContent = this.says(this.chosen.at, this.chosen.index);
    }

    /** Scrolls no more than is needed to see the chosen column and row. */
    #intoSight() {
      const column = this.session.columns[this.chosen.at];
      const left = column.x, right = column.x + column.width;
      const room = this.root.clientWidth - this.labels.offsetWidth;
      if (left < this.root.scrollLeft) this.root.scrollLeft = left - 8;
      else if (right > this.root.scrollLeft + room) this.root.scrollLeft = right - room + 16;
      if (this.chosen.index === null) return;
      const y = this.chosen.index * this.row, tall = this.root.clientHeight - this.head;
      if (y < this.root.scrollTop) this.root.scrollTop = y;
      else if (y + this.row > this.root.scrollTop + tall) this.root.scrollTop = y + this.row - tall + 4;
    }

    /** The first column of the turn before the chosen one's (-1), or after it (1). */
    #turn(by) {
      const { columns } = this.session;
      const now = columns[this.chosen.at ?? 0].turn;
      const there = columns.filter((column) => (column.turn - now) * by > 0).map((column) => column.turn);
      if (!there.length) return this.chosen.at ?? 0;
      const turn = by > 0 ? Math.min(...there) : Math.max(...there);
      return columns.findIndex((column) => column.turn === turn);
    }

    #key(event) {
      if (event.altKey || event.ctrlKey || event.metaKey || !this.session.columns.length) return;
      const { at, index } = this.chosen;
      const aside = (by) => this.choose(event.shiftKey ? this.#turn(by) : (at ?? 0) + by, index);
      const moves = {
        ArrowLeft: () => aside(-1),
        ArrowRight: () => aside(1),
        ArrowUp: () => this.choose(at ?? 0, index === null || index === 0 ? null : index - 1),
        ArrowDown: () => this.choose(at ?? 0, this.length ? Math.min(this.length - 1, (index ?? -1) + 1) : null), // a control has no log
        Home: () => this.choose(0, index),
        End: () => this.choose(this.session.columns.length - 1, index),
        Enter: () => this.choose(at ?? 0, index, "enter"),
      };
      if (!moves[event.key]) return;
      event.preventDefault();
      moves[event.key]();
    }
  }

  return { Matrix };
})();
