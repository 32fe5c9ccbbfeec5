// What a pronoun of a translation took its gender from: the word before its sentence without which the model would be
// less sure of it. Each word is left out once, and the model scores the sentence with this pronoun and with others.

import { request } from "./client.js";

const STEMS = ["", "e", "em", "en", "er", "es"];
const POSSESSIVE = { sein: STEMS.map((end) => `sein${end}`), ihr: STEMS.map((end) => `ihr${end}`) };
const PAIRS = {
  "en-de": {
    // What a pronoun of the text may become, in the order of the text; only those of `asked` have their gender from elsewhere.
    becomes: {
      he: ["er"], she: ["sie"], they: ["sie"], him: ["ihn", "ihm"], them: ["sie", "ihnen"], you: ["du", "sie", "ihr"],
      her: ["sie", "ihr", ...POSSESSIVE.ihr], his: POSSESSIVE.sein, their: POSSESSIVE.ihr,
      it: ["er", "sie", "es", "ihn", "ihm", "ihr"], its: [...POSSESSIVE.sein, ...POSSESSIVE.ihr],
    },
    asked: { it: [["er", "sie", "es"], ["ihn", "sie", "es"], ["ihm", "ihr"]], its: STEMS.map((end) => [`sein${end}`, `ihr${end}`]) },
  },
};
const COMMON = new Set(("a about after all also an and any are as at be been before but by can could did do does for from had has "
  + "have he her here him his how i if in into is it its just me more most my no not now of on one only or other our out she so "
  + "some than that the their them then there these they this those to up us very was we were what when where which who will "
  + "with would you your").split(" ")); // their absence says nothing of a gender
const SPANS = [4, 1, 2]; // sentences before; of all four, another word may stand in for the one that is left out
const MOST_WORDS = 24;
const AT_ONCE = 10; // words of a request
const TELLING = 1; // nats: what random words change stays below
const WORD = /[\p{L}\p{N}]+(?:['\u2019][\p{L}]+)?/gu;

const wordsOf = (text) => [...text.matchAll(WORD)].map((one) => ({ text: one[0], from: one.index, to: one.index + one[0].length }));

// The pronouns of a sentence that have their gender from elsewhere: {from, to} in the source, {word} in the translation,
// and the translation with each other pronoun.
export function find({ source, target }, sentence) {
  const rules = PAIRS[`${source}-${target}`];
  if (!rules || !sentence.translation) return [];
  const words = wordsOf(sentence.translation);
  const found = [];
  for (const pronoun of wordsOf(sentence.source)) {
    const name = pronoun.text.toLowerCase();
    const at = words.findIndex((one) => rules.becomes[name]?.includes(one.text.toLowerCase()));
    if (at < 0) continue;
    const [word] = words.splice(at, 1);
    const sets = (rules.asked[name] ?? []).filter((set) => set.includes(word.text.toLowerCase()));
    const others = new Set(sets.flat());
    others.delete(word.text.toLowerCase());
    if (others.size) found.push({ ...pronoun, word, others: [...others].map((other) => swapped(sentence.translation, word, other)) });
  }
  return found;
}

function swapped(text, { from, to, text: word }, other) {
  const isCapital = word[0] !== word[0].toLowerCase();
  return text.slice(0, from) + (isCapital ? other[0].toUpperCase() + other.slice(1) : other) + text.slice(to);
}

// {sentence, from, to, text}: the word that decided a pronoun of sentences[index]; null if none before it did.
export async function decider(pair, sentences, index, pronoun, signal) {
  for (const span of SPANS.filter((one, at) => !at || one < index)) {
    const found = await within(span, pair, sentences, index, pronoun, signal);
    if (found) return found;
  }
  return null;
}

async function within(span, pair, sentences, index, pronoun, signal) {
  const seen = sentences.slice(Math.max(0, index - span), index);
  const words = seen.flatMap((one, at) => wordsOf(one.source).map((word) => ({ ...word, at })))
    .filter((one) => one.text.length > 1 && !COMMON.has(one.text.toLowerCase())).slice(-MOST_WORDS);
  const contexts = words.map((left) => seen.map(({ source }, at) => (
    at === left.at ? source.slice(0, left.from) + source.slice(left.to) : source)).join(" "));
  contexts.unshift(seen.map((one) => one.source).join(" "));
  const margins = [];
  for (let first = 0; first < contexts.length; first += AT_ONCE) {
    const items = contexts.slice(first, first + AT_ONCE).map((context) => (
      { source: sentences[index].source, target: [sentences[index].translation, ...pronoun.others], context }));
    const answer = await (await request("/v1/score", { method: "POST", json: { items, ...pair }, signal })).json();
    for (const { targets: [own, ...others] } of answer.items) margins.push(own.score - Math.max(...others.map((one) => one.score)));
  }
  const drops = margins.slice(1).map((margin) => margins[0] - margin);
  const most = Math.max(...drops);
  const isOwn = span === SPANS[0] || margins[0] > 0; // of fewer sentences, only what would lead to this pronoun
  if (!isOwn || !(most >= TELLING)) return null;
  const { at, ...word } = words[drops.indexOf(most)];
  return { ...word, sentence: sentences.indexOf(seen[at]) };
}
