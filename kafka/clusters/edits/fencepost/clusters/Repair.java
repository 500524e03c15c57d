package fencepost.clusters;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;

import javassist.CannotCompileException;
import javassist.ClassPool;
import javassist.CtClass;
import javassist.CtField;
import javassist.CtMethod;
import javassist.NotFoundException;
import javassist.expr.ExprEditor;
import javassist.expr.Handler;
import javassist.expr.MethodCall;

/**
 * Writes a class of Kafka with the fix for a finding. Maven Central does not have the sources of every release, so the
 * released class file is edited; `repairs/` contains the same edits as diffs of Kafka's sources.
 */
public final class Repair {
    private Repair() {
    }

    private static ClassPool pool = ClassPool.getDefault();
    /** The condition under which the edits that follow have an effect. */
    private static String when = "true";

    /**
     * Arguments: the folder to write to, and the findings. If several fixes edit the same class, they are applied in turn. With
     * `switched`, fixes that do not fit are omitted, and the others are printed. Each then takes effect only while the system
     * property `fencepost.repair.FINDING` is true.
     */
    public static void main(String[] arguments) throws Exception {
        List<String> findings = new ArrayList<>(List.of(arguments).subList(1, arguments.length));
        boolean isSwitched = findings.remove("switched");
        if (isSwitched) {
            findings.removeIf(finding -> !fits(finding));
            pool = new ClassPool(true);
        }
        Set<CtClass> repaired = new LinkedHashSet<>();
        for (String finding : findings) {
            when = isSwitched ? "Boolean.getBoolean(\"fencepost.repair." + finding + "\")" : "true";
            repaired.addAll(repaired(finding));
            System.out.println(finding);
        }
        for (CtClass one : repaired) {
            one.writeFile(arguments[0]);
        }
    }

    private static boolean fits(String finding) {
        pool = new ClassPool(true);
        try {
            return !repaired(finding).isEmpty();
        } catch (Exception e) {
            return false;
        }
    }

    private static String on(String edit) {
        return "if (" + when + ") { " + edit + " }";
    }

    private static List<CtClass> repaired(String finding) throws Exception {
        return switch (finding) {
            case "hyp-1" -> List.of(forgetLogEnds());
            case "hyp-3" -> List.of(keepPendingChange());
            case "hyp-10" -> List.of(keepReplicasOnly());
            case "hyp-11" -> List.of(applySettingsFirst());
            case "hyp-12" -> List.of(keepElrWithoutLeader(), clearElrOnceEnough());
            case "hyp-13" -> List.of(clearIndex());
            case "hyp-14" -> List.of(forgetElrWhileOff());
            case "hyp-16" -> List.of(distrustFailedDisk(), distrustMissingDisk());
            case "hyp-17" -> List.of(keepElrWhereADiskIsAssigned());
            case "hyp-18" -> refuseOfflineReplicas();
            case "hyp-21" -> List.of(deleteNewConfig());
            case "hyp-32" -> List.of(forgetReplicasAdded());
            case "hyp-25" -> List.of(forgetDirectories());
            case "hyp-24" -> List.of(reportBeforeUnfencing());
            case "hyp-34" -> List.of(keepEpochOfMovedLog());
            case "hyp-26" -> List.of(forgetStraysStart());
            case "hyp-27" -> List.of(keepLongerLog());
            case "hyp-28" -> List.of(keepLogBesideCopy());
            case "hyp-29" -> List.of(keepCheckpoints());
            case "hyp-30" -> List.of(keepAssignedLog());
            case "hyp-31" -> List.of(failWithoutLog());
            case "hyp-33" -> List.of(electNoneInAssignedOfflineDirectory(), judgeAssignedDirectory());
            case "hyp-35" -> List.of(readAgainAfterTruncation());
            case "hyp-36" -> List.of(keepUnrecovered());
            case "hyp-38" -> List.of(assignAddedReplicas());
            case "hidden-checkpoint" -> List.of(writeCurrentLogs());
            case "hyp-37" -> List.of(lookUpHighWatermark());
            case "replicated-transaction" -> List.of(forgetReplicatedTransactions());
            default -> throw new IllegalArgumentException("no repair of " + finding);
        };
    }

    /** A leader looks up the position of the high watermark in its log, which may not be the log that a follower has read. */
    private static CtClass lookUpHighWatermark() throws Exception {
        CtClass log = unifiedLog();
        log.getDeclaredMethod("maybeIncrementHighWatermark")
            .insertBefore(on("$1 = new org.apache.kafka.storage.internals.log.LogOffsetMetadata($1.messageOffset);"));
        return log;
    }

