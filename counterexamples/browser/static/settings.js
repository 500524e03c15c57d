// Versions, constants and guards, as a form.
import { text } from "./render.js";

export function form(protocol, about, link, starts) {
  const usual = { ...Object.fromEntries(protocol.constants.map(item => [item.name, item.default])),
    ...protocol.versions.find(item => item.name === link.version)?.values };
  const rows = protocol.constants.map(item => {
    const value = about.constants[item.name], id = `constant-${item.name}`;
    const input = item.words.length
      ? `<select id="${id}" name="${item.name}">${item.words.map(word => `<option${word === value ? " selected" : ""}>${text(word)}</option>`).join("")}</select>`
      : `<input id="${id}" name="${item.name}" type="number" min="${item.low}" max="${item.high}" value="${text(value)}">`;
    return `<div class="constant${value !== usual[item.name] ? " other" : ""}"><label for="${id}">${text(item.name)}</label>${input}<small>${text(item.meaning)}</small></div>`;
  });
  const begins = starts.length
    ? `<div class="constant"><label for="start-of">start</label><select id="start-of" name="start">${starts.map(item =>
      `<option${item === link.start ? " selected" : ""}>${text(item)}</option>`).join("")}</select><small>the initial state</small></div>` : "";
  return `<details><summary>${protocol.constants.length} constants</summary>${begins}${rows.join("")}</details><button type="submit">Start with these constants</button>`
    + ` <label class="inline"><input type="checkbox" id="keep" checked> keep the history as far as possible</label>`;
}

export function chosen(element, protocol, link) {
  const usual = { ...Object.fromEntries(protocol.constants.map(item => [item.name, item.default])),
    ...protocol.versions.find(item => item.name === link.version)?.values };
  const constants = {};
  for (const item of protocol.constants) {
    const value = element.elements[item.name].value;
    if (value !== usual[item.name]) constants[item.name] = value;
  }
  return { constants, start: element.elements.start?.value ?? link.start };
}
