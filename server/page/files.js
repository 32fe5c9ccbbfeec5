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
  const bar = element("progress", { max: "1", "aria-label": "Translated" });
  const note = element("span", {}, "Waiting…");
  place.replaceChildren(bar, note);
  for (let pause = 50; ; pause = Math.min(2 * pause, 2000)) {
    const status = await (await request(`/v1/files/${id}`)).json();
    if (status.state === "done") return request(`/v1/files/${id}/result`);
    if (status.state === "failed") throw new Refused(status.error);
    if (status.state === "translating") {
      bar.value = status.fraction;
      note.textContent = `${Math.floor(100 * status.fraction)}%${remaining(status.seconds_left)}`;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function remaining(seconds) {
  if (seconds === undefined) return "";
  if (seconds < 60) return `, ${Math.ceil(seconds)} s left`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `, ${minutes} min left` : `, ${Math.floor(minutes / 60)} h ${minutes % 60} min left`;
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
