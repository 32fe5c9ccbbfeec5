// A document: its sentences side by side, each translated with the others as context.

import * as attention from "./attention.js";
import { events, request } from "./client.js";
import { copy } from "./clipboard.js";
import * as direction from "./direction.js";
import { $, announce, element } from "./dom.js";
import { inWords } from "./flags.js";
import * as formality from "./formality.js";
import * as gender from "./gender.js";
import { nameOf, pivotOf } from "./languages.js";
import * as memory from "./memory.js";
import * as notice from "./notice.js";

const STATES = { queued: "Waiting", running: "Translating", done: "Done", failed: "Failed" };
let running = null;
let current = null; // as the server answers it
let chosen = null;

export function start() {
  gender.start();
  $("document-form").addEventListener("submit", (event) => { event.preventDefault(); translate(); });
  $("document-input").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); translate(); }
  });
  $("document-copy").addEventListener("click", async () => {
    copy(await (await request(`/v1/documents/${current.id}/result`)).text(), $("document-copy"));
  });
  $("document-looking").addEventListener("toggle", () => look(chosen));
  $("sentences").addEventListener("click", (event) => look(event.target.closest("li")));
  $("sentences").addEventListener("pointerover", (event) => gender.stress(event.target.closest("li")));
  $("sentences").addEventListener("pointerleave", () => gender.stress(chosen));
  $("sentences").addEventListener("keydown", move);
  addEventListener("pagehide", forget);
}

// Nobody will ask for it again.
function forget() {
  if (current) request(`/v1/documents/${current.id}`, { method: "DELETE", keepalive: true }).catch(() => {});
  current = null;
}

const rows = () => [...$("sentences").children];

function clear() {
  gender.clear();
  chosen = null;
  $("sentences").replaceChildren();
  $("document-looking").hidden = $("document-copy").hidden = true;
  $("document-status").textContent = "";
}

async function translate() {
  running?.abort();
  forget();
  clear();
  const text = $("document-input").value;
  if (!text.trim()) return;
  const mine = running = new AbortController();
  try {
    const pair = await direction.resolve(text, mine.signal);
    if (!pair.source) return tell(problem(pair));
    const json = { text, source: pair.source, target: pair.target, ...formality.fields(pair), ...(pivotOf(pair) ? {} : memory.fieldOf(pair)) };
    const made = await (await request("/v1/documents", { method: "POST", json, signal: mine.signal })).json();
    current = made;
    $("sentences").replaceChildren(...made.sentences.map((one) => row(one, pair)));
    notice.quiet();
    let state = made.state;
    while (state === "queued" || state === "running") state = await follow(made, mine.signal, state);
    if (state !== "done") return;
    tell(made.pivot ? `Done, through ${nameOf(made.pivot)}` : "Done");
    $("document-copy").hidden = false;
    $("document-looking").hidden = !made.context || Boolean(made.pivot);
    if (made.context && !made.pivot) await gender.show({ source: pair.source, target: pair.target }, made.sentences, rows());
  } catch (error) {
    if (!mine.signal.aborted) { tell(""); notice.complain(error, translate); }
  }
}

const problem = ({ already, unserved, target }) => (already
  ? `This text is already in ${nameOf(target)}.`
  : `This looks like ${nameOf(unserved)}, which is not translated into ${nameOf(target)} here.`);

function tell(text) {
  $("document-status").textContent = text;
}

// Until the stream ends, which it also does at the request's deadline.
async function follow(made, signal, state) {
  const places = rows();
  for await (const { name, data } of events(await request(`/v1/documents/${made.id}/events`, { signal }))) {
    if (name === "document") {
      state = data.state;
      tell(data.error ?? (state === "done" ? "Done" : `${STATES[state]} ${Math.round(100 * data.progress)} %`));
    } else {
      const place = places[data.index].querySelector(".translation");
      place.textContent = made.sentences[data.index].translation = data.translation;
      place.classList.remove("coming");
      if (name === "sentence") places[data.index].querySelector(".check").textContent = data.flags ? `Please check: ${inWords(data.flags)}.` : "";
    }
  }
  return state;
}

function row(sentence, { source, target }) {
  return element("li", { tabindex: sentence.index ? "-1" : "0" },
    element("span", { class: "source", lang: source, dir: "auto" }, sentence.source),
    element("span", { class: "translation coming", lang: target, dir: "auto" }, sentence.translation ?? "…"),
    element("span", { class: "check" }),
    element("span", { class: "why" }));
}

function move(event) {
  const here = event.target.closest("li");
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  if (step && here[step]) {
    event.preventDefault();
    here.tabIndex = -1;
    here[step].tabIndex = 0;
    here[step].focus();
    gender.stress(here[step]);
    if (chosen) look(here[step]);
  } else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    look(here);
  } else if (event.key === "Escape") {
    look(null);
  }
}

// Choose a sentence, or none.
async function look(row) {
  chosen = row;
  attention.clear(rows());
  for (const one of rows()) one.removeAttribute("aria-current");
  row?.setAttribute("aria-current", "true");
  gender.stress(row);
  $("context-note").textContent = "Choose a sentence above to see which others it looked at.";
  if (!row || !current?.context || current.pivot) return;
  const index = rows().indexOf(row);
  gender.explain(index).then(() => { if (chosen === row) announce(row.querySelector(".why").textContent); });
  if (!$("document-looking").open) return;
  try {
    const told = await attention.shade(rows(), current.id, index, () => chosen === row);
    if (chosen === row) $("context-note").textContent = told;
  } catch (error) {
    $("context-note").textContent = notice.plain(error);
  }
}
