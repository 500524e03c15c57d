// Precomputed states, by the number of an arrival. Each item of a view is the number of a text.
export class Book {
  constructor(data) {
    this.data = data;
    this.about = data.about;
  }

  view(number) {
    const { state, ...arrival } = this.data.arrivals[number];
    const { leads, ends, ...kept } = this.data.states[state];
    const { of_step, ...view } = Object.fromEntries(Object.entries({ ...kept, ...arrival }).map(([name, value]) =>
      [name, Array.isArray(value) ? value.map(item => this.data.texts[item]) : this.data.texts[value]]));
    return { ...view, leads, ends, far: null, properties: [...view.properties, ...of_step] };
  }
}
