// "Explore from here" on the page of a trace: the same state, steps and refusals, from states in the file.
function explore(data) {
  const book = new Book(data), by = id => document.getElementById(`explore-${id}`);
  const box = by("box");
  let at = new Node(book.view(0));
  let node = at;
  for (const step of data.steps) node = node.add(book.view(node.view.leads[step]), step);

  function land(node) {
    at = node;
    const { view } = node, bad = violated(view), steps = node.steps().length;
    by("title").textContent = node.step ? `${steps} ${node.step}` : "Initial state";
    by("shown").innerHTML = state(view);
    by("enabled").innerHTML = enabled(view, book.about, `This file ends here: it contains only the states within two steps of its history. <code>fencepost explore</code> shows all states.`);
    by("refused").innerHTML = refused(view, book.about, false);
    by("properties").innerHTML = properties(view, book.about);
    by("where").textContent = `${node.step ? `step ${steps}` : "the initial state"}${bad.length ? `. Violated: ${bad.join(", ")}` : ""}`;
    by("undo").disabled = !node.parent;
    by("redo").disabled = !node.last;
  }

  by("from").hidden = false;
  by("from").onclick = () => {
    const scene = document.querySelector(".scene.current");
    const steps = Number(scene?.id.replace("scene-", "") ?? 0);
    let node = at.root();
    for (const step of data.steps.slice(0, steps)) { node.last = node.child(step); node = node.last; }
    box.hidden = false;
    land(node);
    by("title").focus();
  };
  by("undo").onclick = () => land(at.parent);
  by("redo").onclick = () => land(at.last);
  by("enabled").onclick = ({ target }) => {
    const step = target.closest("button.step")?.dataset.step, number = at.view.leads[step];
    if (number !== undefined) land(at.child(step) ?? at.add(book.view(number), step));
    else if (step) by("where").textContent = "This file does not contain the state to which this step leads, because the file is full.";
  };
}
