"""The operations that the draft lists, and what each of them actually reads.

Modelled on KafkaApis, ConfigHelper, KRaftMetadataCache and BrokerMetadataPublisher (apache/kafka 1eb7644). The
publisher sets the cache first; then topics reach the replica manager, followed by dynamic configurations, quotas, SCRAM
credentials, delegation tokens and ACLs. What a token guarantees depends on what the operation reads, so the model has
one operation for each class.
"""

from enum import IntEnum
from typing import NamedTuple


class Operation(IntEnum):
    """The part of a server's metadata that a request reads or changes."""

    CACHE = 0
    """The operation reads the metadata cache."""
    COMPONENT = 1
    """The operation reads a component that is updated after the cache."""
    UNLISTED = 2
    """The operation uses the metadata cache, but is not in the draft's list: Produce, Fetch, FindCoordinator."""
    WRITE = 3
    """The operation changes metadata, and the controller commits the change."""


class Listed(NamedTuple):
    """An operation that the draft lists: its name, API key, class, and the source that it reads."""

    name: str
    key: int
    operation: Operation
    reads: str


LISTED = (
    Listed(
        "Metadata",
        3,
        Operation.CACHE,
        "the metadata cache, several times: topic names, topics, brokers; in between, the authorizer",
    ),
    Listed("DescribeAcls", 29, Operation.COMPONENT, "the authorizer"),
    Listed(
        "DescribeConfigs",
        32,
        Operation.COMPONENT,
        "the metadata cache for topics and groups, and the dynamic config for brokers",
    ),
    Listed("DescribeLogDirs", 35, Operation.COMPONENT, "the replica manager"),
    Listed("DescribeDelegationToken", 41, Operation.COMPONENT, "the delegation token manager"),
    Listed("DescribeClientQuotas", 48, Operation.CACHE, "the metadata cache, once"),
    Listed("DescribeUserScramCredentials", 50, Operation.CACHE, "the metadata cache, once"),
    Listed("DescribeCluster", 60, Operation.CACHE, "the metadata cache, several times: brokers, controller"),
    Listed(
        "ListConfigResources", 74, Operation.COMPONENT, "the client metrics manager (as ListClientMetricsResources)"
    ),
    Listed(
        "DescribeTopicPartitions",
        75,
        Operation.CACHE,
        "the metadata cache, several times: topic names, then one image; in between, the authorizer",
    ),
)
