"""What the runs of metadata reads settle: guarantees, the hypothesis on components, and the questions on the draft."""

from __future__ import annotations

from fencepost.invariants.catalogue import Evidence
from fencepost.invariants.runs import tokens, tokens_in_order
from fencepost.invariants.runs.client_rows import casebook

RUNS = (*tokens.RUNS, *tokens_in_order.RUNS)
cases = casebook(RUNS, tokens.PROPERTY)

_BROKEN = "broken"

_MONOTONIC = """
    draft 1 client, one read: TOK-S1
    draft 1 client, one image: TOK-S1
    draft-check-first 1 client, one read: TOK-S1
    draft-check-first 2 clients: TOK-S1
    draft-check-first 1 client, token before body: TOK-S1
    draft-check-first 1 client, component: TOK-S1
    draft-check-first 1 client, an old broker: TOK-S1
    repaired 2 clients: TOK-S1
    repaired 2 clients, component: TOK-S1
"""
_OWN_WRITES = """
    draft 1 client, forwarded writes: TOK-S5
    draft 1 client, direct writes: TOK-S5
    draft-check-first 1 client, forwarded writes: TOK-S5
    draft-check-first 1 client, direct writes: TOK-S5
    draft-check-first 1 client, forwarded writes, inner commit offset: TOK-S5
    draft-check-first 1 client, direct writes, commit offset: TOK-S5
    draft-check-first 2 calls in order, one broker, forwarded writes, to offset 2: TOK-S5
    repaired 2 clients, writes: TOK-S5
    repaired 1 client, forwarded writes, an old broker, to offset 2: TOK-S5
"""
_READ_LITERALLY = (
    "As written, handled first and checked afterwards, the draft breaks it with one client and one call at a time: the body is read, "
    "the cache moves on, and the check passes for the newer cache. With the checks first it holds for what is read from the cache."
)
_WRITES = (
    "The draft does not promise it in so many words, its Factory example does. A token read from a cache breaks it, of the broker "
    "that forwarded the write and of the controller's node too; the controller's commit offset keeps it. One connection to one broker is "
    "enough to break it. The repair takes upgraded brokers: an old one answers a write without a token, and a write cannot be made again for that."
)

