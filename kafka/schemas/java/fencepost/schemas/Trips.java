package fencepost.schemas;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.requests.AlterPartitionRequest;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.RequestHeader;

/** Round trips of messages, which the generated classes write in a version and read again. */
final class Trips {
    /** Writes and reads a message with some fields set, in a version. */
    static Map<String, Object> trip(String name, short version, JsonNode values) throws Exception {
        return written(filled((Message) Class.forName(Schemas.MESSAGES + name).getConstructor().newInstance(), values), version);
    }

    /** Writes a request with Kafka's own builder, in a version. */
    static Map<String, Object> built(String what, short version) throws Exception {
        TopicPartition partition = new TopicPartition("t", 0);
        Map<TopicPartition, FetchRequest.PartitionData> fetched =
            Map.of(partition, new FetchRequest.PartitionData(Uuid.ONE_UUID, 7L, 0L, 100, Optional.of(3)));
        switch (what) {
            case "consumer-fetch":
                return written(FetchRequest.Builder.forConsumer(version, 500, 1, fetched).build(version).data(), version);
            case "replica-fetch":
                return written(FetchRequest.Builder.forReplica(version, 1, 5L, 500, 1, fetched).build(version).data(), version);
            case "alter-partition": return written(alteration(version).data(), version);
            default: throw new IllegalArgumentException(what);
        }
    }

    private static AlterPartitionRequest alteration(short version) {
        AlterPartitionRequestData data = new AlterPartitionRequestData().setBrokerId(1).setBrokerEpoch(5);
        AlterPartitionRequestData.BrokerState member = new AlterPartitionRequestData.BrokerState().setBrokerId(2).setBrokerEpoch(9);
        AlterPartitionRequestData.PartitionData partition =
            new AlterPartitionRequestData.PartitionData().setNewIsrWithEpochs(List.of(member));
        data.topics().add(new AlterPartitionRequestData.TopicData().setTopicId(Uuid.ONE_UUID).setPartitions(List.of(partition)));
        return new AlterPartitionRequest.Builder(data, true).build(version); // until 3.9
        return new AlterPartitionRequest.Builder(data).build(version); // since 4.0
    }

    /** Reads the header of a request with an unknown tagged field, in the header version that Kafka chooses for the request. */
    static Map<String, Object> header(String api, short version) throws Exception {
        ApiKeys key = ApiKeys.valueOf(api);
        short header = key.requestHeaderVersion(version);
        RequestHeaderData data =
            new RequestHeaderData().setRequestApiKey(key.id).setRequestApiVersion(version).setCorrelationId(6).setClientId("c");
        if (header >= 2) {
            data.unknownTaggedFields().add(new RawTaggedField(77, new byte[] {1, 2, 3}));
        }
        RequestHeader read = RequestHeader.parse(bytes(data, header));
        return Map.of(
            "version", read.headerVersion(), "correlation", read.correlationId(), "unknown", read.data().unknownTaggedFields().size(),
            "response", read.apiKey().responseHeaderVersion(version));
    }

    private static Map<String, Object> written(Message message, short version) throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        try {
            ByteBuffer bytes = bytes(message, version);
            found.put("bytes", bytes.remaining());
            Message read = message.getClass().getConstructor().newInstance();
            read.read(new ByteBufferAccessor(bytes), version);
            found.put("read", read.toString());
        } catch (org.apache.kafka.common.errors.UnsupportedVersionException error) {
            found.put("refused", error.getMessage());
        }
        return found;
    }

    private static ByteBuffer bytes(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer bytes = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(bytes), cache, version);
        bytes.flip();
        return bytes;
    }

    /** Calls a setter for each value; for lists and structures, calls the setters of their elements. */
    private static <T> T filled(T object, JsonNode values) throws Exception {
        for (Iterator<String> names = values.fieldNames(); names.hasNext();) {
            String name = names.next();
            Method setter = setter(object.getClass(), "set" + Character.toUpperCase(name.charAt(0)) + name.substring(1));
            setter.invoke(object, value(setter.getGenericParameterTypes()[0], values.get(name)));
        }
        return object;
    }

    private static Method setter(Class<?> type, String name) throws NoSuchMethodException {
        for (Method method : type.getMethods()) {
            if (method.getName().equals(name)) {
                return method;
            }
        }
        throw new NoSuchMethodException(type.getName() + "." + name);
    }

    @SuppressWarnings("unchecked")
    private static Object value(Type type, JsonNode node) throws Exception {
        if (type == long.class) {
            return node.longValue();
        } else if (type == int.class) {
            return node.intValue();
        } else if (type == short.class) {
            return node.shortValue();
        } else if (type == String.class) {
            return node.textValue();
        } else if (type instanceof ParameterizedType) {
            List<Object> list = new ArrayList<>();
            for (JsonNode one : node) {
                list.add(value(((ParameterizedType) type).getActualTypeArguments()[0], one));
            }
            return list;
        }
        Object made = ((Class<?>) type).getConstructor().newInstance();
        if (made instanceof Collection) {
            Type element = ((ParameterizedType) made.getClass().getGenericSuperclass()).getActualTypeArguments()[0];
            for (JsonNode one : node) {
                ((Collection<Object>) made).add(value(element, one));
            }
            return made;
        }
        return filled(made, node);
    }

    private Trips() {
    }
}
