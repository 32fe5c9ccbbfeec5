// Which sentences a chosen sentence of a document looked at, shaded.

import { request } from "./client.js";
import { element } from "./dom.js";

// What the shades mean; the rows are those of all sentences.
export async function shade(rows, id, index, isCurrent) {
  clear(rows);
  const seen = await (await request(`/v1/documents/${id}/sentences/${index}/context`)).json();
  if (!isCurrent()) return "";
  if (!seen.context) return "This sentence saw no other.";
  const most = Math.max(...seen.sentences.map((one) => one.weight), 0.0001);
  for (const { index: at, weight } of seen.sentences) {
    rows[at].style.setProperty("--weight", weight / most);
    if (weight >= 0.005) rows[at].append(element("span", { class: "share" }, `${Math.round(100 * weight)} %`));
  }
  return `Of what was read for this sentence ${Math.round(100 * seen.gate)} % was its own; the shaded sentences share the rest.`;
}

export function clear(rows) {
  for (const one of rows) {
    one.style.removeProperty("--weight");
    one.querySelector(".share")?.remove();
  }
}
