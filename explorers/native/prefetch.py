"""The processor's prefetch, for Numba: ask for a table entry's cache line before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch `array[index]` of a one-dimensional array; the index must be inside it."""
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind, _ = signature.args
        data = context.make_array(kind)(context, builder, arguments[0]).data
        place = builder.gep(data, [arguments[1]])
        byte = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        target = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, target, "llvm.prefetch.p0"
        )
        constants = [ir.Constant(number, value) for value in (0, 3, 1)]
        builder.call(function, [builder.bitcast(place, byte), *constants])
        return context.get_dummy_value()

    return types.void(array, index), generate
