// Run a Python file in Pyodide, with folders of this machine mounted: node run.mjs PYODIDE FILE PLACE=FOLDER...
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, file, ...mounts] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(resolve(pyodide, "pyodide.mjs")));
const python = await loadPyodide();
for (const mount of mounts) {
  const [place, folder] = mount.split("=");
  python.FS.mkdirTree(place);
  python.mountNodeFS(place, resolve(folder));
}
process.exitCode = python.runPython(`
import runpy, sys, traceback
sys.path.insert(0, "/packages")
try:
    runpy.run_path(${JSON.stringify(file)}, run_name="__main__")
    code = 0
except BaseException:
    traceback.print_exc()
    code = 1
code
`);
