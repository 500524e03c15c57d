"""What bags of messages mean."""

from fencepost.model.language import *

from tests.machines.meanings.schema import C, Case, Message, State, finish, starts


def send(s: State, number: int) -> None:
    """Put a message in flight."""
    s.box.add(number=number)


def seen(s: State) -> int:
    """Return the numbers of all messages in the order of a loop, as digits."""
    found = 0
    for m in s.box:
        found = 10 * found + m.number
    return found


@action()
def two_are_sent(s: State, c: C) -> None:
    """Two messages are sent for the cases that begin with some."""
    require(s.pc == 0)
    require(
        c.case
        in (
            Case.A_BAG_FROM_THE_LAST_MESSAGE,
            Case.WHAT_IS_ADDED_COMES_LAST,
            Case.A_LOOP_SEES_WHAT_WAS_THERE,
            Case.A_CHANGED_MESSAGE_STAYS_IN_ITS_STEP,
            Case.A_CHANGED_MESSAGE_MOVES_AFTER_ITS_STEP,
            Case.A_RECEIVED_MESSAGE_IS_A_COPY,
            Case.A_MESSAGE_THAT_IS_NOT_THERE,
        )
    )
    send(s, 5)
    send(s, 2)
    s.pc = 1


@action()
def equal_ones_are_sent(s: State, c: C) -> None:
    """Three messages are sent, two of them equal."""
    require(s.pc == 0)
    require(c.case in (Case.THE_MESSAGE_AT_HAND_MAY_BE_REMOVED, Case.THE_MESSAGE_ITSELF_IS_REMOVED))
    send(s, 4)
    send(s, 1)
    send(s, 4)
    s.pc = 1


@action()
def pairs_are_sent(s: State, c: C) -> None:
    """Two messages are sent that differ in the records of their arrays, the greater one first."""
    require(starts(s, c, Case.MESSAGES_ARE_ORDERED_FIELD_BY_FIELD))
    m = s.box.add(number=1)
    m.pairs[0].second = 1
    more = s.box.add(number=1)
    more.pairs[1].first = 1
    s.pc = 1


def goes_on(s: State, c: C, case: int) -> bool:
    """Say whether this case is at its second step."""
    return c.case == case and s.pc == 1


@action()
def a_bag_from_the_last_message(s: State, c: C) -> None:
    """In a state, the messages of a bag are in ascending order; a loop goes through them from the last to the first."""
    require(goes_on(s, c, Case.A_BAG_FROM_THE_LAST_MESSAGE))
    finish(s, seen(s))


@action()
def messages_are_ordered_field_by_field(s: State, c: C) -> None:
    """Messages are compared field by field, arrays element by element, records in them field by field."""
    require(goes_on(s, c, Case.MESSAGES_ARE_ORDERED_FIELD_BY_FIELD))
    found = 0
    for m in s.box:
        found = (
            10000 * found
            + 1000 * m.pairs[0].first
            + 100 * m.pairs[0].second
            + 10 * m.pairs[1].first
            + m.pairs[1].second
        )
    finish(s, found // 10)


@action()
def what_is_added_comes_last(s: State, c: C) -> None:
    """A message that is added is the last one until the step ends, so a loop comes to it first."""
    require(goes_on(s, c, Case.WHAT_IS_ADDED_COMES_LAST))
    send(s, 3)
    finish(s, seen(s))


@action()
def a_loop_sees_what_was_there(s: State, c: C) -> None:
    """A loop goes through the messages that were there when it began."""
    require(goes_on(s, c, Case.A_LOOP_SEES_WHAT_WAS_THERE))
    found = 0
    for m in s.box:
        if len(s.box) == 2:
            send(s, 9)
        found = 10 * found + m.number
    finish(s, 10 * found + len(s.box))


@action()
def the_message_at_hand_may_be_removed(s: State, c: C) -> None:
    """The current message may be removed: the loop continues with the one before it."""
    require(goes_on(s, c, Case.THE_MESSAGE_AT_HAND_MAY_BE_REMOVED))
    found = 0
    for m in s.box:
        found = 10 * found + m.number
        if m.number == 4:
            s.box.remove(m)
    finish(s, 100 * found + seen(s))


@action()
def the_message_itself_is_removed(s: State, c: C) -> None:
    """`remove` takes out the message itself if it is one of the bag, else the first that is equal."""
    require(goes_on(s, c, Case.THE_MESSAGE_ITSELF_IS_REMOVED))
    first = True
    for m in s.box:
        if m.number == 4 and first:
            first = False
            s.box.remove(m)
        else:
            m.pairs[0].first = 7
    finish(s, sum(10 * m.number + m.pairs[0].first for m in s.box))


@action()
def a_changed_message_stays_in_its_step(s: State, c: C) -> None:
    """A message that is changed stays where it is until the step ends."""
    require(goes_on(s, c, Case.A_CHANGED_MESSAGE_STAYS_IN_ITS_STEP))
    for m in s.box:
        if m.number == 5:
            m.number = 1
    finish(s, seen(s))


@action()
def a_message_is_changed(s: State, c: C) -> None:
    """The last message becomes the least."""
    require(goes_on(s, c, Case.A_CHANGED_MESSAGE_MOVES_AFTER_ITS_STEP))
    for m in s.box:
        if m.number == 5:
            m.number = 1
    s.pc = 2


@action()
def a_changed_message_moves_after_its_step(s: State, c: C) -> None:
    """When the step has ended, and after `normalize`, bags are in order again."""
    require(c.case == Case.A_CHANGED_MESSAGE_MOVES_AFTER_ITS_STEP)
    require(s.pc == 2)
    finish(s, seen(s))


@action()
def fields_before_the_message_is_there(s: State, c: C) -> None:
    """The fields of a new message are evaluated before it is in the bag."""
    require(starts(s, c, Case.FIELDS_BEFORE_THE_MESSAGE_IS_THERE))
    s.box.add(number=len(s.box) + 3)
    m = s.box.add(number=len(s.box) + 3)
    m.pairs[1].second = 6
    finish(s, 10 * seen(s) + sum(m.pairs[1].second for m in s.box))


@action()
def a_full_bag_before_a_wrong_field(s: State, c: C) -> None:
    """A message too many is an error, and is noticed before a field of it that is outside its domain."""
    require(starts(s, c, Case.A_FULL_BAG_BEFORE_A_WRONG_FIELD))
    for number in range(3):
        send(s, number)
    s.box.add(number=s.x + 99)
    finish(s, 1)


@action(m=InFlight("box"))
def a_received_message_is_a_copy(s: State, c: C, m: Message) -> None:
    """A message that was received is a copy: it may be read after it was removed."""
    require(goes_on(s, c, Case.A_RECEIVED_MESSAGE_IS_A_COPY))
    require(m.number == 5)
    s.box.remove(m)
    finish(s, 10 * m.number + seen(s))


@action(m=InFlight("box"))
def a_message_that_is_not_there(s: State, c: C, m: Message) -> None:
    """To remove a message that is not there is an error."""
    require(goes_on(s, c, Case.A_MESSAGE_THAT_IS_NOT_THERE))
    require(m.number == 2)
    s.box.remove(m)
    s.box.remove(m)
    finish(s, 1)


ACTIONS = tuple(item for item in vars().values() if isinstance(item, Action))
