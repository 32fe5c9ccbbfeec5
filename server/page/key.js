// The field for a key, on a server that asks for one.

import { onMissingKey, setKey } from "./client.js";
import { $ } from "./dom.js";

export function start(onKey) {
  onMissingKey(() => { $("key-form").hidden = false; $("key").focus(); });
  $("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    setKey($("key").value.trim());
    onKey();
  });
}

export const isAsked = () => !$("key-form").hidden;
export const done = () => { $("key-form").hidden = true; };
