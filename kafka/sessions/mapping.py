"""The mapping of `broker-sessions` to BrokerLifecycleManager and to the controller, with the driver's clock."""

from typing import Any

from fencepost.kafka.driver.ablation import Ablation, Check
from fencepost.kafka.driver.execute import Execution, View, acts_of, with_fields
from fencepost.model.language.constants import Constants
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key, fields
from fencepost.model.sessions.machine import Broker, Controller, State

RELEASES = {"3.9.2": "kafka-3.9", "4.0.2": "kafka-4.0"}
RELEASES |= dict.fromkeys(("4.1.2", "4.2.1", "4.3.1", "4.4.0"), "kafka-4.1")
STATE, BROKER, CONTROLLER = (
    {name: at for at, (name, _) in enumerate(fields(one))} for one in (State, Broker, Controller)
)
_TIME = "The driver's clock moves; like QuorumController, the driver passes requests to the controller or loses them."


DOES: dict[str, str] = {
    "broker_sends_heartbeat": "KafkaEventQueue runs BrokerLifecycleManager's CommunicationEvent, which is due.",
    "controller_gets_heartbeat": "ClusterControlManager.trackBrokerHeartbeat (since 4.0), and "
    "ReplicationControlManager.processBrokerHeartbeat, or processExpiredBrokerHeartbeat at an overloaded controller.",
    "heartbeat_fails": "BrokerHeartbeatResponseHandler.onTimeout.",
    "controller_fences_broker": "ReplicationControlManager.maybeFenceOneStaleBroker, until it finds no broker.",
    "controller_fails": "ClusterControlManager.deactivate.",
    "controller_becomes_active": "Another ClusterControlManager replays the metadata log; its activate is called.",
    "controller_is_overloaded": _TIME,
    "broker_freezes": "The driver does not wake the thread of BrokerLifecycleManager's KafkaEventQueue.",
    "broker_crashes": "BrokerLifecycleManager.close, which sends nothing.",
    "broker_stops": "BrokerLifecycleManager.beginControlledShutdown, whose heartbeat the controller handles.",
    "controller_registers_broker": "ClusterControlManager.registerBroker handles the request of a new "
    "BrokerLifecycleManager, and processBrokerHeartbeat handles its heartbeats until it is RUNNING.",
    "controller_amends_registration": "BrokerLifecycleManager.resendBrokerRegistration, then registerBroker.",
    "time_passes": _TIME,
}
NOT_DRIVEN: dict[str, str] = {"broker_learns_epoch": "since 3.9, a process that registers again keeps its epoch"}
NOT_COMPARED: dict[str, str] = {
    "broker.remaining of a heartbeat in flight": "NodeToControllerChannelManager, which is not driven, ends requests",
    "broker.failures": "in the supported releases, BrokerLifecycleManager does not count failures",
    "broker.epoch, remaining of a stopped broker": "there is no process",
    "controller.without, overloaded": "times of the driver",
    "budget": "the model's remaining budget, which has no equivalent in Kafka",
    "ghost_clean, ghost_new": "exist only in the model",
}
LIMITS: tuple[str, ...] = ("The broker leads no partition, so its controlled shutdown needs only one heartbeat.",)
AS_BUILT = (
    *("expired_heartbeats_count", "fenced_sessions", "activation_opens_sessions", "amendment_opens_epoch"),
    "longest_backoff",
)
SMALL: dict[str, int] = {"session": 3, "outage": 2, "overload": 2, "freeze": 4, "stops": 1, "amendments": 1}


def refuse(c: Constants) -> str | None:
    again = int(c.values["amendments"]) > 1
    return "a process that has just registered again does not register once more" if again else None


class SessionsView(View):
    def key(self, expected: Key) -> Key:
        broker = with_fields(BROKER, expected[STATE["broker"]], self.state["broker"])
        controller = with_fields(CONTROLLER, expected[STATE["controller"]], self.state["controller"])
        return with_fields(STATE, expected, {"broker": broker, "controller": controller})


class Sessions(Execution):
    acts = acts_of(DOES)
    view = SessionsView

    def reset(self) -> str:
        c: Any = self.plain.constants
        return f"reset {c.session} {c.interval} {c.overload} {c.freeze}"


_AMENDS = ("controller-amends-registration", "not b.waiting")


def compared(_: Interpreter, state: Key) -> Key:
    running, epoch, waiting, lost, remaining, _failures = state[STATE["broker"]]
    hidden = {"failures": 0, "epoch": epoch if running else 0, "remaining": remaining if running > waiting else 0}
    broker = with_fields(BROKER, (running, epoch, waiting, lost, remaining, 0), hidden)
    controller = with_fields(CONTROLLER, state[STATE["controller"]], {"without": 0, "overloaded": 0})
    ours = {"budget": 0, "ghost_clean": 0, "ghost_new": 0}
    return with_fields(STATE, state, {**ours, "broker": broker, "controller": controller})


ABLATION = Ablation(
    kafkas={
        ("broker-sends-heartbeat", "not b.waiting"): Check("BrokerLifecycleManager.communicationInFlight"),
        ("broker-sends-heartbeat", "b.remaining == 0"): Check("BrokerLifecycleManager.scheduleNextCommunication"),
        ("controller-fences-broker", "s.controller.contact > c.session"): Check("BrokerHeartbeatTracker.isExpired"),
        ("broker-stops", "not s.broker.lost"): Check("BrokerLifecycleManager.communicationInFlight"),
        ("controller-registers-broker", "not has_session(s, c)"): Check(
            "ClusterControlManager.registerBroker", ("DUPLICATE_BROKER_REGISTRATION",)
        ),
        _AMENDS: Check("BrokerLifecycleManager.communicationInFlight"),
    },
    physical={
        "there is no process, no request, or no active controller": (
            *(r"(not )?(s\.broker|b)\.running", r"(s\.broker|b)\.waiting"),
            *(r"(not )?(s\.controller|k)\.active", r"handles\(s\)"),
            *(("controller-gets-heartbeat", "not b.lost"), ("heartbeat-fails", "s.broker.lost")),
        )
    },
    bounds={
        "a budget": (r"s\.budget\.\w+ > 0",),
        "when time passes": (
            *(r"not b\.(running|waiting) or .*", r"k\.contact <= c\.session", r"k\.active or .*"),
            ("broker-freezes", "not s.broker.waiting"),
        ),
        "always true since 3.9": (r"(s\.broker|b)\.epoch == (s\.controller|k)\.epoch",),
    },
    not_driven=NOT_DRIVEN,
    rules=AS_BUILT,
    values={"longest_backoff": (0, 4)},
    unseen=lambda _: {},
    shadowed=lambda c: (
        {_AMENDS: "since 4.0, the next heartbeat shows a registration"} if c.values["fenced_sessions"] else {}
    ),
    needs={"controller_fences_broker": lambda s, _: s.controller.active},
    grounds=lambda _: (SMALL, {**SMALL, "stops": 0, "overloads": 1, "freezes": 1}),
    compared=compared,
)
