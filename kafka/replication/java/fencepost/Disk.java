package fencepost;

import java.util.ArrayList;
import java.util.List;

/** What is left of a broker whose process has ended. */
final class Disk {
    /** The segment file and the offset where it begins; null without a replica. */
    byte[] segment;
    long base;
    /** The log start in the checkpoint of log starts, 0 if it has none. */
    long checkpoint;
    /** Record and leader epoch of each entry in it. */
    List<int[]> entries = new ArrayList<>();
    long highWatermark;
    /** The log directory in which the log lies, null without a replica. */
    String directory;
    /** The broker epoch that a clean shutdown has saved, -1 after a crash. */
    long savedEpoch = -1;

    /** Where the log starts once it is loaded. */
    long start() {
        return Math.max(checkpoint, Math.min(base, entries.size()));
    }

    /** The entries once the log is loaded: a log that ends below its start is made anew there. */
    List<int[]> loaded() {
        return start() > entries.size() ? Broker.unknown(start()) : entries;
    }

    /** How the last registered process ended, as the model has it: stopped or crashed. */
    int life() {
        return savedEpoch >= 0 ? 1 : 2;
    }
}
