package fencepost;

import java.util.ArrayList;
import java.util.List;

/** What is left of a broker whose process has ended. */
final class Disk {
    /** The segment file; null without a replica. */
    byte[] segment;
    /** Record and leader epoch of each entry in it. */
    List<int[]> entries = new ArrayList<>();
    long highWatermark;
    /** The log directory in which the log lies, null without a replica. */
    String directory;
    /** The broker epoch that a clean shutdown has saved, -1 after a crash. */
    long savedEpoch = -1;

    /** How the last registered process ended, as the model has it: stopped or crashed. */
    int life() {
        return savedEpoch >= 0 ? 1 : 2;
    }
}
