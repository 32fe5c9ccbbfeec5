// What the parts of the page share.

export const $ = (id) => document.getElementById(id);

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

export function say(message) {
  $("notice").textContent = message;
  $("notice").hidden = !message;
}

export const languages = () => ({ source: $("source").value, target: $("target").value });
