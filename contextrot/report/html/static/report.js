"use strict";
/* The start of the page: its data, what single sessions are opened with, theme, hash, filters of tables. */
window.contextrot = (() => {
  const parsed = (id) => JSON.parse(document.getElementById(id).textContent);
  const chunks = new Map();

  /** The details of some sessions: chunk `n` of the page, opened once. Rejects with a sentence where there is none. */
  function chunk(n) {
    if (!chunks.has(n)) chunks.set(n, opened(n));
    return chunks.get(n);
  }

  async function opened(n) {
    const block = document.getElementById(`chunk-${n}`);
    if (!block) throw new Error(`chunk ${n} is not in this file`);
    const bytes = Uint8Array.from(atob(block.textContent), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  /* Control, format and bidi characters, lone surrogates and what has no place in text; joiners of words and emoji,
     tabs and new lines stay. The same rule as report/words.py `clean`. */
  const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;
  const SHOWN = new Set(["\n", "\t", "\u200c", "\u200d"]);
  /* More combining marks on one letter than any script needs: they cover what is above, and take seconds to place. */
  const PILE = /(\p{M}{10})(\p{M}+)/gu;

  /** Text of unknown origin made safe to show: what cannot be seen becomes a visible escape. For textContent only. */
  function clean(text) {
    return String(text).replace(HIDDEN, (character) => {
      if (SHOWN.has(character)) return character;
      const code = character.codePointAt(0);
      if (character === "\r") return "\\r";
      if (code < 0x100) return "\\x" + code.toString(16).padStart(2, "0");
      return code > 0xffff ? "\\U" + code.toString(16).padStart(8, "0") : "\\u" + code.toString(16).padStart(4, "0");
    }).replace(PILE, (_, first, rest) => `${first}[${[...rest].length.toLocaleString("en")} more marks]`);
  }

  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  /** `light` or `dark`: what is shown now. */
  function theme() {
    return document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
  }

  function startTheme() {
    const button = document.getElementById("theme");
    const order = ["system", "light", "dark"];
    const say = () => { button.textContent = `Theme: ${document.documentElement.dataset.theme || "system"}`; };
    const keep = (choice) => { try { localStorage.setItem("contextrot-theme", choice); } catch { /* not kept, then */ } };
    const set = (choice) => {
      if (choice === "system") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = choice;
      say();
      document.dispatchEvent(new CustomEvent("contextrot:theme", { detail: theme() }));
    };
    let kept = null;
    try { kept = localStorage.getItem("contextrot-theme"); } catch { /* a page without storage starts as the system is */ }
    button.hidden = false;
    set(order.includes(kept) ? kept : "system");
    button.addEventListener("click", () => {
      const now = document.documentElement.dataset.theme || "system";
      const next = order[(order.indexOf(now) + 1) % order.length];
      keep(next);
      set(next);
    });
    dark.addEventListener("change", () => document.dispatchEvent(new CustomEvent("contextrot:theme", { detail: theme() })));
  }

  /** `#session=KEY&turn=N` opens a session; any other hash is a place on the page. */
  function route() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const key = asked.get("session");
    if (key === null || typeof contextrot.open !== "function") return;
    const turn = /^\d+$/.test(asked.get("turn") || "") ? Number(asked.get("turn")) : undefined;
    contextrot.open(key, { turn });
  }

  /** An element with classes, attributes and children; text only ever becomes text. */
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "class") made.className = value;
      else if (value !== undefined && value !== null) made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  /** A button that is on or off. `change(on)` is called when it is turned. */
  function toggle(label, on, change, ...before) {
    const button = element("button", { type: "button", class: "chipbutton", "aria-pressed": String(on) }, ...before, label);
    button.addEventListener("click", () => {
      const next = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(next));
      change(next);
    });
    return button;
  }

  const MOST_TOGGLES = 12;

  /** Text filter and toggles of the table of strategies: rows are hidden, never removed. */
  function startStrategies() {
    const table = document.getElementById("strategy-table");
    const input = document.getElementById("strategy-filter");
    const count = document.getElementById("strategy-count");
    const off = { scenario: new Set(), model: new Set(), "strategy-row": new Set() };
    const rows = () => [...table.tBodies[0].rows];
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows()) {
        const text = row.textContent.toLowerCase();
        const gone = Object.entries(off).some(([kind, places]) => places.has(row.getAttribute(`data-${kind}`)));
        row.hidden = gone || !words.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = `${shown} of ${rows().length} rows`;
    };
    const group = document.querySelector("#strategy-filters .toggles");
    const kinds = [["scenario", "scenarios"], ["model", "models"], ["strategy-row", "strategies"]];
    for (const [kind, names] of kinds) {
      const values = contextrot.page[names];
      if (values.length < 2 || values.length > MOST_TOGGLES) continue;
      values.forEach((name, place) => {
        const set = (on) => { off[kind][on ? "delete" : "add"](String(place)); apply(); };
        group.append(toggle(clean(name), true, set));
      });
    }
    input.addEventListener("input", apply);
    apply();
  }

  /** Headings that sort become buttons; without scripts they are plain headings. */
  function startSorting() {
    for (const head of document.querySelectorAll("table.sortable thead th:not(.no-sort)")) {
      head.replaceChildren(element("button", { type: "button", class: "sort" }, ...head.childNodes));
    }
  }

  /** Marks in the bar at the top which section is being read. */
  function startNavigation() {
    const links = new Map([...document.querySelectorAll(".top nav a")].map((link) => [link.hash.slice(1), link]));
    for (const [id, link] of links) if (!document.getElementById(id)) link.hidden = true;
    const watch = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        for (const link of links.values()) link.removeAttribute("aria-current");
        links.get(entry.target.id)?.setAttribute("aria-current", "true");
      }
    }, { rootMargin: "-10% 0px -80% 0px" });
    for (const id of links.keys()) {
      const section = document.getElementById(id);
      if (section) watch.observe(section);
    }
  }

  /** What is folded is unfolded on paper, but for the licences. */
  function startPrinting() {
    let folded = [];
    window.addEventListener("beforeprint", () => {
      folded = [...document.querySelectorAll("main details:not([open])")];
      for (const one of folded) one.open = true;
    });
    window.addEventListener("afterprint", () => { for (const one of folded) one.open = false; });
  }

  function start() {
    document.documentElement.classList.add("scripted");
    startTheme();
    startSorting();
    startStrategies();
    startNavigation();
    startPrinting();
    contextrot.draw?.();
    window.addEventListener("hashchange", route);
    route();
  }

  document.addEventListener("DOMContentLoaded", start);
  return { page: parsed("data-page"), sessions: parsed("data-sessions"), chunk, clean, theme, element, toggle };
})();
