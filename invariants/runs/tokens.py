"""Runs of metadata reads with consistency tokens: the draft, its readings one by one, and the repaired draft.

Unless a title says otherwise: a controller, two brokers, and a metadata log to offset 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import Profile, Run
from fencepost.invariants.runs.client_rows import casebook, rows
from fencepost.model.clients.tokens.machine import MACHINE

if TYPE_CHECKING:
    from collections.abc import Mapping

PROPERTY = {
    "TOK-S1": "reads-are-monotonic",
    "TOK-S1b": "deliveries-are-monotonic",
    "TOK-S2": "token-covers-body",
    "TOK-S2b": "token-is-exact",
    "TOK-S3": "body-is-one-snapshot",
    "TOK-S4": "token-is-committed",
    "TOK-S5": "own-writes-are-read",
    "TOK-S6": "writes-take-effect-in-order",
    "TOK-S7": "foreign-requests-change-nothing",
    "TOK-S8": "stores-only-grow",
    "TOK-S9": "imported-contexts-are-honoured",
    "TOK-S10": "stale-servers-lag",
    "TOK-S10b": "stale-servers-lag-behind-what-was-seen",
    "Q16": "storing-errors-never-throws",
    "Q21": "unlisted-requests-agree",
}
"""The property that decides each guarantee, by the guarantee's id."""

OLD = "read-is-stale"
"""With one new broker nobody is ever ahead of it."""
UNKNOWN = "token-is-compared read-is-stale"
"""Without tokens nothing is compared."""


def _unreached(values: Mapping[str, int]) -> tuple[str, ...]:
    """Return the witnesses for which these constants leave no room."""
    found = {
        "two-answers-are-on-their-way": values["clients"] == 1,
        "write-is-acknowledged": not values["forwarded_writes"] and not values["direct_writes"],
        "context-is-imported": not values["exports"],
    }
    return tuple(name for name, is_out in found.items() if is_out)


run = rows(MACHINE, PROPERTY, _unreached)

