// Of the piece of a translation that is pointed at, the N-1 pieces before it, which the decoder looked at.

import { $, element } from "./dom.js";
import { cutOf } from "./output.js";

const STEPS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
const HINT = "Point at a word, or press \u2190 and \u2192 here, to see what the model looked at when it wrote it.";
let pieces = []; // of all sentences: {text, place, sentence}
let chosen = null;
let order = Infinity;

export function start() {
  const place = $("pieces");
  place.addEventListener("pointerover", (event) => point(event.target));
  place.addEventListener("click", (event) => point(event.target));
  place.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") choose(null); });
  place.addEventListener("blur", () => choose(null));
  place.addEventListener("keydown", move);
}

export function clear() {
  pieces = [];
  chosen = null;
  $("pieces").replaceChildren();
  note("");
}

// The translation in pieces. A sentence that they do not spell (a mask, a lone byte) is one plain text.
export function show(translation, n) {
  clear();
  order = n;
  const cut = cutOf(translation).map(({ text, sentence }) => (sentence === undefined
    ? document.createTextNode(text) : element("span", {}, ...written(translation.sentences[sentence], sentence))));
  $("pieces").replaceChildren(...cut);
  choose(null);
}

function written({ target, pieces: spelled }, sentence) {
  const texts = spelled?.length && shared(target, spelled);
  if (!texts) return [target];
  const own = texts.map((text) => ({ text, place: element("span", { class: "piece" }, text.trimStart()), sentence }));
  pieces.push(...own);
  return own.flatMap(({ text, place }) => [/^ */.exec(text)[0], place]);
}

export const note = (text) => { $("window-note").textContent = text; };

// The translation, shared among its pieces; null where it is not what they spell (a mask, a lone byte).
function shared(target, pieces) {
  const spelled = pieces.map((one) => one.replaceAll("▁", " "));
  const whole = spelled.join("");
  if (whole.trim().toLowerCase() !== target.toLowerCase() || whole.trim().length !== target.length) return null;
  let at = whole.trimStart().length - whole.length;
  return spelled.map((one) => {
    const from = Math.max(0, at);
    at += one.length;
    return target.slice(from, Math.max(0, at));
  });
}

function point(target) {
  const found = pieces.find((one) => one.place === target);
  if (found) choose(found);
}

function move(event) {
  if (event.key === "Escape") return choose(null);
  const step = STEPS[event.key];
  if (!step || !pieces.length || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  const from = chosen ? pieces.indexOf(chosen) : step > 0 ? -1 : pieces.length;
  choose(pieces[Math.min(pieces.length - 1, Math.max(0, from + step))]);
}

function choose(one) {
  chosen = one;
  $("pieces").dispatchEvent(new CustomEvent("chosen", { detail: one?.place ?? null }));
  const at = pieces.indexOf(one);
  const before = one ? pieces.slice(Math.max(0, at - order + 1), at) : [];
  const seen = before.filter((other) => other.sentence === one.sentence);
  for (const other of pieces) {
    other.place.classList.toggle("chosen", other === one);
    other.place.classList.toggle("in-window", seen.includes(other));
  }
  note(one ? told(one, seen) : HINT);
}

function told(one, seen) {
  const name = `“${one.text.trim()}”`;
  const window = Number.isFinite(order) ? ` (N = ${order})` : "";
  if (!seen.length) return `${name} begins its sentence: the model had only the text itself to look at${window}.`;
  const text = seen.map((other) => other.text).join("").trim();
  const count = seen.length === 1 ? "the piece" : `the ${seen.length} pieces`;
  return `For ${name} every layer of the model looked at ${count} before it, “${text}”, and at the text itself${window}.`;
}
