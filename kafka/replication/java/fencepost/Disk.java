package fencepost;

import java.util.ArrayList;
import java.util.List;

/** The data on disk of a broker whose process has ended. */
final class Disk {
    /** The segment file (null without a replica), and its base offset. */
    byte[] segment;
    long base;
    /** The log start in the checkpoint of log starts, or 0 if there is none. */
    long checkpoint;
    /** The record and the leader epoch of each entry in the segment. */
    List<int[]> entries = new ArrayList<>();
    long highWatermark;
    /** The log directory that contains the log, or null without a replica. */
    String directory;
    /** The broker epoch that a clean shutdown has saved, or -1 after a crash. */
    long savedEpoch = -1;

    /** Returns the start of the log after loading. */
    long start() {
        return Math.max(checkpoint, Math.min(base, entries.size()));
    }

    /** Returns the entries after loading. A log that ends below its start is recreated at the start. */
    List<int[]> loaded() {
        return start() > entries.size() ? Broker.unknown(start()) : entries;
    }

    /** Returns how the last registered process ended, as the model's number for stopped or crashed. */
    int life() {
        return savedEpoch >= 0 ? 1 : 2;
    }
}
