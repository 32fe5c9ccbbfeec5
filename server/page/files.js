// Files: dropped anywhere or chosen, translated, and given back.

import { Refused, request } from "./client.js";
import { $, element, languages } from "./shared.js";

let depth = 0; // of the elements that a dragged file is over

export function start() {
  $("choose").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => { take($("file").files); $("file").value = ""; });
  const holdsFiles = (event) => [...event.dataTransfer.types].includes("Files");
  addEventListener("dragenter", (event) => { if (holdsFiles(event)) { depth += 1; $("drop").hidden = false; } });
  addEventListener("dragleave", (event) => { if (holdsFiles(event) && !(depth -= 1)) $("drop").hidden = true; });
  addEventListener("dragover", (event) => { if (holdsFiles(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    depth = 0;
    $("drop").hidden = true;
    take(event.dataTransfer.files);
  });
}

function take(files) {
  for (const file of files) translate(file);
}

// The answer with the translated file; until it is there, `place` says how far it is.
async function finished(id, place) {
  for (let pause = 50; ; pause = Math.min(2 * pause, 2000)) {
    const { state, progress, sentences, error } = await (await request(`/v1/files/${id}`)).json();
    if (state === "done") return request(`/v1/files/${id}/result`);
    if (state === "failed") throw new Refused(error);
    if (progress) place.textContent = `Translating… ${Math.floor((100 * progress) / sentences)}%`;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function translate(file) {
  const place = element("span", { class: "state" }, "Translating…");
  $("files").querySelector("ul").prepend(element("li", {}, element("span", {}, file.name), place));
  $("files").hidden = false;
  const body = new FormData();
  const { source, target } = languages();
  body.append("file", file);
  body.append("source", source);
  body.append("target", target);
  try {
    const sent = await request("/v1/files", { method: "POST", body, headers: { Prefer: "respond-async" } });
    const response = await finished((await sent.json()).id, place);
    const [, name] = /filename\*=UTF-8''(.+)$/.exec(response.headers.get("Content-Disposition"));
    const flags = response.headers.get("X-Flags");
    const check = flags ? `please check: ${flags.replaceAll("_", " ")}` : "";
    const remarks = [check, response.headers.get("X-Notes")].filter(Boolean).join("; ");
    const href = URL.createObjectURL(await response.blob());
    const link = element("a", { href, download: decodeURIComponent(name) }, decodeURIComponent(name));
    place.replaceChildren(link, remarks ? ` ${remarks}` : "");
  } catch (error) {
    place.classList.add("bad");
    place.textContent = error.message;
  }
}
