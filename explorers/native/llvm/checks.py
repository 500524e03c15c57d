"""Checked operations. A failed check yields a harmless value; the first one also stores its code."""

from fencepost.explorers.native.llvm.builder import Builder
from fencepost.explorers.native.llvm.types import GREATEST, LEAST, WORD_BITS, Sort, Value, number

INDEX, VALUE, SHIFT, FULL, ABSENT, NUMBER, SUM = 1, 2, 3, 4, 5, 6, 7
"""Codes of failed checks: an index outside an array, a value outside a domain, a negative shift, a full bag, a missing
message, a shift or a product of more than 64 bits, and a sum of more than 64 bits.
"""
RARE = ", !prof !0"

PREAMBLE = """declare {i64, i1} @llvm.sadd.with.overflow.i64(i64, i64)
declare {i64, i1} @llvm.ssub.with.overflow.i64(i64, i64)
declare {i64, i1} @llvm.smul.with.overflow.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.abs.i64(i64, i1)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.cttz.i64(i64, i1)
declare void @llvm.memcpy.inline.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

define internal void @note(ptr noalias %e, i64 %code) cold noinline nounwind "no-builtins" {
entry:
  %before = load i64, ptr %e, align 1
  %none = icmp eq i64 %before, 0
  br i1 %none, label %first, label %end
first:
  store i64 %code, ptr %e, align 1
  br label %end
end:
  ret void
}
"""
EPILOGUE = '!0 = !{!"branch_weights", i32 1, i32 1000000}\n'


def note(build: Builder, e: Value, code: int) -> None:
    build.emit(f"call void @note(ptr {e.text}, i64 {code})")


def note_if(build: Builder, e: Value, wrong: Value, code: int) -> None:
    bad, good = build.label(), build.label()
    build.branch(wrong, bad, good, RARE)
    build.begin(bad)
    note(build, e, code)
    build.jump(good)
    build.begin(good)


def too_long(build: Builder, code: Value) -> Value:
    """Return whether a code means that a number needs more than 64 bits, which the plain semantics would accept."""
    return build.joined("|", *(build.compared("==", code, number(one)) for one in (NUMBER, SUM)))


def index(build: Builder, e: Value, place: Value, length: Value) -> Value:
    """Return an index if it is valid for this length; otherwise, record the error INDEX and return 0."""
    place = build.number(place)
    if place.low >= 0 and place.high < length.low:
        return place
    wrong = Value(build.value(f"icmp uge i64 {place.text}, {length.text}"), Sort.FLAG)  # negative: very large
    note_if(build, e, wrong, INDEX)
    text = build.value(f"select i1 {wrong.text}, i64 0, i64 {place.text}")
    return Value(text, Sort.NUMBER, 0, max(0, length.high - 1))


def right_shift(build: Builder, e: Value, value: Value, count: Value) -> Value:
    """Return `value >> count`. If the count is negative, record the error SHIFT and return 0."""
    value, count = build.number(value), build.number(count)
    if count.low < 0:
        negative = build.compared("<", count, number(0))
        note_if(build, e, negative, SHIFT)
        text = build.value(f"select i1 {negative.text}, i64 0, i64 {value.text}")
        value = Value(text, Sort.NUMBER, min(value.low, 0), max(value.high, 0))
    text = build.value(f"call i64 @llvm.umin.i64(i64 {count.text}, i64 {WORD_BITS - 1})")
    return build.shifted(">>", value, Value(text, Sort.NUMBER, 0, WORD_BITS - 1))


def magnitude(build: Builder, e: Value, value: Value) -> Value:
    value = build.number(value)
    if value.low >= 0:
        return value
    if value.low == LEAST:
        note_if(build, e, Value(build.value(f"icmp eq i64 {value.text}, {value.low}"), Sort.FLAG), SUM)
    text = build.value(f"call i64 @llvm.abs.i64(i64 {value.text}, i1 false)")
    if value.low == LEAST:  # LEAST has no absolute value in 64 bits: keep the result in the range below
        text = build.value(f"call i64 @llvm.umin.i64(i64 {text}, i64 {GREATEST})")
    return Value(text, Sort.NUMBER, 0, min(max(-value.low, value.high), GREATEST))
