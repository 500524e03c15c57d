"""Install what `package.json` names into a folder: `python tests/browser/node/install.py FOLDER`.

Without Node.js, or without a way to its registry, this says so in one line; the tests that need it are then skipped.
"""

import shutil
import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Install, or say why not. The exit status is 0 either way: what is missing is shown by the tests that are
    skipped."""
    folder = Path(sys.argv[1])
    npm = shutil.which("npm")
    if npm is None:
        sys.stderr.write(
            "Node.js is missing (npm was not found): Mermaid and the schema of SARIF are not asked. Install nodejs.\n"
        )
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).parent / "package.json", folder)
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no message")
        sys.stderr.write(f"npm could not install what tests/browser/node/package.json names: {last}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
