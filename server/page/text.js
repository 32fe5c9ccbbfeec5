// A text in, its translation out as it is decoded.

import { events, request } from "./client.js";
import { $, element, say, languages, nameOf, pivotOf } from "./shared.js";
import * as sliding from "./window.js";
import * as words from "./words.js";

const PAUSE = 350; // milliseconds without a key before a text is sent
let alternatives = 3; // none where the server's beam is narrower
let alignment = true; // not where the model cannot
const FEW_SENTENCES = 3; // of a longer text, alternatives say little
let running = null;
let timer = 0;

export function start() {
  $("input").addEventListener("input", later);
  $("copy").addEventListener("click", () => copy($("output").textContent, $("copy")));
  sliding.start();
  words.start();
  translate();
}

export function later() {
  clearTimeout(timer);
  timer = setTimeout(translate, PAUSE);
}

async function copy(text, button) {
  const label = button.textContent;
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else copyWithoutClipboard(text); // over plain HTTP from another machine there is none
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 1200);
}

function copyWithoutClipboard(text) {
  const place = element("textarea", { class: "unseen" });
  place.value = text;
  document.body.append(place);
  place.select();
  document.execCommand("copy");
  place.remove();
}

export async function translate() {
  clearTimeout(timer);
  running?.abort(); // the server stops at its next step
  const text = $("input").value;
  $("count").textContent = text ? `${text.length.toLocaleString()} characters` : "";
  if (!text.trim()) return show([]);
  const mine = running = new AbortController();
  $("output").classList.add("waiting");
  const pivot = pivotOf(languages());
  const json = { text, ...languages() };
  try {
    if (pivot) {
      const answer = await (await request("/v1/translate", { method: "POST", json, signal: mine.signal })).json();
      finishThrough(pivot, answer);
      return say("");
    }
    Object.assign(json, { stream: true, pieces: true, num_hypotheses: alternatives + 1, alignment });
    const response = await request("/v1/translate", { method: "POST", json, signal: mine.signal });
    let sentences = [];
    let cut = [];
    for await (const { name, data } of events(response)) {
      if (name === "begin") cut = data.texts[0].segments;
      if (name === "beginning") {
        if (!sentences.length) sentences = show(cut);
        sentences[data.sentence].textContent = data.target;
        sentences[data.sentence].classList.toggle("coming", !data.done);
      }
      if (name === "answer") finish(sentences.length ? sentences : show(cut), data, text);
    }
    say("");
  } catch (error) {
    if (error.param === "num_hypotheses" && alternatives) {
      alternatives = 0;
      return translate();
    }
    if (error.param === "alignment" && alignment) {
      alignment = false;
      return translate();
    }
    if (!mine.signal.aborted) say(error.message);
  } finally {
    if (running === mine) $("output").classList.remove("waiting");
  }
}

// The gaps as they are, and an empty place for every sentence.
function show(cut) {
  const parts = cut.map((one) => one.sentence === undefined ? document.createTextNode(one.text) : element("span"));
  $("output").replaceChildren(...parts);
  $("output").classList.remove("waiting");
  $("alternatives").hidden = true;
  sliding.clear();
  words.clear();
  $("status").textContent = "";
  $("copy").hidden = !cut.length;
  return parts.filter((part) => part instanceof Element);
}

function flag(places, sentences) {
  sentences.forEach((one, index) => {
    places[index].classList.toggle("flagged", one.flags.length > 0);
    if (one.flags.length) places[index].title = `Please check: ${one.flags.join(", ").replaceAll("_", " ")}`;
  });
}

// What two models said: it comes whole, without pieces, alternatives and places of words.
function finishThrough(pivot, answer) {
  const [{ text, sentences }] = answer.translations;
  const cut = [];
  let end = 0;
  sentences.forEach(({ target }, sentence) => {
    const at = text.indexOf(target, end);
    cut.push({ text: text.slice(end, at) }, { sentence });
    end = at + target.length;
  });
  const places = show([...cut, { text: text.slice(end) }]);
  places.forEach((place, index) => { place.textContent = sentences[index].target; });
  flag(places, sentences);
  $("status").textContent = `${time(answer)}, through ${nameOf(pivot)}`;
}

const time = (answer) => `${Math.max(1, Math.round(answer.timings.total * 1000))} ms`;

function finish(sentences, answer, text) {
  const [translation] = answer.translations;
  flag(sentences, translation.sentences);
  sliding.show(sentences, translation.sentences, answer.order ?? Infinity);
  words.show(text, translation.alignment ?? []);
  $("status").textContent = time(answer);
  const others = new Set(translation.hypotheses.slice(1).map((one) => one.text));
  others.delete(translation.text);
  $("alternatives").hidden = !others.size || translation.sentences.length > FEW_SENTENCES;
  $("alternatives").querySelector("ol").replaceChildren(...[...others].map(alternative));
}

function alternative(text) {
  const button = element("button", { type: "button", title: "Copy" }, text);
  button.addEventListener("click", () => copy(text, button));
  return element("li", {}, button);
}
