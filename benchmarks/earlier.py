"""Installation of an earlier commit of the project in a separate folder, for side-by-side measurements.

`python -m benchmarks.earlier [--commit COMMIT]`.

The folder contains the files of the commit and an environment with its dependencies, including Numba.
"""

import argparse
import subprocess
import tarfile
import venv
from io import BytesIO
from pathlib import Path

COMMIT = "26dd7bd"
"""The last commit whose machines were compiled by Numba from generated text."""
ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".benchmarks"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commit", default=COMMIT)
    print(installed(parser.parse_args().commit))


def installed(commit: str = COMMIT) -> Path:
    folder = FOLDER / commit
    python, done = folder / "venv" / "bin" / "python", folder / "installed"
    if not done.exists():
        archive = ["git", "archive", commit]
        packed = subprocess.run(archive, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=BytesIO(packed)) as files:
            files.extractall(folder / "files", filter="data")
        venv.create(folder / "venv", with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", folder / "files"], check=True)
        done.touch()
    return python


if __name__ == "__main__":
    main()