GUARANTEES: tuple[Evidence, ...] = (
    Evidence("G-S10", cases(_MONOTONIC), answer=_READ_LITERALLY, verdict=_BROKEN),
    Evidence("G-S11", cases(_OWN_WRITES), answer=_WRITES, verdict=_BROKEN),
    Evidence("TOK-S1", cases(_MONOTONIC), answer=_READ_LITERALLY, verdict=_BROKEN),
    Evidence(
        "TOK-S1b",
        cases("""
            draft 2 clients, to offset 2: TOK-S1b
            draft-check-first 2 clients: TOK-S1b
            draft-check-first 2 clients, late answers dropped: TOK-S1b
            draft-check-first 2 clients, token before body, late answers dropped, to offset 2: TOK-S1b
            draft-check-first 2 clients, one image: TOK-S1b
            draft-check-first 2 clients, one image, late answers dropped: TOK-S1b
            repaired 2 clients: TOK-S1b
        """),
        answer="Two calls in flight are enough to break it. It takes two changes to keep it: one image for body and token, and a "
        "client that drops an answer whose token is below its store's. Neither is enough alone.",
        verdict=_BROKEN,
    ),
    Evidence(
        "TOK-S2",
        cases("""
            draft 1 client: TOK-S2
            draft-check-first 2 clients: TOK-S2
            draft-check-first 1 client, component: TOK-S2
            draft-check-first 1 client, token before body: TOK-S2
            draft-check-first 1 client, cache last: TOK-S2
            repaired 2 clients, component: TOK-S2
        """),
        answer="Reading the offset after the body is right for this. Where a component runs ahead of the cache, the cache's offset "
        "does not cover it.",
    ),
    Evidence(
        "TOK-S2b",
        cases("""
            draft-check-first 1 client, one read: TOK-S2b
            draft-check-first 1 client, token before body: TOK-S2b
            draft-check-first 1 client, one image: TOK-S2b
            repaired 2 clients: TOK-S2b
            repaired 2 clients, component: TOK-S2b
        """),
        answer="Only one image for body and token gives it.",
        verdict=_BROKEN,
    ),
    Evidence(
        "TOK-S3",
        cases("draft 1 client: TOK-S3\ndraft-check-first 1 client: TOK-S3\nrepaired 2 clients: TOK-S3"),
        answer="A handler that reads the cache several times, as the Metadata handler does, mixes two offsets in one body.",
        verdict=_BROKEN,
    ),
    Evidence(
        "TOK-S4",
        cases("draft 1 client: TOK-S4\nrepaired 2 clients, writes: TOK-S4\ndraft-check-first 1 client, a rebuilt log: TOK-S4"),
        answer="It fails only where the metadata log itself is lost.",
    ),
    Evidence("TOK-S5", cases(_OWN_WRITES), answer=_WRITES, verdict=_BROKEN),
    Evidence(
        "TOK-S6",
        cases("""
            draft-check-first 1 client, forwarded writes: TOK-S6
            repaired 2 clients, writes: TOK-S6
            draft-check-first 1 client, a rebuilt log: TOK-S6
        """),
        answer="The controller orders writes, tokens play no part. It fails only where the metadata log itself is lost. Validation on "
        "the forwarding broker is not modelled.",
    ),
    Evidence(
        "TOK-S7",
        cases("""
            draft 1 client, forwarded writes and a foreign context: TOK-S7
            draft-check-first 1 client, forwarded writes and a foreign context: TOK-S7
            draft-check-first 1 client, forwarded writes, a foreign context and an old broker: TOK-S7
            repaired 2 clients, writes and a foreign context, to offset 2: TOK-S7
            repaired 2 clients, writes and a foreign context: TOK-S7
        """),
        answer="Handled first, a write takes effect on the wrong cluster and is refused afterwards. With the checks first it holds, "
        "once no broker is left that does not know the header.",
        verdict=_BROKEN,
    ),
    Evidence(
        "TOK-S8",
        cases("""
            draft-check-first 2 clients: TOK-S8
            draft-check-first 2 clients, store in two steps, to offset 2: TOK-S8
            draft-check-first 2 clients, reset, to offset 2: TOK-S8
            repaired 2 clients, writes and a foreign context, to offset 2: TOK-S8
        """),
        answer="Holds if storeLatest compares and stores in one step. That it returns true exactly if it has changed something is "
        "tested on the store's functions.",
    ),
    Evidence(
        "TOK-S9",
        cases("""
            draft 2 processes, to offset 1: TOK-S9
            draft-check-first 2 processes, to offset 1: TOK-S9
            draft-check-first 2 processes, an old broker, to offset 1: TOK-S9
            draft-check-first 2 processes, one broker, forwarded writes, to offset 1: TOK-S9
            repaired 2 processes: TOK-S9
            repaired 2 processes, writes, to offset 1: TOK-S9
        """),
        answer="For what was read it holds where monotonic reads hold: as written, handled first and checked afterwards, it fails as they do, "
        "and with a broker that knows no tokens. For what was written it holds where own writes are read: a context that is exported after a "
        "forwarded write does not cover that write.",
        verdict=_BROKEN,
    ),
    Evidence(
        "TOK-S10",
        cases("""
            draft 1 client, one read: TOK-S10, TOK-S10b
            draft-check-first 1 client, one read: TOK-S10, TOK-S10b
            draft-check-first 1 client, one image: TOK-S10, TOK-S10b
            draft-check-first 1 client, component offsets: TOK-S10
            repaired 2 clients: TOK-S10, TOK-S10b
        """),
        answer="As the sentence is worded it holds. But a token that was read after the body asks for more than the client has seen, so "
        "a server may be refused that shows exactly that; with one image this does not happen. With a component's own offset the "
        "server's cache may be up to date and the component not: then the answer is STALE_METADATA, rightly.",
    ),
)

