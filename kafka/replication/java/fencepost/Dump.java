package fencepost;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.Uuid;

/** A dump of all fields of Kafka's objects that belong to the state, by path, to compare two histories that lead to the same state. */
final class Dump {
    /** Fields that are not state: names that differ between processes, numbers that are compared elsewhere, and the environment. */
    private static final Set<String> LEFT_OUT = Set.of(
        "BrokerRegistration.epoch", "brokerEpoch", "partitionEpoch", "zkVersion", "incarnationId", "directories", "directory", "topicId", "_topicId",
        "logger", "log4jLogger", "logIdent", "futureTimestampLogger", "stateChangeLogger", "metricsGroup", "metricNames", "tags", "meterMap",
        "time", "scheduler", "config", "configs", "lock", "leaderIsrUpdateLock", "futureLogLock", "partitionMapLock", "partitionMapCond",
        "metadataCache", "logManager", "alterIsrManager", "alterPartitionListener", "delayedOperations", "brokerTopicStats",
        "localBrokerEpochSupplier", "producerExpireCheck", "validatorMetricsRecorder", "logOffsetsListener", "listeners",
        "kafka$cluster$Partition$$listeners", "logDirFailureChannel", "dir", "parentDir", "file", "channel", "mmap", "lastModified",
        "checkpoint", "partitionMetadataFile", "metrics", "scala$collection", "bitmap$0", "topicPartition", "prev", "next");
    private static final int DEEPEST = 12;

    private final Map<String, String> found = new TreeMap<>();
    private final IdentityHashMap<Object, Boolean> under = new IdentityHashMap<>();

    /** Adds an object and the objects that it refers to. */
    void add(String path, Object value) {
        visit(path, value, 0);
    }

    private void visit(String path, Object value, int depth) {
        if (value == null || value instanceof Number || value instanceof Boolean || value instanceof String || value instanceof Enum) {
            found.put(path, String.valueOf(value));
        } else if (value instanceof AtomicLong || value instanceof AtomicInteger || value instanceof AtomicBoolean) {
            found.put(path, value.toString());
        } else if (value instanceof AtomicReference) {
            visit(path, ((AtomicReference<?>) value).get(), depth);
        } else if (value instanceof Optional || value instanceof scala.Option) {
            visit(path, Scala.value(value), depth);
        } else if (value.getClass().isArray()) {
            for (int i = 0; i < Array.getLength(value); i++) {
                visit(path + "[" + i + "]", Array.get(value, i), depth + 1);
            }
        } else if (value instanceof Map) {
            ((Map<?, ?>) value).forEach((key, item) -> visit(path + "[" + key(key) + "]", item, depth + 1));
        } else if (value instanceof Collection || value instanceof scala.collection.Iterable) {
            List<Object> items = Scala.items(value);
            for (int i = 0; i < items.size(); i++) {
                visit(path + "[" + i + "]", items.get(i), depth + 1);
            }
        } else if (!(value instanceof Uuid) && isState(value.getClass()) && depth < DEEPEST && under.put(value, true) == null) {
            fields(path, value, depth);
            under.remove(value);
        }
    }

    private void fields(String path, Object value, int depth) {
        for (Class<?> c = value.getClass(); c != null && isState(c); c = c.getSuperclass()) {
            for (Field field : c.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && !isLeftOut(c, field.getName()) && !field.isSynthetic()) {
                    visit(path + "." + field.getName(), read(field, value), depth + 1);
                }
            }
        }
    }

    private static boolean isLeftOut(Class<?> owner, String name) {
        return LEFT_OUT.contains(name) || LEFT_OUT.contains(owner.getSimpleName() + "." + name);
    }

    private static Object read(Field field, Object value) {
        try {
            field.setAccessible(true);
            return field.get(value);
        } catch (IllegalAccessException e) {
            throw new Reflect.Changed("field " + field + ": " + e.getMessage());
        }
    }

    private static boolean isState(Class<?> type) {
        String name = type.getName();
        return (name.startsWith("org.apache.kafka.") || name.startsWith("kafka."))
            && !name.contains("metrics") && !name.contains("$$Lambda") && !name.startsWith("org.apache.kafka.common.utils.");
    }

    /** Returns a key that is the same in every process, although topic ids differ. */
    private static String key(Object key) {
        return key instanceof Number || key instanceof String ? key.toString() : key.getClass().getSimpleName();
    }

    String json() {
        StringBuilder out = new StringBuilder("{");
        found.forEach((path, value) -> out.append(out.length() > 1 ? "," : "").append(Loop.quote(path)).append(':').append(Loop.quote(value)));
        return out.append('}').toString();
    }
}
