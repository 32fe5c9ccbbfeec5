// The translation: its sentences as they come, each of which can be chosen by pointer or keyboard.

import { $, announce, element } from "./dom.js";
import { inWords } from "./flags.js";

const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity };
const READ_OUT = 600; // characters of a translation
let places = [];
let sentences = []; // as the server answers them: {source, target, flags, from_memory}

export function start(onChoose) {
  const choose = (place) => { if (sentences[places.indexOf(place)]) onChoose(places.indexOf(place)); };
  $("output").addEventListener("click", (event) => {
    if (getSelection().isCollapsed) choose(event.target.closest(".sentence"));
  });
  $("output").addEventListener("keydown", (event) => {
    const at = places.indexOf(event.target);
    const step = STEPS[event.key];
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(event.target);
    } else if (step) {
      event.preventDefault();
      focus(Math.min(places.length - 1, Math.max(0, at + step)));
    }
  });
}

export function focus(index) {
  for (const place of places) place.tabIndex = -1;
  if (!places[index]) return;
  places[index].tabIndex = 0;
  places[index].focus();
}

export function busy(isBusy) {
  $("output").setAttribute("aria-busy", String(isBusy));
  if (isBusy) $("output").classList.add("waiting");
  else $("output").classList.remove("waiting");
}

// The gaps as they are, and an empty place for every sentence.
export function begin(cut) {
  sentences = [];
  places = [];
  const parts = cut.map((one) => {
    if (one.sentence === undefined) return document.createTextNode(one.text);
    places[one.sentence] = element("span", { class: "sentence", role: "button", tabindex: one.sentence ? "-1" : "0" });
    return places[one.sentence];
  });
  $("output").replaceChildren(...parts);
  $("output").classList.remove("waiting");
}

export function grow({ sentence, target, done }) {
  places[sentence].textContent = target;
  places[sentence].classList.toggle("coming", !done);
}

export function finish(translated) {
  translated.forEach(replace);
  const text = $("output").textContent;
  announce(text.length > READ_OUT ? `Translated, ${text.length} characters` : text);
}

// A sentence of the translation, now another one.
export function replace(sentence, index) {
  sentences[index] = sentence;
  const place = places[index];
  const check = inWords(sentence.flags);
  place.textContent = sentence.target;
  place.classList.remove("coming");
  place.classList.toggle("flagged", Boolean(check));
  place.classList.toggle("remembered", Boolean(sentence.from_memory));
  if (check) place.setAttribute("title", `Please check: ${check}`);
  else place.removeAttribute("title");
}

// A text that is not translated.
export function plain(text) {
  begin([]);
  $("output").textContent = text;
}

export function mark(index) {
  places.forEach((place, at) => place.classList.toggle("chosen", at === index));
}

export const text = () => $("output").textContent;
export const sentence = (index) => sentences[index];
export const all = () => sentences;

// The cut of an answer that came whole: its sentences, and what stands between them.
export function cutOf({ text: whole, sentences: translated }) {
  const cut = [];
  let end = 0;
  translated.forEach(({ target }, sentence) => {
    const at = whole.indexOf(target, end);
    cut.push({ text: whole.slice(end, at) }, { sentence });
    end = at + target.length;
  });
  return [...cut, { text: whole.slice(end) }];
}
