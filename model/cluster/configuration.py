"""Configuration changes by operators: raising or lowering min.insync.replicas, and turning ELR off.

Modelled on ConfigurationControlManager.incrementalAlterConfigs. The configuration record goes through the controller's
log like any other record. The controller applies the record immediately, and each broker applies it later.
"""

from fencepost.model.cluster.constants import C
from fencepost.model.cluster.controller import has_room
from fencepost.model.cluster.partition_change import append_image
from fencepost.model.cluster.state import State, has_elr, newest
from fencepost.model.language import NONE, action, require


@action()
def operator_raises_min_isr(s: State, c: C) -> None:
    """An operator raises min.insync.replicas by one, up to the number of brokers."""
    require(s.budget.raises > 0, bound=C.raises)
    require(has_room(s, c), bound=C.metadata_lag)
    require(c.min_isr + newest(s).raised < c.brokers)
    s.budget.raises -= 1
    change_min_isr(s, c, 1)


@action()
def operator_lowers_min_isr(s: State, c: C) -> None:
    """An operator lowers min.insync.replicas by one."""
    require(s.budget.lowers > 0, bound=C.lowers)
    require(has_room(s, c), bound=C.metadata_lag)
    require(c.min_isr + newest(s).raised > 1)
    s.budget.lowers -= 1
    change_min_isr(s, c, -1)


@action()
def operator_turns_elr_off(s: State, c: C) -> None:
    """An operator turns ELR off (kafka-features downgrade --feature eligible.leader.replicas.version=0).

    Brokers do not read this feature. The downgrade does not clear the partitions' ELRs (FeatureControlManager.replay).
    """
    require(s.budget.elr_disables > 0, bound=C.elr_disables)
    require(c.elr)
    s.budget.elr_disables -= 1
    s.elr_disabled = 1


def change_min_isr(s: State, c: C, by: int) -> None:
    """Write a new min ISR and a ClearElrRecord, which removes replicas that were eligible under the old value.

    ReplicationControlManager.removeTopicElrs. A ClearElrRecord also clears the last known leader. Only partitions with
    an ELR or a last known leader change; they get a new partition epoch. If the candidates of a partition without a
    leader are cleared, the partition never gets a leader again (HYP-12).
    """
    has_something = s.elr != 0 or s.last_known_leader != NONE
    forgets = has_elr(s, c) and has_something and (newest(s).leader != NONE or c.leaderless_elr_is_cleared)
    append_image(s)
    image = newest(s)
    image.raised += by
    if forgets:
        s.elr = 0
        s.last_known_leader = NONE
    if forgets or c.min_isr_opens_partition_epoch:
        image.partition_epoch += 1
