// What went wrong, in plain words, and a way to try again.

import { hasKey } from "./client.js";
import { $ } from "./dom.js";

let again = () => {};

export function start() {
  $("again").addEventListener("click", () => again());
}

export function quiet() {
  $("notice").hidden = true;
}

// Say what an error means; `retry` is what the button does, where to try again can help.
export function complain(error, retry) {
  $("notice-text").textContent = plain(error);
  $("notice").hidden = false;
  $("again").hidden = !(retry && [0, 429, 500, 503, 504].includes(error.status));
  again = retry ?? again;
}

export function plain({ status, type, message, retryAfter }) {
  switch (status) {
    case 0: return "The server cannot be reached. Check the connection, then try again.";
    case 401: return hasKey() ? "This key is not known here." : "This server needs a key.";
    case 413: return `This is too long: ${message}. Send less at once, or a long text as a file.`;
    case 429: return `${type === "quota_exceeded" ? `Your key is used up: ${message}.` : "The server is busy."}${when(retryAfter)}`;
    case 503: return `The server is not ready yet.${when(retryAfter)}`;
    case 504: return "This took too long. Try again, or send less at once.";
    default: return `${message.slice(0, 1).toUpperCase()}${message.slice(1)}`;
  }
}

function when(seconds) {
  if (!seconds) return "";
  if (seconds < 120) return ` Try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`;
  const hours = Math.round(seconds / 3600);
  return hours < 2 ? ` Try again in ${Math.round(seconds / 60)} minutes.` : ` Try again in ${hours} hours.`;
}
