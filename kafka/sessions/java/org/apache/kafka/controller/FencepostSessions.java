package org.apache.kafka.controller;

import fencepost.Loop;
import fencepost.Reflect;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.DuplicateBrokerRegistrationException;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatResponseData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.BrokerRegistrationResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.BrokerHeartbeatRequest;
import org.apache.kafka.common.requests.BrokerHeartbeatResponse;
import org.apache.kafka.common.requests.BrokerRegistrationRequest;
import org.apache.kafka.common.requests.BrokerRegistrationResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.queue.EventQueue;
import org.apache.kafka.server.common.ControllerRequestCompletionHandler;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.NodeToControllerChannelManager;

/** One broker's lifecycle and the controller, under a clock that moves only when a line says so. A request arrives, or is lost, as lines say. */
public final class FencepostSessions implements Loop.Driven {
    /** So long that the queue's real waits never end by themselves. */
    private static final long TICK = 1_000_000_000_000L;
    private static final int ID = 0;

    private final List<Long> epochs = new ArrayList<>();
    private final Properties settings = new Properties();
    private kafka.server.KafkaConfig config;
    private volatile long now;
    private long overload;
    private long overloaded;
    private long freeze;
    private boolean active;
    private boolean stops;
    private volatile FencepostController controller;
    private Process broker;

    private FencepostSessions(String root) {
        settings.put("process.roles", "broker");
        settings.put("node.id", "" + ID);
        settings.put("controller.quorum.voters", "100@localhost:1");
        settings.put("controller.listener.names", "CONTROLLER");
        settings.put("listeners", "PLAINTEXT://localhost:2000");
        settings.put("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT");
        settings.put("log.dirs", root);
    }

    public static void main(String[] arguments) throws Exception {
        Loop.run(arguments[0], new FencepostSessions(arguments[0]));
    }

    /** It stands still. */
    private final Time clock = new Time() {
        @Override public long milliseconds() {
            return now / 1_000_000;
        }
        @Override public long nanoseconds() {
            return now;
        }
        @Override public long hiResClockMs() {
            return milliseconds();
        }
        @Override public void sleep(long ms) {
            throw new UnsupportedOperationException("nobody sleeps here");
        }
        @Override public void waitObject(Object on, Supplier<Boolean> condition, long deadline) {
            throw new UnsupportedOperationException("nobody waits here");
        }
        @Override public Timer timer(long timeout) {
            return Time.SYSTEM.timer(timeout);
        }
    };

    /** A broker's process: the request that its manager has made, and whether it has left the broker or is lost. */
    private final class Process {
        private final kafka.server.BrokerLifecycleManager manager;
        private AbstractRequest.Builder<?> request;
        private ControllerRequestCompletionHandler handler;
        private boolean isSent;
        private boolean isLost;
        private long frozen;

        private Process() throws Exception {
            manager = new kafka.server.BrokerLifecycleManager(config, clock, ""
                , false  // until 4.0
                , scala.jdk.javaapi.CollectionConverters.asScala(Set.of(new Uuid(1, ID))).toSet(), () -> scala.runtime.BoxedUnit.UNIT  // until 4.2
                , Map.of("log", new Uuid(1, ID)), () -> { }, () -> false  // since 4.3
            );
            BrokerRegistrationRequestData.ListenerCollection listeners = new BrokerRegistrationRequestData.ListenerCollection();
            listeners.add(new BrokerRegistrationRequestData.Listener().setName("PLAINTEXT").setHost("localhost").setPort(2000));
            manager.start(() -> (long) controller.log.size(), channel(), "c", listeners,
                Map.of("metadata.version", VersionRange.of((short) 7, MetadataVersion.latestTesting().featureLevel())), OptionalLong.empty());
            proceed();
        }

        private NodeToControllerChannelManager channel() {
            return (NodeToControllerChannelManager) Reflect.proxy(NodeToControllerChannelManager.class, (self, method, arguments) -> {
                if (method.getName().equals("sendRequest")) {
                    request = (AbstractRequest.Builder<?>) arguments[0];
                    handler = (ControllerRequestCompletionHandler) arguments[1];
                }
                return null;
            });
        }

