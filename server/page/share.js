// Links that carry a text. What stands behind # is read by this page alone and reaches no server and no log.

import { $, announce } from "./dom.js";
import { copy } from "./clipboard.js";

const LONGEST = 8000; // characters of a link; programs that pass links on cut longer ones

export function start(linked) {
  $("share").addEventListener("click", async () => {
    const link = linkOf(linked());
    if (link.length > LONGEST) {
      announce("Too long for a link");
      $("status").textContent = "This text is too long for a link.";
      return;
    }
    await copy(link, $("share"), "Link copied");
  });
}

function linkOf({ source, target, text }) {
  const here = new URL(location.href);
  here.hash = [source, target, text].map(encodeURIComponent).join("/");
  return here.href;
}

// {source, target, text} of the address; null without, an Error where it cannot be read.
export function read() {
  const found = /^#([^/]+)\/([^/]+)\/(.+)$/s.exec(location.hash);
  if (!found) return null;
  try {
    if (location.href.length > LONGEST) throw new Error("The text in this link is too long.");
    const [source, target, text] = found.slice(1).map(decodeURIComponent);
    return { source, target, text };
  } catch (error) {
    throw error instanceof URIError ? new Error("This link is damaged: its text cannot be read.") : error;
  }
}

// The text is another one now.
export const leave = () => { if (location.hash) history.replaceState(null, "", location.pathname + location.search); };
