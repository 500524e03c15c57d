// Guided tours: one sentence per step, what each party believes, where it goes wrong, and the same history with the fix.
import { text } from "./render.js";

const refusal = why => `<details><summary>The guard of ${text(why.action)} that prevents this step</summary><code>${text(why.guard)}</code>`
  + ` ${why.values.map(item => `<code class="value">${text(item)}</code>`).join(" ")}</details>`;

export function show(story, box, at, { book }) {
  box.hidden = false;
  let which = "broken", number = Math.min(at, story.ways.broken.length);
  const draw = () => {
    const told = story.told[which], last = story.ways[which].length, item = told[number - 1];
    const beliefs = number ? Object.entries(item.believes ?? {}) : [];
    const ended = number === last;
    box.innerHTML = `<h2>${text(story.title)}</h2>`
      + `<p class="sentence" aria-live="polite">${number ? `<b>${which === "repaired" ? "With the fix, s" : "S"}tep ${number} of ${last}.</b> ${text(item.says)}` : text(which === "repaired" ? story.repair : story.begins)}</p>`
      + (beliefs.length ? `<ul class="beliefs">${beliefs.map(([who, what]) => `<li><b>${text(who)}</b> believes: ${text(what)}</li>`).join("")}</ul>` : "")
      + (number && item.wrong ? `<p class="wrong">This step is wrong.</p>` : "")
      + (ended ? `<p><span class="verdict${which === "repaired" ? " reached" : ""}">${text(which === "repaired" ? story.repaired_ending : story.finding)}</span></p>` : "")
      + (ended && which === "repaired" && story.refusal ? refusal(story.refusal) : "")
      + `<p class="controls"><button type="button" id="tell-back"${number ? "" : " disabled"}>Back</button>`
      + `<button type="button" id="tell-next"${ended ? " disabled" : ""}>Next</button>`
      + `<button type="button" id="tell-other">${which === "broken" ? "Show with the fix" : "Show without the fix"}</button></p>`;
    box.querySelector("#tell-back").onclick = () => move(number - 1, "#tell-back");
    box.querySelector("#tell-next").onclick = () => move(number + 1, "#tell-next");
    box.querySelector("#tell-other").onclick = () => { which = which === "broken" ? "repaired" : "broken"; move(0, "#tell-next"); };
    book(which, number);
  };
  const move = (next, focus) => {
    number = next;
    draw();
    const button = box.querySelector(focus);
    (button.disabled ? box.querySelector("#tell-other") : button).focus();
  };
  draw();
}