LIVE: tuple[Evidence, ...] = (
    Evidence(
        "TOK-L1",
        cases("""
            draft 1 client, in the end: TOK-L1
            draft 1 client, a broker cut off, in the end: TOK-L1
            draft-check-first 1 client, in the end: TOK-L1
            draft-check-first 1 client, a broker cut off, in the end: TOK-L1, TOK-L1b
            draft-check-first 2 clients, a broker cut off, idle connections first, to offset 1, in the end: TOK-L1b
            draft-check-first 1 client, a broker cut off, another one next, in the end: TOK-L1
            draft-check-first 1 client, servers wait, a broker cut off, in the end: TOK-L1b
            draft-check-first 1 client, a wrong context, in the end: TOK-L1b
            repaired 1 client, component, in the end: TOK-L1
            repaired 2 clients, in the end: TOK-L1
            repaired 2 clients, a broker cut off, another one next, in the end: TOK-L1
        """),
        answer="Holds while every server gets metadata. With a broker that is cut off a client may ask just that one for ever; a rule that it "
        "asks another server after STALE_METADATA is enough. Choosing the idle connection first, as leastLoadedNode does, is the opposite.",
        verdict=_BROKEN,
    ),
    Evidence(
        "TOK-Q1",
        cases("""
            draft-check-first 1 client, servers wait, in the end: TOK-Q1
            draft-check-first 1 client, in the end: TOK-Q1
            draft-check-first 1 client, servers wait, a broker cut off, in the end: TOK-Q1
            repaired 2 clients, in the end: TOK-Q1
            repaired 2 clients, backoff, late answers taken, in the end: TOK-Q1
        """),
        answer="In offsets that the server has to catch up with, not in time: a read waits for no more of them than its server lags, "
        "unless the server gets no metadata. This is so each time that it is sent. Two clients that drop late answers exceed the log's "
        "last offset: client 0 waits at one broker for two offsets, drops the answer since client 1 has stored a newer token "
        "meanwhile, and waits for two more at the other broker, four in all of three. Taking late answers, it waits for three.",
    ),
    Evidence(
        "TOK-Q2",
        cases("""
            draft-check-first 1 client, in the end: TOK-Q2
            draft-check-first 1 client, servers wait, in the end: TOK-Q2
            draft-check-first 1 client, a broker cut off, another one next, in the end: TOK-Q2
            draft 1 client, backoff, in the end: TOK-Q2
            draft-check-first 1 client, backoff, in the end: TOK-Q2
            draft-check-first 1 client, backoff, to offset 4, in the end: TOK-Q2
            draft-check-first 2 clients, backoff, to offset 2, in the end: TOK-Q2
            draft-check-first 1 client, backoff, a broker cut off, in the end: TOK-Q2
            draft-check-first 1 client, backoff, a broker cut off, another one next, in the end: TOK-Q2
            draft-check-first 1 client, backoff, restart, to offset 2, in the end: TOK-Q2
            draft-check-first 1 client, backoff, restart from an older snapshot, to offset 2, in the end: TOK-Q2
            repaired 1 client, component, backoff, in the end: TOK-Q2
            repaired 2 clients, backoff, late answers taken, in the end: TOK-Q2
            repaired 2 clients, backoff, in the end: TOK-Q2
        """),
        answer="An error at once has no bound without a backoff, which the draft does not mention; a server that waits needs no retry. "
        "The model has no clock: lag is counted in offsets, and a backoff lasts as long as each server that lags takes to get on by one "
        "or more. Then a read is sent again at most once for each offset of the lag, and the worst case takes all of them. Not with a "
        "broker that is cut off, whose lag never ends, unless the client asks another one next; nor with a restart, "
        "which costs a retry of its own, and adds to the lag if the server comes back with an older snapshot. A client that drops late answers reads again for each of them besides.",
        verdict=_BROKEN,
    ),
)

