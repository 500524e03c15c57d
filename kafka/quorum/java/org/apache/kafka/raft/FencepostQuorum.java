package org.apache.kafka.raft;

import fencepost.Loop;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.message.BeginQuorumEpochResponseData;
import org.apache.kafka.common.message.VoteResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.raft.errors.NotLeaderException;

/** A quorum of nodes in one process, and the messages between them, which are delivered only on command. */
public final class FencepostQuorum implements Loop.Driven {
    private static final int MOST_ROUNDS = 12;

    private final List<FencepostNode> nodes = new ArrayList<>();
    private final Map<Integer, FencepostFetch> late = new HashMap<>();
    private int lastLate;
    private int written;
    private int bootstrap;

    public static void main(String[] arguments) throws Exception {
        Loop.run(arguments[0], new FencepostQuorum());
    }

    @Override
    public void act(String action, int[] n) {
        switch (action) {
            case "reset": reset(n[0], n[1], n[2]); break;
            case "elect": elect(n[0], n[1]); break;
            case "stand": stand(node(n[0])); break;
            case "vote": vote(node(n[0]), node(n[1])); break;
            case "win": win(node(n[0])); break;
            case "hear-nothing": stopFollowing(node(n[0])); break;
            case "lose-leader": loseLeader(node(n[0])); break;
            case "resign": resign(node(n[0])); break;
            case "learn": learn(node(n[0]), node(n[1])); break;
            case "restart": restart(node(n[0]), false); break;
            case "wipe": restart(node(n[0]), true); break;
            case "append": append(node(n[0]), written + 1); written++; break;
            case "append-no-op": append(node(n[0]), n[1]); break;
            case "fetch": fetch(node(n[0]), node(n[1])); break;
            case "expire": expire(node(n[0])); break;
            case "take": take(node(n[0])); break;
            case "snapshot": node(n[0]).takeSnapshot(); break;
            case "load": load(node(n[0])); break;
            case "lose-answer": loseAnswer(node(n[0])); break;
            case "late": late(n[0]); break;
            case "lose": late.remove(n[0]); break;
            default: throw new IllegalArgumentException("an action that this driver does not know: " + action);
        }
    }

    private FencepostNode node(int id) {
        return nodes.get(id);
    }

    /** Node 0 leads in epoch 1, elected by the first voters, and no other node knows this. */
    private void reset(int size, int voters, int asked) {
        bootstrap = asked;
        nodes.clear();
        late.clear();
        lastLate = 0;
        written = 0;
        for (int id = 0; id < size; id++) {
            nodes.add(new FencepostNode(id, voters));
        }
        elect(0, (1 << (voters / 2 + 1)) - 1);
    }

    private boolean leads(FencepostNode node) {
        return node.failed.isEmpty() && node.quorum().isLeader();
    }

    /** If a node stops fetching, its last fetch may still be in flight. */
    private void leaveBehind(FencepostNode node, FencepostFetch fetch) {
        if (fetch != null && fetch.isSent() && !(fetch == node.fetch && node.quorum().epoch() == fetch.asked().currentLeaderEpoch())) {
            late.put(lastLate++, fetch);
        }
    }

    private void elect(int candidate, int electors) {
        List<FencepostNode> others = new ArrayList<>();
        QuorumState first = node(candidate).quorum();
        int seen = first.epoch() + (FencepostPreVote.asks() && first.isResigned() ? 1 : 0);
        Map<FencepostNode, FencepostFetch> fetches = new HashMap<>();
        for (FencepostNode node : nodes) {
            if ((electors >> node.id & 1) == 1) {
                seen = Math.max(seen, node.quorum().epoch());
                fetches.put(node, node.fetch);
                if (node.id != candidate) {
                    others.add(node);
                }
            }
        }
        for (FencepostNode elector : others) {
            hearNothing(elector, node(candidate));
        }
        win(node(candidate), others, seen + 1);
        fetches.forEach(this::leaveBehind);
    }

    /** Since 4.0, a node that hears from a leader grants no pre-vote, so the fetch timeout of such an elector must have expired. */
    private void hearNothing(FencepostNode elector, FencepostNode candidate) {
        if (FencepostPreVote.asks() && elector.quorum().epoch() >= candidate.quorum().epoch()) {
            if (elector.quorum().isFollower() && leader(elector) < 0) {
                elector.sleep(FencepostNode.FETCH_MS);
            }
        }
    }

