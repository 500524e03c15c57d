"""Registration of each voter's controller with the active controller. Modelled on ControllerRegistrationManager. A
registration takes effect in one step, without a record in the log.
"""

from fencepost.model.language import action, bits, require
from fencepost.model.quorum.constants import C
from fencepost.model.quorum.leader import voters_of
from fencepost.model.quorum.state import Id, Registration, State, leads


def is_heard(s: State, leader: int) -> bool:
    """Return whether a node leads and its controller is active."""
    return leads(s, leader) and s.node[leader].high_watermark > s.node[leader].epoch_start


@action(node=Id)
def controller_asks_to_register(s: State, c: C, node: int) -> None:
    """An unregistered controller sends a registration request, unless it already awaits a response."""
    n = s.node[node]
    require(c.registration_timeouts > 0)
    require(bits.contains(voters_of(s, c, n), node))
    require(n.registration == Registration.NONE)
    n.registration = Registration.SENT


@action(leader=Id, node=Id)
def leader_registers_controller(s: State, c: C, leader: int, node: int) -> None:
    """The active controller registers itself or another controller."""
    require(is_heard(s, leader))
    require(s.node[node].registration == Registration.SENT)
    s.node[node].registration = Registration.DONE


@action(node=Id)
def registration_times_out(s: State, c: C, node: int) -> None:
    """A registration request expires unsent because no active controller is known. Before KAFKA-20247, the sender did
    not notice the expiry and waited for a response.
    """
    n = s.node[node]
    require(s.budget.registration_timeouts > 0, bound=C.registration_timeouts)
    require(n.registration == Registration.SENT)
    s.budget.registration_timeouts -= 1
    n.registration = Registration.NONE if c.registers_again else Registration.LOST
