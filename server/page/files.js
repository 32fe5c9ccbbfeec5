// Files: translated with a bar that shows how far they are, and given back.

import { Refused, request } from "./client.js";
import * as direction from "./direction.js";
import { $, announce, element } from "./dom.js";
import * as drop from "./drop.js";
import { countsInWords, inWords } from "./flags.js";
import * as formality from "./formality.js";
import { nameOf } from "./languages.js";
import { plain } from "./notice.js";
import * as tabs from "./tabs.js";

export function start() {
  $("choose").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => { take($("file").files); $("file").value = ""; });
  drop.start(take);
}

function take(files) {
  tabs.select("files");
  for (const file of files) translate(file);
}

// The answer with the translated file, and the sentences to check; until it is there, `place` says how far it is.
async function finished(id, place) {
  const bar = element("progress", { max: "1", "aria-label": "Translated" });
  const note = element("span", {}, "Waiting…");
  place.replaceChildren(bar, note);
  for (let pause = 50; ; pause = Math.min(2 * pause, 2000)) {
    const status = await (await request(`/v1/files/${id}`)).json();
    if (status.state === "done") return { check: status.check ?? [], response: await request(`/v1/files/${id}/result`) };
    if (status.state === "failed") throw new Refused(status.error, 200);
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
  const place = element("span", { class: "state" }, "Sending…");
  const pair = element("span", { class: "pair" });
  $("files").prepend(element("li", {}, element("span", { class: "name" }, file.name), pair, place));
  const body = new FormData();
  const { source, target } = direction.current();
  body.append("file", file);
  body.append("source", source);
  body.append("target", target);
  if (formality.wish()) body.append("formality", formality.wish());
  try {
    const headers = { Prefer: "respond-async" };
    const sent = await (await request("/v1/files", { method: "POST", body, headers })).json();
    pair.textContent = `${nameOf(sent.source ?? source)} \u2192 ${nameOf(target)}`;
    await give(await finished(sent.id, place), place);
  } catch (error) {
    place.classList.add("bad");
    place.textContent = plain(error);
    announce(`${file.name}: ${place.textContent}`);
  }
}

async function give({ check, response }, place) {
  const name = decodeURIComponent(/filename\*=UTF-8''(.+)$/.exec(response.headers.get("Content-Disposition"))[1]);
  const flags = response.headers.get("X-Flags");
  const remarks = [flags && `Please check ${countsInWords(flags)}`, response.headers.get("X-Notes")].filter(Boolean);
  const link = element("a", { href: URL.createObjectURL(await response.blob()), download: name }, name);
  place.replaceChildren(link, ...remarks.map((text) => element("span", { class: "remark" }, text)), ...doubtful(check));
  announce(`${name} is ready`);
}

// The sentences that look wrong, for whoever wants to see them.
function doubtful(check) {
  if (!check.length) return [];
  const rows = check.map(({ source, translation, flags }) => element("li", {},
    element("q", { dir: "auto" }, source), " \u2192 ", element("q", { dir: "auto" }, translation), ` (${inWords(flags)})`));
  return [element("details", { class: "doubtful" }, element("summary", {}, "Show them"), element("ul", {}, ...rows))];
}
