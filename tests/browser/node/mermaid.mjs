// Parse Mermaid diagrams, one file an argument, with Mermaid itself: a line of JSON for each.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, ...files] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { JSDOM } = await import(pathToFileURL(require.resolve("jsdom")));
globalThis.window = new JSDOM("<!DOCTYPE html>").window;
globalThis.document = window.document;
const { default: mermaid } = await import(pathToFileURL(`${modules}/mermaid/dist/mermaid.core.mjs`));
mermaid.initialize({ startOnLoad: false });

for (const file of files) {
  try {
    const { diagramType } = await mermaid.parse(readFileSync(file, "utf8"));
    console.log(JSON.stringify({ file, diagramType }));
  } catch (error) {
    console.log(JSON.stringify({ file, error: error.message }));
  }
}
