"""The kernel of walks. A walk starts in an initial state and takes enabled steps, chosen at random or by a schedule.

The kernel is compiled once for all machines. The kernel reads the width of a row from its array arguments, and calls a
machine's kernels by address. `explorers/native/llvm/` compiles this file's source.
"""
# mypy: ignore-errors

from __future__ import annotations

import numpy as np
from fencepost.explorers.native.llvm.types import helper, kernel

GOLDEN = 0x9E3779B97F4A7C15
UNDECIDED = 1 << 62
DEPTH, STUCK, STOPPED = 0, 1, 2


@helper
def mix(z):
    """Return a pseudo-random number, using the output function of splitmix64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@helper
def below(z, count):
    return np.int64(((z >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


@helper
def by_weight(z, enabled, weights):
    """Return an enabled action, chosen by weight, or -1 if no enabled action has a positive weight."""
    total = 0
    for number in range(enabled.shape[0]):
        if enabled[number] > 0:
            total += weights[number]
    if total == 0:
        return -1
    left = below(z, total)
    for number in range(enabled.shape[0]):
        if enabled[number] > 0:
            left -= weights[number]
            if left < 0:
                return number
    return -1


@helper
def sketch_in(sketch, h):
    """Add a hash to the sketch. The hash's low bits select a register, which keeps the maximum of one plus the number
    of leading zeros in the other bits.
    """
    register = h & np.uint64(sketch.shape[0] - 1)
    run = np.uint8(1)
    probe = np.uint64(1) << np.uint64(63)
    while run < 40 and h & probe == np.uint64(0):
        run += np.uint8(1)
        probe >>= np.uint64(1)
    if sketch[register] < run:
        sketch[register] = run


@helper
def decide(found, asked, decided, step):
    """Record the step at which properties were decided, and stop checking them; return whether any is violated."""
    bad = False
    for number in range(asked.shape[0]):
        if found[number] == 0:
            found[number] = -1
            decided[number] = step
            bad = bad or asked[number] == 1
    return bad


@kernel
def walk(
    expand: Expand, judge: Judge, e: Checks, c: Constants,
    initial: U64ss, first: I64, last: I64, seed: U64, depth: I64, stop: I64,
    weights: I64s, schedule: U64ss, asked: I64s, asked_steps: I64s,
    rows: Rows, here: U64ss, out: Rows, successors: U64ss, hashes: U64s, parents: U32s,
    alive: U8s, enabled: I64s, refused: I64s, in_states: I64s, in_steps: I64s,
    begins: I64s, steps: I32s, ends: U8s, decided: I32ss, decided_steps: I32ss, fired: I32ss,
    final: U64ss, sketch: U8s, way: U64ss, kept: U64ss, keep_bits: U64,
) -> I64:  # fmt: skip
    """Run the walks first..last-1, for at most `depth` steps each; return how many are complete.

    Each walk has its own seed for splitmix64, so a walk does not depend on its batch. A `schedule` has a row of numbers
    for each walk. The first number of a row selects the initial state. For each later number n, the walk takes the
    enabled step with index (n - 1) modulo the number of enabled steps or, if n is 0, no step. A walk ends when its row
    ends. `asked` is 0 (not checked), 1 (must hold) or 2 (a witness) for each property. A property over steps is checked
    on every possible step from a state of the walk, even if the step is not taken. `here`, `successors`, `initial`,
    `final` and `way` are rows of words. For each walk, `kept` receives the state hashes whose lowest `keep_bits` bits
    are zero, padded with zeros. After an error, `e[0]` is the error's code, `rows[0]` is the state in which the error
    occurred, and `steps` and `decided` describe the walk up to the error.
    """
    width = initial.shape[1]
    weighted = weights.shape[0] > 0
    length = schedule.shape[1]
    scheduled = length > 0
    for number in range(first, last):
        at = number - first
        key = mix(np.uint64(seed) + np.uint64(GOLDEN) * (np.uint64(number) + np.uint64(1)))
        begun = initial.shape[0]
        start = np.int64(schedule[at, 0] % np.uint64(begun)) if scheduled else below(mix(key), begun)
        begins[at] = start
        place = 1
        for word in range(width):
            here[0, word] = initial[start, word]
        for k in range(asked.shape[0]):
            in_states[k] = UNDECIDED if asked[k] > 0 else -1
        for k in range(asked_steps.shape[0]):
            in_steps[k] = UNDECIDED if asked_steps[k] > 0 else -1
        step = 0
        keeping = 0
        ends[at] = DEPTH
        while True:
            if step < way.shape[0]:
                for word in range(width):
                    way[step, word] = here[0, word]
            judge(e, rows, 0, 1, c, in_states)
            if e[0] != 0:
                steps[at] = step
                return at
            bad = decide(in_states, asked, decided[at], step)
            enabled[:] = 0
            count = expand(e, rows, 0, 1, 0, c, out, hashes, parents, 0, enabled, refused, in_steps, alive)
            if e[0] != 0:
                steps[at] = step
                return at
            if decide(in_steps, asked_steps, decided_steps[at], step):
                bad = True
            if bad and stop:
                ends[at] = STOPPED
                break
            while place < length and schedule[at, place] == 0:
                place += 1
            if step == depth or (scheduled and place >= length):
                break
            if count == 0:
                ends[at] = STUCK
                break
            # each step uses two numbers of the walk's random sequence
            here_key = key + np.uint64(GOLDEN) * np.uint64(2 * step + 1)
            action = 0
            if scheduled:
                pick = np.int64((schedule[at, place] - np.uint64(1)) % np.uint64(count))
                place += 1
            elif weighted:
                action = by_weight(mix(here_key), enabled, weights)
                if action < 0:
                    ends[at] = STUCK
                    break
                pick = below(mix(here_key + np.uint64(GOLDEN)), enabled[action])
                for before in range(action):
                    pick += enabled[before]
            else:
                pick = below(mix(here_key), count)
            behind = enabled[0]
            action = 0
            while behind <= pick:
                action += 1
                behind += enabled[action]
            fired[at, action] += 1
            for word in range(width):
                here[0, word] = successors[pick, word]
            sketch_in(sketch, hashes[pick])
            if keeping < kept.shape[1] and hashes[pick] & keep_bits == np.uint64(0):
                kept[at, keeping] = hashes[pick]
                keeping += 1
            step += 1
        steps[at] = step
        for word in range(width):
            final[at, word] = here[0, word]
    return last - first
