// The engine's side: Python in Pyodide, with the models' own sources. Everything is loaded from this folder.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const here = new URL(".", import.meta.url).href;
let answer = null;

async function start() {
  const sources = fetch(`${here}fencepost.zip`).then(found => found.arrayBuffer());
  const python = await loadPyodide({ indexURL: `${here}pyodide/`, checkIntegrity: false });
  python.unpackArchive(await sources, "zip", { extractDir: "/packages" });
  answer = python.runPython(`
import sys
sys.path.insert(0, "/packages")
from fencepost.counterexamples.browser.session import Session
Session().answer
`);
  postMessage({ ready: true, python: python.runPython("import platform; platform.python_version()") });
}

const started = start().catch(error => { postMessage({ failed: String(error).split("\n").at(-1) || String(error) }); throw error; });
onmessage = async ({ data }) => {
  await started;
  let reply;
  try { reply = answer(data.text); } catch (error) { reply = JSON.stringify({ error: `the engine failed: ${error.message}` }); }
  postMessage({ number: data.number, reply });
};
