"""Steps of scenarios: operators' actions, network delays, and observations, which are reported immediately."""

import json
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fencepost.kafka.clusters.cluster import CONTROLLER, STARTED, Client, Cluster, Log
from fencepost.kafka.clusters.proxy import ALTER_PARTITION, FETCH, Flow
from fencepost.kafka.driver.releases import run


def fetches(follower: int, of: int) -> Flow:
    return Flow(of, f"broker-{follower}-fetcher", FETCH)


def metadata(broker: int, way: Literal["requests", "answers"] = "requests") -> Flow:
    """Return the flow of fetches with which a broker reads the metadata log from the controller."""
    return Flow(CONTROLLER, f"raft-client-{broker}", FETCH, way)


def alterations(broker: int, way: Literal["requests", "answers"] = "requests") -> Flow:
    return Flow(CONTROLLER, str(broker), ALTER_PARTITION, way)


Kind = Literal["step", "operator", "seen", "log"]
MARKS: dict[Kind, str] = {"step": "", "operator": "$ ", "seen": "  ", "log": "  | "}
"""Line markers: a step, an operator's command, an observation, or a line from a log or a tool's output."""


@dataclass(frozen=True)
class Line:
    seconds: float
    kind: Kind
    text: str

    def shown(self) -> str:
        return f"{self.seconds:7.2f}  {MARKS[self.kind]}{self.text}"


@dataclass
class Story:
    """The report's lines so far. Each new line is passed to `hear` immediately."""

    hear: Callable[[Line], None]
    lines: list[Line] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def tell(self, text: str, kind: Kind = "step") -> None:
        line = Line(round(self.seconds, 2), kind, text)
        self.lines.append(line)
        self.hear(line)


WAIT = 60.0
"""Timeout, in seconds, for events of a working cluster."""
TOOL_SECONDS = 60
STEP = 0.1
OLD = tuple(f"old-{number}" for number in range(100))


class NotReached(Exception):  # noqa: N818 (no error: the verdict says that the scenario did not reach its end)
    """Error for an event that did not happen in time."""


@dataclass(frozen=True)
class Seen:
    """A partition as Kafka's tools describe it. `leader` is -1 if the partition has no leader."""

    leader: int
    replicas: list[int]
    isr: list[int]
    elr: list[int]
    adding: list[int]
    removing: list[int]

    def shown(self) -> str:
        leader = "no leader" if self.leader < 0 else f"leader {self.leader}"
        moving = f", adding {self.adding}, removing {self.removing}" if self.adding or self.removing else ""
        return f"{leader}, replicas {self.replicas}, ISR {self.isr}, ELR {self.elr}{moving}"


def _named(*nodes: int) -> str:
    brokers = [str(node) for node in nodes if node < CONTROLLER]
    controllers = [str(node) for node in nodes if node >= CONTROLLER]
    kinds = (("controller", controllers), ("broker", brokers))
    return " and ".join(f"{kind}{'s' * (len(of) > 1)} {' and '.join(of)}" for kind, of in kinds if of)


