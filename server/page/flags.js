// What the server's flags mean, in plain words.

const MEANINGS = {
  cut: "may be incomplete",
  empty: "has no translation",
  loop: "repeats itself",
  moved: "a link or name may be in the wrong place",
  numbers_changed: "the numbers differ from those of the text",
  truncated: "may be incomplete",
  untranslated: "was not translated",
};

const meaning = (flag) => MEANINGS[flag] ?? flag.replaceAll("_", " ");

// Of one sentence: a list of flags.
export const inWords = (flags) => [...new Set(flags.map(meaning))].join("; ");

// Of a file: "cut=2, loop=1", as its header says.
export function countsInWords(header) {
  const counts = new Map();
  for (const part of header.split(", ")) {
    const [flag, count] = part.split("=");
    counts.set(meaning(flag), (counts.get(meaning(flag)) ?? 0) + Number(count));
  }
  return [...counts].map(([words, count]) => `${count} ${count === 1 ? "sentence" : "sentences"}: ${words}`).join("; ");
}