        /** The manager's thread does all that is due. */
        private void proceed() throws Exception {
            CompletableFuture<Void> done = new CompletableFuture<>();
            manager.eventQueue().append(new EventQueue.Event() {
                @Override public void run() {
                    done.complete(null);
                }
                @Override public void handleException(Throwable e) {
                    done.complete(null);  // it has been shut down
                }
            });
            done.get();
            Thread queue = (Thread) Reflect.get(manager.eventQueue(), "eventHandlerThread");
            while (queue.getState() == Thread.State.RUNNABLE) {  // else it would see a clock that has moved on, and run what is due
                Thread.yield();
            }
        }

        /** An event that comes just before what is due now. */
        private void precede(Runnable event) throws Exception {
            frozen = now;
            now--;
            event.run();
            proceed();
            now++;
        }

        /** The controller handles the request, and the broker its answer. */
        private void deliver() throws Exception {
            AbstractRequest made = request.build();
            complete(made instanceof BrokerHeartbeatRequest ? heartbeat(((BrokerHeartbeatRequest) made).data())
                : registration(((BrokerRegistrationRequest) made).data()));
        }

        /** An answer comes; null if the request times out. */
        private void complete(AbstractResponse answer) throws Exception {
            ControllerRequestCompletionHandler next = handler;
            request = null;
            isSent = false;
            isLost = false;
            if (answer == null) {
                next.onTimeout();
            } else {
                next.onComplete(new ClientResponse(null, null, null, 0, 0, false, null, null, answer));
            }
            proceed();
        }

        /** The number of ticks until the next heartbeat. */
        private long remaining() throws Exception {
            if (frozen > now || request != null) {
                return Math.max(frozen - now, 0) / TICK;
            }
            Object events = Reflect.get(manager.eventQueue(), "eventHandler");
            Object event = ((Map<?, ?>) Reflect.get(events, "tagToEventContext")).get("communication");
            return Math.max(((OptionalLong) Reflect.get(event, "deadlineNs")).getAsLong() - now, 0) / TICK;
        }
    }

    /** Like QuorumController.processBrokerHeartbeat. */
    private AbstractResponse heartbeat(BrokerHeartbeatRequestData request) {
        BrokerHeartbeatResponseData answer = new BrokerHeartbeatResponseData();
        try {
            controller.cluster.trackBrokerHeartbeat(ID, request.brokerEpoch());  // since 4.0
            if (overloaded > now) {
                controller.replication.processExpiredBrokerHeartbeat(request);
                return new BrokerHeartbeatResponse(answer.setErrorCode(Errors.REQUEST_TIMED_OUT.code()));
            }
            ControllerResult<org.apache.kafka.metadata.BrokerHeartbeatReply> result = controller.replication
                .processBrokerHeartbeat(request, controller.cluster.registerBrokerRecordOffset(ID).getAsLong());
            controller.commit(result.records());
            stops = result.response().shouldShutDown();
            answer.setIsCaughtUp(result.response().isCaughtUp()).setIsFenced(result.response().isFenced())
                .setShouldShutDown(result.response().shouldShutDown());
        } catch (ApiException e) {
            answer.setErrorCode(Errors.forException(e).code());
        }
        return new BrokerHeartbeatResponse(answer);
    }

    private AbstractResponse registration(BrokerRegistrationRequestData request) {
        BrokerRegistrationResponseData answer = new BrokerRegistrationResponseData();
        try {
            long epoch = controller.register(request);
            if (!epochs.contains(epoch)) {
                epochs.add(epoch);
            }
            answer.setBrokerEpoch(epoch);
        } catch (ApiException e) {
            answer.setErrorCode(Errors.forException(e).code());
        }
        return new BrokerRegistrationResponse(answer);
    }

    @Override
    public void act(String action, int[] n) throws Exception {
        if (broker != null && broker.request == null && (action.equals("controller-gets-heartbeat") || action.equals("heartbeat-fails"))) {
            throw new Loop.Untried("no heartbeat was sent");
        }
        switch (action) {
            case "reset": reset(n); break;
            case "broker-sends-heartbeat": send(); break;
            case "controller-gets-heartbeat": broker.deliver(); break;
            case "heartbeat-fails": broker.complete(null); break;
            case "controller-fences-broker": fence(); break;
            case "controller-fails": fail(); break;
            case "controller-becomes-active": controller = controller.successor(); active = true; break;
            case "controller-is-overloaded": overloaded = now + overload; break;
            case "broker-freezes": broker.frozen = now + Math.max(freeze, broker.remaining() * TICK); break;
            case "broker-crashes": crash(); break;
            case "broker-stops": stop(); break;
            case "controller-registers-broker": register(); break;
            case "controller-amends-registration": amend(); break;
            case "time-passes": now += TICK; break;
            default: throw new IllegalArgumentException("an action that this driver does not know: " + action);
        }
    }

