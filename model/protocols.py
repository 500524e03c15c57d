"""The named machines, in the order in which the protocol developed."""

from fencepost.model.clients.discovery import machine as discovery
from fencepost.model.clients.joint import machine as joint
from fencepost.model.clients.tokens import machine as tokens
from fencepost.model.cluster import machine as cluster
from fencepost.model.consumers import machine as consumers
from fencepost.model.consumers.propagation.machine import MACHINE as PROPAGATION
from fencepost.model.controllers import machine as controllers
from fencepost.model.idempotence.machine import MACHINE as IDEMPOTENCE
from fencepost.model.language import Machine
from fencepost.model.lineage import kip101, kip279, kip320, kip320_first_try, truncate_to_hwm
from fencepost.model.quorum import machine as quorum
from fencepost.model.recovery.machine import MACHINE as RECOVERY
from fencepost.model.sessions.machine import MACHINE as SESSIONS
from fencepost.model.tiers.machine import MACHINE as TIERS
from fencepost.model.topics.machine import MACHINE as TOPICS

MACHINES: tuple[Machine, ...] = (
    truncate_to_hwm.MACHINE,
    kip101.MACHINE,
    kip279.MACHINE,
    kip320_first_try.MACHINE,
    kip320.MACHINE,
    cluster.MACHINE,
    quorum.MACHINE,
    tokens.MACHINE,
    discovery.MACHINE,
    joint.MACHINE,
    consumers.MACHINE,
    PROPAGATION,
    controllers.MACHINE,
    RECOVERY,
    SESSIONS,
    TOPICS,
    IDEMPOTENCE,
    TIERS,
)
