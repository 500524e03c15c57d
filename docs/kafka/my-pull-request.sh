#!/bin/sh
# my-pull-request.sh BASE CHANGED OUTPUT: compares two folders of Kafka's jars, and writes comment.md and compare.sarif to the
# folder OUTPUT. It exits with the status of `fencepost compare` (0: no difference; 1: a difference; 3: a change was not exercised).
set -u
[ $# -eq 3 ] || { echo "usage: my-pull-request.sh BASE CHANGED OUTPUT" >&2; exit 2; }
mkdir -p "$3" || exit 2
fencepost compare --jars "$1" --jars "$2" --budget "${BUDGET:-8m}" --output "$3" --sarif "$3/compare.sarif" --json > "$3/compare.json"
status=$?
case $status in 0 | 1 | 3) ;; *) exit $status ;; esac
python3 - "$3" <<'PYTHON'
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
found = json.loads((folder / "compare.json").read_text())
lines = [f"**{found['verdict']}**: {found['a']['title']} and {found['b']['title']}", ""]
missing = {name: [f"lines {', '.join(map(str, rows))}"] for name, rows in found["lines_not_executed"].items()}
for row in found["conditions_one_way"]:
    where = " and ".join(side.upper() for side in row["sides"])
    missing.setdefault(row["method"], []).append(f"line {row['line']} of {where}, {row['condition']}: {row['went']}")
lines += ["| changed method | executed | not exercised |", "|---|---|---|"]
for m in found["methods"]:
    if m["driven"]:
        rest = "; ".join(missing.get(f"{m['owner']}.{m['name']} {m['descriptor']}", ()))
        lines.append(f"| `{m['owner']}.{m['name']}` | {'yes' if m['executed'] else 'no'} | {rest} |")
difference = found["difference"]
if difference:
    lines += ["", "They differ after", ""] + [f"{n}. `{step}`" for n, step in enumerate(difference["steps"], 1)]
    lines += ["", "| | A | B |", "|---|---|---|"] + [f"| {row['field']} | {row['a']} | {row['b']} |" for row in difference["rows"]]
    lines += ["", "; ".join([difference["model"], *difference["moved"]])]
(folder / "comment.md").write_text("\n".join(lines) + "\n")
print(folder / "comment.md")
PYTHON
exit $status
