"use strict";
// The reading pane of a session: the exact messages of one call, what was left out, the reply, and what checks said.
contextrot.xray.reading = (() => {
  const { element, counted, parts, plain } = contextrot.xray;
  const { sample, mark, CELLS } = contextrot.xray.tracks;
  const PREVIEW = 110, MOST_SENT = 100, MOST_LEFT_OUT = 50;
  const CAUSES = {
    lost: "it was no longer in what was sent",
    ignored: "it was in what was sent",
    incapable: "the model fails this when fresh as well",
  };
  const PURPOSES = { turn: "a turn of the session", probe: "a probe, on a branch that is thrown away", control: "a control question", auxiliary: "helper", judge: "judge" };

  /** Tokens, shares and other figures of a call, as words; what is not known is not said. */
  function figures(call, session) {
    const said = [];
    const whole = (number) => Math.round(number).toLocaleString("en");
    const usage = call.usage ?? {};
    if (usage.prompt_tokens !== null && usage.prompt_tokens !== undefined) said.push(`${whole(usage.prompt_tokens)} prompt tokens`);
    else if (call.prompt_estimate !== null && call.prompt_estimate !== undefined) said.push(`about ${whole(call.prompt_estimate)} prompt tokens`);
    if (call.occupancy !== null && call.occupancy !== undefined)
      said.push(`${Math.round(100 * call.occupancy)} % of the window${call.occupancy_source === "estimate" ? " (estimate)" : ""}`);
    if (call.prefix_reuse !== null && call.prefix_reuse !== undefined) said.push(`${Math.round(100 * call.prefix_reuse)} % as in the prompt before`);
    if (usage.completion_tokens) said.push(`${whole(usage.completion_tokens)} tokens of reply`);
    if (call.asked && call.asked !== session.head.model) said.push(`asked ${plain(call.asked)}`);
    if (call.latency >= 0.005) said.push(`${call.latency.toFixed(call.latency < 10 ? 2 : 0)} s`);
    if (call.attempts > 1) said.push(`${call.attempts} attempts`);
    return said.join(" · ");
  }

  /** One message, folded or open. Its text is put in when it is opened: a call can have been sent hundreds. */
  function article(entry, session, column, open, position) {
    const command = session.command(column.turn);
    const { message } = entry;
    const states = entry.index !== null && entry.index !== undefined && entry.branch === null ? (session.states.get(entry.index) ?? []) : [];
    const kind = entry.made ? "made by the strategy" : entry.origin === "reply" || entry.origin === message.role ? null : entry.origin;
    const size = JSON.stringify(message.content ?? "").length;
    const summary = element("summary", {},
      element("span", { class: "number" }, position === null ? "" : String(position)),
      entry.status ? sample(entry.status) : null,
      element("b", {}, message.role),
      kind ? element("span", { class: `kind ${entry.made ? "made" : entry.origin}` }, kind) : null,
      ...states.map((one) => element("span", { class: "kind states" }, `${contextrot.clean(one.id)}${one.until !== null && one.until <= column.turn ? " (older)" : ""}`)),
      entry.status && entry.status !== "verbatim" && entry.status !== "made" ? element("span", { class: `kind st-${entry.status}` }, entry.status) : null,
      entry.pinned ? element("span", { class: "kind pin" }, "pinned") : null,
      entry.index !== null && entry.index !== undefined ? element("span", { class: "muted" }, `turn ${entry.turn}`) : null,
      size > 2000 ? element("span", { class: "muted" }, counted(size, "character")) : null,
      element("span", { class: "preview said" }, parts(message, command).join(" ").slice(0, PREVIEW).replace(/\s+/g, " ")));
    const body = element("div", { class: "body" });
    const made = element("details", { class: `message${states.length ? " states" : ""}${entry.made ? " made" : ""}`, "data-index": entry.branch === null ? entry.index : null }, summary, body);
    const fill = () => {
      if (body.childElementCount) return;
      for (const part of parts(message, command)) body.append(element("div", { class: "text said" }, part));
      if (message.tool_call_id) body.append(element("p", { class: "muted" }, `result of call ${plain(message.tool_call_id)}`));
      if (!body.childElementCount) body.append(element("p", { class: "muted" }, "nothing: the message is empty"));
    };
    made.addEventListener("toggle", () => made.open && fill());
    if (open) {
      made.open = true;
      fill();
    }
    return made;
  }

  /** What a cause means; a list is lost as soon as one of its facts is. */
  function means(one) {
    return one.cause === "lost" && one.check === "recall_list" ? "not all it rests on was in what was sent" : (CAUSES[one.cause] ?? "");
  }

  function verdict(one, column) {
    const kind = one.outcome === "fail" ? "fail" : one.outcome === "pass" ? "pass" : "open";
    const line = element("p", { class: `verdict ${kind}` },
      element("b", {}, `${mark(one.outcome)} ${contextrot.clean(one.id)} ${one.outcome.replace("_", " ")}`),
      one.item ? ` ${plain(one.item)}` : "",
      element("span", { class: "muted" }, ` ${one.kind}, check ${plain(one.check)}`));
    if (one.cause) line.append(" ", element("span", { class: `chip ${one.cause}` }, one.cause), ` ${means(one)}${one.since_turns ? `, stated ${counted(one.since_turns, "turn")} before` : ""}`);
    const box = element("div", {}, line);
    if (one.reason) box.append(element("p", { class: "reason said" }, plain(one.reason)));
    if (one.outcome === "fail" && one.evidence && one.evidence !== one.reason)
      box.append(element("p", { class: "muted" }, "the verdict rests on: ", element("span", { class: "said" }, plain(one.evidence).slice(0, 400))));
    return box;
  }

  /** What the failed checks of a call were about: the message that says it, and what became of it in this call. */
  function statements(session, column, at) {
    const failed = new Set(column.verdicts.filter((one) => one.outcome === "fail").map((one) => one.subject));
    return session.standings.filter((one) => failed.has(one.id)).flatMap((one) => {
      const version = one.versions.findLast(([turn]) => turn <= column.turn);
      const cell = one.cells[at];
      if (!version || !cell) return [];
      const status = session.status(column.call, version[1]);
      const fate = element("p", { class: "fate" }, sample(cell, true), " ", element("b", {}, contextrot.clean(one.id)), `, ${version[0] === 0 ? "in the system prompt" : `said at turn ${version[0]}`}, `, element("b", {}, cell), ` in this call: ${CELLS[cell] ?? cell}`);
      return [fate, article({ ...session.message(version[1]), status, made: false }, session, column, version[0] !== 0, null)];
    });
  }

  function reply(call, session, column) {
    const box = element("section", { class: "reply" }, element("h4", {}, "Reply"));
    if (call.outcome !== "ok") box.append(element("p", { class: "verdict open" }, element("b", {}, call.outcome.replace("_", " ")), call.error ? `: ${plain(call.error)}` : ""));
    if (call.reply === null) {
      if (call.outcome === "ok") box.append(element("p", { class: "muted" }, "none"));
      return box;
    }
    const command = session.command(column.turn);
    const said = parts(session.texts[call.reply.text], command);
    for (const part of said) if (part) box.append(element("div", { class: "text said" }, part));
    if (!said.some(Boolean)) box.append(element("p", { class: "muted" }, "empty"));
    if (call.reply.refusal) box.append(element("p", {}, "refused: ", element("span", { class: "said" }, plain(call.reply.refusal, command))));
    if (call.reply.reasoning)
      box.append(element("details", {}, element("summary", {}, "Reasoning"), element("div", { class: "text said" }, plain(call.reply.reasoning, command))));
    if (call.reply.finish_reason && !["stop", "tool_calls"].includes(call.reply.finish_reason))
      box.append(element("p", { class: "muted" }, `ended by ${plain(call.reply.finish_reason)}`));
    return box;
  }

  /** A call of a helper or a judge: what it was sent and what it answered, folded. */
  function beside(call, session, column) {
    const box = element("details", { class: "beside" },
      element("summary", {}, `${PURPOSES[call.purpose]} call ${call.n} (${plain(call.asked ?? call.model)}): ${counted(session.sent(call)?.length ?? 0, "message")}${call.outcome === "ok" ? "" : `, ${call.outcome}`}`));
    box.addEventListener("toggle", () => {
      if (!box.open || box.childElementCount > 1) return;
      (session.sent(call) ?? []).forEach((entry, position) => box.append(article({ ...entry, index: null, pinned: false }, session, column, false, position)));
      box.append(reply(call, session, column));
    }, { once: false });
    return box;
  }

  function sent(session, column, chosen) {
    const all = session.sent(column.call);
    if (all === null) {
      const said = session.saidAt(column).map((entry) => article(entry, session, column, true, entry.index));
      return [element("section", {}, element("h4", {}, "Said to the agent"), ...said,
        element("p", { class: "muted" }, "What was sent is not known: the agent keeps its own memory."))];
    }
    const box = element("section", {}, element("h4", {}, `Sent, ${counted(all.length, "message")}`));
    const worth = (entry, position) =>
      entry.made || position === all.length - 1 || (entry.index !== null && entry.branch === null && (session.states.has(entry.index) || entry.index === chosen));
    const show = (from, to) => all.slice(from, to).forEach((entry, k) => box.append(article(entry, session, column, worth(entry, from + k), from + k)));
    show(0, MOST_SENT);
    if (all.length > MOST_SENT) {
      const more = element("button", { type: "button", class: "quiet", click: () => { more.remove(); show(MOST_SENT, all.length); } }, `${counted(all.length - MOST_SENT, "message")} more`);
      box.append(more);
    }
    return [box];
  }

  function leftOut(session, column, chosen) {
    const out = session.leftOut(column.call);
    if (!out.length) return [];
    const counts = new Map();
    for (const entry of out) counts.set(entry.status, (counts.get(entry.status) ?? 0) + 1);
    const box = element("section", {}, element("h4", {}, `Not sent as they are, ${counted(out.length, "message")}`),
      element("p", { class: "muted" }, [...counts].map(([status, n]) => `${n} ${status} (${CELLS[status] ?? status})`).join(" · ")));
    const first = (entry) => (session.states.has(entry.index) ? 0 : 1);
    const list = [...out].sort((one, other) => first(one) - first(other) || one.index - other.index);
    const show = (from, to) => list.slice(from, to).forEach((entry) => box.append(article(entry, session, column, entry.index === chosen || session.states.has(entry.index), entry.index)));
    show(0, MOST_LEFT_OUT);
    if (list.length > MOST_LEFT_OUT) {
      const more = element("button", { type: "button", class: "quiet", click: () => { more.remove(); show(MOST_LEFT_OUT, list.length); } }, `${counted(list.length - MOST_LEFT_OUT, "message")} more`);
      box.append(more);
    }
    return [box];
  }

  function events(session, column) {
    const all = session.events(column);
    if (!all.length) return [];
    return [element("section", {}, element("h4", {}, "Events of the turn"),
      element("ul", { class: "events" }, ...all.map(([, branch, name, detail]) =>
        element("li", {}, element("b", {}, plain(name)), branch === null ? "" : ` (${plain(branch)})`,
          element("span", { class: "said" }, Object.keys(detail).length ? ": " + Object.entries(detail).map(([key, value]) => `${plain(key)} ${plain(value)}`).join(", ") : "")))))];
  }

  /** Show one call in the pane; `chosen` is the index of the message that was pointed at, null for none. */
  function show(pane, session, column, chosen) {
    const { call } = column;
    const where = `Turn ${column.turn}, call ${call.n}`;
    pane.replaceChildren(
      element("h3", { tabindex: "-1" }, where, element("small", {}, ` ${PURPOSES[call.purpose] ?? call.purpose}${column.branch === null ? "" : ` (${contextrot.clean(column.branch)})`}`)),
      element("p", { class: "muted" }, figures(call, session)),
      call.view?.tools ? element("p", { class: "muted" }, `offered by the strategy: ${call.view.tools.map((name) => plain(name)).join(", ")}`) : "",
      ...column.verdicts.map((one) => verdict(one, column)),
      ...(column.verdicts.length ? [] : [element("p", { class: "muted" }, "No check looked at this call.")]),
      ...statements(session, column, column.at),
      reply(call, session, column),
      ...session.beside(column).map((one) => beside(one, session, column)),
      ...sent(session, column, chosen),
      ...leftOut(session, column, chosen),
      ...events(session, column),
      element("p", { class: "muted command" }, "Whole, on a terminal: ", element("code", {}, session.command(column.turn))));
    const message = chosen === null ? null : [...pane.querySelectorAll(`details[data-index="${chosen}"]`)].at(-1);
    message?.classList.add("chosen");
    return message;
  }

  return { show };
})();