    /** After a truncation, transactions that end below the high watermark do not count as unreplicated. */
    private static CtClass forgetReplicatedTransactions() throws Exception {
        CtClass log = unifiedLog();
        log.getDeclaredMethod("truncateTo").insertAfter(on("this.producerStateManager().onHighWatermarkUpdated(this.highWatermark());"));
        return log;
    }

    /** A leader resets its followers' log ends in every leader epoch, not only if it did not lead before. */
    private static CtClass forgetLogEnds() throws Exception {
        CtClass replica = type("org.apache.kafka.server.replica.Replica");
        CtMethod reset = replica.getDeclaredMethod("resetReplicaState", new CtClass[] {
            CtClass.longType, CtClass.longType, CtClass.booleanType, CtClass.booleanType});
        reset.insertBefore(on("$3 = true;"));
        return replica;
    }

    /** Metadata with a partition epoch that the leader already knows from an answer does not affect a pending change of the ISR. */
    private static CtClass keepPendingChange() throws Exception {
        CtClass partition = type("kafka.cluster.Partition");
        partition.addField(CtField.make("private boolean keepsPending;", partition));
        CtMethod lead = partition.getDeclaredMethod("makeLeader");
        String call = lead.getParameterTypes()[0].getSimpleName().equals("PartitionRegistration") ? "" : "()";
        lead.insertBefore(on("this.keepsPending = this.isLeader() && this.partitionState().isInflight()"
            + " && $1.leaderEpoch" + call + " == this.getLeaderEpoch() && $1.partitionEpoch" + call + " == this.getPartitionEpoch();"));
        replaceCalls(partition.getDeclaredMethod("updateAssignmentAndIsr"), named("partitionState_$eq"),
            "{ if (!this.keepsPending) { $proceed($$); } this.keepsPending = false; }");
        return partition;
    }

    /** Settings that arrive with a smaller ISR are applied before it. Applying them again afterwards has no effect. */
    private static CtClass applySettingsFirst() throws Exception {
        CtClass publisher = type("kafka.server.metadata.BrokerMetadataPublisher");
        publisher.getDeclaredMethod("onMetadataUpdate").insertBefore(on(
            "if (!this._firstPublish()) { this.dynamicConfigPublisher().onMetadataUpdate($1, $2); }"));
        return publisher;
    }

    /** A broker that is no longer a replica does not enter the ELR. */
    private static CtClass keepReplicasOnly() throws Exception {
        CtClass builder = type("org.apache.kafka.controller.PartitionChangeBuilder");
        AtomicInteger streams = new AtomicInteger();  // the first one contains the candidates
        replaceCalls(builder.getDeclaredMethod("maybePopulateTargetElr"),
            named("stream").and(of("java.util.Set")).and(call -> streams.getAndIncrement() == 0),
            "{ $0.retainAll(this.targetReplicas); $_ = $proceed($$); }");
        return builder;
    }

    /** A broker that is cleared from the ELR also leaves the index of the ELR. */
    private static CtClass clearIndex() throws Exception {
        CtClass manager = type("org.apache.kafka.controller.ReplicationControlManager");
        replaceCalls(manager.getDeclaredMethod("removeTopicElrs"), named("merge"),
            "{ $_ = $proceed($$); this.updatePartitionInfo($1.topicId(), Integer.valueOf($1.partitionId()), $0, $_); }");
        return manager;
    }

    /** A replica in a failed directory is treated like a replica after an unclean shutdown: it also leaves the ELR. */
    private static CtClass distrustFailedDisk() throws Exception {
        CtClass manager = type("org.apache.kafka.controller.ReplicationControlManager");
        replaceCalls(manager.getDeclaredMethod("handleDirectoriesOffline"), named("generateLeaderAndIsrUpdates"),
            "{ $proceed($1, $2, $3, $2, $5, $6); }");
        return manager;
    }

