package fencepost;

import com.yammer.metrics.core.MetricsRegistryListener;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;

/**
 * Random histories of Kafka's classes. Reads commands, one per line, and answers in JSON: `run PROFILE FIRST COUNT
 * SECONDS` draws histories, each of which depends only on its seed; `replay SHAPE|STEP;STEP|FINDING FINDING` takes the
 * possible steps of a script, with the fixes for these findings; `shorten SHAPE|STEP;STEP` removes the steps that a
 * violation does not need.
 */
public final class Fuzz {
    /** The relative frequency of each verb. A seed raises some frequencies and omits some verbs. */
    private static final Map<String, Double> COMMON = new TreeMap<>(Map.ofEntries(
        Map.entry("produce", 8.0), Map.entry("fetch", 16.0), Map.entry("follow", 16.0), Map.entry("publish", 14.0), Map.entry("alter", 8.0),
        Map.entry("answer", 8.0), Map.entry("assign", 8.0), Map.entry("heartbeat", 8.0), Map.entry("fence", 2.0), Map.entry("stop", 1.5),
        Map.entry("kill", 0.5), Map.entry("boot", 1.0), Map.entry("register", 6.0), Map.entry("start", 3.0), Map.entry("lag", 2.0),
        Map.entry("work", 8.0), Map.entry("shrink", 3.0), Map.entry("send", 2.0), Map.entry("serve", 3.0), Map.entry("resend", 1.0), Map.entry("late-heartbeat", 0.5),
        Map.entry("checkpoint", 1.0), Map.entry("reread", 1.0), Map.entry("retry", 1.0), Map.entry("copy", 6.0), Map.entry("fail-over", 0.5)));
    private static final String TRANSACTIONS = "transactions";
    private static final String SESSIONS = "sessions";
    private static final Map<String, Map<String, Double>> PROFILES = Map.of(
        "disks", Map.of("fail", 2.0, "take", 3.0, "replace", 1.0, "move", 2.0),
        "crashes", Map.of("crash", 2.0),
        "operators", Map.ofEntries(Map.entry("reassign", 2.0), Map.entry("cancel", 1.0), Map.entry("elect", 1.0), Map.entry("elect-unclean", 0.2),
            Map.entry("balance", 1.0), Map.entry("recreate", 0.6), Map.entry("delete", 2.0), Map.entry("min-isr", 1.0), Map.entry("elr-off", 0.1),
            Map.entry("roll", 2.0), Map.entry("retain", 1.0), Map.entry("unregister", 0.5), Map.entry("move", 1.0)),
        "all", Map.ofEntries(Map.entry("fail", 1.0), Map.entry("take", 2.0), Map.entry("replace", 1.0), Map.entry("crash", 1.0),
            Map.entry("reassign", 1.0), Map.entry("cancel", 0.5), Map.entry("elect", 0.5), Map.entry("balance", 0.5), Map.entry("recreate", 0.2),
            Map.entry("delete", 1.0), Map.entry("move", 1.0), Map.entry("unregister", 0.6), Map.entry("roll", 1.0), Map.entry("retain", 0.5)),
        TRANSACTIONS, Map.ofEntries(Map.entry("write", 24.0), Map.entry("again", 4.0), Map.entry("verify", 16.0), Map.entry("append", 3.0),
            Map.entry("deny", 2.0), Map.entry("commit", 5.0), Map.entry("abort", 6.0), Map.entry("expire", 1.0), Map.entry("mark", 24.0),
            Map.entry("tear", 1.0), Map.entry("roll", 2.0), Map.entry("crash", 0.3), Map.entry("delete", 0.3), Map.entry("retain", 0.3),
            Map.entry("reassign", 0.5), Map.entry("elect", 1.0), Map.entry("fail", 0.3), Map.entry("take", 1.0), Map.entry("replace", 0.3),
            Map.entry("move", 0.5)),
        SESSIONS, Map.ofEntries(Map.entry("send", 12.0), Map.entry("serve", 12.0), Map.entry("open", 3.0), Map.entry("late-fetch", 1.0),
            Map.entry("cut", 0.6), Map.entry("recreate", 0.8), Map.entry("reassign", 1.5), Map.entry("cancel", 0.5), Map.entry("elect", 1.5), Map.entry("balance", 0.5),
            Map.entry("delete", 3.0), Map.entry("roll", 1.0), Map.entry("retain", 0.5), Map.entry("crash", 0.5), Map.entry("fail", 0.3),
            Map.entry("take", 1.0), Map.entry("move", 0.5)));
    /** Steps that are rare in histories with transactions, because a transaction takes many other steps. */
    private static final List<String> RARE = List.of("produce", "fence", "stop", "kill", "lag", "shrink");
    private static final List<String> DRAWN = List.of("disks", "crashes", "operators", "all");
    private static final int REPLAYS = 400;
    private static final com.sun.management.OperatingSystemMXBean SYSTEM =
        (com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory.getOperatingSystemMXBean();

    /** A history: its sizes, its steps, its violation (null if none), and a digest of all its states. */
    private static final class History {
        Cluster.Shape shape;
        final List<Cluster.Step> steps = new ArrayList<>();
        final List<String> shown = new ArrayList<>();
        Throwable end;
        long digest;

        /** Records a step, and returns the resulting state. */
        String note(Cluster c, Judge judge, Cluster.Step step, boolean shows) {
            steps.add(step);
            String state = judge.state();
            digest = digest * 1_000_003 + step.toString().hashCode() * 31L + state.hashCode();
            if (shows) {
                shown.add(c.show());
            }
            return state;
        }

        boolean isLike(History other) {
            return end != null && kind(end).equals(kind(other.end));
        }
    }

    private final Path root;
    private final PrintStream out;
    private long steps;
    /** The number of steps of each history since the last report. */
    private final List<Integer> taken = new ArrayList<>();

    private Fuzz(Path root, PrintStream out) {
        this.root = root;
        this.out = out;
    }

    // ---- drawing

    private static Cluster.Shape shape(String profile, SplittableRandom random) {
        boolean isOfOperators = profile.equals("operators");
        int brokers = random.nextInt(3) == 0 || (isOfOperators || profile.equals(SESSIONS)) && random.nextBoolean() ? 3 : 2;
        int replicas = brokers == 3 && random.nextInt(3) == 0 ? 3 : 2;
        int disks = profile.equals("crashes") ? 1 : profile.equals("disks") ? random.nextInt(4) == 0 ? 1 : 2 : 1 + random.nextInt(2);
        int partitions = random.nextInt(3) == 0 ? 2 : 1;
        if (profile.equals(SESSIONS)) {
            partitions = 1 + random.nextInt(3);
        }
        int elr = 0;  // until 3.9
        int elr = random.nextInt(isOfOperators ? 4 : 1) == 3 ? 0 : 1;  // since 4.0
        int minIsr = isOfOperators && random.nextInt(3) == 0 ? 1 : 2;
        // without ELR, the last replica in the ISR can lead even if it has lost records
        int faults = isOfOperators || elr == 0 ? 0 : 1 + random.nextInt(2);
        return new Cluster.Shape(brokers, disks, partitions, replicas, minIsr, elr, faults);
    }

    private static TreeMap<String, Double> weights(String profile, SplittableRandom random) {
        TreeMap<String, Double> found = new TreeMap<>();
        COMMON.forEach((verb, weight) -> found.put(verb, weight * Math.pow(2, 3 * random.nextDouble() - 1.5)));
        new TreeMap<>(PROFILES.get(profile)).forEach((verb, weight) -> {
            double factor = Math.pow(2, 4 * random.nextDouble() - 2);
            if (random.nextInt(4) > 0) {
                found.put(verb, weight * factor);
            }
        });
        if (profile.equals(TRANSACTIONS)) {
            RARE.forEach(verb -> found.merge(verb, 0.2, (weight, factor) -> weight * factor));
        }
        return found;
    }

    private History drawn(String given, long seed) throws Exception {
        SplittableRandom random = new SplittableRandom(seed);
        String profile = given.equals("mixed") ? DRAWN.get(random.nextInt(DRAWN.size())) : given;
        History history = new History();
        history.shape = shape(profile, random);
        TreeMap<String, Double> weights = weights(profile, random);
        int most = (profile.equals(TRANSACTIONS) ? 2 : 1) * (40 + random.nextInt(160));
        within(history, (c, judge) -> {
            Set<Cluster.Step> idle = new HashSet<>();
            if (profile.equals(SESSIONS)) {
                take(c, judge, history, new Cluster.Step(SESSIONS, 0, 0, 0), false);
            }
            String state = judge.state();
            for (int i = 0; i < most; i++) {
                Cluster.Step step = next(c, weights, idle, random);
                if (step == null) {
                    return;
                }
                String before = state;
                state = take(c, judge, history, step, false);
                if (!state.equals(before) || step.verb().equals("lag")) {
                    idle.clear();
                } else {
                    idle.add(step);
                }
            }
        });
        return history;
    }

    /** Draws a possible step, except steps that recently had no effect. */
    private static Cluster.Step next(Cluster c, Map<String, Double> weights, Set<Cluster.Step> idle, SplittableRandom random) {
        TreeMap<String, Double> left = new TreeMap<>(weights);
        while (!left.isEmpty()) {
            double at = random.nextDouble() * left.values().stream().mapToDouble(w -> w).sum();
            String verb = left.firstKey();
            for (Map.Entry<String, Double> e : left.entrySet()) {
                verb = e.getKey();
                at -= e.getValue();
                if (at < 0) {
                    break;
                }
            }
            List<Cluster.Step> steps = c.steps(verb);
            steps.removeAll(idle);
            if (!steps.isEmpty()) {
                return steps.get(random.nextInt(steps.size()));
            }
            left.remove(verb);
        }
        return null;
    }

    // ---- taking

    private interface Body {
        void run(Cluster c, Judge judge) throws Exception;
    }

    private void within(History history, Body body) throws Exception {
        Cluster c = null;
        try {
            c = new Cluster(history.shape, root);
            Judge judge = new Judge(c);
            judge.rest(true);
            body.run(c, judge);
            judge.settle();
        } catch (Throwable e) {
            history.end = e;
        } finally {
            if (c != null) {
                c.close();
            }
        }
    }

    private String take(Cluster c, Judge judge, History history, Cluster.Step step, boolean shows) throws Exception {
        steps++;
        String state;
        try {
            c.act(step);
        } finally {
            state = history.note(c, judge, step, shows);
        }
        judge.look();
        return state;
    }

    private History replayed(Cluster.Shape shape, List<Cluster.Step> script, boolean shows) throws Exception {
        History history = new History();
        history.shape = shape;
        within(history, (c, judge) -> {
            for (Cluster.Step step : script) {
                if (c.can(step)) {
                    take(c, judge, history, step, shows);
                }
            }
        });
        return history;
    }

    /** Omits steps, brokers, directories and partitions; returns the shortest history found with the same violation. */
    private History shortened(History found) throws Exception {
        History best = found;
        Set<List<Cluster.Step>> known = new HashSet<>();
        for (int size = Math.max(1, best.steps.size() / 2); size >= 1; size /= 2) {
            for (int at = 0; at < best.steps.size() && known.size() < REPLAYS;) {
                List<Cluster.Step> fewer = new ArrayList<>(best.steps.subList(0, at));
                fewer.addAll(best.steps.subList(Math.min(best.steps.size(), at + size), best.steps.size()));
                History tried = known.add(fewer) ? replayed(best.shape, fewer, false) : null;
                if (tried != null && tried.isLike(found) && tried.steps.size() < best.steps.size()) {
                    best = tried;
                } else {
                    at += size;
                }
            }
        }
        for (Cluster.Shape smaller : smaller(best.shape)) {
            History tried = replayed(smaller, best.steps, false);
            if (tried.isLike(found) && tried.steps.size() <= best.steps.size()) {
                best = tried;
            }
        }
        return replayed(best.shape, best.steps, true);
    }

    private static List<Cluster.Shape> smaller(Cluster.Shape s) {
        List<Cluster.Shape> found = new ArrayList<>();
        for (int brokers = 2; brokers <= s.brokers(); brokers++) {
            for (int disks = 1; disks <= s.disks(); disks++) {
                for (int partitions = 1; partitions <= s.partitions(); partitions++) {
                    if (s.replicas() <= brokers) {
                        found.add(0, new Cluster.Shape(brokers, disks, partitions, s.replicas(), s.minIsr(), s.elr(), s.faults()));
                    }
                }
            }
        }
        return found.subList(1, found.size());  // the first is the same
    }

    /** Returns a message without numbers, for exceptions with the throwing method. Equal texts mean the same kind of bug. */
    private static String kind(Throwable e) {
        String where = e instanceof Judge.Violation ? "" : " at " + Arrays.stream(e.getStackTrace())
            .filter(f -> f.getClassName().contains("kafka") && !f.getClassName().contains("Fencepost")).findFirst().map(f -> f.getClassName() + "." + f.getMethodName()).orElse("");
        return (message(e) + where).replaceAll("(/[^ ,]+|[0-9a-f]{32}|[0-9])+", "#");
    }

    /** Returns the violation, with directories named without the temporary folder. */
    private static String message(Throwable e) {
        String said = e instanceof Judge.Violation ? e.getMessage() : "an exception: " + e;
        return said.replaceAll("/\\S*/(?=broker-\\d+/)", "");
    }

    // ---- lines

    private void run(String profile, long first, long count, double seconds) throws Exception {
        long began = System.nanoTime();
        long shown = began;
        steps = 0;
        taken.clear();
        long digest = 0;
        long done = 0;
        for (long seed = first; seed < first + count; seed++) {
            History history = drawn(profile, seed);
            digest = digest * 31 + history.digest;
            done++;
            taken.add(history.steps.size());
            if (history.end != null) {
                out.println("{\"seed\":" + seed + "," + json(history) + "}");
                out.flush();
            }
            long now = System.nanoTime();
            if (seconds > 0 && now - began > seconds * 1e9) {
                break;
            }
            if (now - shown > 500_000_000L) {
                shown = now;
                progress("at", done, began, digest);
            }
        }
        progress("done", done, began, digest);
    }

    private void progress(String name, long done, long began, long digest) {
        out.printf(java.util.Locale.ROOT, "{\"%s\":%d,\"steps\":%d,\"seconds\":%.3f,\"cpu\":%.3f,\"digest\":\"%x\",\"taken\":%s}%n", name, done, steps,
            (System.nanoTime() - began) / 1e9, SYSTEM.getProcessCpuTime() / 1e9, digest, taken);
        out.flush();
        taken.clear();
    }

    private static String json(History h) {
        String trace = h.end == null || h.end instanceof Judge.Violation ? "" : Arrays.stream(h.end.getStackTrace()).limit(14)
            .map(StackTraceElement::toString).collect(Collectors.joining("\n"));
        return "\"kind\":" + (h.end == null ? "null" : Loop.quote(kind(h.end))) + ",\"message\":" + (h.end == null ? "null" : Loop.quote(message(h.end)))
            + ",\"trace\":" + Loop.quote(trace) + ",\"shape\":" + Loop.quote(h.shape.toString()) + ",\"steps\":" + list(h.steps)
            + ",\"shown\":" + list(h.shown) + ",\"digest\":\"" + Long.toHexString(h.digest) + "\"";
    }

    private static String list(List<?> items) {
        return items.stream().map(item -> Loop.quote(item.toString())).collect(Collectors.joining(",", "[", "]"));
    }

    private void line(String line) throws Exception {
        if (line.startsWith("replay ") || line.startsWith("shorten ")) {
            String[] parts = line.substring(line.indexOf(' ')).split("\\|", -1);
            List<Cluster.Step> script = Arrays.stream(parts[1].split(";")).filter(s -> !s.isBlank()).map(Cluster.Step::of).toList();
            List<String> repairs = Arrays.stream(parts).skip(2).flatMap(names -> Arrays.stream(names.split(" "))).map(name -> "fencepost.repair." + name).toList();
            repairs.forEach(repair -> System.setProperty(repair, "true"));
            History history = replayed(Cluster.Shape.of(parts[0].trim()), script, true);
            if (line.startsWith("shorten ") && history.end != null) {
                history = shortened(history);
            }
            repairs.forEach(System::clearProperty);
            out.println("{" + json(history) + "}");
            out.flush();
            return;
        }
        String[] words = line.split(" ");
        run(words[1], Long.parseLong(words[2]), Long.parseLong(words[3]), Double.parseDouble(words[4]));
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Exit.Procedure thrown = (status, message) -> {
            throw new Judge.Violation("the process ends itself with status " + status);
        };
        Exit.setHaltProcedure(thrown);
        Exit.setExitProcedure(thrown);
        out.println("{\"kafka\":\"" + AppInfoParser.getVersion() + "\"}");
        out.flush();
        // otherwise, JMX would register and remove the metrics of each process
        KafkaYammerMetrics.defaultRegistry().removeListener((MetricsRegistryListener) Reflect.get(KafkaYammerMetrics.INSTANCE, "jmxReporter"));
        Fuzz fuzz = new Fuzz(Path.of(arguments[0]), out);
        ProcessHandle.current().parent().ifPresent(parent -> parent.onExit().thenRun(() -> Runtime.getRuntime().halt(1)));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        try {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                fuzz.line(line);
            }
            Broker.remove(fuzz.root);
        } catch (Throwable e) {
            e.printStackTrace();
            Runtime.getRuntime().halt(1);  // Kafka's threads would keep the process alive
        }
        Runtime.getRuntime().halt(0);
    }
}
