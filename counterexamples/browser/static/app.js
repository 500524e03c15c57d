// The page: the open protocol, the position in its history, and the effects of clicks.
import { Book } from "./book.js";
import { Engine } from "./engine.js";
import { compose, parse } from "./link.js";
import { Node } from "./past.js";
import * as render from "./render.js";
import { chosen, form } from "./settings.js";
import { show as showStory } from "./stories.js";

const by = id => document.getElementById(id);
const json = async name => (await fetch(name)).json();
const engine = new Engine(told => { by("engine").textContent = told; });
const page = { catalog: null, protocol: null, link: null, about: null, at: null, book: null, told: null, turn: 0, answered: false };

// Opening

async function go(hash) {
  const wanted = parse(hash || "#replication");
  const turn = ++page.turn;
  try {
    if (wanted.story) await openStory(wanted, turn);
    else if (wanted.trace) await openTrace(wanted, turn);
    else await open(wanted, turn);
  } catch (error) { complain(error); }
}

async function open(link, turn) {
  const known = page.catalog.protocols.find(item => item.name === link.protocol);
  if (!known) throw new Error(`There is no protocol ${link.protocol || "without a name"}: choose one from the list.`);
  const isUsual = !link.version && !link.start && !link.removed.length && !Object.keys(link.constants).length;
  if (isUsual && !link.steps.length) {
    const data = await json(`first/${link.protocol}.json`);
    if (turn !== page.turn) return;
    begin(known, link, data.about, new Book(data), data.starts, null);
    land(new Node(page.book.view(0)));
    attach();
    return;
  }
  wait();
  const found = await engine.ask("open", { link: compose(link) });
  if (turn !== page.turn) return;
  settle(known, link, found, null);
}

function begin(protocol, link, about, book, starts, told) {
  Object.assign(page, { protocol, link: { ...link, steps: [] }, about, book, starts, told, answered: !book });
  by("error").hidden = by("notice").hidden = true;
  waysBack(protocol);
  about.places = page.catalog.site?.protocols[protocol.name].property;
  by("removed").hidden = !about.removed.length;
  by("removed").innerHTML = render.removed(about);
  by("intro").hidden = told !== null || link.steps.length > 0;
  by("told").hidden = told === null;
  for (const [id, value] of [["protocol", protocol.name], ["story", told?.story ?? ""], ["trace", told?.trace ?? ""]]) by(id).value = value;
  by("version").innerHTML = ["", ...protocol.versions.map(item => item.name)].map(name => `<option value="${name}">${name || "as declared"}</option>`).join("");
  by("version").value = link.version.replace(/-repaired$/, "");
  by("version").disabled = !protocol.versions.length;
  by("settings").innerHTML = form(protocol, about, link, starts);
}

// Show the states that the engine found as the history; `at` is the current state.
function settle(protocol, link, found, told, at = null) {
  begin(protocol, link, found.about, null, found.starts, told);
  const root = new Node(found.views[0]);
  root.base = found.base;
  let node = root;
  for (const view of found.views.slice(1)) node = node.add(view, view.step);
  land(at === null ? node : node.way()[Math.min(at, node.way().length - 1)]);
  if (found.stopped) complain(new Error(`The history stops before an impossible step: ${found.stopped.why}`));
  measure().catch(complain);
}

// The engine takes over from the precomputed states.
function attach() {
  const turn = page.turn, root = page.at.root();
  const isHere = () => turn === page.turn && page.at.root() === root;
  root.attached = engine.ask("open", { link: compose(page.link) }).then(async found => {
    root.base = found.base;
    root.id = found.views[0].id;
    if (!isHere()) return;
    page.answered = true;
    if (page.at.view.ends) {
      const node = page.at;
      node.view = await taken(node);
      if (isHere() && page.at === node) land(node, true);
    }
    if (isHere()) await measure();
  }).catch(error => { if (isHere()) complain(error); });
}