    /** A broker that registers without one of its previous directories is treated like a broker after an unclean shutdown. */
    private static CtClass distrustMissingDisk() throws Exception {
        CtClass cluster = type("org.apache.kafka.controller.ClusterControlManager");
        cluster.addField(CtField.make("private java.util.List registeredDirs;", cluster));
        CtMethod register = cluster.getDeclaredMethod("registerBroker");
        replaceCalls(register, named("addRecordsForShutdown"),
            "{ org.apache.kafka.metadata.BrokerRegistration before = this.registration($1);"
            + " boolean all = before == null || this.registeredDirs.containsAll(before.directories());"
            + " $proceed($1, $2 && all, $3); }");
        register.insertBefore(on("this.registeredDirs = $1.logDirs();"));
        return cluster;
    }

    /** The change that assigns a directory knows that ELR is on, and leaves the ELR unchanged. */
    private static CtClass keepElrWhereADiskIsAssigned() throws Exception {
        CtClass manager = type("org.apache.kafka.controller.ReplicationControlManager");
        replaceCalls(manager.getDeclaredMethod("handleAssignReplicasToDirs"), named("setDirectory"),
            "{ $_ = $proceed($$).setEligibleLeaderReplicasEnabled(this.featureControl.isElrFeatureEnabled()); }");
        return manager;
    }

    /** A replica whose directory has failed does not enter the ISR, like a replica of a fenced broker. */
    private static List<CtClass> refuseOfflineReplicas() throws Exception {
        CtClass refused = type("org.apache.kafka.controller.ReplicationControlManager$IneligibleReplica");
        refused.getDeclaredConstructors()[0].setModifiers(0);  // private, which this compiler enforces
        CtClass manager = type("org.apache.kafka.controller.ReplicationControlManager");
        manager.addField(CtField.make("private org.apache.kafka.metadata.PartitionRegistration altered;", manager));
        manager.addMethod(CtMethod.make("private void addOffline(java.util.List states, java.util.List found) {"
            + " for (int at = 0; at < states.size(); at++) {"
            + "  int broker = ((org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState) states.get(at)).brokerId();"
            + "  org.apache.kafka.metadata.BrokerRegistration of = this.clusterControl.registration(broker);"
            + "  if (of != null && !of.hasOnlineDir(this.altered.directory(broker))) {"
            + "   found.add(new org.apache.kafka.controller.ReplicationControlManager.IneligibleReplica(broker, \"directory offline\")); } } }",
            manager));
        CtMethod validate = manager.getDeclaredMethod("validateAlterPartitionData");
        replaceCalls(validate, named("ineligibleReplicasForIsr"), "{ $_ = $proceed($$); this.addOffline($1, $_); }");
        validate.insertBefore(on("this.altered = $4;"));
        return List.of(manager, refused);
    }

    /** A change of min ISR does not clear the ELR while there is no leader, because nothing is committed during that time. */
    private static CtClass keepElrWithoutLeader() throws Exception {
        CtClass partition = type("org.apache.kafka.metadata.PartitionRegistration");
        partition.getDeclaredMethod("merge").insertBefore(on("{ java.util.List e = $1.eligibleLeaderReplicas(); java.util.List k = $1.lastKnownElr();"
            + " if (this.leader < 0 && $1.leader() == -2 && $1.isr() == null && e != null && e.isEmpty() && k != null && k.isEmpty())"
            + " { return this; } }"));
        return partition;
    }

    /** An election after which the ISR has min ISR members clears the rest of the ELR, because the new leader commits without them. */
    private static CtClass clearElrOnceEnough() throws Exception {
        CtClass builder = type("org.apache.kafka.controller.PartitionChangeBuilder");
        builder.getDeclaredMethod("maybeUpdateRecordElr").insertBefore(on(
            "if (($1.isr() != null ? $1.isr() : this.targetIsr).size() >= this.minISR) { this.targetElr = java.util.Collections.emptyList(); }"));
        return builder;
    }

    /** A reassignment replaces both lists of an unfinished one: the replicas to be added, and those to be removed. */
    private static CtClass forgetReplicasAdded() throws Exception {
        CtClass manager = type("org.apache.kafka.controller.ReplicationControlManager");
        replaceCalls(manager.getDeclaredMethod("changePartitionReassignment"),
            named("isEmpty").and(of("java.util.List")), "{ $_ = false; }");
        return manager;
    }

    /** No broker is elected from the ELR while the feature is off. */
    private static CtClass forgetElrWhileOff() throws Exception {
        CtClass builder = type("org.apache.kafka.controller.PartitionChangeBuilder");
        builder.getDeclaredMethod("tryElection").insertBefore(on(
            "if (!this.eligibleLeaderReplicasEnabled) { this.targetElr = java.util.Collections.emptyList(); }"));
        return builder;
    }

