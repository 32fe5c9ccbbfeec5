// A document's pronouns and what each took its gender from, as arrows on the text and in words beside it.

import { Arrows } from "./arrows.js";
import { hasKey } from "./client.js";
import { $, element } from "./dom.js";
import * as pronouns from "./pronouns.js";

const MOST = 30; // pronouns of a document that are looked into without being asked; the others when their sentence is chosen
let arrows = null;
let asking = null;
let document_ = null; // {pair, sentences, rows}
let done = new Set(); // sentences

export function start() {
  arrows = new Arrows($("arrows"), $("sentences-ground"));
}

export function clear() {
  asking?.abort();
  arrows.clear();
  document_ = null;
  done = new Set();
  $("legend").hidden = true;
}

// A document is translated. With a key, whose characters may be counted, only chosen sentences are looked into.
export async function show(pair, sentences, rows) {
  document_ = { pair, sentences, rows };
  const mine = asking = new AbortController();
  const found = sentences.slice(1).filter((one) => pronouns.find(pair, one).length);
  for (const sentence of hasKey() ? [] : found.slice(0, MOST)) {
    await explain(sentence.index, mine.signal);
    if (mine.signal.aborted) return;
  }
}

// Draw the arrows of a sentence, once.
export async function explain(index, signal = asking?.signal) {
  if (!document_ || done.has(index)) return;
  done.add(index);
  const { pair, sentences, rows } = document_;
  for (const pronoun of pronouns.find(pair, sentences[index])) {
    try {
      const decider = await pronouns.decider(pair, sentences, index, pronoun, signal);
      if (signal.aborted) return;
      if (decider) draw(rows, index, pronoun, decider);
    } catch {
      return; // without a picture the document is as good
    }
  }
}

export const stress = (row) => arrows.stress(row);

function draw(rows, index, pronoun, decider) {
  $("legend").hidden = false;
  const from = mark(rows[index].querySelector(".source"), pronoun, "pronoun");
  mark(rows[index].querySelector(".translation"), pronoun.word, "pronoun");
  const to = mark(rows[decider.sentence].querySelector(".source"), decider, "decider");
  const told = `\u201c${pronoun.text}\u201d became \u201c${pronoun.word.text}\u201d because of \u201c${decider.text}\u201d`;
  rows[index].querySelector(".why").append(element("span", {}, told));
  arrows.add(from, to);
}

// The element of a word of a text, which may be there already.
function mark(place, { from, to }, name) {
  let at = 0;
  for (const node of [...place.childNodes]) {
    const end = at + node.textContent.length;
    if (at <= from && to <= end) {
      if (node instanceof Element) {
        node.classList.add(name);
        return node;
      }
      const made = element("mark", { class: name });
      const range = document.createRange();
      range.setStart(node, from - at);
      range.setEnd(node, to - at);
      range.surroundContents(made);
      return made;
    }
    at = end;
  }
  return place;
}
