// One sentence of the translation: what may be wrong with it, other ways to say it, and a better one.

import { hasKey, request } from "./client.js";
import { $, announce, element } from "./dom.js";
import { inWords } from "./flags.js";
import { pivotOf } from "./languages.js";
import * as memory from "./memory.js";
import { plain } from "./notice.js";
import * as output from "./output.js";

let most = 3; // alternatives that the server gives
let chosen = null; // {index, pair, fields}
let asked = null;
let renewed = () => {};

export function start(onRenew) {
  renewed = onRenew;
  $("close-sentence").addEventListener("click", leave);
  $("sentence").addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); save(); }
  });
  $("correction").addEventListener("submit", (event) => { event.preventDefault(); save(); });
  $("forget").addEventListener("click", forget);
}

export function close() {
  asked?.abort();
  chosen = null;
  $("sentence").hidden = true;
  output.mark(-1);
}

function leave() {
  const index = chosen?.index;
  close();
  output.focus(index);
}

// `fields`: those of the request that translated the sentence.
export function open(index, pair, fields) {
  close();
  chosen = { index, pair, fields };
  const { target, flags, from_memory: isRemembered } = output.sentence(index);
  output.mark(index);
  $("sentence").hidden = false;
  $("check").hidden = !flags.length;
  $("check").textContent = `Please check: ${inWords(flags)}.`;
  $("remembered").hidden = !isRemembered;
  $("others").replaceChildren();
  $("others").lang = $("better").lang = pair.target;
  $("better").value = target;
  $("save").textContent = memory.keeps() ? "Save" : "Use";
  note(memory.keeps()
    ? `Once saved, it is used from now on, ${hasKey() ? "with your key" : "for everybody who uses this server"}.`
    : "Only here: this server does not keep corrections.");
  $("better").focus({ preventScroll: true });
  $("sentence").scrollIntoView({ block: "nearest" });
  if (!isRemembered) ask();
  else $("others-title").hidden = true;
}

const note = (text) => { $("correction-note").textContent = text; };

async function ask() {
  const { index, pair, fields } = chosen;
  $("others-title").hidden = true;
  if (pivotOf(pair) || most < 1) return;
  const { source, target } = output.sentence(index);
  const mine = asked = new AbortController();
  const { translation_memory_id: _, ...rest } = fields;
  const json = { ...rest, ...pair, text: source, num_hypotheses: most + 1 };
  try {
    const answer = await (await request("/v1/translate", { method: "POST", json, signal: mine.signal })).json();
    if (mine !== asked || mine.signal.aborted) return;
    const others = new Set(answer.translations[0].hypotheses.map((one) => one.text));
    others.delete(target);
    $("others-title").hidden = !others.size;
    $("others").replaceChildren(...[...others].slice(0, most).map(alternative));
    if (others.size) announce(`${others.size} other ways to say it`);
  } catch (error) {
    if (mine.signal.aborted) return;
    if (error.param !== "num_hypotheses") return note(plain(error));
    most -= 1;
    await ask();
  }
}

function alternative(text) {
  const button = element("button", { type: "button" }, text);
  button.addEventListener("click", () => {
    const { index } = chosen;
    output.replace({ ...output.sentence(index), target: text, flags: [] }, index);
    leave();
    announce(`Now: ${text}`);
  });
  return element("li", {}, button);
}

async function save() {
  const { index, pair } = chosen;
  const target = $("better").value.trim();
  const sentence = output.sentence(index);
  if (!target) return note("Write a translation first.");
  try {
    if (memory.keeps()) await memory.save(pair, sentence.source, target);
  } catch (error) {
    return note(`Not saved. ${plain(error)}`);
  }
  if (chosen?.index !== index) return;
  output.replace({ ...sentence, target, flags: [], from_memory: memory.keeps() }, index);
  leave();
  $("status").textContent = memory.keeps() ? "Saved. It is used from now on." : "Changed here.";
  announce($("status").textContent);
}

async function forget() {
  const { index, pair } = chosen;
  try {
    await memory.forget(pair, output.sentence(index).source);
    close();
    renewed();
  } catch (error) {
    note(plain(error));
  }
}