    /** A deleted topic leaves no configuration in an image, even if the configuration is part of the same delta. */
    private static CtClass deleteNewConfig() throws Exception {
        CtClass delta = type("org.apache.kafka.image.ConfigurationsDelta");
        CtClass[] deletes = {type("org.apache.kafka.common.metadata.RemoveTopicRecord"), type("java.lang.String")};
        delta.getDeclaredMethod("replay", deletes).insertBefore(on("this.changes.remove(new org.apache.kafka.common.config.ConfigResource("
            + "org.apache.kafka.common.config.ConfigResource$Type.TOPIC, $2));"));
        return delta;
    }

    /** A deleted topic is removed from the index of directories, even if one of its partitions has an empty ISR. */
    private static CtClass forgetDirectories() throws Exception {
        CtClass manager = type("org.apache.kafka.controller.ReplicationControlManager");
        CtClass record = type("org.apache.kafka.common.metadata.RemoveTopicRecord");
        manager.getDeclaredMethod("replay", new CtClass[] {record}).insertAfter(on(
            "{ java.util.Iterator sets = new java.util.ArrayList(this.directoriesToPartitions.values()).iterator(); while (sets.hasNext()) {"
            + " java.util.Collection of = (java.util.Collection) sets.next(); java.util.Iterator parts = new java.util.ArrayList(of).iterator();"
            + " while (parts.hasNext()) { org.apache.kafka.server.common.TopicIdPartition one ="
            + " (org.apache.kafka.server.common.TopicIdPartition) parts.next();"
            + " if (one.topicId().equals($1.topicId())) { of.remove(one); } } } }"));
        return manager;
    }

    /** A broker that reports a failed directory stays fenced until its next heartbeat, so that an election considers the failure. */
    private static CtClass reportBeforeUnfencing() throws Exception {
        CtClass manager = type("org.apache.kafka.controller.ReplicationControlManager");
        manager.addField(CtField.make("private boolean reports;", manager));
        CtMethod heartbeat = manager.getDeclaredMethod("processBrokerHeartbeat");
        replaceCalls(heartbeat, named("calculateNextBrokerState"),
            "{ $_ = $proceed($$); if (this.reports && $_.current().fenced() && !$_.next().fenced())"
            + " { $_ = new org.apache.kafka.controller.BrokerControlStates($_.current(), $_.current()); } }");
        heartbeat.insertBefore(on("{ org.apache.kafka.metadata.BrokerRegistration of = this.clusterControl.registration($1.brokerId());"
            + " this.reports = of != null && !of.directoryIntersection($1.offlineLogDirs()).isEmpty(); }"));
        return manager;
    }

    /** After a broker has started, its checkpoints contain no stray logs. */
    private static CtClass forgetStraysStart() throws Exception {
        CtClass manager = logManager();
        manager.getDeclaredMethod("loadLogs").insertAfter(on("{ this.checkpointLogRecoveryOffsets(); this.checkpointLogStartOffsets(); }"));
        return manager;
    }

    /** A copy from an unfinished move does not replace a log with a higher end offset. */
    private static CtClass keepLongerLog() throws Exception {
        return keepLogIf("log.logEndOffset() > $2.logEndOffset()");
    }

    /** A copy from an unfinished move does not replace a log in the same directory. */
    private static CtClass keepLogBesideCopy() throws Exception {
        return keepLogIf("log.parentDir().equals($2.parentDir())");
    }

    private static CtClass keepLogIf(String condition) throws Exception {
        CtClass manager = logManager();
        for (CtMethod method : manager.getDeclaredMethods("replaceCurrentWithFutureLog")) {
            if (method.getParameterTypes().length == 3) {
                String type = method.getParameterTypes()[1].getName();
                String has = method.getParameterTypes()[0].getName().startsWith("scala") ? "isDefined" : "isPresent";
                method.insertBefore(on("if (!$3 && $1." + has + "()) { " + type + " log = (" + type + ") $1.get(); if (" + condition + ") {"
                    + " this.resumeCleaning($2.topicPartition()); return; } }"));
            }
        }
        return manager;
    }

