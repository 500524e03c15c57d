package fencepost;

import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AlterPartitionRequest;
import org.apache.kafka.common.requests.AlterPartitionResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.server.common.MetadataVersion;

/** An AlterPartition request from Kafka's DefaultAlterPartitionManager to the controller, and later its answer. */
final class Alteration {
    final int number;
    final Broker sender;
    final AlterPartitionRequest request;
    /** The min ISR that the sender used when it sent the request. */
    final int minIsr;
    private final Waiting waiting;
    AlterPartitionResponseData response;

    /** The callback that waits for the answer to a request and its copies. Only the first answer is used. */
    private static final class Waiting {
        final Object callback;
        boolean over;
        /** The number of the newest copy that the controller has handled. */
        int handled;

        Waiting(Object callback) {
            this.callback = callback;
        }
    }

    private static int sent;

    /** Starts numbering from 1 again, so that a history has the same numbers whatever happened before it. */
    static void restart() {
        sent = 0;
    }

    private Alteration(Broker sender, int minIsr, AlterPartitionRequest request, Waiting waiting) {
        this.number = ++sent;
        this.sender = sender;
        this.minIsr = minIsr;
        this.request = request;
        this.waiting = waiting;
    }

    /** Returns a copy of the request, in flight on another connection. */
    Alteration again() {
        return new Alteration(sender, minIsr, request, waiting);
    }

    /** Returns whether the answer is no longer awaited, because the answer to another copy has arrived. */
    boolean isStray() {
        return waiting.over;
    }

    /** The request reaches the controller. Returns whether a newer copy reached it before. */
    boolean arrivesLate() {
        boolean late = waiting.handled > number;
        waiting.handled = Math.max(waiting.handled, number);
        return late;
    }

    /** Kafka's manager of such requests. The requests that its channel would send are collected in `kept`. */
    static Object manager(Broker sender, Object scheduler, Fakes.Clock clock, List<Alteration> kept) throws Exception {
        Class<?> channels = Reflect.type("org.apache.kafka.server.common.NodeToControllerChannelManager");
        Object channel = Reflect.proxy(channels, (self, method, arguments) -> {
            if (method.getName().equals("sendRequest")) {
                AbstractRequest made = ((AbstractRequest.Builder<?>) arguments[0]).build();
                kept.add(new Alteration(sender, sender.minIsr(), (AlterPartitionRequest) made, new Waiting(arguments[1])));
            }
            return method.getReturnType() == Optional.class ? Optional.empty() : method.getReturnType() == long.class ? 0L : null;
        });
        Class<?> type = Reflect.type("kafka.server.DefaultAlterPartitionManager", "org.apache.kafka.server.partition.DefaultAlterPartitionManager");
        Class<?>[] types = type.getConstructors()[0].getParameterTypes();
        Object[] arguments = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            switch (types[i].getSimpleName()) {
                case "NodeToControllerChannelManager": arguments[i] = channel; break;
                case "Scheduler": arguments[i] = scheduler; break;
                case "Time": arguments[i] = clock; break;
                case "int": arguments[i] = sender.id; break;
                case "Supplier": arguments[i] = (Supplier<Object>) () -> sender.epoch; break;
                case "Function0": arguments[i] = answers(type.getConstructors()[0].getGenericParameterTypes()[i].getTypeName(), sender); break;
                default: throw new Reflect.Changed("DefaultAlterPartitionManager's parameter " + types[i].getName());
            }
        }
        return type.getConstructors()[0].newInstance(arguments);
    }

    private static scala.Function0<Object> answers(String type, Broker sender) {
        return type.contains("MetadataVersion") ? MetadataVersion::latestProduction : () -> sender.epoch;
    }

    AlterPartitionRequestData.PartitionData asked() {
        return request.data().topics().get(0).partitions().get(0);
    }

    Errors error() {
        Errors whole = Errors.forCode(response.errorCode());
        return whole != Errors.NONE ? whole : Errors.forCode(response.topics().get(0).partitions().get(0).errorCode());
    }

    /** The sender handles the answer. */
    void answer() {
        if (waiting.over) {
            return;
        }
        waiting.over = true;
        ClientResponse arrived = new ClientResponse(new RequestHeader(ApiKeys.ALTER_PARTITION, request.version(), "", number), null, "", 0, 0,
            false, null, null, new AlterPartitionResponse(response));
        Reflect.call(waiting.callback, "onComplete", arrived);
    }
}
