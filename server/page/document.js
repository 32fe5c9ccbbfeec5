// A document: its sentences side by side, and where each of them looked.

import { events, request } from "./client.js";
import { $, element, languages, nameOf, say } from "./shared.js";

const STATES = { queued: "Waiting", running: "Translating", done: "Done", failed: "Failed" };
let running = null;
let current = null; // {id, context}
let looking = null;

export function start() {
  $("document-form").addEventListener("submit", (event) => { event.preventDefault(); translate(); });
  $("document-input").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); translate(); }
  });
  const list = $("sentences");
  list.addEventListener("click", (event) => look(event.target.closest("li")));
  list.addEventListener("keydown", move);
  addEventListener("pagehide", forget);
}

// Nobody will ask for it again.
function forget() {
  if (current) request(`/v1/documents/${current.id}`, { method: "DELETE", keepalive: true }).catch(() => {});
  current = null;
}

function hint() {
  if (current.pivot) return `Two models translated this, through ${nameOf(current.pivot)}: each looked at sentences of its own.`;
  return current.context ? "Choose a sentence to see where it looked." : "This model reads every sentence by itself.";
}

async function translate() {
  running?.abort();
  forget();
  const text = $("document-input").value;
  $("sentences").replaceChildren();
  $("context-note").hidden = true;
  if (!text.trim()) return;
  const mine = running = new AbortController();
  try {
    const json = { text, ...languages() };
    const made = await (await request("/v1/documents", { method: "POST", json, signal: mine.signal })).json();
    current = made;
    $("sentences").replaceChildren(...made.sentences.map(row));
    say("");
    let state = made.state;
    while (state === "queued" || state === "running") state = await follow(made.id, mine.signal, state);
    note(hint());
  } catch (error) {
    if (!mine.signal.aborted) { say(error.message); $("document-status").textContent = ""; }
  }
}

// Until the stream ends, which it also does at the request's deadline.
async function follow(id, signal, state) {
  const rows = $("sentences").children;
  for await (const { name, data } of events(await request(`/v1/documents/${id}/events`, { signal }))) {
    if (name === "document") {
      state = data.state;
      const share = state === "done" ? "" : ` ${Math.round(100 * data.progress)} %`;
      $("document-status").textContent = data.error ?? STATES[state] + share;
    } else {
      const place = rows[data.index].querySelector(".translation");
      place.textContent = data.translation;
      place.classList.remove("coming");
    }
  }
  return state;
}

function row(sentence) {
  const source = element("span", { class: "source" }, sentence.source);
  const translation = element("span", { class: "translation coming" }, sentence.translation ?? "…");
  return element("li", { tabindex: sentence.index ? "-1" : "0" }, source, translation);
}

function move(event) {
  const here = event.target.closest("li");
  const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
  if (step && here[step]) {
    event.preventDefault();
    here.tabIndex = -1;
    here[step].tabIndex = 0;
    here[step].focus();
    if (looking) look(here[step]);
  } else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    look(here);
  } else if (event.key === "Escape") {
    shade(null, []);
    if (current) note(hint());
  }
}

async function look(chosen) {
  if (!chosen || !current?.context || current.pivot) return;
  const index = [...$("sentences").children].indexOf(chosen);
  shade(chosen, []);
  try {
    const seen = await (await request(`/v1/documents/${current.id}/sentences/${index}/context`)).json();
    if (looking !== chosen) return;
    shade(chosen, seen.sentences);
    const own = seen.context ? Math.round(100 * seen.gate) : 100;
    note(seen.context
      ? `Of what was read for this sentence ${own} % was its own; the shaded sentences share the rest. Esc ends this.`
      : "This sentence saw no other.");
  } catch (error) {
    note(error.message);
  }
}

function shade(chosen, seen) {
  looking = chosen;
  const rows = [...$("sentences").children];
  const most = Math.max(...seen.map((one) => one.weight), 0.0001);
  for (const one of rows) {
    one.toggleAttribute("aria-current", false);
    one.style.removeProperty("--weight");
    one.querySelector(".share")?.remove();
  }
  chosen?.setAttribute("aria-current", "true");
  for (const { index, weight } of seen) {
    rows[index].style.setProperty("--weight", weight / most);
    if (weight >= 0.005) rows[index].append(element("span", { class: "share" }, `${Math.round(100 * weight)} %`));
  }
}

function note(text) {
  $("context-note").textContent = text;
  $("context-note").hidden = false;
}
