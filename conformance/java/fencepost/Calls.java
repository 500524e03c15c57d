package fencepost;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.storage.internals.log.AppendOrigin;

/** Produce and Fetch as KafkaApis hands them to ReplicaManager. */
final class Calls {
    private static final Object UNBOUNDED = unbounded();

    private Calls() { }

    private static Object unbounded() {
        Class<?> factory = Reflect.type("org.apache.kafka.server.quota.QuotaFactory", "kafka.server.QuotaFactory");
        try {
            return factory.getField("UNBOUNDED_QUOTA").get(null);
        } catch (ReflectiveOperationException e) {
            return Reflect.invoke(Reflect.method(factory, "UNBOUNDED_QUOTA", 0), null);
        }
    }

    static FetchPartitionData fetch(Object manager, FetchRequest request, TopicIdPartition partition, FetchRequest.PartitionData data) {
        FetchPartitionData[] out = new FetchPartitionData[1];
        scala.collection.immutable.List<Object> asked =
            scala.collection.immutable.List$.MODULE$.<Object>empty().$colon$colon(new scala.Tuple2<>(partition, data));
        scala.Function1<scala.collection.Seq<scala.Tuple2<Object, FetchPartitionData>>, Object> callback = found -> {
            out[0] = found.apply(0)._2();
            return scala.runtime.BoxedUnit.UNIT;
        };
        Reflect.invoke(Reflect.method(manager.getClass(), "fetchMessages", 4), manager, parameters(request), asked, UNBOUNDED, callback);
        return out[0];
    }

    private static FetchParams parameters(FetchRequest request) {
        for (Constructor<?> c : FetchParams.class.getConstructors()) {
            Class<?>[] types = c.getParameterTypes();
            try {
                if (types.length == 7 && types[0] == int.class) {
                    return (FetchParams) c.newInstance(request.replicaId(), request.replicaEpoch(), 0L, request.minBytes(), request.maxBytes(),
                        FetchIsolation.LOG_END, Optional.empty());
                }
                if (types.length == 8 && types[0] == short.class) {
                    return (FetchParams) c.newInstance(request.version(), request.replicaId(), request.replicaEpoch(), 0L, request.minBytes(),
                        request.maxBytes(), FetchIsolation.LOG_END, Optional.empty());
                }
            } catch (ReflectiveOperationException e) {
                throw new Reflect.Changed("FetchParams: " + e);
            }
        }
        throw new Reflect.Changed("FetchParams's constructor");
    }

    /** Produce with acks=all. */
    static void append(Object manager, TopicIdPartition partition, MemoryRecords records, Consumer<ProduceResponse.PartitionResponse> then) {
        Method append = Arrays.stream(manager.getClass().getMethods()).filter(m -> m.getName().equals("appendRecords"))
            .max(Comparator.comparingInt(Method::getParameterCount)).orElseThrow();
        Class<?>[] types = append.getParameterTypes();
        Object[] arguments = new Object[types.length];
        scala.collection.immutable.Map<Object, Object> entries = scala.collection.immutable.Map$.MODULE$.<Object, Object>empty();
        arguments[0] = 3_600_000L;
        arguments[1] = (short) -1;
        arguments[2] = false;
        arguments[3] = AppendOrigin.CLIENT;
        Object key = partition;  // since 4.1
        Object key = partition.topicPartition();  // until 4.0
        arguments[4] = entries.$plus(new scala.Tuple2<>(key, records));
        arguments[5] = (scala.Function1<Object, Object>) answers -> {
            Object answer = answers instanceof java.util.Map
                ? ((java.util.Map<?, ?>) answers).values().iterator().next()
                : ((scala.collection.Map<Object, Object>) answers).apply(key);
            then.accept((ProduceResponse.PartitionResponse) answer);
            return scala.runtime.BoxedUnit.UNIT;
        };
        for (int i = 6; i < types.length; i++) {
            switch (types[i].getSimpleName()) {
                case "Function1": arguments[i] = (scala.Function1<Object, Object>) stats -> scala.runtime.BoxedUnit.UNIT; break;
                case "RequestLocal": arguments[i] = RequestLocal.noCaching(); break;
                case "Map": arguments[i] = scala.collection.immutable.Map$.MODULE$.empty(); break;
                case "Option": arguments[i] = scala.Option.empty(); break;
                case "ActionQueue": arguments[i] = Reflect.call(manager, "defaultActionQueue"); break;
                case "short": arguments[i] = (short) 2; break;
                default: throw new Reflect.Changed("appendRecords's parameter " + types[i].getName());
            }
        }
        Reflect.invoke(append, manager, arguments);
    }
}
