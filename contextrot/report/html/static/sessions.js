"use strict";
// The list of sessions: those that failed first, in pages, filtered and sorted over all rows and not only those drawn.
(() => {
  const { element, counted, word } = contextrot.xray;
  const PAGE = 100;
  const several = (name) => new Set(contextrot.sessions.map((row) => row[name])).size > 1;
  const number = (value) => (value === undefined ? Infinity : value);
  const cause = (row) => [...new Set((row.failed ?? []).map(([, why]) => why || "unattributed"))];
  const ended = (row) => row.ended ?? "running";
  const failure = (row) => {
    if (row.control) return "–";
    if (row.first_fail_turn === undefined) return row.last_pass_turn === undefined ? "nothing checked" : "none";
    return `turn ${row.first_fail_turn}`;
  };

  /** A name on one line; the whole of it is told to who points at it. */
  const short = (name) => element("span", { class: "one-line", title: contextrot.clean(name) }, contextrot.clean(name));

  /** Columns: heading, what to sort by, what to show. */
  const COLUMNS = [
    ["first failure", (row) => number(row.first_fail_turn) + (row.control ? 1e9 : 0), (row) => [failure(row)], "figure"],
    ["what and why", (row) => cause(row).join(), (row) => causes(row), "causes"],
    ["scenario", (row) => row.scenario, (row) => [short(row.scenario)], "who", "scenario"],
    ["model", (row) => row.model, (row) => [short(row.model)], "who", "model"],
    ["strategy", (row) => row.strategy ?? "", (row) => [row.control ? "controls" : short(row.strategy)], "who"],
    ["repeat", (row) => number(row.repeat), (row) => [String(row.repeat ?? "–")], "number"],
    ["ended", (row) => ended(row), (row) => [word(ended(row))], ""],
    ["last turn", (row) => number(row.last_turn), (row) => [String(row.last_turn ?? "–")], "number"],
  ].filter(([, , , , only]) => only === undefined || several(only));

  function causes(row) {
    const shown = (row.failed ?? []).slice(0, 3).flatMap(([id, why]) => [element("span", { class: "said" }, contextrot.clean(id)), " ", element("span", { class: `chip ${why || "unattributed"}` }, why || "unattributed"), " "]);
    if ((row.failed ?? []).length > 3) shown.push(`and ${row.failed.length - 3} more`);
    if (row.failed === undefined && row.event && !["completed", undefined].includes(row.ended)) shown.push(`${word(row.ended)} at turn ${row.last_turn ?? "?"}`);
    if (row.problem) shown.push(element("small", {}, "file damaged"));
    return shown;
  }

  const text = (row) => [row.key, row.scenario, row.model, row.control ? "controls" : row.strategy, ended(row), ...(row.failed ?? []).flat()].join(" ").toLowerCase();

  function start() {
    const table = document.getElementById("session-table");
    const body = table.tBodies[0];
    const input = document.getElementById("session-filter");
    const more = document.getElementById("session-more");
    const rows = contextrot.sessions.map((row, place) => ({ row, place, text: text(row) }));
    const chosen = {};
    let sorted = { column: null, down: false };
    let shown = rows;
    let drawn = 0;

    function line({ row }) {
      const cells = COLUMNS.map(([, , show, kind], k) => {
        const link = `#session=${encodeURIComponent(row.key)}`;
        const content = k === 0 ? [element("a", { href: link, "aria-label": `open ${contextrot.clean(row.key)}` }, ...show(row))] : show(row);
        return element("td", { class: kind }, ...content);
      });
      if (row.chunk === undefined) cells[0].append(element("small", { title: "the details of this session are not in this file" }, " not kept"));
      return element("tr", { class: row.control ? "control" : null }, ...cells);
    }

    function draw() {
      body.append(...shown.slice(drawn, drawn + PAGE).map(line));
      drawn = Math.min(shown.length, drawn + PAGE);
      more.hidden = drawn >= shown.length;
      more.textContent = `${shown.length - drawn} more`;
    }

    function apply() {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      shown = rows.filter((one) => words.every((word) => one.text.includes(word)) && Object.entries(chosen).every(([name, value]) => value === undefined || FILTERS[name](one.row).includes(value)));
      if (sorted.column !== null) {
        const by = COLUMNS[sorted.column][1];
        const turn = sorted.down ? -1 : 1;
        shown.sort((one, other) => {
          const [a, b] = [by(one.row), by(other.row)];
          return (a < b ? -turn : a > b ? turn : 0) || one.place - other.place;
        });
      }
      body.replaceChildren();
      drawn = 0;
      draw();
      document.getElementById("session-count").textContent = `${shown.length.toLocaleString("en")} of ${counted(rows.length, "session")}`;
    }

    const FILTERS = {
      scenario: (row) => [row.scenario],
      model: (row) => [row.model],
      strategy: (row) => [row.control ? "controls" : row.strategy],
      ended: (row) => [ended(row)],
      cause: (row) => (row.first_fail_turn === undefined ? [row.control ? "" : "did not fail"] : cause(row)),
    };

    function choices() {
      const before = document.getElementById("session-count");
      for (const [name, values] of Object.entries(FILTERS)) {
        const all = [...new Set(contextrot.sessions.flatMap(values))].filter((value) => value !== undefined && value !== "").sort();
        if (all.length < 2) continue;
        const select = element("select", { "aria-label": `${name} of the sessions shown`, change: () => { chosen[name] = all[select.value]; apply(); } },
          element("option", { value: "" }, `every ${name === "ended" ? "ending" : name}`), ...all.map((value, k) => element("option", { value: String(k) }, name === "ended" ? word(value) : contextrot.clean(value))));
        before.before(select);
      }
    }

    COLUMNS.forEach(([label], k) => {
      const head = element("th", { scope: "col" }, element("button", { type: "button", class: "sort", click: () => {
        sorted = { column: k, down: sorted.column === k ? !sorted.down : false };
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
        apply();
      } }, label));
      table.tHead.rows[0].append(head);
    });
    input.addEventListener("input", apply);
    more.addEventListener("click", draw);
    new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && !more.hidden && draw(), { rootMargin: "300px" }).observe(more);
    body.addEventListener("click", (event) => {
      const row = event.target.closest("tr");
      if (row && !event.target.closest("a") && !String(getSelection())) row.querySelector("a").click();
    });
    body.addEventListener("keydown", (event) => {
      const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
      const next = step && event.target.closest("tr")?.[step]?.querySelector("a");
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
    choices();
    apply();
  }

  document.addEventListener("DOMContentLoaded", start);
})();
