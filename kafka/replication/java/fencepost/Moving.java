package fencepost;

import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.server.common.DirectoryEventHandler;
import org.apache.kafka.server.network.BrokerEndPoint;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** Moves of replicas between the directories of a broker: Kafka's manager and threads, of which none runs by itself. */
final class Moving extends kafka.server.ReplicaAlterLogDirsManager {
    private final kafka.server.KafkaConfig config;
    private final kafka.server.ReplicaManager manager;
    private final kafka.server.ReplicationQuotaManager quota;
    private final BrokerTopicStats stats;
    private final DirectoryEventHandler events;
    private final Map<Integer, Mover> movers = new TreeMap<>();

    Moving(kafka.server.KafkaConfig config, kafka.server.ReplicaManager manager, Object quota, BrokerTopicStats stats, Object events) {
        super(config, manager, (kafka.server.ReplicationQuotaManager) quota, stats, (DirectoryEventHandler) events);
        this.config = config;
        this.manager = manager;
        this.quota = (kafka.server.ReplicationQuotaManager) quota;
        this.stats = stats;
        this.events = (DirectoryEventHandler) events;
    }

    @Override public kafka.server.ReplicaAlterLogDirsThread createFetcherThread(int number, BrokerEndPoint source) {
        Mover made = new Mover(new kafka.server.LocalLeaderEndPoint(source, config, manager, quota));
        movers.put(number, made);
        return made;
    }

    private final class Mover extends kafka.server.ReplicaAlterLogDirsThread {
        Mover(kafka.server.LocalLeaderEndPoint source) {
            super("mover", source, failedPartitions(), manager, quota, stats, 0, events);
        }

        @Override public void start() { }
    }

    /** The thread that copies, or has copied; null if there is none. */
    kafka.server.ReplicaAlterLogDirsThread thread() {
        return movers.values().stream().findFirst().orElse(null);
    }

    boolean isBusy() {
        return movers.values().stream().anyMatch(mover -> mover.partitionCount() > 0);
    }

    /** Each thread copies a batch, and replaces the replica once it has everything. */
    void work() {
        movers.values().stream().filter(mover -> mover.partitionCount() > 0).forEach(kafka.server.AbstractFetcherThread::doWork);
    }
}
