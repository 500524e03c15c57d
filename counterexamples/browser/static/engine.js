// The engine: the models themselves, in a worker that answers one request at a time.
export class Engine {
  constructor(told) {
    this.waiting = new Map();
    this.count = 0;
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.ready = new Promise((resolve, reject) => {
      this.worker.onmessage = ({ data }) => {
        if (data.ready) { told(`The engine is ready (Python ${data.python}).`); resolve(); return; }
        if (data.failed) { told(`The engine did not start: ${data.failed}`); reject(new Error(data.failed)); return; }
        const { resolve: answer, reject: refuse } = this.waiting.get(data.number);
        this.waiting.delete(data.number);
        const reply = JSON.parse(data.reply);
        if (reply.error) refuse(new Error(reply.error)); else answer(reply);
      };
      this.worker.onerror = event => { told("The engine did not start."); reject(new Error(event.message || "the worker failed")); };
    });
    this.ready.catch(() => {});
  }

  async ask(what, question = {}) {
    await this.ready;
    const number = ++this.count;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      this.worker.postMessage({ number, text: JSON.stringify({ ask: what, ...question }) });
    });
  }
}
