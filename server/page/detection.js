// Which language a text is in.

import { request } from "./client.js";

const READ = 4000; // characters that the server classifies
const SURE = 50; // percent; short texts seldom reach them
const SETTLED = 95; // percent of a text of LONG characters: what is typed after it changes nothing
const LONG = 60;
let known = null; // {text, language, confidence}

// {language, sure} of a text; the language may be one that is not served.
export async function detect(text, signal) {
  const read = text.slice(0, READ);
  const settled = known && known.confidence >= SETTLED && known.text.length >= LONG && read.startsWith(known.text);
  if (!settled && known?.text !== read) {
    const answer = await request("/detect", { method: "POST", json: { q: read }, signal });
    known = { text: read, ...(await answer.json())[0] };
  }
  return { language: known.language, sure: known.confidence >= SURE };
}
