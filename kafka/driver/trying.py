"""One step tried on Kafka at the end of a history: what the model refuses, or what a variant of it takes otherwise.

It is the last step of its history: a refusal may change when a follower was last caught up, or what waits in a
purgatory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.kafka.driver.process import FailedError

if TYPE_CHECKING:
    from fencepost.kafka.driver.ablation import Ablation
    from fencepost.kafka.driver.chances import Chance
    from fencepost.kafka.driver.execute import Execution
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.records import Key


@dataclass(frozen=True)
class Trial:
    """Kafka's reaction to a step: `did` is done, refused or untried, `why` the error, `answer` both in words.

    `like_model`: its state is one that the model allows there; `like_variant`: it is that of the variant.
    """

    did: str
    why: str
    answer: str
    like_model: bool
    like_variant: bool
    steps: tuple[str, ...]
    constants: Constants


def try_step(ablation: Ablation, execution: Execution, chance: Chance) -> Trial | None:
    """Lead Kafka to a state and do a step there; None if Kafka cannot be led there, by a limit that is named."""
    plain = execution.plain
    difference = execution.run(plain.initial_states()[0], chance.history)
    steps = tuple(plain.show(item) for item in (*(taken.step for taken in chance.history), chance.step))
    if difference is not None:
        told = "; ".join(f"{name}: {model} in the model, {kafka} in Kafka" for name, model, kafka in difference.rows)
        return Trial(
            "done",
            "",
            f"before the step: {told}",
            like_model=False,
            like_variant=False,
            steps=steps,
            constants=plain.constants,
        )
    if execution.at != chance.at:
        return None
    line = execution.line(chance.step)
    others = [item for item in plain.transitions(chance.at) if item.step != chance.step]
    alike = [item for item in others if execution.line_of(item.step) == line]
    same = [item.after for item in alike]
    try:
        did = execution.ask(line)
    except FailedError as error:
        return Trial("done", error.why, error.why, False, False, steps, plain.constants)
    why = execution.why
    for item in alike if did == "done" else ():
        execution.ignore(item)
    taken = chance.variant if chance.model is None else chance.model
    if execution.leaves_late(chance.step) and taken is not None:
        execution.lose_late(taken)
    nothing = ablation.refused(chance.at, chance.step)
    like_model, answer = _as_the_model(execution, chance, nothing, same, [item.after for item in others])
    theirs = nothing if chance.variant is None else (chance.variant,)
    return Trial(
        did,
        why,
        why or answer,
        like_model=like_model,
        like_variant=any(_fits(execution, item) for item in theirs),
        steps=steps,
        constants=plain.constants,
    )


def _as_the_model(
    execution: Execution, chance: Chance, nothing: tuple[Key, ...], same: list[Key], others: list[Key]
) -> tuple[bool, str]:
    """Return whether Kafka did what the model allows, and what that is.

    Where it refuses the step, that is nothing, another outcome of the same event, or another step.
    """
    if chance.model is not None:
        return _fits(execution, chance.model), "done"
    if any(_fits(execution, after) for after in same):
        return True, "another outcome"
    if any(_fits(execution, item) for item in nothing):
        return True, "no effect"
    return any(_fits(execution, item) for item in others), "another step"


def _fits(execution: Execution, expected: Key) -> bool:
    """Return whether Kafka is in this state of the model."""
    if execution.seen.contradictions():
        return False
    model, kafka = execution.projected(expected)
    return model == kafka
