// Files that are dropped anywhere on the page.

import { $ } from "./dom.js";

let depth = 0; // of the elements that a dragged file is over

export function start(take) {
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