    private void win(FencepostNode candidate, List<FencepostNode> electors, int epoch) {
        for (int round = 0; round < MOST_ROUNDS; round++) {
            if (candidate.quorum().isLeader() && candidate.quorum().epoch() == epoch) {
                return;
            }
            if (candidate.quorum().epoch() > epoch) {
                throw new Loop.Refused("it is in epoch " + candidate.quorum().epoch());
            }
            boolean asks = FencepostPreVote.isProspective(candidate.quorum()) || candidate.quorum().isCandidate();
            boolean early = candidate.quorum().isCandidate() && candidate.quorum().epoch() < epoch;
            if (asks && !(early && electors.stream().noneMatch(one -> one.quorum().epoch() > candidate.quorum().epoch()))) {
                Map<Integer, RaftRequest.Outbound> asked = new HashMap<>(candidate.votes);
                for (FencepostNode elector : electors) {
                    if (asked.containsKey(elector.id)) {
                        ask(candidate, elector, asked.get(elector.id));
                    }
                }
                candidate.replies.forEach((voter, reply) -> reply(asked.get(voter), reply));
                candidate.replies.clear();
                candidate.votes.clear();
                candidate.poll();
            } else {
                candidate.votes.clear();
                candidate.sleep(candidate.quorum().isLeader() ? FencepostNode.CHECK_QUORUM_MS : FencepostNode.FETCH_MS);
                candidate.poll();  // a resigned node immediately becomes prospective
            }
        }
        throw new Loop.Refused("it is not elected");
    }

    /** A vote request arrives. The answer is held with the candidate's other replies. */
    private void ask(FencepostNode candidate, FencepostNode voter, RaftRequest.Outbound request) {
        if (request == null) {
            throw candidate.votes.isEmpty() ? new Loop.Untried("no request for a vote is on its way") : new Loop.Refused("it gets no request");
        }
        RaftRequest.Inbound inbound = FencepostFetch.inbound(request, voter);
        inbound.completion.whenComplete((response, error) -> candidate.replies.put(voter.id, response));
        voter.client.handle(inbound);
        voter.poll();
    }

    private static void reply(RaftRequest.Outbound asked, RaftResponse.Outbound reply) {
        asked.completion.complete(new RaftResponse.Inbound(asked.correlationId(), reply.data(), asked.destination()));
    }

    private static boolean grants(RaftResponse.Outbound reply) {
        return ((VoteResponseData) reply.data()).topics().get(0).partitions().get(0).voteGranted();
    }

    private void stand(FencepostNode node) {
        FencepostFetch before = node.fetch;
        int epoch = node.quorum().epoch();
        for (int round = 0; round < MOST_ROUNDS && node.quorum().epoch() == epoch; round++) {
            node.replies.clear();
            node.votes.clear();
            node.sleep(FencepostNode.FETCH_MS);
        }
        leaveBehind(node, before);
        if (!node.quorum().isCandidate()) {
            throw new Loop.Refused("it is not a candidate");
        }
    }

    private void vote(FencepostNode voter, FencepostNode candidate) {
        FencepostFetch before = voter.fetch;
        ask(candidate, voter, candidate.votes.get(voter.id));
        leaveBehind(voter, before);
        if (!grants(candidate.replies.get(voter.id))) {
            candidate.replies.remove(voter.id);
        }
    }

    private void win(FencepostNode candidate) {
        candidate.replies.forEach((voter, reply) -> reply(candidate.votes.get(voter), reply));
        candidate.poll();
        if (!candidate.quorum().isLeader()) {
            throw new Loop.Refused("it has not won the election");
        }
        candidate.replies.clear();
    }

    /** A follower's fetch timeout expires. The fetch that it has sent may still arrive. */
    private void stopFollowing(FencepostNode node) {
        if (!node.quorum().isFollower()) {
            throw new Loop.Untried("it follows nobody");
        }
        FencepostFetch before = node.fetch;
        node.sleep(FencepostNode.FETCH_MS);
        node.fetch = null;
        leaveBehind(node, before);
    }

    /** The same for an observer, which then searches for the leader. */
    private void loseLeader(FencepostNode node) {
        stopFollowing(node);
        node.lost = true;
    }

    /** An observer that has lost its leader asks a bootstrap server: the leader itself, or a node that follows it. */
    private void find(FencepostNode node, FencepostNode leader) {
        int epoch = leader.quorum().epoch();
        int asked = (bootstrap >> leader.id & 1) == 1 ? leader.id : -1;
        for (FencepostNode one : nodes) {
            if (asked < 0 && (bootstrap >> one.id & 1) == 1 && leader(one) == leader.id) {
                asked = one.id;
            }
        }
        if (asked < 0) {
            throw new Loop.Untried("no bootstrap server knows the leader");
        }
        node.random.next = asked;
        node.sleep(FencepostNode.FETCH_MS);
        FencepostFetch sent = node.fetch;
        if (sent == null || sent.to != asked && sent.to != leader.id) {
            throw new Loop.Untried("it does not ask this node for the leader");
        }
        if (sent.to != leader.id || node.quorum().epoch() != epoch) {
            sent.deliver(node(sent.to));
            sent.request.completion.complete(sent.taken());
            node.poll();
            node.sleep(FencepostNode.REQUEST_MS / 2);
        }
        if (node.fetch.to != leader.id || node.quorum().epoch() != epoch) {
            node.fetch = null;
            throw new Loop.Refused("it asks bootstrap servers on");
        }
        node.lost = false;
    }

