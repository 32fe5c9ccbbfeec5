// What the decoder looked at: of the piece that is pointed at, the N-1 pieces before it.

import { $, element } from "./shared.js";

const STEPS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
const HINT = "Point at the translation, or press ← and → in it, to see what the decoder looked at for each piece.";
let pieces = []; // of all sentences: {text, place, sentence}
let chosen = null;
let order = Infinity;

export function start() {
  const output = $("output");
  output.addEventListener("pointerover", (event) => point(event.target));
  output.addEventListener("click", (event) => point(event.target));
  output.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") choose(null); });
  output.addEventListener("blur", () => choose(null));
  output.addEventListener("keydown", move);
}

export function clear() {
  pieces = [];
  chosen = null;
  $("window-note").hidden = true;
}

// A place for every piece, in the places of their sentences.
export function show(places, sentences, n) {
  clear();
  order = n;
  sentences.forEach((one, sentence) => {
    const texts = shared(one.target, one.pieces);
    if (!texts) return;
    const own = texts.map((text) => ({ text, place: element("span", { class: "piece" }, text.trimStart()), sentence }));
    places[sentence].replaceChildren(...own.flatMap(({ text, place }) => [/^ */.exec(text)[0], place]));
    pieces.push(...own);
  });
  choose(null);
}

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
  $("output").dispatchEvent(new CustomEvent("chosen", { detail: one?.place ?? null }));
  const at = pieces.indexOf(one);
  const before = one ? pieces.slice(Math.max(0, at - order + 1), at) : [];
  const seen = before.filter((other) => other.sentence === one.sentence);
  for (const other of pieces) {
    other.place.classList.toggle("chosen", other === one);
    other.place.classList.toggle("in-window", seen.includes(other));
  }
  $("window-note").textContent = one ? told(one, seen) : HINT;
  $("window-note").hidden = !pieces.length;
}

function told(one, seen) {
  const name = `“${one.text.trim()}”`;
  const window = Number.isFinite(order) ? ` (N = ${order})` : "";
  if (!seen.length) return `${name} begins its sentence: the decoder had only the source to look at${window}.`;
  const text = seen.map((other) => other.text).join("").trim();
  const count = seen.length === 1 ? "the piece" : `the ${seen.length} pieces`;
  return `For ${name} every layer of the decoder looked at ${count} before it, “${text}”, and at the source${window}.`;
}
