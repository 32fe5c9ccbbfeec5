// What the model looked at, for the curious: asked for only while it is open.

import { request } from "./client.js";
import { $ } from "./dom.js";
import { pivotOf } from "./languages.js";
import { plain } from "./notice.js";
import * as sliding from "./window.js";
import * as words from "./words.js";

let alignment = true; // not where the model cannot
let shown = null; // {text, pair, fields} of the translation
let running = null;

export function start() {
  $("looking").addEventListener("toggle", ask);
  sliding.start();
  words.start();
}

export function clear() {
  running?.abort();
  shown = null;
  $("looking").hidden = true;
  sliding.clear();
  words.clear();
}

// Two models have no pieces to show, and terms are put in afterwards.
export function offer(text, pair, fields) {
  clear();
  if (pivotOf(pair)) return;
  shown = { text, pair, fields };
  $("looking").hidden = false;
  ask();
}

async function ask() {
  if (!shown || !$("looking").open) return;
  running?.abort();
  const mine = running = new AbortController();
  const json = { text: shown.text, ...shown.pair, ...shown.fields, pieces: true, alignment };
  try {
    const answer = await (await request("/v1/translate", { method: "POST", json, signal: mine.signal })).json();
    if (mine.signal.aborted) return;
    sliding.show(answer.translations[0], answer.order ?? Infinity);
    words.show(shown.text, answer.translations[0].alignment ?? []);
  } catch (error) {
    if (mine.signal.aborted) return;
    if (error.param !== "alignment" || !alignment) return sliding.note(plain(error));
    alignment = false;
    await ask();
  }
}