    private void resign(FencepostNode leader) {
        if (!leads(leader)) {
            throw new Loop.Untried("it does not lead");
        }
        leader.sleep(FencepostNode.CHECK_QUORUM_MS);
        if (!leader.quorum().isResigned()) {
            throw new Loop.Refused("it leads on");
        }
    }

    private void learn(FencepostNode node, FencepostNode leader) {
        FencepostFetch before = node.fetch;
        if (node.lost) {
            find(node, leader);
        } else if (node.quorum().isFollower() && node.quorum().epoch() == leader.quorum().epoch() && node.fetch == null) {
            node.poll();  // it finds its leader in its election state file
        } else if (FencepostPreVote.isProspective(node.quorum()) && node.quorum().leaderIdOrSentinel() == leader.id
                && node.quorum().epoch() == leader.quorum().epoch()) {
            node.sleep(FencepostNode.FETCH_MS);  // the pre-vote has failed
        } else if (node.votes()) {
            RaftRequest.Outbound begin = leader.begins.get(node.id);
            if (begin == null) {
                throw new Loop.Untried("no BeginQuorumEpoch is on its way");
            }
            begin(node, FencepostFetch.inbound(begin, node));
        } else {
            node.random.next = leader.id;
            if (node.quorum().isFollower() && node.fetch == null) {
                node.poll();  // it fetches from whom it has followed before it restarted; since 4.2 also when that is long ago
            }
            node.sleep(FencepostNode.FETCH_MS);
            if (node.fetch == before || node.fetch.to != leader.id) {
                throw new Loop.Untried("it does not ask this node for the leader");
            }
            node.fetch.deliver(leader);
            node.fetch.request.completion.complete(node.fetch.taken());
            node.poll();
        }
        leaveBehind(node, before);
    }

    private static void begin(FencepostNode node, RaftRequest.Inbound begin) {
        node.client.handle(begin);
        node.poll();
        BeginQuorumEpochResponseData answer = (BeginQuorumEpochResponseData) begin.completion.join().data();
        refuse(Errors.forCode(answer.topics().get(0).partitions().get(0).errorCode()));
    }

    private void restart(FencepostNode node, boolean loses) {
        FencepostFetch before = node.fetch;
        if (loses) {
            node.loseDisk();
        } else {
            node.start();
        }
        leaveBehind(node, before);
    }

    private void append(FencepostNode leader, int record) {
        try {
            leader.client.prepareAppend(leader.quorum().epoch(), List.of(String.valueOf(record)));
        } catch (NotLeaderException e) {
            throw new Loop.Refused("NOT_LEADER");
        }
        leader.client.schedulePreparedAppend();
        leader.poll();
    }

    private void fetch(FencepostNode leader, FencepostNode follower) {
        FencepostFetch fetch = follower.fetch;
        if (fetch == null || !fetch.isSent() || fetch.to != leader.id) {
            throw new Loop.Untried("no fetch to this node is on its way");
        }
        fetch.deliver(leader);
        refuse(fetch.error());
    }

    private static void refuse(Errors error) {
        if (error != Errors.NONE) {
            throw new Loop.Refused(error.name());
        }
    }

    private void expire(FencepostNode follower) {
        if (follower.fetch == null || !follower.fetch.isParked()) {
            throw new Loop.Untried("no fetch is parked");
        }
        follower.fetch.expire();
    }

    private void take(FencepostNode follower) {
        FencepostFetch fetch = answered(follower);
        fetch.request.completion.complete(fetch.taken());
        goOn(follower, "below the current high watermark");
    }

    private static FencepostFetch answered(FencepostNode follower) {
        if (follower.fetch == null || !follower.fetch.isAnswered()) {
            throw new Loop.Untried("no answer is there");
        }
        return follower.fetch;
    }

    /** Polls a node, which may stop permanently with an error that contains `reason`. */
    private static void goOn(FencepostNode node, String reason) {
        try {
            node.poll();
        } catch (KafkaException | IllegalArgumentException | IllegalStateException e) {
            if (!String.valueOf(e.getMessage()).contains(reason)) {
                throw e;
            }
            node.failed = e.getMessage();
        }
    }

