// Requests to the server that this page came from: JSON, files, and events as they arrive.

const KEY = "ringmt-key";
const ROOT = new URL("..", import.meta.url); // a proxy may publish the server under a path
let askForKey = () => {};

export const onMissingKey = (ask) => { askForKey = ask; };
export const setKey = (key) => sessionStorage.setItem(KEY, key);

export class Refused extends Error {
  constructor({ message, param }) {
    super(message);
    this.param = param;
  }
}

export async function request(path, { method = "GET", json, body, signal, keepalive, headers = {} } = {}) {
  const key = sessionStorage.getItem(KEY);
  if (key) headers["X-API-Key"] = key;
  if (json !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(new URL(path.slice(1), ROOT), {
    method, headers, signal, keepalive, body: json === undefined ? body : JSON.stringify(json),
  });
  if (!response.ok) {
    const error = await response.json().then((answer) => answer.error, () => ({ message: response.statusText }));
    if (response.status === 401) askForKey();
    throw new Refused(error);
  }
  return response;
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
        if (fields.get("event") === "error") throw new Refused(data.error);
        yield { name: fields.get("event"), data };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
