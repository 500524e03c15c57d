"""Readers and writers: many may read at a time, but only one may write, alone. Requests are served in order.

This is `ReadersWriters` from the TLA+ examples. Each actor may request to read and to write, so the queue contains at
most two requests per actor.
"""

from typing import Annotated

from fencepost.model.language import (
    BitSet,
    Channel,
    Constants,
    Index,
    Machine,
    Record,
    Size,
    action,
    always,
    bits,
    leads_to,
    require,
    shape,
    sometimes,
    weak,
)


class C(Constants):
    actors = shape(3, low=1, high=4, meaning="actors that read and write")


Actor = Annotated[int, Index(C.actors)]
Actors = Annotated[int, BitSet(C.actors)]


class Request(Record):
    by: Actor
    to_write: bool


class State(Record):
    readers: Actors
    writers: Actors
    queue: Annotated[Channel[Request], Size(2 * C.actors)]


@action()
def initial(s: State, c: C) -> None:
    """No actor reads, writes or waits."""


@action(actor=Actor)
def ask_to_read(s: State, c: C, actor: int) -> None:
    """An actor that is not waiting to read asks to read."""
    require(all(request.by != actor or request.to_write for request in s.queue))
    s.queue.add(by=actor, to_write=False)


@action(actor=Actor)
def ask_to_write(s: State, c: C, actor: int) -> None:
    """An actor that is not waiting to write asks to write."""
    require(all(request.by != actor or not request.to_write for request in s.queue))
    s.queue.add(by=actor, to_write=True)


@action()
def serve(s: State, c: C) -> None:
    """The first request in the queue is served: to read if no actor writes, or to write if no actor reads or writes."""
    require(len(s.queue) > 0)
    require(s.writers == 0)
    require(not s.queue[0].to_write or s.readers == 0)
    actor = s.queue[0].by
    if s.queue[0].to_write:
        s.writers = bits.with_member(s.writers, actor)
    else:
        s.readers = bits.with_member(s.readers, actor)
    s.queue.popleft()


@action(actor=Actor)
def stop(s: State, c: C, actor: int) -> None:
    """An actor stops reading or writing."""
    require(bits.contains(s.readers | s.writers, actor))
    s.readers = bits.without(s.readers, actor)
    s.writers = bits.without(s.writers, actor)


@always
def a_writer_is_alone(s: State, c: C) -> bool:
    """No actor reads while another one writes, and no two actors write."""
    return s.writers == 0 or (s.readers == 0 and bits.size(s.writers) == 1)


@sometimes
def all_read(s: State, c: C) -> bool:
    """All actors read at the same time."""
    return s.readers == bits.everyone(c.actors)


def always_so(s: State, c: C, actor: int) -> bool:
    return True


def reads(s: State, c: C, actor: int) -> bool:
    return bits.contains(s.readers, actor)


def writes(s: State, c: C, actor: int) -> bool:
    return bits.contains(s.writers, actor)


def does_neither(s: State, c: C, actor: int) -> bool:
    return not bits.contains(s.readers | s.writers, actor)


FAIR = (weak(ask_to_read, each="actor"), weak(ask_to_write, each="actor"), weak(serve), weak(stop))

all_read_again = leads_to(
    "all-read-again", "Each actor reads again and again.", when=always_so, then=reads, fair=FAIR, actor=Actor
)

all_write_again = leads_to(
    "all-write-again", "Each actor writes again and again.", when=always_so, then=writes, fair=FAIR, actor=Actor
)

all_stop_again = leads_to(
    "all-stop-again", "Each actor stops again and again.", when=always_so, then=does_neither, fair=FAIR, actor=Actor
)

MACHINE = Machine(
    "readers-writers", "Readers and writers in a queue", State, C, initial, (ask_to_read, ask_to_write, serve, stop)
)
PROPERTIES = (a_writer_is_alone, all_read, all_read_again, all_write_again, all_stop_again)
