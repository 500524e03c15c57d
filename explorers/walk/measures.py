"""Measures of states: how many faults have happened, how long the logs are, and how much the logs differ."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from fencepost.explorers.paths import budgets
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import ArrayOf, Nested, Record, Scalar, fields


def faults_used(machine: Machine, states: np.ndarray[Any, Any], initial: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return, for each state, the sum (int64) of all budgets spent since its initial state, which is in `initial`."""
    spent = np.zeros(len(states), np.int64)
    for path in budgets(machine.state):
        left, whole = states, initial
        for name in path.split("."):
            left, whole = left[name], whole[name]
        spent += whole.astype(np.int64) - left.astype(np.int64)
    return spent


def logs(state: type[Record]) -> Iterator[str]:
    for name, field in fields(state):
        if isinstance(field, ArrayOf) and isinstance(field.element, Nested):
            inner = dict(fields(field.element.record))
            if isinstance(inner.get("log"), ArrayOf) and isinstance(inner.get("end"), Scalar):
                yield name


def deepest_log(machine: Machine, states: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return, for each state in memory, the number (int64) of records in the longest log, or 0 if it has no logs."""
    longest = np.zeros(len(states), np.int64)
    for name in logs(machine.state):
        longest = np.maximum(longest, states[name]["end"].max(axis=1, initial=0))
    return longest


def divergence(machine: Machine, states: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return, for each state, the number (int64) of offsets at which two logs differ, summed over pairs of logs."""
    found = np.zeros(len(states), np.int64)
    for name in logs(machine.state):
        log, end = states[name]["log"], states[name]["end"]
        for one in range(log.shape[1]):
            for other in range(one):
                both = np.arange(log.shape[2]) < np.minimum(end[:, one], end[:, other])[:, None]
                found += ((log[:, one] != log[:, other]) & both).sum(axis=1)
    return found


def estimate(sketch: np.ndarray[Any, Any]) -> int:
    """Return the estimated number of distinct hashes in a HyperLogLog sketch with these registers."""
    count = len(sketch)
    raw = 0.7213 / (1 + 1.079 / count) * count**2 / float(np.sum(np.exp2(-sketch.astype(np.float64))))
    empty = int((sketch == 0).sum())
    if raw <= 2.5 * count and empty:
        return round(count * float(np.log(count / empty)))
    return round(raw)
