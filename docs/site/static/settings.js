// Shows the parts of the answer for the chosen settings, in order. All answers are precomputed.
(() => {
  const form = document.getElementById("choose");
  const answers = document.getElementById("answers");
  const index = JSON.parse(document.getElementById("index").textContent);
  const pieces = [...answers.children];
  const choices = [...form.querySelectorAll("select")];
  const elr = document.getElementById("choose-elr");
  const key = () => choices.map(choice => choice.value).join(" ");

  function show() {
    const { kafka } = Object.fromEntries(choices.map(choice => [choice.name, choice.value]));
    elr.value = "on";
    elr.disabled = !(key() in index); // releases before ELR have no answer with ELR
    elr.value = elr.disabled ? "off" : wished;
    document.getElementById("impossible").textContent = elr.disabled ? `Kafka ${kafka} has no eligible leader replicas, which were added in 4.0.` : "";
    answers.replaceChildren(...index[key()].map(number => pieces[number]));
    for (const piece of answers.children) piece.hidden = false;
    document.getElementById("told").textContent = answers.querySelector(".outcome").textContent; // for screen readers: what has changed below
    history.replaceState(null, "", "#" + new URLSearchParams(choices.map(choice => [choice.name, choice.value])));
  }

  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const choice = choices.find(item => item.name === name);
    if (choice && [...choice.options].some(option => option.value === value)) choice.value = value;
  }
  let wished = elr.value;
  form.hidden = false;
  elr.addEventListener("input", () => { wished = elr.value; }, true);
  form.addEventListener("input", show);
  form.addEventListener("submit", event => event.preventDefault());
  show();
})();
