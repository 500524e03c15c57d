#!/bin/sh
# my-pull-request.sh BASE CHANGED OUTPUT: compares two folders of Kafka's jars, and writes comment.md to the folder OUTPUT.
# It ends with the status of `fencepost compare`: 0 no difference, 1 one, 3 something that changed was not exercised.
set -u
[ $# -eq 3 ] || { echo "usage: my-pull-request.sh BASE CHANGED OUTPUT" >&2; exit 2; }
mkdir -p "$3" || exit 2
fencepost compare --jars "$1" --jars "$2" --budget 8m --output "$3" --json > "$3/compare.json"
status=$?
[ $status -eq 2 ] && exit 2
python3 - "$3" <<'PYTHON'
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
found = json.loads((folder / "compare.json").read_text())
lines = [f"**{found['verdict']}**: {found['a']['title']} and {found['b']['title']}", "", "| changed method | executed |", "|---|---|"]
lines += [f"| `{m['owner']}.{m['name']}` | {'yes' if m['executed'] else 'no'} |" for m in found["methods"] if m["driven"]]
difference = found["difference"]
if difference:
    lines += ["", "They differ after", ""] + [f"{n}. `{step}`" for n, step in enumerate(difference["steps"], 1)]
    lines += ["", "| | A | B |", "|---|---|---|"] + [f"| {row['field']} | {row['a']} | {row['b']} |" for row in difference["rows"]]
(folder / "comment.md").write_text("\n".join(lines) + "\n")
print(folder / "comment.md")
PYTHON
exit $status