HYPOTHESES: tuple[Evidence, ...] = (
    Evidence(
        "HYP-5",
        cases("""
            draft-check-first 1 client, component only: TOK-S1
            draft-check-first 1 client, component: TOK-S1
            draft-check-first 1 client, one read: TOK-S1
            draft-check-first 1 client, component only, cache last: TOK-S1, TOK-S2
            draft-check-first 1 client, component only, component offsets: TOK-S1
            draft-check-first 1 client, component offsets: TOK-S1
            draft-check-first 1 client, component offsets and cache last: TOK-S1
            repaired 2 clients, component: TOK-S1
        """),
        answer="Confirmed in the model. Publishing the cache last does not repair it: the component is then ahead of the cache, and the "
        "cache's offset does not cover the body. Comparing and returning the component's own offset does, in either order. Not shown "
        "on a running Kafka, to which the draft has not been added.",
        verdict="confirmed",
    ),
)

QUESTIONS: tuple[Evidence, ...] = (
    Evidence(
        "Q10",
        cases("""
            draft 1 client, one read: TOK-S1
            draft 1 client, servers wait: TOK-S1
            draft-check-first 1 client, one read: TOK-S1
            draft 1 client, one image: TOK-S1
            draft 1 client, forwarded writes and a foreign context: TOK-S7
            draft-check-first 1 client, forwarded writes and a foreign context: TOK-S7
        """),
        answer="It must check first. Handled first, waiting does not help either: what is sent after the wait was read before it. A write changes the wrong cluster, and a read shows older metadata than before: the "
        "cache moves between the body and the check. For reads one image for all three makes the order irrelevant.",
    ),
    Evidence(
        "Q11",
        cases("""
            draft-check-first 1 client, forwarded writes: TOK-S5
            draft-check-first 1 client, forwarded writes, commit offset inside only: TOK-S5
            draft-check-first 1 client, forwarded writes, inner cache token: TOK-S5
            draft-check-first 1 client, forwarded writes, inner commit offset: TOK-S5
            draft-check-first 1 client, forwarded writes, broker waits: TOK-S5
            draft-check-first 1 client, one broker, component, forwarded writes, inner commit offset, to offset 2: TOK-S5
            draft-check-first 1 client, one broker, component, forwarded writes, broker waits, to offset 2: TOK-S5
            repaired 1 client, component and forwarded writes, to offset 2: TOK-S5
            draft-check-first 1 client, direct writes: TOK-S5
            draft-check-first 1 client, direct writes, commit offset: TOK-S5
            draft-check-first 1 client, direct writes, controller's cache in step: TOK-S5
        """),
        answer="The commit offset, taken by the controller and passed on by the broker: each half alone fails. Or the broker waits for "
        "its cache to show the write before it answers. Neither is enough for what is read from a component, such as the ACLs of the draft's own "
        "example: that takes the component's own offset too. The same holds for writes to the controller itself, whose cache lags behind "
        "what it has answered.",
    ),
    Evidence(
        "Q12",
        cases("""
            draft-check-first 1 client, one read: TOK-S1, TOK-S2, TOK-S2b
            draft-check-first 1 client: TOK-S3
            draft-check-first 1 client, token before body: TOK-S1, TOK-S2
            draft-check-first 2 clients, late answers dropped: TOK-S1b
            draft-check-first 2 clients, one image, late answers dropped: TOK-S1, TOK-S1b, TOK-S2b, TOK-S3
        """),
        answer="After the body is enough for what the draft does with the token, if the check comes first. It is not enough for a client "
        "that wants to recognize late answers, and bodies remain mixed: one image gives all of it.",
    ),
    Evidence(
        "Q13",
        cases("""
            draft-check-first 2 clients: TOK-S1, TOK-S1b
            repaired 2 clients: TOK-S1, TOK-S1b
            draft-check-first 2 clients, one broker: TOK-S1b
            draft 2 calls in order, one broker: TOK-S1, TOK-S1b
            draft 2 calls in order, one broker, restart, to offset 2: TOK-S1, TOK-S1b
            draft 2 calls in order, one broker, restart from an older snapshot, to offset 2: TOK-S1, TOK-S1b
            draft-check-first 2 calls in order, one broker: TOK-S1, TOK-S1b
            draft-check-first 2 calls in order, one broker, restart: TOK-S1, TOK-S1b
            draft-check-first 2 calls in order, one broker, restart from an older snapshot: TOK-S1, TOK-S1b
            draft-check-first 2 calls in order, one broker, component only, restart, to offset 2: TOK-S1
            draft-check-first 1 client, one broker, component: TOK-S1
            draft-check-first 2 calls in order, store in two steps, one broker, to offset 1: TOK-S1, TOK-S8
            draft 2 calls in order, to offset 2: TOK-S1, TOK-S1b
            draft-check-first 2 calls in order, to offset 2: TOK-S1, TOK-S1b
            draft-check-first 2 calls in order, late answers dropped, to offset 2: TOK-S1b
            draft-check-first 2 calls in order, one image: TOK-S1b
            draft-check-first 2 calls in order, store in two steps, to offset 1: TOK-S1, TOK-S8
            repaired 2 calls in order: TOK-S1, TOK-S1b
        """),
        answer="By the draft's mechanism for calls that do not overlap only. In the order of delivery it fails with two calls in flight. "
        "That a connection keeps the order of its requests helps where there is one connection, to one broker; two connections are "
        "enough to break it again, of two clients to one broker, or of one client to two.",
    ),
    Evidence(
        "Q14",
        cases("""
            draft-check-first 1 client, in the end: TOK-L1, TOK-Q1, TOK-Q2
            draft-check-first 1 client, servers wait, in the end: TOK-L1, TOK-Q1, TOK-Q2
            draft-check-first 1 client, a broker cut off, in the end: TOK-L1
            draft-check-first 1 client, a broker cut off, another one next, in the end: TOK-L1
            draft-check-first 1 client, servers wait, a broker cut off, in the end: TOK-L1b
            draft-check-first 2 clients, Produce, servers wait, a broker cut off, in the end: Q14
            draft-check-first 2 calls in order, Produce, servers wait, a broker cut off, in the end: Q14
            draft-check-first 2 calls in order, Produce, servers wait, in the end: Q14
            draft-check-first 2 calls in order, Produce, a broker cut off, in the end: Q14
        """),
        answer="An error at once, with the rule that the client asks another server next. A wait spares the retries, and hangs on a broker "
        "that gets no metadata until somebody's timeout; whose, the draft does not say, and most requests carry none. It holds "
        "up what is behind it on its connection as well: a Produce whose token nobody compares waits for the metadata of the read before it.",
    ),
    Evidence(
        "Q15",
        cases("draft-check-first 1 client, component: TOK-S1\ndraft-check-first 1 client, component offsets: TOK-S1"),
        answer="Five of the ten read something that is fed after the cache: the authorizer, the dynamic configuration of brokers, the "
        "replica manager, delegation tokens and client metrics. For these the check against the cache promises nothing.",
    ),
    Evidence(
        "Q16",
        cases("""
            draft-check-first 1 client, forwarded writes and a foreign context: Q16
            draft-check-first 1 client, forwarded writes and a foreign context, errors not stored: Q16
        """),
        answer="It must be ignored. The context of an INCONSISTENT_CLUSTER_ID names the other cluster, and storeLatest throws "
        "IllegalArgumentException where no user can catch it. The context of STALE_METADATA can never change a store.",
    ),
    Evidence(
        "Q17",
        cases("draft-check-first 1 client, half headers: TOK-S1\ndraft-check-first 1 client, one read: TOK-S1"),
        answer="ConsistencyContext.of admits neither half, so a client can only treat it as unknown; then reads are as unprotected as "
        "without tokens. So a server must always fill both. Rejecting such answers is what the client does with untokened ones (Q19).",
    ),
    Evidence(
        "Q18",
        cases("""
            draft-check-first 1 client, a wrong context, in the end: TOK-L1b
            draft-check-first 1 client, a wrong context and resets, in the end: TOK-L1b
            draft-check-first 1 client, a rebuilt log, in the end: TOK-L1b, Q18
            draft-check-first 1 client, a rebuilt log and resets, in the end: TOK-L1b, Q18
            draft-check-first 1 client, a foreign context, in the end: Q18
            draft-check-first 1 client, a foreign context and resets, in the end: Q18
            draft-check-first 2 clients, reset, to offset 2: TOK-S8
        """),
        answer="It must be resettable: a store with a token that nobody has reached, or with the id of a cluster that is no more, fails every "
        "call for ever. A reset is the one thing that lowers a token, and so it has to be an operation of its own that begins a new session.",
    ),
    Evidence(
        "Q19",
        cases("""
            draft-check-first 1 client, an old broker: TOK-S1
            draft-check-first 1 client, an old broker refused: TOK-S1
            draft-check-first 1 client, an old broker refused, in the end: TOK-L1, TOK-L1b
            repaired 1 client, forwarded writes, an old broker, to offset 2: TOK-S5
            repaired 2 clients, an old broker that is upgraded: TOK-S1, TOK-S1b
        """),
        answer="Accepting answers without a token gives up monotonic reads until the last broker is upgraded. Refusing them keeps "
        "it, as long as some new broker can be reached. It does not keep own writes: the answer to a write that an old broker has forwarded has no "
        "token, and a client cannot refuse it, since the write is done.",
    ),
    Evidence(
        "Q20",
        cases("""
            draft-check-first 1 client, a rebuilt log: TOK-S4, TOK-S6
            draft-check-first 1 client, a rebuilt log, in the end: TOK-L1b
        """),
        answer="The draft assumes it, and everything rests on it: once the log is lost and begun anew, tokens are above every server's offset, "
        "and reads with them fail until the new log has grown past the old one.",
    ),
    Evidence(
        "Q21",
        cases("""
            draft-check-first 1 client, Produce: Q21
            draft-check-first 1 client, Produce checked: Q21
            draft-check-first 1 client, forwarded writes, Produce checked, to offset 2: Q21
            repaired 1 client, writes and Produce, to offset 2: Q21
        """),
        answer="A client that has read a topic's metadata may be told by the next broker that the topic is unknown. Checking the token of "
        "these requests too closes it. The same client may have created the topic itself; then it takes the token of the write too (Q11).",
    ),
    Evidence(
        "Q22",
        cases("""
            draft-check-first 2 clients, store in two steps, to offset 2: TOK-S8, TOK-S1
            draft-check-first 2 clients: TOK-S8, TOK-S1
        """),
        answer="It is part of the contract: with a read, a comparison and a write as separate steps a larger token is lost, and a later "
        "read goes back.",
    ),
)

CROSS: tuple[Evidence, ...] = (
    Evidence(
        "Q52",
        cases("draft-check-first 1 client, servers wait, in the end: TOK-Q1"),
        answer="A read waits for its server's lag and no more, with or without KIP-1166. How long that lag is in time is what K1166-Q1 and "
        "K1166-Q2 are about; both parts are needed for a bound in milliseconds.",
    ),
    Evidence(
        "Q53",
        cases("""
            draft-check-first 1 client, Produce: Q53
            draft-check-first 1 client, Produce without tokens: Q53
            draft 1 client, Produce: Q53
            repaired 2 clients, Produce: Q53
        """),
        answer="It does, as long as the answers that carry hints carry tokens too, which the draft has for every response, and the request is "
        "checked first: then metadata that passes the check is at least as new as the hint. Without tokens in them a later Metadata answer "
        "may show the older epoch, and KIP-951's own rule (K951-S2) is all that keeps the leader. The other way round nothing is promised: a "
        "hint may be older than what the session has read (Q21).",
    ),
)

EVIDENCE: tuple[Evidence, ...] = (*GUARANTEES, *LIVE, *HYPOTHESES, *QUESTIONS, *CROSS)

__all__ = ["EVIDENCE", "RUNS"]
