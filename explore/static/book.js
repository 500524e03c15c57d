// States computed beforehand: each item of a view is a number among the texts.
export class Book {
  constructor(data) {
    this.data = data;
    this.about = data.about;
  }

  view(number) {
    const { leads, ends, ...kept } = this.data.states[number];
    const view = { leads, ends, far: null };
    for (const [name, value] of Object.entries(kept))
      view[name] = Array.isArray(value) ? value.map(item => this.data.texts[item]) : this.data.texts[value];
    return view;
  }
}
