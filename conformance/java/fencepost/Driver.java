package fencepost;

import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.FileDescriptor;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** Reads one action a line, `name number number ...`; answers each with one line of JSON: what became of it, and what is seen then. */
public final class Driver {
    private final Path root;
    private World world;

    private Driver(Path root) {
        this.root = root;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Driver driver = new Driver(Path.of(arguments[0]));
        out.println("{\"kafka\":\"" + org.apache.kafka.common.utils.AppInfoParser.getVersion() + "\"}");
        out.flush();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(driver.reply(line));
            out.flush();
        }
        Broker.remove(driver.root);  // whoever started this may have been killed
        System.exit(0);  // with what an agent does at the end
    }

    private String reply(String line) {
        String did = "done";
        String why = "";
        try {
            if (line.equals("dump")) {
                return "{\"told\":" + world.dump() + "}";
            }
            if (line.equals("memory")) {
                return "{\"told\":" + memory() + "}";
            }
            try {
                act(line.trim().split(" "));
            } catch (World.Untried e) {
                did = "untried";
                why = e.getMessage();
            } catch (World.Refused e) {
                did = "refused";
                why = e.getMessage();
            } catch (org.apache.kafka.common.errors.ApiException e) {
                did = "refused";
                why = org.apache.kafka.common.protocol.Errors.forException(e).name();
            }
            return "{\"did\":\"" + did + "\",\"why\":" + quote(why) + ",\"state\":" + world.state() + "}";
        } catch (Reflect.Changed e) {
            return "{\"changed\":" + quote(e.getMessage()) + "}";
        } catch (Throwable e) {
            java.io.StringWriter trace = new java.io.StringWriter();
            e.printStackTrace(new java.io.PrintWriter(trace));
            return "{\"broken\":" + quote(trace.toString()) + "}";
        }
    }

    /** What is in use once garbage is gone: bytes of the heap, threads, and bytes of the brokers' files. */
    private String memory() throws Exception {
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

    static String quote(String text) {
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

    private void act(String[] words) throws Exception {
        int[] n = new int[words.length];
        for (int i = 1; i < words.length; i++) {
            n[i] = Integer.parseInt(words[i]);
        }
        switch (words[0]) {
            case "reset":
                if (world != null) {
                    world.close();
                }
                world = new World(n[1], n[2], n[3] == 1, n[4] == 1, n[5], n[6], root);
                break;
            case "look": break;
            case "crash": world.crash(n[1], n[2]); break;
            case "stop": world.stop(n[1]); break;
            case "register": world.register(n[1], n[2]); break;
            case "fence": world.fence(n[1]); break;
            case "unfence": world.unfence(n[1]); break;
            case "begin-shutdown": world.beginShutdown(n[1]); break;
            case "elect": world.elect(); break;
            case "alter": world.alter(n[1]); break;
            case "resend": world.resend(n[1]); break;
            case "drop": world.drop(n[1]); break;
            case "answer": world.answer(n[1]); break;
            case "apply": world.apply(n[1], n[2]); break;
            case "produce": world.produce(n[1]); break;
            case "fetch": world.fetch(n[1], n[2]); break;
            case "late": world.late(n[1]); break;
            case "lose": world.lose(n[1]); break;
            case "follow": world.follow(n[1]); break;
            case "lag": world.lag(n[1], n[2]); break;
            case "shrink": world.shrink(n[1], n[2]); break;
            default: throw new IllegalArgumentException("an action that this driver does not know: " + words[0]);
        }
    }
}
