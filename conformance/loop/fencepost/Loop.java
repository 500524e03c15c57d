package fencepost;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Stream;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.AppInfoParser;

/** Reads one action a line, `name number number ...`; answers each with one line of JSON: what became of it, and what is seen then. */
public final class Loop {
    private Loop() { }

    /** What the lines are about. */
    public interface Driven {
        void act(String action, int[] numbers) throws Exception;

        /** What is seen, as JSON. */
        String state() throws Exception;

        /** All of Kafka's fields by their paths, as JSON. */
        default String dump() throws Exception {
            throw new UnsupportedOperationException("nothing is dumped here");
        }

        /** What is left to do at the end, if whoever started this was killed. */
        default void end() throws Exception { }
    }

    /** One of Kafka's classes has refused it. */
    public static class Refused extends RuntimeException {
        public Refused(String message) {
            super(message, null, false, false);
        }
    }

    /** What it needs is not there, so that nothing could be tried. */
    public static class Untried extends RuntimeException {
        public Untried(String message) {
            super(message, null, false, false);
        }
    }

    /** A class that a release is too new or too old for, or a member that has changed. */
    public static class Changed extends RuntimeException {
        public Changed(String message) {
            super(message, null, false, false);
        }
    }

    public static void run(String root, Driven driven) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        out.println("{\"kafka\":\"" + AppInfoParser.getVersion() + "\"}");
        out.flush();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(reply(line, driven, Path.of(root)));
            out.flush();
        }
        driven.end();
        System.exit(0);  // with what an agent does at the end
    }

    private static String reply(String line, Driven driven, Path root) {
        String did = "done";
        String why = "";
        try {
            if (line.equals("dump")) {
                return "{\"told\":" + driven.dump() + "}";
            }
            if (line.equals("memory")) {
                return "{\"told\":" + memory(root) + "}";
            }
            try {
                String[] words = line.trim().split(" ");
                driven.act(words[0], Arrays.stream(words).skip(1).mapToInt(Integer::parseInt).toArray());
            } catch (Untried e) {
                did = "untried";
                why = e.getMessage();
            } catch (Refused e) {
                did = "refused";
                why = e.getMessage();
            } catch (ApiException e) {
                did = "refused";
                why = Errors.forException(e).name();
            }
            return "{\"did\":\"" + did + "\",\"why\":" + quote(why) + ",\"state\":" + driven.state() + "}";
        } catch (Changed e) {
            return "{\"changed\":" + quote(e.getMessage()) + "}";
        } catch (Throwable e) {
            StringWriter trace = new StringWriter();
            e.printStackTrace(new PrintWriter(trace));
            return "{\"broken\":" + quote(trace.toString()) + "}";
        }
    }

    /** What is in use once garbage is gone: bytes of the heap, threads, and bytes of the files below `root`. */
    private static String memory(Path root) throws Exception {
        System.gc();
        Runtime java = Runtime.getRuntime();
        long files = 0;
        try (Stream<Path> found = Files.walk(root)) {
            for (Path path : found.filter(Files::isRegularFile).toArray(Path[]::new)) {
                files += Files.size(path);
            }
        }
        return "{\"heap\":" + (java.totalMemory() - java.freeMemory()) + ",\"threads\":" + Thread.activeCount() + ",\"files\":" + files + "}";
    }

    public static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }
}
