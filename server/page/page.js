// The page: starts its parts, and tells them when the languages or the text change.

import { request } from "./client.js";
import * as direction from "./direction.js";
import * as documents from "./document.js";
import { $ } from "./dom.js";
import * as files from "./files.js";
import * as formality from "./formality.js";
import * as glossary from "./glossary.js";
import * as key from "./key.js";
import { serve } from "./languages.js";
import * as looking from "./looking.js";
import * as memory from "./memory.js";
import * as notice from "./notice.js";
import * as output from "./output.js";
import * as share from "./share.js";
import * as tabs from "./tabs.js";
import * as texts from "./text.js";

async function load() {
  try {
    serve((await (await request("/v1/languages")).json()).languages);
  } catch (error) {
    if (!key.isAsked() || $("key").value) notice.complain(error, load);
    return;
  }
  key.done();
  notice.quiet();
  direction.open();
  await memory.open();
  follow();
}

// A link that carries a text.
function follow() {
  try {
    const linked = share.read();
    if (linked && !direction.choose(linked)) throw new Error("This server does not translate the languages of this link.");
    if (linked) {
      tabs.select("text");
      $("input").value = linked.text;
    }
  } catch (error) {
    return notice.complain(error);
  }
  texts.translate();
}

function swapped() {
  glossary.swap();
  if (isShown() && output.text()) $("input").value = output.text();
  renewed();
}

// The direction is another one. Documents and files ask for it when they are sent.
function renewed() {
  share.leave();
  if (isShown()) texts.translate();
}

const isShown = () => !$("text-view").hidden;

function turned(part) {
  direction.show(part);
  if (part === "text") texts.refresh();
}

key.start(load);
notice.start();
direction.start({ onChange: renewed, onSwap: swapped, onShow: formality.offer });
formality.start(renewed);
glossary.start(texts.later);
tabs.start(turned);
files.start();
documents.start();
looking.start();
texts.start();
addEventListener("hashchange", follow);
await load();
