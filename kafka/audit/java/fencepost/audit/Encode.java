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
import java.util.List;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Conversion of lines to segments of a metadata log by Kafka's own classes: the reverse of Decode, for tests and
 * benchmarks.
 *
 * Standard input: `EPOCH<tab>TIME` begins a batch, and `TYPE<tab>VERSION<tab>JSON` is a record of the batch. Arguments:
 * the folder, the first offset, and the number of bytes after which a segment ends.
 */
public final class Encode {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path folder;
    private final long most;
    private long offset;
    private long written;
    private FileChannel segment;
    private final List<SimpleRecord> batch = new ArrayList<>();

    private Encode(Path folder, long offset, long most) {
        this.folder = folder;
        this.offset = offset;
        this.most = most;
    }

    public static void main(String[] arguments) throws IOException {
        Encode encode = new Encode(Path.of(arguments[0]), Long.parseLong(arguments[1]), Long.parseLong(arguments[2]));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 20);
        int epoch = 0;
        long time = 0;
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split("\t", 3);
            if (words.length == 2) {
                encode.end(epoch);
                epoch = Integer.parseInt(words[0]);
                time = Long.parseLong(words[1]);
            } else {
                encode.batch.add(new SimpleRecord(time, null, bytes(words[0], Short.parseShort(words[1]), words[2])));
            }
        }
        encode.end(epoch);
        if (encode.segment != null) {
            encode.segment.close();
        }
    }

    private static byte[] bytes(String type, short version, String fields) throws IOException {
        short key = MetadataRecordType.valueOf(type).id();
        ApiMessageAndVersion message = new ApiMessageAndVersion(
            MetadataJsonConverters.readJson(JSON.readTree(fields), key, version), version);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer bytes = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(message, cache));
        MetadataRecordSerde.INSTANCE.write(message, cache, new ByteBufferAccessor(bytes));
        return bytes.array();
    }

    private void end(int epoch) throws IOException {
        if (batch.isEmpty()) {
            return;
        }
        if (segment == null || written >= most) {
            if (segment != null) {
                segment.close();
            }
            segment = FileChannel.open(folder.resolve(String.format("%020d.log", offset)),
                StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            written = 0;
        }
        MemoryRecords records = MemoryRecords.withRecords(offset, Compression.NONE, epoch, batch.toArray(new SimpleRecord[0]));
        for (ByteBuffer bytes = records.buffer().duplicate(); bytes.hasRemaining(); ) {
            written += segment.write(bytes);
        }
        offset += batch.size();
        batch.clear();
    }
}
