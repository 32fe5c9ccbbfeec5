// The words of the text that a word of its translation comes from, shown while one of its pieces is chosen.

import { $ } from "./dom.js";

let origins = []; // {from, to, words}: places in the whole translation, counted in code points, as the server does

export function start() {
  $("pieces").addEventListener("chosen", ({ detail }) => tell(detail));
}

export function clear() {
  origins = [];
  tell(null);
}

export function show(text, pairs) {
  const source = [...text];
  const found = new Map();
  for (const pair of pairs) {
    const [from, to] = pair.target;
    if (!found.has(from)) found.set(from, { from, to, words: [] });
    found.get(from).words.push(source.slice(...pair.source).join(""));
  }
  origins = [...found.values()];
}

function tell(place) {
  const at = place ? before(place) : -1;
  const origin = origins.find(({ from, to }) => from <= at && at < to);
  const word = origin && [...$("pieces").textContent].slice(origin.from, origin.to).join("");
  $("origin").textContent = origin ? `${word} \u2190 ${origin.words.join(" \u2026 ")}` : "";
}

// How many code points of the translation stand before an element of it.
function before(place) {
  const range = document.createRange();
  range.setStart($("pieces"), 0);
  range.setEndBefore(place);
  return [...range.toString()].length;
}
