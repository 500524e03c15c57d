package fencepost.audit;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;

/**
 * Comparison of copies of a partition's log, which Kafka's own classes read side by side.
 *
 * Standard input: a partition on each line, as JSON with `number`, `compacted`, and `copies`, each of which is a list
 * of segments in order. Standard output: a line for each partition, with `runs` of offsets in which the same copies
 * have the same batches in the same epochs: the first and last offset, the first and last time, and for each copy, its
 * epoch and the first copy with the same batches, or -1 if the copy has no batch there. `notes` list bytes that belong
 * to no batch. In a compacted log, only epochs are compared, because each broker rewrites the batches of such a log.
 */
public final class Compare {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** Logs that differ in more places are not read further. */
    private static final int MOST = 10_000;
    /** The search for the next valid batch ends after this many bytes. */
    private static final int SEARCHED = 64 << 20;

    private final boolean compacted;
    private final List<Copy> copies = new ArrayList<>();
    private final ArrayNode runs = JSON.createArrayNode();
    private final ArrayNode notes = JSON.createArrayNode();
    private long bytes;

    private Compare(JsonNode asked) {
        compacted = asked.get("compacted").asBoolean();
        asked.get("copies").forEach(segments -> copies.add(new Copy(copies.size(), segments)));
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = asked.readLine()) != null; ) {
            JsonNode partition = JSON.readTree(line);
            Compare made = new Compare(partition);
            boolean whole = made.walk();
            ObjectNode said = JSON.createObjectNode().put("number", partition.get("number").asInt()).put("whole", whole).put("bytes", made.bytes);
            said.set("runs", made.runs);
            said.set("notes", made.notes);
            System.out.println(JSON.writeValueAsString(said));
        }
    }

    /** Finds the runs; returns whether everything was read. */
    private boolean walk() {
        copies.forEach(Copy::advance);
        int[] epochs = null;
        int[] same = null;
        long first = 0;
        long last = -1;
        long began = -1;
        long ended = -1;
        while (runs.size() < MOST) {
            long at = Long.MAX_VALUE;
            for (Copy copy : copies) {
                at = copy.there ? Math.min(at, Math.max(copy.first, last + 1)) : at;
            }
            if (at == Long.MAX_VALUE) {
                close(first, last, began, ended, epochs, same);
                return true;
            }
            long end = Long.MAX_VALUE;
            int[] epochsNow = new int[copies.size()];
            int[] sameNow = new int[copies.size()];
            long earliest = Long.MAX_VALUE;
            long latest = -1;
            for (Copy copy : copies) {
                boolean covers = copy.there && copy.first <= at;
                end = copy.there ? Math.min(end, covers ? copy.last : copy.first - 1) : end;
                epochsNow[copy.number] = covers ? copy.epoch : -1;
                sameNow[copy.number] = covers ? copy.firstLike(at) : -1;
                earliest = covers ? Math.min(earliest, copy.time) : earliest;
                latest = covers ? Math.max(latest, copy.time) : latest;
            }
            if (at != last + 1 || !Arrays.equals(epochs, epochsNow) || !Arrays.equals(same, sameNow)) {
                close(first, last, began, ended, epochs, same);
                first = at;
                began = earliest;
                ended = latest;
                epochs = epochsNow;
                same = sameNow;
            }
            began = Math.min(began, earliest);
            ended = Math.max(ended, latest);
            last = end;
            for (Copy copy : copies) {
                if (copy.there && copy.last <= end) {
                    copy.advance();
                }
            }
        }
        return false;
    }

    private void close(long first, long last, long began, long ended, int[] epochs, int[] same) {
        if (epochs != null) {
            runs.addArray().add(first).add(last).add(began).add(ended).addPOJO(epochs).addPOJO(same);
        }
    }

    /** A copy with its current batch. */
    private final class Copy {
        private final int number;
        private final Iterator<JsonNode> segments;
        private String path = "";
        private ByteBuffer left = ByteBuffer.allocate(0);
        private boolean there;
        private long first;
        private long last = -1;
        private int epoch;
        private long time;
        private long start;
        private long checksum;

        private Copy(int number, JsonNode segments) {
            this.number = number;
            this.segments = segments.iterator();
        }

        /** Returns the first copy with the same batch. */
        private int firstLike(long at) {
            for (Copy other : copies) {
                boolean equal = other.epoch == epoch && (compacted || other.start == start && other.last == last && other.checksum == checksum);
                if (other.there && other.first <= at && equal) {
                    return other.number;
                }
            }
            return number;
        }

        /** Moves to the next valid batch. */
        private void advance() {
            there = false;
            while (!there && (left.hasRemaining() || open())) {
                int at = left.position();
                RecordBatch batch = batchAt(at);
                if (batch == null) {
                    int next = at;
                    while (next < left.limit() && left.get(next) == 0) {
                        next++;
                    }
                    if (next == left.limit()) { // the segment was allocated in advance
                        left.position(next);
                        continue;
                    }
                    next = at + 1;
                    int end = (int) Math.min(left.limit(), (long) at + SEARCHED);
                    while (next < end && (left.get(Math.min(next + 16, left.limit() - 1)) != RecordBatch.MAGIC_VALUE_V2
                            || batchAt(next) == null)) {
                        next++;
                    }
                    next = next < end ? next : left.limit();
                    note("damaged", at, next - at, next == left.limit());
                    left.position(next);
                    continue;
                }
                boolean begun = last >= 0;
                start = batch.baseOffset();
                first = compacted && begun ? last + 1 : start; // records removed by compaction are not missing
                last = batch.lastOffset();
                epoch = batch.partitionLeaderEpoch();
                time = batch.maxTimestamp();
                checksum = batch.checksum();
                there = true;
                left.position(at + batch.sizeInBytes());
            }
        }

        /** Returns the valid batch at a position, or null if there is none. */
        private RecordBatch batchAt(int at) {
            try {
                Iterator<? extends RecordBatch> found = MemoryRecords.readableRecords(left.duplicate().position(at).slice()).batches().iterator();
                RecordBatch batch = found.hasNext() ? found.next() : null;
                boolean valid = batch != null && batch.isValid() && batch.baseOffset() > last && batch.lastOffset() >= batch.baseOffset();
                return valid ? batch : null;
            } catch (RuntimeException | InternalError error) {
                return null;
            }
        }

        private boolean open() {
            if (!segments.hasNext()) {
                return false;
            }
            path = segments.next().asText();
            try (FileChannel channel = FileChannel.open(Path.of(path), StandardOpenOption.READ)) {
                left = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
                bytes += left.limit();
            } catch (IOException | RuntimeException error) {
                note("unreadable: " + error, 0, 0, true);
                left = ByteBuffer.allocate(0);
            }
            return true;
        }

        private void note(String what, long position, long size, boolean atEnd) {
            notes.addObject().put("copy", number).put("what", what).put("path", path).put("position", position).put("bytes", size)
                .put("after", last).put("at_end", atEnd && !segments.hasNext());
        }
    }
}
