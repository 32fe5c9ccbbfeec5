// The languages that the server translates, and their names.

const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });
let served = []; // as /v1/languages lists them

export const nameOf = (code) => names.of(code);
export const serve = (languages) => { served = languages; };
export const entryOf = (source) => served.find((one) => one.source === source);
export const sources = () => served.map((one) => one.source);
export const targetsOf = (source) => [...entryOf(source)?.targets ?? [], ...Object.keys(entryOf(source)?.through ?? {})];
export const allTargets = () => [...new Set(sources().flatMap(targetsOf))];
export const translates = ({ source, target }) => targetsOf(source).includes(target);
export const sourcesInto = (target) => sources().filter((source) => translates({ source, target }));

// The language between, where two models translate; undefined where one does.
export const pivotOf = ({ source, target }) => entryOf(source)?.through?.[target];
export const sorted = (codes) => [...codes].sort((one, other) => nameOf(one).localeCompare(nameOf(other)));
