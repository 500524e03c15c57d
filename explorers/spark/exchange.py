"""One shuffle of raw blocks of bytes, whose receivers run where their mapped partitions are.

PySpark's own `partitionBy` would pickle every block, and would run a receiver wherever a processor is free. Here blocks
pass as they are; and the shuffled partitions are united with a cached RDD of the same partitioner, one small anchor a
partition, because Spark runs a task of such a union where the cached part is.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark import SparkContext

    Sender = Callable[[int], Iterator[tuple[int, bytes]]]
    Receiver = Callable[[int, list[bytes]], bytes]

ANCHOR = b""
_LONG = struct.Struct(">q")


class Exchange:
    """Partitions that stay on their executors, and a shuffle between them."""

    def __init__(self, context: SparkContext, partitions: int) -> None:
        from pyspark import StorageLevel

        self.context, self.partitions = context, partitions
        jvm = context._jvm
        assert jvm is not None
        self._jvm = jvm
        self._partitioner = jvm.PythonPartitioner(partitions, id(self))
        self._numbers = context.parallelize(range(partitions), partitions)
        level = context._getJavaStorageLevel(StorageLevel.MEMORY_ONLY)
        self._anchors = self._sent(_anchor).persist(level)
        self._anchors.count()

    def run(self, send: Sender, receive: Receiver) -> list[bytes]:
        """Let every partition send blocks, and every partition receive its own; return their answers in order.

        Both may run more than once for a partition, and must then do the same.
        """
        from pyspark import RDD
        from pyspark.serializers import NoOpSerializer

        united = self._anchors.union(self._sent(send))
        blocks = RDD(self._jvm.PythonRDD.valueOfPair(united), self.context, NoOpSerializer())

        answers: list[bytes] = blocks.mapPartitionsWithIndex(partial(_answer, receive)).collect()
        return answers

    def _sent(self, send: Sender) -> Any:
        keyed = self._numbers.mapPartitions(partial(_pairs, send))
        keyed._bypass_serializer = True
        found = self._jvm.PairwiseRDD(keyed._jrdd.rdd()).asJavaPairRDD()
        return found.partitionBy(self._partitioner)


def _pairs(send: Sender, numbers: Iterator[int]) -> Iterator[bytes]:
    for number in numbers:
        for target, block in send(number):
            yield _LONG.pack(target)
            yield block


def _answer(receive: Receiver, number: int, found: Iterator[bytes]) -> Iterator[bytes]:
    yield receive(number, [block for block in found if block != ANCHOR])


def _anchor(number: int) -> Iterator[tuple[int, bytes]]:
    yield number, ANCHOR
