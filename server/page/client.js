// Requests to the server that this page came from: JSON, files, and events as they arrive.

const KEY = "ringmt-key";
const ROOT = new URL("..", import.meta.url); // a proxy may publish the server under a path
let askForKey = () => {};

export const onMissingKey = (ask) => { askForKey = ask; };
export const setKey = (key) => sessionStorage.setItem(KEY, key);
export const hasKey = () => Boolean(sessionStorage.getItem(KEY));

// An answer that is an error; `status` 0 means that there was no answer.
export class Refused extends Error {
  constructor({ message, type, param }, status, retryAfter) {
    super(message);
    Object.assign(this, { type, param, status, retryAfter });
  }
}

export async function request(path, { method = "GET", json, body, signal, keepalive, headers = {} } = {}) {
  const key = sessionStorage.getItem(KEY);
  if (key) headers["X-API-Key"] = key;
  if (json !== undefined) headers["Content-Type"] = "application/json";
  const sent = { method, headers, signal, keepalive, body: json === undefined ? body : JSON.stringify(json) };
  const response = await fetch(new URL(path.slice(1), ROOT), sent).catch((error) => {
    throw error.name === "AbortError" ? error : new Refused({ message: "" }, 0);
  });
  if (!response.ok) {
    if (response.status === 401) askForKey();
    throw new Refused(await described(response), response.status, Number(response.headers.get("Retry-After")));
  }
  return response;
}

// LibreTranslate's routes write an error as a string.
async function described(response) {
  const { error } = await response.json().catch(() => ({}));
  return typeof error === "object" ? error : { message: error ?? response.statusText };
}

// {name, data} of every event; an `error` is thrown.
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const fields = new Map(block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
        if (!fields.has("data")) continue;
        const data = JSON.parse(fields.get("data"));
        if (fields.get("event") === "error") throw new Refused(data.error, 200);
        yield { name: fields.get("event"), data };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
