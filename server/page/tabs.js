// Texts, documents and files: one of them is shown.

import { $ } from "./dom.js";

const TABS = ["text", "document", "files"];
const FIRST = { text: "input", document: "document-input", files: "choose" };
const STEPS = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };

let shown = () => {};

export function start(onShow) {
  shown = onShow;
  for (const [index, tab] of TABS.entries()) {
    $(`tab-${tab}`).addEventListener("click", () => { select(tab); $(FIRST[tab]).focus(); });
    $(`tab-${tab}`).addEventListener("keydown", ({ key }) => {
      if (!(key in STEPS)) return;
      const other = TABS[Math.min(TABS.length - 1, Math.max(0, index + STEPS[key]))];
      select(other);
      $(`tab-${other}`).focus();
    });
  }
}

export function select(tab) {
  for (const one of TABS) {
    const button = $(`tab-${one}`);
    button.setAttribute("aria-selected", String(one === tab));
    button.tabIndex = one === tab ? 0 : -1;
    $(`${one}-view`).hidden = one !== tab;
  }
  const { ariaExpanded } = $("glossary-button");
  $("glossary-button").hidden = tab !== "text"; // documents and files have no terms
  $("glossary").hidden = tab !== "text" || ariaExpanded !== "true";
  shown(tab);
}
