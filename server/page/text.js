// A text in, its translation out as it is decoded.

import { events, request } from "./client.js";
import { copy } from "./clipboard.js";
import * as direction from "./direction.js";
import { $, announce } from "./dom.js";
import * as formality from "./formality.js";
import * as glossary from "./glossary.js";
import { nameOf, pivotOf } from "./languages.js";
import * as looking from "./looking.js";
import * as memory from "./memory.js";
import * as notice from "./notice.js";
import * as output from "./output.js";
import * as sentence from "./sentence.js";
import * as share from "./share.js";

const PAUSE = 350; // milliseconds without a key before a text is sent
let running = null;
let timer = 0;
let pair = null; // of what is shown
let wishes = ""; // the fields with which it was translated

export function start() {
  $("input").addEventListener("input", () => { share.leave(); later(); });
  $("clear").addEventListener("click", () => { $("input").value = ""; share.leave(); translate(); $("input").focus(); });
  $("copy").addEventListener("click", () => copy(output.text(), $("copy")));
  $("turn").addEventListener("click", () => direction.turn($("turn").value));
  output.start((index) => sentence.open(index, pair, fields(pair)));
  sentence.start(translate);
  share.start(() => ({ source: "auto", target: "", ...direction.current(), ...pair, text: $("input").value }));
}

export function later() {
  clearTimeout(timer);
  timer = setTimeout(translate, PAUSE);
}

// Translate again, if the direction or a wish has become another one.
export function refresh() {
  const { source, target } = direction.current();
  const isSame = pair?.target === target && [pair.source, direction.AUTO].includes(source);
  if (!isSame || wishes !== JSON.stringify(fields(pair))) translate();
}

const fields = (languages) => ({ ...glossary.fields(), ...formality.fields(languages) });

export async function translate() {
  clearTimeout(timer);
  running?.abort(); // the server stops at its next step
  running = null;
  if (!direction.isOpen()) return; // the languages are on their way
  sentence.close();
  const text = $("input").value;
  $("count").textContent = text ? `${text.length.toLocaleString("en")} characters` : "";
  $("clear").hidden = !text;
  $("turn").hidden = true;
  if (!text.trim()) return clear();
  const mine = running = new AbortController();
  const isLatest = () => running === mine; // an older answer never replaces a newer one
  output.busy(true);
  try {
    const found = await direction.resolve(text, mine.signal);
    if (!isLatest()) return;
    if (found.already || found.unserved) return untranslated(text, found);
    pair = { source: found.source, target: found.target };
    const answer = await answered(text, mine.signal, isLatest);
    if (!isLatest()) return;
    finish(text, answer, found);
  } catch (error) {
    if (!isLatest() || mine.signal.aborted) return;
    output.plain("");
    clear();
    notice.complain(error, translate);
  } finally {
    if (isLatest()) output.busy(false);
  }
}

function clear() {
  output.plain("");
  output.busy(false);
  looking.clear();
  notice.quiet();
  pair = null;
  if (!$("input").value) direction.forget();
  $("status").textContent = "";
  $("copy").hidden = $("share").hidden = $("hint").hidden = true;
}

function untranslated(text, { already, unserved, target, other }) {
  clear();
  output.plain(text);
  const told = already
    ? `This text is already in ${nameOf(target)}.`
    : `This looks like ${nameOf(unserved)}, which is not translated into ${nameOf(target)} here. Wrong? Choose its language above.`;
  $("status").textContent = told;
  announce(told);
  offerTurn(other);
}

function offerTurn(other) {
  $("turn").hidden = !other;
  if (!other) return;
  $("turn").value = other;
  $("turn").textContent = `Translate it into ${nameOf(other)}`;
}

// The answer; while it comes, it is shown.
async function answered(text, signal, isLatest) {
  wishes = JSON.stringify(fields(pair));
  const json = { text, ...pair, ...fields(pair), ...memory.fieldOf(pair) };
  if (pivotOf(pair)) {
    const answer = await (await request("/v1/translate", { method: "POST", json, signal })).json();
    if (isLatest()) output.begin(output.cutOf(answer.translations[0]));
    return answer;
  }
  json.stream = true; // two models cannot
  let cut = null;
  for await (const { name, data } of events(await request("/v1/translate", { method: "POST", json, signal }))) {
    if (!isLatest()) return null;
    if (name === "begin") cut = data.texts[0].segments;
    if (name === "beginning" || name === "answer") {
      if (cut) output.begin(cut);
      cut = null;
    }
    if (name === "beginning") output.grow(data);
    if (name === "answer") return data;
  }
  throw new Error("The answer ended early. Try again.");
}

function finish(text, answer, found) {
  const [translation] = answer.translations;
  output.finish(translation.sentences);
  looking.offer(text, pair, fields(pair));
  notice.quiet();
  $("copy").hidden = $("share").hidden = $("hint").hidden = false;
  $("status").textContent = remarks(translation, found).join(" ");
  if (found.unsure && translation.text.trim() === text.trim()) {
    $("status").textContent = `This text may already be in ${nameOf(found.target)}.`;
    offerTurn(found.source);
  }
}

function remarks(translation, found) {
  const flagged = translation.sentences.filter((one) => one.flags.length).length;
  const remembered = translation.sentences.filter((one) => one.from_memory).length;
  return [
    pivotOf(pair) && `Translated through ${nameOf(pivotOf(pair))}.`,
    remembered && `${remembered === 1 ? "One sentence is" : `${remembered} sentences are`} from saved corrections.`,
    flagged && `Please check the underlined ${flagged === 1 ? "sentence" : "sentences"}.`,
    found.unsure && "Too short to be sure of its language.",
  ].filter(Boolean);
}
