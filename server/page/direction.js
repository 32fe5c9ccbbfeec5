// From which language into which: chosen, detected, and remembered.

import { detect } from "./detection.js";
import { $, element } from "./dom.js";
import { allTargets, nameOf, sorted, sources, sourcesInto, targetsOf, translates } from "./languages.js";

export const AUTO = "auto";
const MEMORY = "ringmt-direction";
let changed = () => {};
let swapped = () => {};
let shown = () => {};
let last = null; // {source, target} that was used last; null before the first
let isTargetChosen = false; // until then a text in the target language turns the direction round
let isBorrowed = false; // from a link: somebody else chose it
let view = "text"; // the part of the page that is shown
const detected = new Map(); // view -> {language, isSure} of its text, while nobody has named its language

export function start({ onChange, onSwap, onShow }) {
  changed = onChange;
  swapped = onSwap;
  shown = onShow;
  $("source").addEventListener("change", () => { forget(); fillTargets(); chosen(); changed(); });
  $("target").addEventListener("change", () => { chosen(); changed(); });
  $("swap").addEventListener("click", swap);
}

// When the served languages are known.
export function open() {
  const { source, target } = remembered();
  fill($("source"), [AUTO, ...sorted(sources())]);
  fillTargets();
  const options = [...$("target").options].map((one) => one.value);
  const own = navigator.languages.map((one) => one.split("-")[0]).find((one) => options.includes(one));
  isTargetChosen = options.includes(target);
  if (isTargetChosen || own) $("target").value = isTargetChosen ? target : own;
  last = isTargetChosen ? { source, target } : null;
  told();
}

// Choose as a link says; false if the server does not translate this.
export function choose({ source, target }) {
  const possible = source === AUTO ? allTargets().includes(target) : translates({ source, target });
  if (!possible) return false;
  $("source").value = source;
  forget();
  fillTargets();
  $("target").value = target;
  isTargetChosen = isBorrowed = true;
  told();
  return true;
}

// {source, target, ...} for a text; `already`: it is in the target language; `unserved`: a language that nobody here
// translates; `unsure`: it is too short to tell.
export async function resolve(text, signal) {
  const target = $("target").value;
  if ($("source").value !== AUTO) return { source: $("source").value, target };
  const { language, sure } = await detect(text, signal);
  signal.throwIfAborted();
  const pair = among(language, sure, target);
  if (pair.target !== target) $("target").value = pair.target;
  detected.set(view, { language: pair.source ?? language, isSure: !pair.unsure });
  told();
  if (translates(pair)) keep(pair);
  return pair;
}

function among(language, sure, target) {
  if (language === target) {
    const other = [last?.source, ...targetsOf(language)].find((one) => translates({ source: language, target: one }));
    if (!isTargetChosen && targetsOf(language).length) return { source: language, target: targetsOf(language)[0] };
    if (sure) return { target, already: true, other };
    const fitting = sourcesInto(target);
    const source = fitting.includes(last?.source) ? last.source : fitting[0];
    return { source, target, unsure: true };
  }
  if (translates({ source: language, target })) return { source: language, target };
  if (sources().includes(language) && !isTargetChosen) return { source: language, target: targetsOf(language)[0] };
  return { target, unserved: language };
}

export const current = () => ({ source: $("source").value, target: $("target").value });
export const sourceLanguage = () => ($("source").value === AUTO ? detected.get(view)?.language : $("source").value);

export function forget() {
  detected.delete(view);
  told();
}

// Another part of the page is shown: texts, a document, or files.
export function show(part) {
  view = part;
  told();
}

export function swap() {
  const source = sourceLanguage();
  const target = $("target").value;
  if (!translates({ source: target, target: source })) return;
  $("source").value = target;
  forget();
  fillTargets();
  $("target").value = source;
  chosen();
  swapped();
}

// Translate the other way, still detecting.
export function turn(target) {
  $("target").value = target;
  chosen();
  changed();
}

function chosen() {
  isTargetChosen = true;
  isBorrowed = false;
  told();
  keep({ source: sourceLanguage() ?? last?.source, target: $("target").value });
}

function fillTargets() {
  const { source } = current();
  fill($("target"), sorted(source === AUTO ? allTargets() : targetsOf(source)));
}

function fill(select, codes) {
  const before = select.value;
  select.replaceChildren(...codes.map((code) => element("option", { value: code }, code === AUTO ? "Detect language" : nameOf(code))));
  if (codes.includes(before)) select.value = before;
}

// Show what was detected, and in which languages the two panes are.
function told() {
  const source = sourceLanguage();
  const target = $("target").value;
  const found = detected.get(view);
  const option = $("source").options[0];
  if (option) option.textContent = found ? `${nameOf(found.language)} (${found.isSure ? "detected" : "not sure"})` : "Detect language";
  $("swap").disabled = !source || !translates({ source: target, target: source });
  $("input").lang = source ?? "";
  $("output").lang = target;
  shown({ source: source ?? AUTO, target });
}

function keep({ source, target }) {
  if (isBorrowed) return;
  last = { source, target };
  localStorage.setItem(MEMORY, JSON.stringify(last));
}

function remembered() {
  try {
    return JSON.parse(localStorage.getItem(MEMORY)) ?? {};
  } catch {
    return {};
  }
}

export const isOpen = () => $("target").value !== "";
