// Copies a text, and says so on the button that was pressed.

import { announce, element } from "./dom.js";

const SHOWN = 1500; // milliseconds

export async function copy(text, button, done = "Copied") {
  if (navigator.clipboard) await navigator.clipboard.writeText(text).catch(() => copyWithoutClipboard(text));
  else copyWithoutClipboard(text); // over plain HTTP from another machine there is none
  button.dataset.label ??= button.textContent;
  button.textContent = done;
  announce(done);
  clearTimeout(Number(button.dataset.timer));
  button.dataset.timer = setTimeout(() => { button.textContent = button.dataset.label; }, SHOWN);
}

function copyWithoutClipboard(text) {
  const focused = document.activeElement;
  const place = element("textarea", { class: "unseen", "aria-hidden": "true" });
  place.value = text;
  document.body.append(place);
  place.select();
  document.execCommand("copy");
  place.remove();
  focused?.focus();
}
