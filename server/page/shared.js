// What the parts of the page share.

export const $ = (id) => document.getElementById(id);

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

export function say(message) {
  $("notice").textContent = message;
  $("notice").hidden = !message;
}

const names = new Intl.DisplayNames(["en"], { type: "language" });
let served = []; // as /v1/languages lists them

export const nameOf = (code) => names.of(code);
export const serve = (languages) => { served = languages; };
const of = (source) => served.find((one) => one.source === source);
export const sources = () => served.map((one) => one.source);
export const targetsOf = (source) => [...of(source)?.targets ?? [], ...Object.keys(of(source)?.through ?? {})];

// The language between, where two models translate; undefined where one does.
export const pivotOf = ({ source, target }) => of(source)?.through?.[target];

export const languages = () => ({ source: $("source").value, target: $("target").value });
