"""The modelling language: everything that a model file imports."""

from fencepost.model.language import bits
from fencepost.model.language.actions import (
    Action,
    Kind,
    Property,
    action,
    always,
    choose,
    fits,
    require,
    sometimes,
    step,
)
from fencepost.model.language.cast import Cast
from fencepost.model.language.constants import Constants, bound, capacity, choice, shape, switch
from fencepost.model.language.domains import NONE, BitSet, Index, InFlight, Per, Range, Size, largest, smallest
from fencepost.model.language.eventually import at_most, eventually, leads_to
from fencepost.model.language.fairness import Fairness, strong, weak
from fencepost.model.language.machine import Machine, Repair, Version
from fencepost.model.language.records import Array, Bag, Channel, Record

__all__ = [
    "NONE",
    "Action",
    "Array",
    "Bag",
    "BitSet",
    "Cast",
    "Channel",
    "Constants",
    "Fairness",
    "InFlight",
    "Index",
    "Kind",
    "Machine",
    "Per",
    "Property",
    "Range",
    "Record",
    "Repair",
    "Size",
    "Version",
    "action",
    "always",
    "at_most",
    "bits",
    "bound",
    "capacity",
    "choice",
    "choose",
    "eventually",
    "fits",
    "largest",
    "leads_to",
    "require",
    "shape",
    "smallest",
    "sometimes",
    "step",
    "strong",
    "switch",
    "weak",
]
