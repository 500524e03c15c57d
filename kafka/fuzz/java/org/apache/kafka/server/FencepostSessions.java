package org.apache.kafka.server;

import java.util.function.IntSupplier;

/** Kafka's cache of fetch sessions, whose IDs are not random. */
public final class FencepostSessions
    extends kafka.server.FetchSessionCacheShard  // since 3.8
{
    private final IntSupplier ids;

    /** A cache of at most `most` sessions; a session that was not used for `stale` milliseconds may be evicted. */
    public FencepostSessions(int most, long stale, IntSupplier ids) {
        super(most, stale, 1_000_000, 0);  // since 3.8
        this.ids = ids;
    }

    @Override  // since 3.8
    public int newSessionId() {
        return ids.getAsInt();
    }
}
