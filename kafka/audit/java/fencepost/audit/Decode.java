package fencepost.audit;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.StandardOpenOption;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.utils.ByteUtils;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Conversion of a metadata log's segments and snapshots to lines, decoded by Kafka's own classes.
 *
 * Standard input: a line `NUMBER<tab>POSITION<tab>PATH` for each file. Standard output: a line for each record, with
 * the number of its file, its offset, the last offset of its batch, its epoch, time, type and version, the topic id and
 * the partition (empty and -1 if the record is not about a partition), and its fields as JSON. The only argument names
 * a file for notes on unreadable parts, with a JSON object on each line. The last note about a file says how much of it
 * was read.
 */
public final class Decode {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Pattern SECRET = Pattern.compile("password|secret|jaas|credential|\\.key$", Pattern.CASE_INSENSITIVE);
    private static final JsonNode NONE = JSON.createObjectNode();
    /** The search for the next valid batch ends after this many bytes, because no batch of the controller is larger. */
    private static final int SEARCHED = 64 << 20;

    private final Writer lines;
    private final PrintStream notes;
    private int file;
    private long next;
    private long records;
    private long last;
    private final Map<String, long[]> refused = new TreeMap<>();

    private Decode(Writer lines, PrintStream notes) {
        this.lines = lines;
        this.notes = notes;
    }

