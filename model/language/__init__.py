"""The modelling language: everything that a model file imports."""

from fencepost.model.language import bits
from fencepost.model.language.actions import Action, Kind, Property, action, always, require, sometimes, step
from fencepost.model.language.constants import Constants, bound, capacity, choice, shape, switch
from fencepost.model.language.domains import NONE, BitSet, Index, InFlight, Per, Range, Size
from fencepost.model.language.machine import Machine, Version
from fencepost.model.language.records import Array, Bag, Record

__all__ = [
    "NONE",
    "Action",
    "Array",
    "Bag",
    "BitSet",
    "Constants",
    "InFlight",
    "Index",
    "Kind",
    "Machine",
    "Per",
    "Property",
    "Range",
    "Record",
    "Size",
    "Version",
    "action",
    "always",
    "bits",
    "bound",
    "capacity",
    "choice",
    "require",
    "shape",
    "sometimes",
    "step",
    "switch",
]
