// A state, what can happen in it and what cannot, as HTML. Cards come as HTML from the same code as the pages of traces.
const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
export const text = value => String(value).replace(/[&<>"']/g, sign => SIGNS[sign]);
const many = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const parameters = step => step.split(" ").slice(1).join(" ");

// Cards contain every field. Fields at their default are marked, so that they can be hidden; fields without an owner and ISRs are explained.
const TELLS = /leader|epoch|watermark|offset|end$|term/;
function card(html) {
  const own = html.includes('data-party="controller"');
  return html.replace("<h3>the rest</h3>", "<h3>bookkeeping</h3><p class=\"quiet\">Ghost variables, which record what happened, and budgets, which limit faults, are not part of the protocol.</p>")
    .replace("<dt>isr</dt>", own ? "<dt>isr</dt>" : '<dt title="the ISR that this broker uses as a leader">its isr</dt>')
    .replace(/<dt( title="[^"]*")?>([^<]*)<\/dt><dd class="mono">([^<]*)<\/dd>/g, (field, hint = "", name, value) => {
      const usual = name !== "leader" && !(own && name === "isr") && (["{}", "[]", "none", "no"].includes(value) || (value === "0" && !TELLS.test(name)));
      return usual ? `<dt class="usual"${hint}>${name}</dt><dd class="mono usual">${value}</dd>` : field;
    });
}

export function state(view) {
  const messages = view.messages.map(([where, message]) => `<li><span class="tag">${text(where)}</span> <code>${text(message)}</code></li>`);
  return (view.changes.length ? `<p class="changes"><b>Changed:</b> ${view.changes.map(item => `<code>${text(item)}</code>`).join(", ")}</p>` : "")
    + (view.folded ? `<details class="quiet"><summary>Numbers were normalized after the step</summary><p>Values that can no longer be read are dropped, and the others are numbered from 0, so that states without an observable difference are equal. <code>${text(view.folded)}</code></p></details>` : "")
    + `<div class="cards">${view.cards.map(card).join("")}</div>`
    + (messages.length ? `<h3>In flight</h3><ul class="messages">${messages.join("")}</ul>` : "");
}

const hints = told => Object.entries(told.parameters).map(([name, words]) => ` <span class="mono">${text(name)}</span>: ${text(words)}.`).join("");

export function enabled(view, about, ending) {
  if (view.ends) return `<p class="ends">${ending}</p>`;
  const acts = view.actions.filter(item => item.can.length).map(item => {
    const told = about.actions[item.label];
    const steps = item.can.map(step =>
      `<button type="button" class="step" data-step="${text(step)}">${text(parameters(step) || "do it")}</button>`);
    return `<article class="act"><h3>${text(item.label)}${told.fault ? ` <span class="fault">${told.fault}</span>` : ""}</h3>`
      + `<p>${text(told.sentence)}${hints(told)}</p><div class="steps" role="group" aria-label="${text(item.label)}">${steps.join("")}</div></article>`;
  });
  return acts.join("") || "<p>Nothing can happen: a deadlock.</p>";
}

export function refused(view, about, engine) {
  if (view.ends) return "";
  return view.actions.filter(item => item.cannot.length).map(item => {
    const told = about.actions[item.label];
    const guards = item.cannot.map(why => `<li>${guard(why, about, engine)}</li>`).join("");
    const count = item.cannot.reduce((sum, why) => sum + why.count, 0);
    return `<details class="refusal" data-action="${text(item.label)}"><summary><b>${text(item.label)}</b>${told.fault ? ` <span class="fault">${told.fault}</span>` : ""}`
      + ` <span class="quiet">${item.can.length ? `${count} of its ${count + item.can.length} steps` : many(count, "step")}</span></summary>`
      + `<p>${text(told.sentence)}</p><ul>${guards}</ul><div class="each" aria-live="polite"></div></details>`;
  }).join("");
}

function guard(why, about, engine) {
  const grows = why.bound && Number(about.constants[why.bound]) < about.bounds[why.bound];
  const bound = why.bound ? ` <span class="quiet">not a rule of the protocol, but the bound <code>${text(why.bound)}=${text(about.constants[why.bound])}</code> of this run${grows ? "" : ", which has its highest value"}</span>` : "";
  const out = !engine ? "" : grows ? ` <button type="button" class="more" data-bound="${text(why.bound)}">Raise it by 1</button>`
    : why.name ? ` <button type="button" class="remove" data-guard="${text(why.name)}" data-step="${text(why.step)}">Remove this guard</button>` : "";
  return `<code>${text(why.guard)}</code> refuses ${many(why.count, "step")}${bound}${values(why)}${out}`;
}

export function removed(about) {
  return `<b>Removed guards:</b><ul>${about.removed.map(item => `<li><code>${text(item.name)}: ${text(item.condition)}</code>
    <button type="button" class="back" data-guard="${text(item.name)}">Restore it</button></li>`).join("")}</ul>`;
}

const values = why => why.values?.length ? `<div class="values">${text(parameters(why.step) || why.step)}: ${why.decided ? `<code>${text(why.decided)}</code> is false, ` : ""}`
  + `${why.values.map(item => `<code>${text(item)}</code>`).join(" ")}</div>` : "";

export function each(refusals) {
  return `<ul>${refusals.map(why => `<li class="why" data-step="${text(why.step)}"><span class="mono">${text(parameters(why.step) || why.step)}</span>: `
    + `<code>${text(why.guard)}</code>${why.decided ? `, because <code>${text(why.decided)}</code> is false` : ""}`
    + ` ${why.values.map(item => `<code class="value">${text(item)}</code>`).join(" ")}</li>`).join("")}</ul>`;
}

const GROUPS = [["violated", "violated"], ["reached", "reached here"], ["holds", "hold here"], ["no step yet", "concern steps: take a step"],
  ["not here", "witnesses are not reached here"], ["whole behaviours", "concern whole behaviours, which a single state cannot decide"], ["raises an error", "raise an error here"]];

export function properties(view, about) {
  const far = view.far ? `<p class="far">${view.far.steps ? `${many(view.far.steps, "step")} to a violation of <b>${text(view.far.property)}</b>` : `Here <b>${text(view.far.property)}</b> is violated`}`
    + ` <span class="quiet">(the shortest path that a search found: ${text(view.far.title)})</span></p>` : "";
  return far + GROUPS.map(([status, words]) => {
    const found = view.properties.filter(item => item.status === status);
    const list = `<ul class="properties">${found.map(item => one(item, about)).join("")}</ul>`;
    if (!found.length || ["violated", "reached"].includes(status)) return found.length ? list : "";
    return `<details class="group"><summary>${found.length} ${words}</summary>${list}</details>`;
  }).join("");
}

function one(item, about) {
  const status = ["violated", "reached", "holds"].includes(item.status) ? item.status + (item.values ? ` for ${item.values}` : "") : item.values;
  return `<li class="${item.status.replace(/ /g, "-")}"><details><summary><b>${text(item.name)}</b> <span class="status">${text(status)}</span></summary>`
    + `<p>${text(about.properties[item.name].sentence)}${about.places ? ` <a href="${about.places}${text(item.name)}">Its guards and its runs</a>` : ""}</p></details></li>`;
}

export function violated(view) { return view.properties.filter(item => item.status === "violated").map(item => item.name); }