RUNS: tuple[Run, ...] = (
    # The draft as it is written
    run(
        "1 client",
        "clients=1",
        20_050,
        22,
        "TOK-S1 16, TOK-S1b 16, TOK-S2b 8, TOK-S3 8, TOK-S10b 13",
        version="draft",
        trace="TOK-S3 torn-body",
    ),
    run(
        "1 client, one read",
        "clients=1 torn_reads=off",
        10_501,
        20,
        "TOK-S1 14, TOK-S1b 14, TOK-S2b 7, TOK-S10b 11",
        version="draft",
        profile=Profile.QUICK,
        trace="TOK-S1 draft, TOK-S2b later-token",
    ),
    run("1 client, one image", "clients=1 torn_reads=off token_read=pinned", 2_186, 14, version="draft"),
    run(
        "1 client, forwarded writes and a foreign context",
        "clients=1 torn_reads=off forwarded_writes=on foreign_contexts=1 offsets=2",
        10_263,
        21,
        "TOK-S1 14, TOK-S1b 14, TOK-S2b 7, TOK-S5 11, TOK-S7 4, TOK-S10b 11, Q16 6",
        version="draft",
        trace="TOK-S7 foreign-write, Q16 error-context",
    ),
    # Checks first: one client
    run("1 client", "clients=1", 12_041, 20, "TOK-S2b 8, TOK-S3 8, TOK-S10b 11", version="draft-check-first"),
    run(
        "1 client, one read",
        "clients=1 torn_reads=off",
        7_695,
        18,
        "TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
        profile=Profile.QUICK,
        trace="TOK-S10b needless-stale",
    ),
    run(
        "1 client, token before body",
        "clients=1 torn_reads=off token_read=before",
        12_872,
        22,
        "TOK-S1 15, TOK-S1b 15, TOK-S2 8, TOK-S2b 8",
        version="draft-check-first",
        profile=Profile.QUICK,
        trace="TOK-S1 token-before-body, TOK-S2 token-before-body-covers",
    ),
    run(
        "1 client, one image",
        "clients=1 torn_reads=off token_read=pinned",
        2_186,
        14,
        version="draft-check-first",
        profile=Profile.QUICK,
    ),
    run(
        "1 client, restart",
        "clients=1 torn_reads=off restarts=1",
        18_583,
        19,
        "TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
    ),
    run(
        "1 client, legacy store",
        "clients=1 torn_reads=off eventually_consistent=on",
        4_165,
        19,
        "TOK-S1 13, TOK-S1b 13, TOK-S2b 7",
        version="draft-check-first",
        never=UNKNOWN,
    ),
    run(
        "1 client, half headers",
        "clients=1 torn_reads=off half_headers=on",
        3_448,
        18,
        "TOK-S1 13, TOK-S1b 13",
        version="draft-check-first",
        trace="TOK-S1 half-headers",
        never=UNKNOWN,
    ),
    run(
        "1 client, an old broker",
        "clients=1 torn_reads=off old_nodes=1",
        12_020,
        24,
        "TOK-S1 13, TOK-S1b 13, TOK-S2b 7",
        version="draft-check-first",
        trace="TOK-S1 old-broker",
        never=OLD,
    ),
    run(
        "1 client, an old broker refused",
        "clients=1 torn_reads=off old_nodes=1 refuses_untokened=on",
        7_579,
        19,
        "TOK-S2b 7",
        version="draft-check-first",
        never=OLD,
    ),
    run(
        "1 client, Produce",
        "clients=1 torn_reads=off unlisted_requests=on",
        17_017,
        20,
        "TOK-S2b 7, TOK-S10b 10, Q21 13",
        version="draft-check-first",
        trace="Q21 produce-after-metadata",
    ),
    run(
        "1 client, Produce checked",
        "clients=1 torn_reads=off unlisted_requests=on unlisted_checked=on",
        14_709,
        18,
        "TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
    ),
    run(
        "1 client, a rebuilt log",
        "clients=1 torn_reads=off forwarded_writes=on rebuilds=1 offsets=2",
        45_696,
        24,
        "TOK-S2b 7, TOK-S4 7, TOK-S5 11, TOK-S6 10, TOK-S10b 10, Q16 10",
        version="draft-check-first",
        trace="TOK-S4 rebuilt-log, TOK-S6 rebuilt-log-write",
    ),
    # Components that are fed after the cache
    run(
        "1 client, component",
        "clients=1 torn_reads=off component_reads=on",
        263_106,
        22,
        "TOK-S1 13, TOK-S1b 13, TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
    ),
    run(
        "1 client, component offsets",
        "clients=1 torn_reads=off component_reads=on component_offsets=on",
        209_338,
        21,
        "TOK-S2b 7, TOK-S10 10, TOK-S10b 10",
        version="draft-check-first",
        trace="TOK-S10 component-offsets",
    ),
    run(
        "1 client, cache last",
        "clients=1 torn_reads=off component_reads=on cache_last=on",
        295_298,
        27,
        "TOK-S1 13, TOK-S1b 13, TOK-S2 7, TOK-S2b 7, TOK-S10b 11",
        version="draft-check-first",
    ),
    run(
        "1 client, component offsets and cache last",
        "clients=1 torn_reads=off component_reads=on component_offsets=on cache_last=on",
        209_338,
        21,
        "TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
    ),
    run(
        "1 client, component only",
        "clients=1 torn_reads=off cache_reads=off component_reads=on",
        121_749,
        25,
        "TOK-S1 15, TOK-S1b 15, TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
        profile=Profile.QUICK,
        trace="TOK-S1 hyp-5",
    ),
    run(
        "1 client, component only, cache last",
        "clients=1 torn_reads=off cache_reads=off component_reads=on cache_last=on",
        171_246,
        27,
        "TOK-S1 13, TOK-S1b 13, TOK-S2 7, TOK-S2b 7, TOK-S10b 11",
        version="draft-check-first",
        trace="TOK-S1 cache-last",
    ),
    run(
        "1 client, component only, component offsets",
        "clients=1 torn_reads=off cache_reads=off component_reads=on component_offsets=on",
        74_466,
        21,
        "TOK-S2b 8, TOK-S10 12, TOK-S10b 11",
        version="draft-check-first",
    ),
    # Writes
    run(
        "1 client, forwarded writes",
        "clients=1 torn_reads=off forwarded_writes=on",
        46_655,
        22,
        "TOK-S2b 7, TOK-S5 11, TOK-S10b 10",
        version="draft-check-first",
        profile=Profile.QUICK,
        trace="TOK-S5 forwarded-write",
    ),
    run(
        "1 client, forwarded writes, commit offset inside only",
        "clients=1 torn_reads=off forwarded_writes=on committed_token=on",
        43_151,
        22,
        "TOK-S2b 7, TOK-S5 11, TOK-S10b 10",
        version="draft-check-first",
    ),
    run(
        "1 client, forwarded writes, inner cache token",
        "clients=1 torn_reads=off forwarded_writes=on write_token=inner",
        47_049,
        22,
        "TOK-S2b 7, TOK-S5 11, TOK-S10b 10",
        version="draft-check-first",
        trace="TOK-S5 forwarded-write-inner-cache",
    ),
    run(
        "1 client, forwarded writes, inner commit offset",
        "clients=1 torn_reads=off forwarded_writes=on write_token=inner committed_token=on",
        28_136,
        22,
        "TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
    ),
    run(
        "1 client, forwarded writes, broker waits",
        "clients=1 torn_reads=off forwarded_writes=on write_token=wait",
        29_065,
        22,
        "TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
    ),
    run(
        "1 client, direct writes",
        "clients=1 torn_reads=off direct_writes=on",
        38_003,
        22,
        "TOK-S2b 7, TOK-S5 11, TOK-S10b 10",
        version="draft-check-first",
        trace="TOK-S5 direct-write",
    ),
    run(
        "1 client, direct writes, commit offset",
        "clients=1 torn_reads=off direct_writes=on committed_token=on",
        22_237,
        22,
        "TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
    ),
    run(
        "1 client, direct writes, controller's cache in step",
        "clients=1 torn_reads=off direct_writes=on controller_lags=off",
        6_536,
        21,
        "TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
    ),
    run(
        "1 client, forwarded writes and a foreign context",
        "clients=1 torn_reads=off forwarded_writes=on foreign_contexts=1 offsets=2",
        8_642,
        20,
        "TOK-S2b 7, TOK-S5 11, TOK-S10b 10, Q16 5",
        version="draft-check-first",
    ),
    run(
        "1 client, forwarded writes and a foreign context, errors not stored",
        "clients=1 torn_reads=off forwarded_writes=on foreign_contexts=1 offsets=2 stores_errors=off",
        8_642,
        20,
        "TOK-S2b 7, TOK-S5 11, TOK-S10b 10",
        version="draft-check-first",
    ),
    run(
        "1 client, forwarded writes, a foreign context and an old broker",
        "clients=1 torn_reads=off forwarded_writes=on foreign_contexts=1 offsets=2 old_nodes=1 stores_errors=off",
        18_174,
        22,
        "TOK-S1 13, TOK-S1b 13, TOK-S2b 7, TOK-S5 11, TOK-S7 5",
        version="draft-check-first",
        never=OLD,
    ),
    # Two clients of one factory
    run(
        "2 clients",
        "clients=2 torn_reads=off",
        344_233,
        27,
        "TOK-S1b 13, TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
        profile=Profile.QUICK,
        trace="TOK-S1b two-in-flight",
    ),
    run(
        "2 clients, late answers dropped",
        "clients=2 torn_reads=off rejects_late=on",
        344_233,
        27,
        "TOK-S1b 13, TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
        trace="TOK-S1b two-in-flight-filter",
    ),
    run(
        "2 clients, one image",
        "clients=2 torn_reads=off token_read=pinned",
        40_120,
        23,
        "TOK-S1b 9",
        version="draft-check-first",
    ),
    run(
        "2 clients, one image, late answers dropped",
        "clients=2 torn_reads=off token_read=pinned rejects_late=on",
        48_756,
        23,
        version="draft-check-first",
    ),
    run(
        "2 clients, token before body, late answers dropped, to offset 2",
        "clients=2 torn_reads=off token_read=before rejects_late=on offsets=2",
        168_076,
        30,
        "TOK-S1 15, TOK-S1b 15, TOK-S2 8, TOK-S2b 8",
        version="draft-check-first",
    ),
    run(
        "2 clients, store in two steps, to offset 2",
        "clients=2 torn_reads=off atomic_store=off offsets=2",
        126_611,
        40,
        "TOK-S1 21, TOK-S1b 15, TOK-S2b 7, TOK-S8 15, TOK-S10b 11",
        version="draft-check-first",
        trace="TOK-S8 store-in-two-steps, TOK-S1 store-in-two-steps-read",
    ),
    run(
        "2 clients, reset, to offset 2",
        "clients=2 torn_reads=off resets=on offsets=2",
        65_315,
        25,
        "TOK-S1b 13, TOK-S2b 7, TOK-S8 7, TOK-S10b 10",
        version="draft-check-first",
    ),
    # Two processes
    run(
        "2 processes, to offset 2",
        "clients=2 torn_reads=off one_store=off exports=on offsets=2",
        2_181_830,
        42,
        "TOK-S2b 7, TOK-S10b 10",
        version="draft-check-first",
    ),
    run(
        "2 processes, an old broker, to offset 1",
        "clients=2 torn_reads=off one_store=off exports=on offsets=1 old_nodes=1",
        171_099,
        38,
        "TOK-S1 13, TOK-S1b 13, TOK-S2b 7, TOK-S9 15",
        version="draft-check-first",
        trace="TOK-S9 old-broker-import",
        never=OLD,
    ),
    # The repaired draft
    run("2 clients", "clients=2", 48_756, 23, version="repaired", profile=Profile.QUICK),
    run(
        "2 clients, restart, reads from the controller",
        "clients=2 restarts=1 controller_serves_reads=on",
        226_850,
        23,
        version="repaired",
    ),
    run("2 clients, component", "clients=2 component_reads=on", 2_634_797, 26, "TOK-S10 8", version="repaired"),
    run(
        "2 clients, writes", "clients=2 forwarded_writes=on direct_writes=on", 2_770_940, 28, "TOK-S10b 11", version="repaired"
    ),
    run("2 clients, Produce", "clients=2 unlisted_requests=on", 342_933, 23, "TOK-S10b 8", version="repaired"),
    run(
        "2 clients, writes and a foreign context, to offset 2",
        "clients=2 forwarded_writes=on foreign_contexts=1 offsets=2",
        219_651,
        25,
        "TOK-S10b 11",
        version="repaired",
    ),
    run("2 clients, an old broker that is upgraded", "clients=2 old_nodes=1 restarts=1", 504_559, 27, version="repaired"),
    run("2 processes", "clients=2 one_store=off exports=on", 2_944_725, 33, version="repaired"),
    run(
        "2 clients, everything, to offset 2",
        "clients=2 component_reads=on forwarded_writes=on direct_writes=on controller_serves_reads=on unlisted_requests=on offsets=2",
        15_641_513,
        28,
        "TOK-S10 8, TOK-S10b 8",
        version="repaired",
        profile=Profile.FULL,
    ),
)

cases = casebook(RUNS, PROPERTY)
