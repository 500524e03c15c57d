"""Programs in place of Kafka's: `python fake_kafka.py BEHAVIOUR MAIN-CLASS WORDS ...`."""

import json
import signal
import sys
import time
from pathlib import Path


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def node(behaviour: str) -> None:
    if behaviour == "node-dies":
        sys.exit("ERROR the disk is full")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    say("Kafka Server started")
    sys.stdin.read()


def client(behaviour: str) -> None:
    """Act as a client of a topic that keeps all sent records except LOST ones. A read removes EARLY ones."""
    kept: list[str] = []
    for line in sys.stdin:
        asked = json.loads(line)
        answer: dict[str, object] = {"answers": asked["number"]}
        if asked["do"] == "describe":
            answer |= {"leader": 1, "replicas": [1, 2], "isr": [1, 2], "elr": [], "adding": [], "removing": []}
        elif asked["do"] == "send":
            kept += asked["keys"]
            for key in asked["keys"]:
                fails = key in ("failed", "EARLY")
                say(json.dumps({"key": key, "failed": "no"} if fails else {"key": key, "offset": 0}))
        elif asked["do"] == "read":
            answer["keys"] = [key for key in kept if not key.startswith("LOST")]
            kept = [key for key in kept if not key.startswith("EARLY")]
        if asked["do"] == "elect" and behaviour == "client-dies":
            sys.exit(4)
        if asked["do"] == "elect" and behaviour == "client-garbles":
            say("what?")
            time.sleep(60)
        say(json.dumps(answer))


def main() -> None:
    behaviour, what = sys.argv[1], sys.argv[2].rpartition(".")[2]
    if what == "Node":
        node(behaviour)
    elif what == "Client":
        client(behaviour)
    elif what == "Format" and behaviour == "format-fails":
        sys.exit("the id is not an id")
    elif what == "Repair":
        (Path(sys.argv[4]) / "repaired").mkdir(parents=True)


main()