// The distance to a violation, if archived traces with the same constants show it.
async function measure() {
  const root = page.at.root();
  const names = page.catalog.traces.filter(item => item.mark === page.about.mark && item.protocol === page.protocol.name
    && item.verdict === "violated" && item.loop === null).map(item => item.name);
  if (!names.length) return;
  const traces = await Promise.all(names.map(async name => (await fetch(`traces/${name}.trace`)).text()));
  const { far } = await engine.ask("measure", { base: root.base, traces });
  const visit = node => { node.view.far = far[node.id] ?? node.view.far; node.children.forEach(visit); };
  visit(root);
  if (page.at.root() !== root) return;
  by("properties").innerHTML = render.properties(page.at.view, page.about);
}

async function openTrace({ trace, at }, turn) {
  wait();
  const kept = page.catalog.traces.find(item => item.name === trace);
  if (!kept) throw new Error(`There is no trace ${trace} in the archive: choose one from the list.`);
  tell(kept, "");
  await openText(await (await fetch(`traces/${trace}.trace`)).text(), turn, at, trace);
}

async function openText(content, turn, at = Infinity, name = "") {
  const told = await engine.ask("trace", { text: content });
  const link = parse(told.link);
  const found = await engine.ask("open", { link: told.link });
  if (turn !== page.turn) return;
  const protocol = page.catalog.protocols.find(item => item.name === link.protocol);
  settle(protocol, link, found, { ...told, trace: name }, at);
  const path = ways(page.at.root());
  Object.assign(page.told, { path: new Set(path), end: path.at(-1) });
  land(page.at);
}

const ways = node => [node, ...node.children.flatMap(ways)];

async function openStory({ story, at }, turn) {
  const data = await json(`stories/${story}.json`);
  if (turn !== page.turn) return;
  const protocol = page.catalog.protocols.find(item => item.name === data.protocol);
  showStory(data, by("told"), at, {
    book: (which, number) => {
      const book = new Book(data.books[which]);
      const link = parse(data.books[which].base);
      begin(protocol, link, book.about, book, [], { ...data, story });
      let node = new Node(book.view(0));
      for (const step of data.ways[which].slice(0, number)) node = node.add(book.view(node.view.leads[step]), step);
      land(node, true);
      page.told.path = new Set(ways(node.root()));
      history.replaceState(null, "", `#story=${story}&at=${which === "broken" ? number : 0}`);
      attach();
    },
  });
}

// Steps

async function take(step) {
  const turn = page.turn, from = page.at;
  try {
    const there = from.child(step);
    if (there) { from.last = there; return land(there); }
    const number = from.view.leads?.[step];
    if (number !== undefined && page.book && !(page.answered && page.book.view(number).ends)) {
      const node = from.add(page.book.view(number), step);
      land(node);
      return;
    }
    const view = await stepped(from, step);
    if (turn === page.turn && page.at === from) land(from.add(view, view.step));
  } catch (error) { complain(error); }
}

// Give a state that came from a book its number in the engine.
async function known(node) {
  if (node.id === null && !node.parent) await node.attached;
  if (node.id === null && !node.parent) throw new Error("The engine is not available, so only precomputed states can be shown.");
  node.id ??= (await taken(node)).id;
  return node.id;
}

const taken = node => stepped(node.parent, node.step);

async function stepped(node, step) {
  const state = await known(node);
  return engine.ask("step", { base: node.root().base, state, step });
}

function land(node, quiet = false) {
  page.at = node;
  if (node.parent) by("intro").hidden = true;
  by("notice").hidden = true;
  const { view } = node, steps = node.steps(), bad = render.violated(view);
  const last = node.step ? `step ${steps.length}: ${node.step}` : "the initial state";
  by("state-title").textContent = node.step ? `${steps.length} ${node.step}` : "Initial state";
  by("shown").innerHTML = render.state(view);
  by("enabled").innerHTML = render.enabled(view, page.about, page.answered ? "" : "The next steps will be shown when the engine is ready.");
  by("refused").innerHTML = render.refused(view, page.about, true);
  by("properties").innerHTML = render.properties(view, page.about);
  by("history").innerHTML = past(node);
  by("undo").disabled = by("start").disabled = !node.parent;
  by("redo").disabled = !node.last;
  by("where").textContent = `${last}${bad.length ? `. Violated: ${bad.join(", ")}` : ""}`;
  by("where").classList.toggle("bad", bad.length > 0);
  document.title = `${page.protocol.name}, ${last} – Fencepost`;
  if (page.told && !page.told.story) tell(page.told, page.told.end === node ? page.told.finding : "");
  if (quiet) return;
  address();
  if (document.activeElement === document.body || !document.activeElement?.isConnected) by("state-title").focus({ preventScroll: true });
}

