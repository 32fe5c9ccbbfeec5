// Corrections that the server keeps: which translation memory has them, how one is saved, and how one is forgotten.

import { request } from "./client.js";
import { translates } from "./languages.js";

const NAME = "Suggestions";
let isKept = false;
let ids = new Map(); // `pairOf` -> id of the memory

const pairOf = ({ source, target }) => `${base(source)} ${base(target)}`;

// Memories are of a language in its script, without regions: zh of zh-CN and zh-Hans, zh-hant of zh-TW.
function base(code) {
  try {
    const { language, script } = new Intl.Locale(code.replaceAll("_", "-")).maximize();
    return `${language}-${script}`;
  } catch {
    return code.toLowerCase(); // no language tag
  }
}

// Ask what the server keeps. A key may lack the right to read it: then there are no corrections.
export async function open() {
  try {
    isKept = (await (await request("/frontend/settings")).json()).suggestions;
    const { translation_memories: memories } = await (await request("/v1/translation_memories")).json();
    ids = new Map(memories.filter((one) => one.name === NAME).map((one) => [pairOf(one), one.id]));
  } catch {
    isKept = false;
  }
}

export const keeps = () => isKept;
export const idOf = (pair) => ids.get(pairOf(pair));

// The field of a request that has the corrections applied.
export const fieldOf = (pair) => (translates(pair) && idOf(pair) ? { translation_memory_id: idOf(pair) } : {});

export async function save(pair, source, translation) {
  const json = { q: source, s: translation, ...pair };
  const { translation_memory_id: id } = await (await request("/suggest", { method: "POST", json })).json();
  ids.set(pairOf(pair), id);
}

// Translate this sentence as before it was corrected.
export async function forget(pair, source) {
  const entries = `/v1/translation_memories/${idOf(pair)}/entries`;
  for (let after = 0; after !== null;) {
    const page = await (await request(`${entries}?limit=500&after=${after}`)).json();
    const found = page.entries.find((one) => plain(one.source) === plain(source));
    if (found) return request(`${entries}/${found.id}`, { method: "DELETE" });
    after = page.next;
  }
}

const plain = (text) => text.normalize("NFC").trim().replace(/\s+/g, " ");