    public static void main(String[] arguments) throws IOException {
        try (Writer lines = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8), 1 << 20);
                PrintStream notes = new PrintStream(arguments[0], StandardCharsets.UTF_8)) {
            Decode decode = new Decode(lines, notes);
            BufferedReader asked = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line; (line = asked.readLine()) != null; ) {
                String[] words = line.split("\t", 3);
                decode.read(Integer.parseInt(words[0]), Integer.parseInt(words[1]), new File(words[2]));
            }
        }
    }

    private void read(int number, int from, File path) throws IOException {
        file = number;
        next = -1;
        last = -1;
        records = 0;
        refused.clear();
        int position = from;
        int size = from;
        String failed = "";
        try (FileRecords found = FileRecords.open(path, false)) {
            size = found.sizeInBytes();
            position = batches(path, found, from, size);
        } catch (IOException | IllegalStateException | org.apache.kafka.common.KafkaException error) {
            failed = error.toString();
        }
        refused.forEach((what, seen) -> note("refused").put("what", what).put("count", seen[0]).put("offset", seen[1]).done());
        note("read").put("position", position).put("size", size).put("grown", path.length()).put("records", records)
            .put("last", last).put("failed", failed).done();
    }

    /** Reads the batches; returns the position up to which they are complete. */
    private int batches(File path, FileRecords found, int from, int size) throws IOException {
        int position = from;
        while (position < size) {
            Iterator<? extends RecordBatch> batches = found.batchesFrom(position).iterator();
            String why = "";
            try {
                while (batches.hasNext()) {
                    RecordBatch batch = batches.next();
                    why = batch.isValid() ? "" : "its checksum does not match";
                    if (!why.isEmpty()) {
                        break;
                    }
                    take(batch);
                    position += batch.sizeInBytes();
                }
            } catch (org.apache.kafka.common.KafkaException | IllegalArgumentException | IndexOutOfBoundsException error) {
                why = String.valueOf(error.getMessage());
            }
            int whole = why.isEmpty() ? size : found(path, position + 1, size);
            if (why.isEmpty()) {
                whole = position == size ? size : found(path, position + 1, size);
                why = "it is incomplete";
            }
            if (whole >= size) {
                return position;
            }
            note("damaged").put("position", position).put("bytes", whole - position).put("offset", next).put("why", why).done();
            position = whole;
        }
        return position;
    }

    /** Returns the position of the next batch with a valid checksum, or the size if there is none. */
    private int found(File path, int from, int size) throws IOException {
        try (FileChannel channel = FileChannel.open(path.toPath(), StandardOpenOption.READ)) {
            int end = Math.min(size, from + SEARCHED);
            ByteBuffer bytes = ByteBuffer.allocate(end - from);
            while (bytes.hasRemaining() && channel.read(bytes, from + bytes.position()) > 0) {
                continue;
            }
            for (int at = 0; at + 61 <= bytes.position(); at++) {
                long offset = bytes.getLong(at);
                int length = bytes.getInt(at + 8) + 12;
                if (bytes.get(at + 16) == RecordBatch.MAGIC_VALUE_V2 && offset >= next && length > 60 && length <= bytes.position() - at) {
                    ByteBuffer one = bytes.duplicate().position(at).limit(at + length).slice();
                    if (MemoryRecords.readableRecords(one).batches().iterator().next().isValid()) {
                        return from + at;
                    }
                }
            }
        }
        return size;
    }

    private void take(RecordBatch batch) throws IOException {
        if (next != batch.baseOffset()) {
            note("run").put("offset", batch.baseOffset()).put("after", next).done();
        }
        for (Record record : batch) {
            String type;
            int version = 0;
            JsonNode fields = NONE;
            if (batch.isControlBatch()) {
                type = "CONTROL_" + ControlRecordType.parse(record.key());
            } else {
                ByteBuffer value = record.value();
                ByteBuffer head = value.duplicate();
                ByteUtils.readUnsignedVarint(head);
                short key = (short) ByteUtils.readUnsignedVarint(head);
                version = ByteUtils.readUnsignedVarint(head);
                try {
                    MetadataRecordType known = MetadataRecordType.fromId(key);
                    type = known.name();
                    if (version > known.highestSupportedVersion()) {
                        refuse("version " + version + " of " + type, record.offset());
                        type = "UNREAD_" + type;
                    } else {
                        fields = fields(known, value, (short) version);
                    }
                } catch (RuntimeException error) {
                    refuse("type " + key + ", version " + version, record.offset());
                    type = "UNREAD_" + key;
                }
            }
            write(record.offset(), batch, type, version, fields);
        }
        next = batch.lastOffset() + 1;
        last = batch.lastOffset();
    }

    private static JsonNode fields(MetadataRecordType type, ByteBuffer value, short version) {
        if (type == MetadataRecordType.USER_SCRAM_CREDENTIAL_RECORD || type == MetadataRecordType.DELEGATION_TOKEN_RECORD) {
            return NONE;
        }
        ApiMessageAndVersion message = MetadataRecordSerde.INSTANCE.read(new ByteBufferAccessor(value), value.remaining());
        JsonNode node = MetadataJsonConverters.writeJson(message.message(), version);
        if (type == MetadataRecordType.CONFIG_RECORD && SECRET.matcher(node.get("name").asText()).find()) {
            ((ObjectNode) node).put("value", "(not kept)");
        }
        return node;
    }

    private void write(long offset, RecordBatch batch, String type, int version, JsonNode fields) throws IOException {
        lines.append(Integer.toString(file)).append('\t').append(Long.toString(offset)).append('\t')
            .append(Long.toString(batch.lastOffset())).append('\t').append(Integer.toString(batch.partitionLeaderEpoch())).append('\t')
            .append(Long.toString(batch.maxTimestamp())).append('\t').append(type).append('\t').append(Integer.toString(version))
            .append('\t').append(fields.path("topicId").asText("")).append('\t')
            .append(Integer.toString(fields.path("partitionId").asInt(-1))).append('\t').append(fields.toString()).append('\n');
        records++;
    }

    private void refuse(String what, long offset) {
        long[] seen = refused.computeIfAbsent(what, name -> new long[] {0, offset});
        seen[0]++;
    }

    private Note note(String kind) {
        return new Note(JSON.createObjectNode().put("file", file).put("note", kind), notes);
    }

    /** Builds a JSON object for the notes. */
    private record Note(ObjectNode node, PrintStream to) {
        Note put(String name, long value) {
            node.put(name, value);
            return this;
        }

        Note put(String name, String value) {
            node.put(name, value);
            return this;
        }

        void done() {
            to.println(node);
        }
    }
}