function address() {
  const steps = page.at.steps();
  const isTold = page.told?.trace && page.told.path?.has(page.at);
  const hash = isTold ? `#trace=${page.told.trace}&at=${steps.length}` : compose({ ...page.link, steps });
  history.replaceState(null, "", hash);
}

function past(node) {
  const way = node.way(), ahead = [];
  for (let next = node.last; next; next = next.last) ahead.push(next);
  page.places = [...way, ...ahead];
  return page.places.map((item, place) => {
    const others = (item.parent?.children ?? []).filter(other => other !== item);
    const branches = others.map(other => `<button type="button" class="branch" data-place="${place}" data-step="${render.text(other.step)}">or ${render.text(other.step)}</button>`);
    const current = item === node ? ' aria-current="step"' : "";
    return `<li${place > way.length - 1 ? ' class="ahead"' : ""}><button type="button" class="jump" data-place="${place}"${current}>${render.text(item.step || "initial")}</button>${branches.join("")}</li>`;
  }).join("");
}

// Words

function tell(told, end) {
  const box = by("told");
  box.hidden = false;
  box.innerHTML = `<h2>${render.text(told.title)}</h2>${told.why ? `<p>${render.text(told.why)}</p>` : ""}`
    + `<p class="quiet">${end && told.trace === "" ? "This is the end of the trace: Undo goes back one step, and Start goes back to the beginning." : "Redo continues the trace step by step; any other step leaves it."}${told.loop !== null && told.loop !== undefined ? " Its last steps repeat forever." : ""}</p>`
    + (end ? `<p><span class="verdict" id="finding">${render.text(end)}</span></p>` : "");
}

function complain(error) {
  by("error").textContent = error.message;
  by("error").hidden = false;
}

function wait() {
  by("error").hidden = by("told").hidden = true;
  by("where").textContent = "The engine is working.";
}

async function again(changes, keeps = by("keep").checked) {
  const link = { ...page.link, ...changes, steps: keeps ? page.at.steps() : [] };
  try { await open(link, ++page.turn); } catch (error) { complain(error); }
}

// Remove a guard, and report what happens to the first step that it refused.
async function without(guard, step) {
  await again({ removed: [...page.link.removed, guard] }, true);
  const node = page.at, action = node.view.actions.find(item => item.label === step.split(" ")[0]);
  if (!page.link.removed.includes(guard) || !action) return;
  if (action.can.includes(step)) return notice(`${guard} is removed, so ${step} can happen now.`);
  try {
    const { refusals } = await engine.ask("refusals", { base: node.root().base, state: await known(node), action: action.label });
    const next = refusals.find(why => why.step === step);
    if (next && node === page.at) notice(`${guard} is removed. The step is now refused by ${next.guard}.`);
  } catch (error) { complain(error); }
}

async function allow(bound) {
  const value = Number(page.about.constants[bound]) + 1;
  await again({ constants: { ...page.link.constants, [bound]: String(value) } }, true);
  if (Number(page.about.constants[bound]) === value) notice(`${bound} is ${value} now, and the history is kept.`);
}

function notice(words) {
  by("notice").textContent = words;
  by("notice").hidden = false;
  by("notice").scrollIntoView({ block: "nearest" });
}

// Links back to the site, if the explorer is part of one.
function waysBack({ name }) {
  const { site } = page.catalog;
  by("ways").hidden = !site;
  if (site) by("ways").innerHTML = `<a href="${site.home}">Fencepost</a> · <a href="${site.protocols[name].page}">Protocol ${render.text(name)}</a>`;
}

// Clicks and keys

