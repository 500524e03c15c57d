// Shows the sections that belong to the settings that are chosen; without this script all of them are there.
(() => {
  const form = document.getElementById("choose");
  const sections = [...document.querySelectorAll("#answers .answer")];
  const choices = [...form.querySelectorAll("select")];

  const given = () => Object.fromEntries(choices.map(choice => [choice.name, choice.value]));
  const key = name => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

  function show() {
    const chosen = given();
    for (const section of sections)
      section.hidden = !choices.every(choice => {
        const wanted = section.dataset[key(choice.name)];
        return wanted === undefined || wanted === chosen[choice.name];
      });
    const early = chosen.kafka.startsWith("3.") && chosen.elr === "on";
    document.getElementById("impossible").textContent = early ? `Kafka ${chosen.kafka} has no eligible leader replicas: they came with 4.0.` : "";
    const answer = sections.find(section => !section.hidden)?.querySelector(".outcome, .unknown");
    document.getElementById("told").textContent = answer ? answer.textContent : ""; // for screen readers: what has changed below
    history.replaceState(null, "", "#" + new URLSearchParams(chosen));
  }

  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const choice = choices.find(item => item.name === name);
    if (choice && [...choice.options].some(option => option.value === value)) choice.value = value;
  }
  form.hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("submit", event => event.preventDefault());
  show();
})();
