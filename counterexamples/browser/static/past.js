// The history, as a tree of states. Undo goes up, redo goes down the path that was taken last, and other paths remain as branches.
export class Node {
  constructor(view, parent = null, step = "") {
    Object.assign(this, { view, parent, step, children: [], last: null, id: view?.id ?? null, page: null });
  }

  child(step) { return this.children.find(item => item.step === step); }

  add(view, step) {
    let found = this.child(step);
    if (!found) { found = new Node(view, this, step); this.children.push(found); }
    this.last = found;
    return found;
  }

  way() { return this.parent ? [...this.parent.way(), this] : [this]; }

  steps() { return this.way().slice(1).map(item => item.step); }

  root() { return this.parent ? this.parent.root() : this; }
}