    /** If the logs of a directory were not loaded, its checkpoints are kept. */
    private static CtClass keepCheckpoints() throws Exception {
        CtClass manager = logManager();
        for (String name : List.of("checkpointRecoveryOffsetsInDir", "checkpointLogStartOffsetsInDir")) {
            for (CtMethod method : manager.getDeclaredMethods(name)) {
                method.insertBefore(on("if (!Boolean.TRUE.equals(this.loadLogsCompletedFlags.get($1.getAbsolutePath()))) { return; }"));
            }
        }
        return manager;
    }

    /** A log is stray if the metadata names another directory of the broker that also has a log of the partition. */
    private static CtClass keepAssignedLog() throws Exception {
        CtClass publisher = type("kafka.server.metadata.BrokerMetadataPublisher");
        CtMethod stray = publisher.getDeclaredMethod("$anonfun$initializeManagers$1");
        String log = stray.getParameterTypes()[2].getName();
        publisher.addMethod(CtMethod.make("private boolean isSuperseded(org.apache.kafka.image.MetadataImage image, " + log + " log) {"
            + " if (log.isFuture() || log.topicId().isEmpty()) { return false; }"
            + " org.apache.kafka.metadata.PartitionRegistration of = image.topics().getPartition("
            + "  (org.apache.kafka.common.Uuid) log.topicId().get(), log.topicPartition().partition());"
            + " if (of == null || !org.apache.kafka.metadata.Replicas.contains(of.replicas, this.brokerId())) { return false; }"
            + " Object all = this.logManager.liveLogDirs();"
            + " java.util.Collection dirs = all instanceof java.util.Collection ? (java.util.Collection) all"
            + "  : scala.jdk.javaapi.CollectionConverters.asJavaCollection((scala.collection.Iterable) all);"
            + " java.util.Iterator them = dirs.iterator();"
            + " while (them.hasNext()) { java.io.File dir = (java.io.File) them.next();"
            + "  if (!dir.getAbsolutePath().equals(log.parentDir()) && new java.io.File(dir, log.dir().getName()).exists()"
            + "   && String.valueOf(this.logManager.directoryId(dir.getAbsolutePath())).contains("
            + "    of.directory(this.brokerId()).toString())) { return true; } }"
            + " return false; }", publisher));
        String yes = stray.getReturnType() == CtClass.booleanType ? "true" : "Boolean.TRUE";
        stray.insertBefore(on("if ($1.isSuperseded($2, $3)) { return " + yes + "; }"));
        return publisher;
    }

    /** A replica whose log may be in a directory that has failed is offline. */
    private static CtClass failWithoutLog() throws Exception {
        CtClass partition = type("kafka.cluster.Partition");
        partition.getDeclaredMethod("createLogInAssignedDirectoryId").insertAfter(on("if (this.log().isEmpty()) {"
            + " throw new org.apache.kafka.common.errors.KafkaStorageException(\"the log may be in a failed directory\"); }"));
        return partition;
    }

    /** A segment whose recovery could not read or write a file is kept, and its directory is offline. */
    private static CtClass keepUnrecovered() throws Exception {
        CtClass loader = type("org.apache.kafka.storage.internals.log.LogLoader");
        AtomicInteger edited = new AtomicInteger();
        loader.getDeclaredMethod("recoverLog").instrument(new ExprEditor() {
            @Override
            public void edit(Handler caught) throws CannotCompileException {
                try {
                    if (caught.getType() != null && caught.getType().getName().equals("java.io.IOException")) {
                        edited.incrementAndGet();
                        caught.insertBefore(on("throw $1;"));
                    }
                } catch (NotFoundException absent) {
                    throw new CannotCompileException(absent);
                }
            }
        });
        requireEdited(edited.get() > 0, loader);
        return loader;
    }

    /** A directory's checkpoints contain its current logs, which a future log in the same directory does not replace. */
    private static CtClass writeCurrentLogs() throws Exception {
        CtClass manager = logManager();
        boolean edited = false;
        for (CtMethod method : manager.getDeclaredMethods()) {
            boolean isScala = method.getName().startsWith("addToDir$");
            if (isScala || method.getName().startsWith("lambda$logsByDir$") && method.getReturnType() == CtClass.voidType) {
                replaceCalls(method, named("put"), isScala ? "{ $_ = null; if (!$0.contains($1)) { $_ = $proceed($$); } }"
                    : "{ $_ = $0.putIfAbsent($1, $2); }");
                edited = true;
            }
        }
        requireEdited(edited, manager);
        return manager;
    }

