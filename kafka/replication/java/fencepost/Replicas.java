package fencepost;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

/** A leader's data on itself and its followers, and a way to let time pass for only one of them. */
final class Replicas {
    private static final long LAG = 30_000;
    private static final long LONG_AGO = Fakes.NOW - 10 * LAG;

    private Replicas() { }

    private static Object replica(Broker leader, int follower) {
        Object found = Scala.value(leader.partition().getReplica(follower));
        if (found == null) {
            throw new World.Untried("the leader knows no replica " + follower);
        }
        return found;
    }

    @SuppressWarnings("unchecked")
    private static AtomicReference<Object> cell(Object replica) {
        return (AtomicReference<Object>) Reflect.get(replica, "replicaState");
    }

    /** Backdates the fetch that the leader has just handled, so that much time passes before the next one. */
    static void pass(Broker leader, int follower) {
        Object found = leader.found() == null ? null : Scala.value(leader.found().getReplica(follower));
        if (found != null) {
            AtomicReference<Object> cell = cell(found);
            cell.set(with(cell.get(), Map.of("lastFetchTimeMs", LONG_AGO)));
        }
    }

    /** Returns a copy of ReplicaState with last caught-up time `caughtUp`, and a last fetch time that is not later. */
    private static Object at(Object state, long caughtUp) {
        long fetched = Math.min(Reflect.number(Reflect.call(state, "lastFetchTimeMs")), caughtUp);
        return with(state, Map.of("lastCaughtUpTimeMs", caughtUp, "lastFetchTimeMs", fetched));
    }

    private static Object with(Object state, Map<String, Long> changed) {
        try {
            Constructor<?> constructor = state.getClass().getDeclaredConstructors()[0];
            List<Object> values = new ArrayList<>();
            for (Field f : state.getClass().getDeclaredFields()) {  // in the order of the constructor's parameters
                if (!Modifier.isStatic(f.getModifiers())) {
                    Long value = changed.get(f.getName());
                    values.add(value != null ? value : Reflect.call(state, f.getName()));
                }
            }
            return constructor.newInstance(values.toArray());
        } catch (ReflectiveOperationException e) {
            throw new Reflect.Changed("ReplicaState: " + e);
        }
    }

    /** Sets the last caught-up time back by more than the lag time. */
    static void age(Broker leader, int follower) {
        age(replica(leader, follower));
    }

    static void age(Object replica) {
        AtomicReference<Object> cell = cell(replica);
        cell.set(at(cell.get(), LONG_AGO));
    }

    /** Calls Partition.maybeShrinkIsr at a time when only these members have exceeded the lag time. */
    static void shrink(Broker leader, int members, int brokers) {
        Object[] before = new Object[brokers];
        for (int b = 0; b < brokers; b++) {
            if (b != leader.id && Scala.value(leader.partition().getReplica(b)) != null) {
                AtomicReference<Object> cell = cell(replica(leader, b));
                before[b] = cell.get();
                cell.set(at(cell.get(), (members & 1 << b) != 0 ? LONG_AGO : Fakes.NOW));
            }
        }
        boolean pending = inFlight(leader);
        leader.partition().maybeShrinkIsr();
        boolean asks = !pending && inFlight(leader);
        int kept = asks ? sent(leader) : -1;  // if Kafka considers some of the members caught up, no time has passed for them
        for (int b = 0; b < brokers; b++) {
            if (before[b] != null && ((members & 1 << b) == 0 || (kept & 1 << b) != 0)) {
                cell(replica(leader, b)).set(before[b]);
            }
        }
        leader.act();
    }

    private static boolean inFlight(Broker leader) {
        return (boolean) Reflect.call(Reflect.call(leader.partition(), "partitionState"), "isInflight");
    }

    /** Returns the ISR that the leader has requested and that is not answered yet. */
    private static int sent(Broker leader) {
        return Scala.bits(Reflect.call(Reflect.call(Reflect.call(leader.partition(), "partitionState"), "sentLeaderAndIsr"), "isr"));
    }

    static void describe(StringBuilder out, Broker b, kafka.cluster.Partition p, int brokers, List<List<Long>> epochs) {
        Object state = Reflect.call(p, "partitionState");
        int proposed = 0;
        if ((boolean) Reflect.call(state, "isInflight")) {
            proposed = Scala.bits(Reflect.call(Reflect.call(state, "sentLeaderAndIsr"), "isr"));
        }
        Object start = Scala.value(Reflect.call(p, "leaderEpochStartOffsetOpt"));
        out.append(",\"isr\":").append(Scala.bits(Reflect.call(state, "isr"))).append(",\"maximal\":")
            .append(Scala.bits(Reflect.call(state, "maximalIsr"))).append(",\"proposed\":").append(proposed)
            .append(",\"start\":").append(start).append(",\"followers\":[");
        int recent = 0;
        for (int f = 0; f < brokers; f++) {
            long end = -1;
            int epoch = -1;
            long first = 0;
            Object found = f == b.id ? null : Scala.value(p.getReplica(f));
            if (found != null) {
                Object known = Reflect.call(found, "stateSnapshot");
                end = Reflect.number(Reflect.call(known, "logEndOffset"));
                first = Math.max(0, Reflect.number(Reflect.call(known, "logStartOffset")));
                Object of = Scala.value(Reflect.call(known, "brokerEpoch"));
                epoch = of == null ? -1 : epochs.get(f).indexOf((Long) of);
                recent |= Fakes.NOW - Reflect.number(Reflect.call(known, "lastCaughtUpTimeMs")) <= LAG ? 1 << f : 0;
            }
            out.append(f == 0 ? "[" : ",[").append(end).append(',').append(first).append(',').append(epoch).append(']');
        }
        out.append("],\"recent\":").append(recent);
    }
}
