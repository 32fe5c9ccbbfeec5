// The page: its languages, its two views, its key.

import { onMissingKey, request, setKey } from "./client.js";
import * as documents from "./document.js";
import * as files from "./files.js";
import { $, element, nameOf, say, serve, sources, targetsOf } from "./shared.js";
import * as texts from "./text.js";

const TABS = ["text", "document"];

function fill(select, codes) {
  const before = select.value;
  select.replaceChildren(...codes.map((code) => element("option", { value: code }, nameOf(code))));
  if (codes.includes(before)) select.value = before;
}

const canSwap = () => targetsOf($("target").value).includes($("source").value);

function chooseSource() {
  fill($("target"), targetsOf($("source").value));
  $("swap").hidden = !canSwap();
}

function swap() {
  const { value: source } = $("source");
  $("source").value = $("target").value;
  chooseSource();
  $("target").value = source;
  $("input").value = $("output").textContent;
  texts.translate();
}

function select(tab) {
  for (const one of TABS) {
    const button = $(`tab-${one}`);
    button.setAttribute("aria-selected", String(one === tab));
    button.tabIndex = one === tab ? 0 : -1;
    $(`${one}-view`).hidden = one !== tab;
  }
  $(tab === "text" ? "input" : "document-input").focus();
}

async function load() {
  try {
    serve((await (await request("/v1/languages")).json()).languages);
    fill($("source"), sources());
    chooseSource();
    $("key-form").hidden = true;
    say("");
    texts.translate();
  } catch (error) {
    if ($("key-form").hidden || $("key").value) say(error.message);
  }
}

onMissingKey(() => { $("key-form").hidden = false; $("key").focus(); });
$("key-form").addEventListener("submit", (event) => { event.preventDefault(); setKey($("key").value.trim()); load(); });
$("source").addEventListener("change", () => { chooseSource(); texts.translate(); });
$("target").addEventListener("change", () => { $("swap").hidden = !canSwap(); texts.translate(); });
$("swap").addEventListener("click", swap);
for (const tab of TABS) {
  $(`tab-${tab}`).addEventListener("click", () => select(tab));
  $(`tab-${tab}`).addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const other = TABS[1 - TABS.indexOf(tab)];
      select(other);
      $(`tab-${other}`).focus();
    }
  });
}
files.start();
documents.start();
texts.start();
await load();