    /** The follower learns which snapshot it needs and fetches the snapshot from the leader, until it fetches records again. */
    private void load(FencepostNode follower) {
        FencepostFetch fetch = answered(follower);
        FencepostNode leader = node(fetch.to);
        long end = follower.log.endOffset().offset();
        fetch.request.completion.complete(fetch.taken());
        follower.poll();
        while (follower.fetch == fetch && follower.failed.isEmpty()) {
            RaftRequest.Outbound request = follower.snapshotRequest;
            follower.snapshotRequest = null;
            if (request == null) {
                throw new Loop.Refused("it asks for no snapshot");
            }
            RaftRequest.Inbound inbound = FencepostFetch.inbound(request, leader);
            leader.client.handle(inbound);
            leader.poll();
            reply(request, inbound.completion.join());
            goOn(follower, "Full log truncation expected but didn't happen");
        }
        if (!follower.failed.isEmpty() && follower.log.latestSnapshotId().orElseThrow().offset() > end) {
            throw new Loop.Refused("MockLog takes a fetched snapshot for the end of an empty log");
        }
    }

    /** The follower's request timeout expires, and it fetches again. */
    private void loseAnswer(FencepostNode follower) {
        FencepostFetch fetch = answered(follower);
        follower.random.next = fetch.to;
        follower.sleep(FencepostNode.REQUEST_MS);
        if (follower.fetch == fetch || follower.fetch.to != fetch.to) {
            throw new Loop.Untried("it does not ask this node again");
        }
    }

    private void late(int number) {
        FencepostFetch fetch = late.remove(number);
        if (fetch == null) {
            throw new Loop.Untried("the fetch is not there");
        }
        fetch.deliver(node(fetch.to));
        refuse(fetch.error());
    }

    @Override
    public String state() {
        List<String> shown = new ArrayList<>();
        nodes.forEach(node -> shown.add(shown(node)));
        List<String> left = new ArrayList<>();
        late.forEach((number, fetch) -> left.add(
            "[" + number + "," + fetch.to + "," + fetch.from + "," + fetch.asked().currentLeaderEpoch() + ","
                + fetch.asked().fetchOffset() + "," + fetch.asked().lastFetchedEpoch() + "]"));
        return "{\"written\":" + written + ",\"nodes\":[" + String.join(",", shown) + "],\"late\":[" + String.join(",", left) + "]}";
    }

    private String shown(FencepostNode node) {
        QuorumState quorum = node.quorum();
        List<String> log = new ArrayList<>();
        node.entries().forEach(entry -> log.add("[" + entry[0] + "," + entry[1] + "]"));
        List<String> known = new ArrayList<>();
        int granted = 0;
        if (quorum.isLeader()) {
            LeaderState<String> state = quorum.leaderStateOrThrow();
            state.voterStates().forEach((voter, replica) -> replica.endOffset().ifPresent(end -> {
                if (voter != node.id) {
                    known.add("[" + voter + "," + end.offset() + "]");
                }
            }));
        }
        if (quorum.isCandidate()) {
            granted = 1 << node.id;
            for (Map.Entry<Integer, RaftResponse.Outbound> reply : node.replies.entrySet()) {
                granted |= grants(reply.getValue()) ? 1 << reply.getKey() : 0;
            }
        }
        return "{\"role\":" + (quorum.isLeader() ? 2 : quorum.isCandidate() ? 1 : quorum.isResigned() ? 3 : 0)
            + ",\"epoch\":" + quorum.epoch()
            + ",\"leader\":" + leader(node)
            + ",\"voted\":" + (quorum.hasLeader() ? -2 : node.votedFor())
            + ",\"granted\":" + granted
            + ",\"fetched\":" + (FencepostPreVote.refuses(quorum) ? 1 : 0)
            + ",\"lost\":" + (node.lost && leader(node) < 0 ? 1 : 0)
            + ",\"active\":" + (node.active ? 1 : 0)
            + ",\"failed\":" + (node.failed.isEmpty() ? 0 : 1)
            + ",\"first\":" + node.log.startOffset()
            + ",\"log\":[" + String.join(",", log) + "]"
            + ",\"hw\":" + quorum.highWatermark().map(LogOffsetMetadata::offset).orElse(-1L)
            + ",\"start\":" + (quorum.isLeader() ? quorum.leaderStateOrThrow().epochStartOffset() : 0)
            + ",\"known\":[" + String.join(",", known) + "]"
            + ",\"fetch\":" + (node.fetch == null ? "[0]" : node.fetch.state()) + "}";
    }

    /** Returns the node from which a node fetches, if that node leads in its epoch. */
    private int leader(FencepostNode node) {
        if (!node.quorum().isFollower() || node.fetch == null || node.fetch.asked().currentLeaderEpoch() != node.quorum().epoch()) {
            return -1;
        }
        FencepostNode leader = node(node.fetch.to);
        return leads(leader) && leader.quorum().epoch() == node.quorum().epoch() ? leader.id : -1;
    }
}