const undo = () => page.at.parent && (page.at.parent.last = page.at, land(page.at.parent));
const redo = () => page.at.last && land(page.at.last);
const start = () => { for (let node = page.at; node.parent; node = node.parent) node.parent.last = node; land(page.at.root()); };

by("undo").onclick = undo;
by("redo").onclick = redo;
by("start").onclick = start;
by("enabled").onclick = ({ target }) => target.closest("button.step") && take(target.closest("button.step").dataset.step);
by("history").onclick = ({ target }) => {
  const button = target.closest("button");
  if (!button) return;
  const node = page.places[Number(button.dataset.place)];
  if (button.className === "jump") {
    for (let item = node; item.parent; item = item.parent) item.parent.last = item;
    return land(node);
  }
  node.parent.last = node.parent.child(button.dataset.step);
  land(node.parent.last);
};
by("refused").onclick = ({ target }) => {
  const { guard, step, bound } = target.closest("button")?.dataset ?? {};
  if (guard) without(guard, step);
  else if (bound) allow(bound);
};
by("refused").addEventListener("toggle", async ({ target }) => {
  if (!target.open || !target.dataset.action || target.dataset.filled) return;
  const turn = page.turn, node = page.at, label = target.dataset.action;
  target.dataset.filled = "yes";
  try {
    const state = await known(node);
    const { refusals } = await engine.ask("refusals", { base: node.root().base, state, action: label });
    if (turn === page.turn && node === page.at) target.querySelector(".each").innerHTML = render.each(refusals);
  } catch (error) { complain(error); }
}, true);
by("settings").onsubmit = event => { event.preventDefault(); again(chosen(by("settings"), page.protocol, page.link)); };
by("removed").onclick = ({ target }) => {
  if (target.className === "back") again({ removed: page.link.removed.filter(name => name !== target.dataset.guard) }, true);
};
by("protocol").onchange = ({ target }) => { location.hash = `#${target.value}`; };
by("version").onchange = ({ target }) => again({ version: target.value, constants: {} });
by("trace").onchange = ({ target }) => { location.hash = target.value ? `#trace=${target.value}` : `#${page.protocol.name}`; };
by("story").onchange = ({ target }) => { location.hash = target.value ? `#story=${target.value}` : `#${page.protocol.name}`; };
by("copy").onclick = async () => {
  try { await navigator.clipboard.writeText(location.href); by("where").textContent = "The link was copied."; }
  catch { complain(new Error("The browser did not allow copying the link: copy it from the address bar.")); }
};
by("save").onclick = async () => {
  try {
    await known(page.at);
    const { name, text } = await engine.ask("save", { base: page.at.root().base, steps: page.at.steps() });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    link.download = name;
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) { complain(error); }
};
const dropped = async file => {
  if (!file) return;
  wait();
  try { await openText(await file.text(), ++page.turn); } catch (error) { complain(error); }
};
by("file").onchange = ({ target }) => { dropped(target.files[0]); target.value = ""; };
addEventListener("dragover", event => event.preventDefault());
addEventListener("drop", event => { event.preventDefault(); dropped(event.dataTransfer.files[0]); });
addEventListener("hashchange", () => go(location.hash));
addEventListener("keydown", event => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea")) return;
  if (event.key === "u") undo();
  else if (event.key === "r") redo();
  else if (event.key === "Home") start();
  else return;
  event.preventDefault();
});

page.catalog = await json("catalog.json");
const option = (value, words) => `<option value="${render.text(value)}">${render.text(words)}</option>`;
by("protocol").innerHTML = page.catalog.protocols.map(item => option(item.name, item.name)).join("");
by("tours").innerHTML = page.catalog.stories.map(item => `<li><a href="#story=${render.text(item.name)}">${render.text(item.title)}</a></li>`).join("");
by("story").innerHTML = option("", "none") + page.catalog.stories.map(item => option(item.name, item.title)).join("");
by("trace").innerHTML = option("", "none") + page.catalog.protocols.map(protocol =>
  `<optgroup label="${protocol.name}">${page.catalog.traces.filter(item => item.protocol === protocol.name).map(item => option(item.name, item.title)).join("")}</optgroup>`).join("");
await go(location.hash);