    /** The controller elects no replica while it records a failed directory for it, even if the previous directory is online. */
    private static CtClass judgeAssignedDirectory() throws Exception {
        CtClass manager = type("org.apache.kafka.controller.ReplicationControlManager");
        replaceCalls(manager.getDeclaredMethod("handleAssignReplicasToDirs"), named("setDirectory"),
            "{ $_ = $proceed($$); if (!this.clusterControl.hasOnlineDir($1, $2)) { $_.offline = $1; } }");
        return manager;
    }

    private static CtClass electNoneInAssignedOfflineDirectory() throws Exception {
        CtClass builder = type("org.apache.kafka.controller.PartitionChangeBuilder");
        builder.addField(CtField.make("public int offline = -1;", builder));
        builder.getDeclaredMethod("isValidNewLeader").insertBefore(on("if ($1 == this.offline) { return false; }"));
        builder.getDeclaredMethod("canElectLastKnownLeader").insertBefore(on("if (this.offline >= 0"
            + " && this.partition.lastKnownElr.length == 1 && this.partition.lastKnownElr[0] == this.offline) { return false; }"));
        return builder;
    }

    /** After a truncation, control records are read from the new end of the log. */
    private static CtClass readAgainAfterTruncation() throws Exception {
        CtClass machine = type("org.apache.kafka.raft.internals.KRaftControlRecordStateMachine");
        machine.getDeclaredMethod("truncateNewEntries").insertBefore(on("this.nextOffset = Math.min(this.nextOffset, $1);"));
        return machine;
    }

    /** A broker that becomes a replica of a partition assigns a directory to it, like a broker of a new partition. */
    private static CtClass assignAddedReplicas() throws Exception {
        CtClass delta = type("org.apache.kafka.image.TopicDelta");
        AtomicInteger calls = new AtomicInteger();  // the first one asks the previous registration
        replaceCalls(delta.getDeclaredMethod("localChanges"), named("directory").and(call -> calls.getAndIncrement() == 0),
            "{ $_ = null; if (org.apache.kafka.metadata.Replicas.contains($0.replicas, $1)) { $_ = $proceed($$); } }");
        return delta;
    }

    private static CtClass logManager() throws Exception {
        CtClass manager = type("kafka.log.LogManager");
        if (java.util.Arrays.stream(manager.getDeclaredMethods()).noneMatch(method -> method.getName().equals("loadLogs"))) {
            manager = type("org.apache.kafka.storage.internals.log.LogManager");  // since 4.4
        }
        return manager;
    }

    /** A log that replaces a leader's log knows where the leader's epoch begins, even without a record in that epoch. */
    private static CtClass keepEpochOfMovedLog() throws Exception {
        CtClass partition = type("kafka.cluster.Partition");
        partition.getDeclaredMethod("$anonfun$maybeReplaceCurrentWithFutureReplica$1").insertAfter(on("if ($1.isLeader()) {"
            + " $1.localLogOrException().assignEpochStartOffset($1.getLeaderEpoch(), $1.localLogOrException().logEndOffset()); }"));
        return partition;
    }

    /** Kafka's log, which is written in Scala in 3.x and 4.0. */
    private static CtClass unifiedLog() throws NotFoundException {
        CtClass log = pool.getOrNull("kafka.log.UnifiedLog");
        return log == null ? type("org.apache.kafka.storage.internals.log.UnifiedLog") : log;
    }

    private static CtClass type(String name) throws NotFoundException {
        return pool.get(name);
    }

    private static Predicate<MethodCall> named(String name) {
        return call -> call.getMethodName().equals(name);
    }

    private static Predicate<MethodCall> of(String owner) {
        return call -> call.getClassName().equals(owner);
    }

    /** Replaces these calls in a method; fails if there are none, because the release has changed. */
    private static void replaceCalls(CtMethod inside, Predicate<MethodCall> which, String with) throws CannotCompileException {
        AtomicInteger replaced = new AtomicInteger();
        inside.instrument(new ExprEditor() {
            @Override
            public void edit(MethodCall call) throws CannotCompileException {
                if (which.test(call)) {
                    replaced.incrementAndGet();
                    call.replace(on(with) + " else { $_ = $proceed($$); }");
                }
            }
        });
        requireEdited(replaced.get() > 0, inside.getDeclaringClass());
    }

    private static void requireEdited(boolean isEdited, CtClass owner) {
        if (!isEdited) {
            throw new IllegalStateException(owner.getName() + " has changed: there is nothing to edit where it is expected");
        }
    }
}
