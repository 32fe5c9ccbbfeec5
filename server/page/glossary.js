// Terms of the person at the page, which are translated their way until the page is closed.

import { $, element } from "./dom.js";

let changed = () => {};

export function start(onChange) {
  changed = onChange;
  $("glossary-button").addEventListener("click", () => {
    const opens = $("glossary").hidden;
    $("glossary").hidden = !opens;
    $("glossary-button").setAttribute("aria-expanded", String(opens));
    if (opens) $("glossary").querySelector("input").focus();
  });
  $("add-term").addEventListener("click", () => add().querySelector("input").focus());
  $("terms").addEventListener("input", tell);
  add();
}

const pairs = () => [...$("terms").children]
  .map((row) => [...row.querySelectorAll("input")].map((input) => input.value.trim()))
  .filter(([term]) => term);

// The fields of a request: terms with a translation, and those that stay as they are.
export function fields() {
  const terms = pairs();
  const glossary = Object.fromEntries(terms.filter(([, translation]) => translation));
  const keep = terms.filter(([term, translation]) => !translation && !(term in glossary)).map(([term]) => term);
  return {
    ...(Object.keys(glossary).length && { glossary }),
    ...(keep.length && { keep: [...new Set(keep)] }),
  };
}

// The direction was swapped.
export function swap() {
  for (const [one, other] of [...$("terms").children].map((row) => row.querySelectorAll("input"))) {
    if (other.value) [one.value, other.value] = [other.value, one.value];
  }
}

function add() {
  const remove = element("button", { type: "button", class: "quiet", "aria-label": "Remove this term" }, "\u2715");
  const row = element("li", {},
    element("input", { "aria-label": "Term", placeholder: "Term", spellcheck: "false" }),
    element("span", { "aria-hidden": "true" }, "\u2192"),
    element("input", { "aria-label": "Its translation", placeholder: "Translation", spellcheck: "false" }),
    remove);
  remove.addEventListener("click", () => {
    row.remove();
    if (!$("terms").children.length) add();
    $("terms").lastChild.querySelector("input").focus();
    tell();
  });
  $("terms").append(row);
  return row;
}

function tell() {
  const count = pairs().length;
  $("glossary-button").textContent = count ? `Glossary (${count})` : "Glossary";
  changed();
}