class Stage:
    """A cluster with one topic. Every action on the cluster or the topic is reported."""

    def __init__(
        self,
        cluster: Cluster,
        client: Client,
        story: Story,
        *,
        seconds: float,
        control: bool = False,
        repairs: Sequence[str] = (),
    ) -> None:
        self.cluster, self.client, self.story = cluster, client, story
        self.control, self.repairs = control, repairs
        self._end = time.monotonic() + seconds
        self.out: list[int] = []
        self.behind: list[int] = []
        """Brokers whose replica does not join the ISR, although the broker and the disk work."""
        self.leaderless = False
        """Whether the partition had no leader although a complete replica was available."""
        self.misassigned = False
        """Whether the partition did not get the replicas of the operator's last reassignment."""
        self.deleted: list[str] = []
        """The records whose offsets are below the log start."""
        self.consumed: list[str] = []
        """The records that a consumer has read. If one of them cannot be read afterwards, it has vanished."""
        self._seen: Seen | None = None
        self._down: set[int] = set()
        self._deleted = False

    def tell(self, text: str) -> None:
        self.story.tell(text)

    def note(self, text: str) -> None:
        self.story.tell(text, "seen")

    # The operator

    def create(
        self, replicas: Sequence[int], min_isr: int | None, isr: Sequence[int] | None = None, **settings: str
    ) -> None:
        """Create or recreate the topic. The first replica is the leader; `min_isr` defaults to the cluster's setting.
        `isr` lists the running replicas, and is given only if some replicas are down.
        """
        given = {name.replace("_", "."): value for name, value in settings.items()}
        given |= {"min.insync.replicas": str(min_isr)} if min_isr else {}
        named = [f"replicas {list(replicas)}", *(f"{name}={value}" for name, value in given.items())]
        self.story.tell(f"create topic {self.client.topic}: {', '.join(named)}", "operator")
        self._ask("create", replicas=list(replicas), settings=given)
        self._deleted = False
        self.wait(leader=replicas[0], isr=sorted(isr or replicas))

    def reassign(self, replicas: Sequence[int]) -> None:
        self.story.tell(f"reassign {self.client.topic}: replicas {list(replicas)}", "operator")
        self._ask("reassign", replicas=list(replicas))

    def elect(self) -> None:
        self.story.tell(f"elect the preferred leader of {self.client.topic}", "operator")
        self._ask("elect")

    def configure(self, **settings: str) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        told = ", ".join(f"{name}={value}" for name, value in named.items())
        self.story.tell(f"set {told} for {self.client.topic}", "operator")
        self._ask("configure", settings=named)

    def delete(self) -> None:
        """Delete the topic. Records that are sent later belong to the next topic."""
        self.story.tell(f"delete topic {self.client.topic}", "operator")
        self._ask("delete")
        self.client.sent.clear()
        self.client.acknowledged.clear()
        self.deleted.clear()
        self._deleted = True

    def delete_records(self) -> None:
        self.story.tell(f"delete the records of {self.client.topic} up to the high watermark", "operator")
        self._ask("delete-records")
        self.deleted += self.client.acknowledged
        self.client.sent.clear()
        self.client.acknowledged.clear()

    def reassign_by_tool(self, replicas: Sequence[int], *words: str, folders: Sequence[str] = ()) -> None:
        file = self.cluster.folder / f"to-{'-'.join(map(str, replicas))}.json"
        partition = {"topic": self.client.topic, "partition": 0, "replicas": list(replicas)}
        partition |= {"log_dirs": list(folders)} if folders else {}
        file.write_text(json.dumps({"version": 1, "partitions": [partition]}), encoding="utf-8")
        self.story.tell(
            f"kafka-reassign-partitions.sh --reassignment-json-file {file.name} {' '.join(words)}", "operator"
        )
        main = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
        given = ["--bootstrap-server", self.cluster.servers, "--reassignment-json-file", str(file), *words]
        done = run(self.cluster.kit.tool(main, *given), TOOL_SECONDS, "kafka-reassign-partitions")
        for line in (done.stdout if done.returncode == 0 else done.stdout + done.stderr).splitlines():
            if line.strip():
                self.story.tell(line[:200], "log")

    def move(self, broker: int) -> None:
        """Move the topic's replica to the broker's last disk, and wait until it is there."""
        folder = self.cluster.folder / f"data-{broker}"
        self.story.tell(f"move the replica of broker {broker} to {folder.name} (AlterReplicaLogDirs)", "operator")
        self._ask("move", broker=broker, folder=str(folder))
        if not self._comes((folder / f"{self.client.topic}-0").is_dir, WAIT):
            raise NotReached(f"the replica of broker {broker} has moved")

    def stop(self, broker: int) -> None:
        self._end_by(broker, signal.SIGTERM, f"stop {_named(broker)} (SIGTERM, a controlled shutdown)")

    def kill(self, broker: int) -> None:
        self._end_by(broker, signal.SIGKILL, f"kill {_named(broker)} (SIGKILL)")

    def _end_by(self, broker: int, number: signal.Signals, text: str) -> None:
        self.story.tell(text, "operator")
        self._down.add(broker)
        self.cluster.signal(broker, number)

    def shut_down(self, broker: int) -> None:
        self.stop(broker)
        self.wait_stopped(broker)

    def fail_disk(self, broker: int) -> None:
        """Delete the broker's disk that contains the topic. The broker continues with its other disk, or stops."""
        self.story.tell(f"the disk of broker {broker} that contains the topic fails", "seen")
        self.cluster.fail_disk(broker)

    def replace_disk(self, broker: int) -> None:
        self.story.tell(
            f"put an empty disk into broker {broker} and format it (kafka-storage format); log.dirs does not change",
            "operator",
        )
        self.cluster.replace_disk(broker)

    def take_disk_out(self, broker: int) -> None:
        self.story.tell(f"remove the failed disk from log.dirs of broker {broker}", "operator")
        self.cluster.take_disk_out(broker)

    def put_disk_back(self, broker: int) -> None:
        self.story.tell(f"add the disk back to log.dirs of broker {broker}", "operator")
        self.cluster.put_disk_back(broker)

    def wait_stopped(self, broker: int) -> None:
        if not self.cluster.wait_stopped(broker, self._within(WAIT)):
            raise NotReached(f"broker {broker} did not stop")

    def start(self, *brokers: int) -> None:
        self.story.tell(f"start {_named(*brokers)}", "operator")
        logs = []
        for broker in brokers:
            self.wait_stopped(broker)
            logs.append((broker, self.cluster.start(broker)))
        for broker, log in logs:
            self.cluster.wait_started(broker, log)
        self._down -= set(brokers)

    def comes_back(self, broker: int, seconds: float) -> bool:
        back = self.tries_to_start(broker, seconds)
        if not back and broker not in self.out:
            self.out.append(broker)
        return back

    def tries_to_start(self, node: int, seconds: float) -> bool:
        self.story.tell(f"start {_named(node)}", "operator")
        self.wait_stopped(node)
        log = self.cluster.start(node)
        self._down.discard(node)
        self._comes(lambda: bool(log.lines(STARTED)) or not self.cluster.running(node), seconds)
        back = bool(log.lines(STARTED))
        late = f"not started within {seconds:g} s" if self.cluster.running(node) else "ended while starting"
        self.note(f"{_named(node)} has {'started' if back else late}")
        return back

    # The network

    def hold(self, flow: Flow) -> None:
        """Hold a flow, and wait until a message is held; then no earlier message is in transit."""
        self.hold_next(flow)
        self.wait_held(flow)

    def hold_next(self, flow: Flow) -> None:
        self.cluster.proxy.hold(flow)

    def wait_held(self, flow: Flow) -> None:
        if not self.cluster.proxy.holds(flow, self._within(WAIT)):
            raise NotReached(f"no message of {flow} was sent")

    def release(self, *flows: Flow) -> None:
        for flow in flows:
            self.cluster.proxy.release(flow)

    # The clients

    def send(self, *keys: str, size: int = 10, seconds: int = 120) -> None:
        """Send records with acks=all without waiting for acknowledgements. The producer gives up after `seconds`."""
        told = keys[0] if len(keys) == 1 else f"{keys[0]} to {keys[-1]}, {len(keys):,} records of {size:,} bytes"
        self.tell(f"A producer sends {told} with acks=all.")
        self.client.send(keys, size, seconds)

    def acknowledged(self, *keys: str, within: float = WAIT) -> bool:
        self.client.settled(keys, self._within(within))
        found = [key for key in keys if key in self.client.acknowledged]
        told = keys[0] if len(keys) == 1 else f"{len(found):,} of {len(keys):,} records"
        self.note(f"acknowledged: {told}" if found else f"not acknowledged: {told}")
        return len(found) == len(keys)

    def must_acknowledge(self, *keys: str) -> None:
        if not self.acknowledged(*keys):
            raise NotReached(f"not acknowledged: {keys[0]}")

    def write(self, *keys: str, size: int = 10) -> None:
        self.send(*keys, size=size)
        self.must_acknowledge(*keys)

    def change(self, name: str, within: float = WAIT) -> bool:
        """Set a default with that name for all brokers. Controllers acknowledge it when it is committed."""
        self.story.tell(f"set {name}=yes for all brokers", "operator")
        self.client.sent.append(name)
        asked = {"settings": {name: "yes"}, "milliseconds": 10_000}
        done = self._comes(lambda: "refused" not in self.client.ask("set-defaults", **asked), within)
        if done:
            self.client.acknowledged[name] = 0
        self.note(f"{'acknowledged' if done else 'not acknowledged'}: {name}")
        return done

    # observations

    def wait_for(self, come: Callable[[], bool], what: str) -> None:
        if not self._comes(come, WAIT):
            raise NotReached(what)

    def wait(self, seconds: float = WAIT, **wanted: int | list[int]) -> None:
        if not self.reaches(seconds, **wanted):
            raise NotReached(", ".join(f"{name} {value}" for name, value in wanted.items()))

    def reaches(self, seconds: float, **wanted: int | list[int]) -> bool:
        return self._comes(lambda: self._is(wanted), seconds)

    def exists(self, seconds: float) -> bool:
        """Return whether the brokers know the topic. If they do not, none of its records can be read."""
        answer: dict[str, Any] = {}

        def known() -> bool:
            answer.clear()
            answer.update(self.client.ask("describe"))
            return "refused" not in answer

        if self._comes(known, seconds):
            return True
        if "UnknownTopicOrPartition" not in answer["refused"]:
            raise NotReached(f"describe: {answer['refused']}")
        self.note(f"there is no topic {self.client.topic}")
        self._deleted = True
        return False

    def show_log(self, node: int, log: Log, pattern: str, most: int = 3) -> None:
        for line in log.lines(pattern)[:most]:
            self.story.tell(f"node {node}: {line[:220]}", "log")

    def wait_log(self, node: int, log: Log, pattern: str) -> None:
        if not self._comes(lambda: bool(log.lines(pattern)), WAIT):
            raise NotReached(f"{pattern!r} in the log of node {node}")
        self.show_log(node, log, pattern, 1)

    def wait_copied(self, follower: int, leader: int) -> None:
        """Wait until a follower has copied the leader's whole log and has sent another fetch."""
        topic = self.client.topic

        def same() -> bool:
            return self.cluster.bytes_of(follower, topic) == self.cluster.bytes_of(leader, topic)

        if not self._comes(same, WAIT) or not self.cluster.proxy.passes(
            fetches(follower, leader), 1, self._within(WAIT)
        ):
            raise NotReached(f"broker {follower} has the log of broker {leader}")

    def wait_appended(self, broker: int, before: int | None) -> None:
        if not self._comes(lambda: (self.size(broker) or 0) > (before or 0), WAIT):
            raise NotReached(f"broker {broker} has appended")

    def wait_deleted(self, broker: int) -> None:
        if not self._comes(lambda: self.size(broker) is None, WAIT):
            raise NotReached(f"broker {broker} has deleted its log")

    def size(self, broker: int) -> int | None:
        return self.cluster.bytes_of(broker, self.client.topic)

    def show_starts(self, *brokers: int) -> None:
        for broker in brokers:
            found = self.cluster.checkpoint(broker, "log-start-offset-checkpoint")
            self.note(f"log-start-offset-checkpoint of broker {broker}: {'; '.join(found) or 'no entries'}")

    def show_disks(self) -> None:
        sizes = {broker: self.size(broker) for broker in self.cluster.shape.brokers}
        told = (f"{broker}: {'no log' if size is None else f'{size:,} bytes'}" for broker, size in sizes.items())
        self.note(f"on disk: {'; '.join(told)}")

    def pause(self, seconds: float) -> None:
        if time.monotonic() + seconds > self._end:
            raise NotReached("the time limit is exceeded")
        time.sleep(seconds)

    def finish(self, isr: Sequence[int]) -> None:
        """Release all flows, start the stopped brokers, and wait for an ISR and for all pending records."""
        self.tell("All delays end, and all brokers are started.")
        self.cluster.proxy.release_all()
        if self._down:
            self.start(*sorted(self._down))
        self.wait(isr=sorted(isr))
        self.client.settled(self.client.sent, self._within(WAIT))

    def readable(self, isolation: str = "read_uncommitted") -> list[str]:
        do = "read" if self.cluster.shape.brokers else "read-defaults"
        return [] if self._deleted else [str(key) for key in self._ask(do, isolation=isolation)["keys"]]

    def _is(self, wanted: dict[str, int | list[int]]) -> bool:
        answer = self.client.ask("describe")
        if "refused" in answer:
            return False
        names = ("leader", "replicas", "isr", "elr", "adding", "removing")
        found = Seen(**{name: answer[name] for name in names})
        if found != self._seen:
            self._seen = found
            self.note(found.shown())
        return all(getattr(found, name) == value for name, value in wanted.items())

    def _ask(self, do: str, **more: Any) -> dict[str, Any]:
        answer: dict[str, Any] = {}

        def done() -> bool:
            answer.clear()
            answer.update(self.client.ask(do, **more))
            return "refused" not in answer

        if not self._comes(done, 20):
            raise NotReached(f"{do}: {answer['refused']}")
        return answer

    def _comes(self, come: Callable[[], bool], seconds: float) -> bool:
        end = time.monotonic() + self._within(seconds)
        while not come():
            if time.monotonic() > end:
                return False
            time.sleep(STEP)
        return True

    def _within(self, seconds: float) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise NotReached("the time limit is exceeded")
        return min(seconds, left)
