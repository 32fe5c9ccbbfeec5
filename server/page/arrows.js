// Arrows on a text, from one word to another: drawn as SVG over the sentences, and drawn anew when these move.

const HEAD = 5; // pixels

export class Arrows {
  #svg;
  #over;
  #drawn = []; // {from, to, path, head}: elements

  // `svg` lies over the element with the words.
  constructor(svg, over) {
    this.#svg = svg;
    this.#over = over;
    new ResizeObserver(() => this.#draw()).observe(over);
  }

  clear() {
    this.#drawn = [];
    this.#svg.replaceChildren();
  }

  add(from, to) {
    const [path, head] = ["path", "path"].map((name) => document.createElementNS(this.#svg.namespaceURI, name));
    head.classList.add("head");
    this.#svg.append(path, head);
    this.#drawn.push({ from, to, path, head });
    this.#draw();
  }

  // Bring out those that begin in an element.
  stress(element) {
    for (const { from, path, head } of this.#drawn) {
      for (const part of [path, head]) part.classList.toggle("stressed", Boolean(element?.contains(from)));
    }
  }

  #draw() {
    const ground = this.#over.getBoundingClientRect();
    for (const { from, to, path, head } of this.#drawn) {
      const [start] = from.getClientRects();
      const [end] = to.getClientRects();
      if (!start || !end) continue;
      const [x1, y1] = [start.left + start.width / 2 - ground.left, start.top - ground.top];
      const [x2, y2] = [end.left + end.width / 2 - ground.left, end.bottom - ground.top + 2];
      const bend = Math.max(12, (y1 - y2) / 2);
      path.setAttribute("d", `M${x1} ${y1}C${x1} ${y1 - bend} ${x2} ${y2 + bend} ${x2} ${y2}`);
      head.setAttribute("d", `M${x2 - HEAD} ${y2 + HEAD}L${x2} ${y2}L${x2 + HEAD} ${y2 + HEAD}`);
    }
  }
}