    private void reset(int[] n) throws Exception {
        crash();
        now = TICK;
        String interval = "" + n[1] * TICK / 1_000_000;
        if (!interval.equals(settings.put("broker.heartbeat.interval.ms", interval))) {
            config = kafka.server.KafkaConfig.fromProps(settings);
        }
        overload = n[2] * TICK;
        overloaded = 0;
        freeze = n[3] * TICK;
        active = true;
        epochs.clear();
        controller = new FencepostController(1, false, false, clock, n[0] * TICK);
        register();
    }

    private void send() throws Exception {
        if (broker.frozen <= now) {
            broker.proceed();
            broker.isLost |= broker.request != null && !broker.isSent && !active;
            broker.isSent = broker.request != null;
        }
    }

    /** The task that looks for stale brokers eight times in a session. */
    private void fence() {
        controller.commit(controller.replication.maybeFenceOneStaleBroker().records());  // until 3.9
        ControllerResult<Boolean> result = controller.replication.maybeFenceOneStaleBroker();  // since 4.0
        while (!controller.commit(result.records()) && result.response()) {  // since 4.0
            result = controller.replication.maybeFenceOneStaleBroker();  // since 4.0
        }  // since 4.0
    }

    private void fail() {
        controller.cluster.deactivate();
        active = false;
        overloaded = 0;
        if (broker != null) {
            broker.isLost = broker.isSent;
        }
    }

    private void crash() throws Exception {
        if (broker != null) {
            broker.manager.close();
            broker = null;
        }
    }

    private void amend() throws Exception {
        broker.precede(amendment(broker.manager));
        if (broker.request instanceof BrokerRegistrationRequest.Builder) {
            broker.deliver();
        }
    }

    private void stop() throws Exception {
        if (broker.request != null && !broker.isLost) {
            broker.deliver();
        }
        broker.precede(broker.manager::beginControlledShutdown);
        if (broker.isLost) {
            return;
        }
        broker.deliver();
        if (!stops) {
            throw new IllegalStateException("the controller lets the broker wait");
        }
        crash();
    }

    /** A new process registers, and sends heartbeats until it runs. */
    private void register() throws Exception {
        Process next = new Process();
        next.deliver();
        if (next.manager.brokerEpoch() < 0) {
            next.manager.close();
            throw new DuplicateBrokerRegistrationException("the controller refused it");
        }
        broker = next;
        next.deliver();
        next.manager.setReadyToUnfence();
        next.proceed();
        next.deliver();
        if (next.request != null) {
            next.deliver();
        }
    }

    private static Runnable amendment(kafka.server.BrokerLifecycleManager manager) {
        return manager::resendBrokerRegistrationUnlessZkMode;  // until 4.0
        return manager::resendBrokerRegistration;  // since 4.1
    }

    @Override
    public String state() throws Exception {
        BrokerRegistration registration = controller.cluster.brokerRegistrations().get(ID);
        long contact = -1;
        if (active) {
            BrokerHeartbeatManager heartbeats = controller.cluster.heartbeatManager();
            for (BrokerHeartbeatManager.BrokerHeartbeatState one : heartbeats.brokers()) {  // until 3.9
                contact = one.fenced() ? -1 : (now - one.lastContactNs) / TICK;  // until 3.9
            }  // until 3.9
            OptionalLong last = heartbeats.tracker().contactTime(new BrokerIdAndEpoch(ID, registration.epoch()));  // since 4.0
            contact = last.isPresent() ? (now - last.getAsLong()) / TICK : -1;  // since 4.0
        }
        return "{\"controller\":{\"active\":" + active + ",\"epoch\":" + number(registration.epoch()) + ",\"fenced\":"
            + registration.fenced() + ",\"contact\":" + contact + "},\"broker\":{\"running\":" + (broker != null)
            + (broker == null ? "" : ",\"epoch\":" + number(broker.manager.brokerEpoch()) + ",\"lost\":" + broker.isLost
                + (broker.isSent ? "" : ",\"remaining\":" + broker.remaining())) + ",\"waiting\":" + (broker != null && broker.isSent) + "}}";
    }

    private int number(long epoch) {
        return epochs.indexOf(epoch) + 1;
    }
}
