"""Sets of brokers or replicas as bit masks: bit n is set if n is a member."""


def contains(members: int, item: int) -> bool:
    """Return whether `item` is a member, which NONE never is."""
    return item >= 0 and (members >> max(item, 0)) & 1 == 1


def only(item: int) -> int:
    """Return the set with `item` as its only member."""
    return 1 << item


def with_member(members: int, item: int) -> int:
    """Return `members` with `item` added."""
    return members | (1 << item)


def without(members: int, item: int) -> int:
    """Return `members` without `item`."""
    return members & ~(1 << item)


def everyone(count: int) -> int:
    """Return the set of the numbers 0 to count - 1."""
    return (1 << count) - 1


def size(members: int) -> int:
    """Return the number of members."""
    rest = members
    total = 0
    for _ in range(62):
        if rest == 0:
            break
        rest &= rest - 1
        total += 1
    return total


def is_subset(members: int, others: int) -> bool:
    """Return whether every member of `members` is in `others`."""
    return members & ~others == 0
