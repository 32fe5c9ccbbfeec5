// How the reader is addressed, where the server can choose it.

import { $ } from "./dom.js";
import { entryOf, sourcesInto } from "./languages.js";

const AUTO = "auto";

export function start(onChange) {
  $("formality").addEventListener("change", onChange);
}

// Whether the server says that it can choose this for a source and a target.
const isOffered = ({ source, target }) => Boolean(entryOf(source)?.formality?.includes(target));

export function offer(pair) {
  const sources = pair.source === AUTO ? sourcesInto(pair.target) : [pair.source];
  $("formality-field").hidden = !sources.some((source) => isOffered({ ...pair, source }));
}

// Of files, whose language may not be known yet: where it is not possible, it is ignored.
export const wish = () => ($("formality-field").hidden ? "" : $("formality").value);
export const fields = (pair) => (isOffered(pair) && $("formality").value ? { formality: $("formality").value } : {});
