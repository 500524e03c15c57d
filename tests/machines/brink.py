"""A walker that may fall off a row of stones: conditions ask where it stands before they look at the stone."""

from typing import Annotated

from fencepost.model.language import *


class C(Constants):
    careful = switch(default=True, meaning="the property asks first whether there is a stone")


class Row(Record):
    stone: Annotated[int, Index(3, none=True)]
    left: Annotated[Array[Annotated[int, Range(0, 3)]], Size(3)]


@action()
def begin(s: Row, c: C) -> None:
    """The walker is on the first stone, and the second one is sound."""
    s.left[1] = 3


@action()
def fall(s: Row, c: C) -> None:
    """The walker falls off."""
    s.stone = NONE


@action()
def stay(s: Row, c: C) -> None:
    """The walker stays on a stone that is sound."""
    require(0 <= s.stone < s.left[s.stone])
    s.left[s.stone] -= 1


@always
def stands(s: Row, c: C) -> bool:
    """The walker stands on a stone."""
    if c.careful and s.stone < 0:
        return False
    return s.left[s.stone] < 4


@always
def is_near(s: Row, c: C) -> bool:
    """The walker stands on one of the first stones."""
    return 0 <= s.stone < s.left[s.stone] + 3


@always
def is_first(s: Row, c: C) -> bool:
    """The walker stands on the first stone."""
    return s.stone == (s.left[s.left[s.stone]] if s.stone >= 0 else 0)


PROPERTIES = (stands, is_near, is_first)
MACHINE = Machine("brink", "a walker on a row of stones", Row, C, begin, (fall, stay))
