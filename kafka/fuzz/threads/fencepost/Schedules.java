package fencepost;

import com.yammer.metrics.core.Histogram;
import com.yammer.metrics.core.Metric;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistryListener;
import com.yammer.metrics.core.Timer;
import com.yammer.metrics.stats.Sample;
import com.yammer.metrics.stats.Snapshot;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;
import org.pastalab.fray.core.RunContext;
import org.pastalab.fray.core.ThreadContext;
import org.pastalab.fray.core.command.Configuration;
import org.pastalab.fray.core.command.ExecutionInfo;
import org.pastalab.fray.core.command.LambdaExecutor;
import org.pastalab.fray.core.command.NetworkDelegateType;
import org.pastalab.fray.core.command.SystemTimeDelegateType;
import org.pastalab.fray.core.delegates.DelegateSynchronizer;
import org.pastalab.fray.core.delegates.RuntimeDelegate;
import org.pastalab.fray.core.randomness.ControlledRandom;
import org.pastalab.fray.core.randomness.ControlledRandomProvider;
import org.pastalab.fray.core.scheduler.PCTScheduler;
import org.pastalab.fray.core.scheduler.POSScheduler;
import org.pastalab.fray.core.scheduler.RandomScheduler;
import org.pastalab.fray.core.scheduler.Scheduler;
import org.pastalab.fray.rmi.ScheduleObserver;
import org.pastalab.fray.runtime.LivenessException;
import org.pastalab.fray.runtime.Runtime;

/**
 * Threads of brokers under Fray's schedules. Reads commands, one per line, and answers in JSON: `run SCHEDULER FIRST COUNT
 * SECONDS` takes a schedule for each seed, which determines the story and the schedule; `find` with the same words ends at
 * the first violation; `again SCHEDULER SEED COUNT` takes this many schedules of the story of one seed; `unlock NUMBER`
 * takes the lock of a method out (0: of none).
 */
public final class Schedules {
    /** A schedule: its story, what went wrong (null if nothing), its number of scheduling steps, and a digest of them. */
    private record Taken(Story story, Throwable end, long steps, long digest) { }

    private static final List<String> SCHEDULERS = List.of("random", "pct", "pos");
    private static final int MOST_STEPS = 30_000;
    private static final long PATIENCE_MS = 60_000;
    private static final int DIGITS = 7;
    /** Numbers of schedules before the first one that counts, so that it does not load classes: without control, and with it. */
    private static final int UNCONTROLLED = 40;
    private static final int EXERCISES = 40;
    private static final int CONTROLLED = 15;

    private final Path root;
    private final PrintStream out;
    private final Configuration plain;
    private final Configuration fields;
    private long digest;
    private long exercised;

    private Schedules(Path root, PrintStream out) {
        this.root = root;
        this.out = out;
        plain = configuration(false, MOST_STEPS);
        fields = configuration(true, MOST_STEPS);
    }

    /** Returns Fray's settings. With `everywhere`, a thread may also be interrupted before each access to a field of Kafka. */
    private Configuration configuration(boolean everywhere, int most) {
        ExecutionInfo info = new ExecutionInfo(new LambdaExecutor(() -> kotlin.Unit.INSTANCE), false, everywhere, most);
        Configuration made = new Configuration(info, root.resolve("report"), 1_000_000_000, 1_000_000, new RandomScheduler(), new ControlledRandomProvider(),
            false, true, true, false, false, false, NetworkDelegateType.NONE, SystemTimeDelegateType.NONE, 100_000L, true, true, false, false, false, false, null);
        made.getScheduleObservers().add(new ScheduleObserver<ThreadContext>() {
            @Override public void onNewSchedule(Collection<? extends ThreadContext> all, ThreadContext next) {
                digest = (digest * 31 + next.getIndex()) * 31 + next.getPendingOperation().getClass().getName().hashCode();
            }

            @Override public void onContextSwitch(ThreadContext from, ThreadContext to) { }
        });
        return made;
    }

    /** Returns a scheduler, whose number of changes of priority and their range depend on the seed, so that replay needs no measured length. */
    private static Scheduler scheduler(String name, SplittableRandom random) {
        ControlledRandom drawn = new ControlledRandom(new ArrayList<>(), new ArrayList<>(), new java.util.Random(random.nextLong()));
        String kind = name.equals("mixed") ? SCHEDULERS.get(random.nextInt(SCHEDULERS.size())) : name;
        int changes = 1 + random.nextInt(4);
        int range = 1 << 6 + random.nextInt(7);
        return kind.equals("pct") ? new PCTScheduler(drawn, changes, range) : kind.equals("pos") ? new POSScheduler(drawn) : new RandomScheduler(drawn);
    }

    /** Determines the JDK's random numbers, from which skip lists (such as that of a log's segments) draw levels. */
    private static void sow(long seed) {
        ((AtomicLong) Reflect.get(null, ThreadLocalRandom.class, "seeder")).set(seed);
        Reflect.set(Thread.currentThread(), Thread.class, "threadLocalRandomProbe", 0);
        Reflect.set(Thread.currentThread(), Thread.class, "threadLocalRandomSecondarySeed", 0);
    }

    /** Makes a folder whose path has the hash 0, so that maps of directories have the same order in every process. */
    private static Path folder(Path within) throws IOException {
        StringBuilder path = new StringBuilder(within + "/");
        int from = path.length();
        long left = Integer.toUnsignedLong(-(path + "0".repeat(DIGITS)).hashCode());
        for (int i = 0; i < DIGITS; i++) {
            path.insert(from, (char) ('0' + left % 31));  // the hash is a number with base 31
            left /= 31;
        }
        return Files.createDirectory(Path.of(path.toString()));
    }

    /** Takes one schedule of the story of a seed. */
    private Taken take(String scheduler, long seed, long schedule) throws Exception {
        digest = 0;
        sow(schedule);
        SplittableRandom random = new SplittableRandom(schedule * 31 + 7);
        Configuration settings = random.nextInt(6) == 0 ? fields : plain;
        settings.setScheduler(scheduler(scheduler, random));
        Story story = new Story(seed, root);
        try {
            story.prepare();
            Controlled run = new Controlled(settings, story.bodies());
            run.start();
            run.join(PATIENCE_MS);
            if (run.isAlive()) {
                hangs(seed, story, run);
            }
            Throwable end = run.error;
            if (end instanceof BootstrapMethodError) {
                java.lang.Runtime.getRuntime().halt(4);  // the JVM cannot link a method while Fray controls threads, and does not try again
            }
            if (end instanceof LivenessException) {  // a thread that spins may keep the scheduler from all others
                return new Taken(story, null, run.steps, run.ended);
            }
            if (end == null && run.registered <= story.bodies().size()) {
                throw new IllegalStateException("Fray controls " + run.registered + " threads instead of " + (story.bodies().size() + 1));
            }
            if (story.violation() != null) {
                end = story.violation();
            } else if (end == null) {
                try {
                    story.end();
                } catch (Throwable e) {
                    end = e;
                }
            }
            return new Taken(story, end, run.steps, run.ended);
        } catch (Judge.Violation e) {
            return new Taken(story, e, 0, digest);
        } finally {
            try {
                story.close();
            } catch (RuntimeException | Error e) {
                story.note("the end of the processes: " + e);  // a violation may leave a lock held
            }
        }
    }

    /** The thread that starts and ends Fray's control for one schedule. */
    private final class Controlled extends Thread {
        private final Configuration settings;
        private final List<Runnable> bodies;
        Throwable error;
        long steps;
        /** The digest of these steps. What ends the control depends on the garbage collection, and does not count. */
        long ended;
        int registered;

        Controlled(Configuration settings, List<Runnable> bodies) {
            this.settings = settings;
            this.bodies = bodies;
        }

        @Override public void run() {
            RunContext context = new RunContext(settings);
            try {
                DelegateSynchronizer synchronizer = new DelegateSynchronizer(context);
                Runtime.NETWORK_DELEGATE = settings.getNetworkDelegateType().produce(context, synchronizer);
                Runtime.LOCK_DELEGATE = new RuntimeDelegate(context, synchronizer);
                Runtime.start();
                List<Thread> threads = new ArrayList<>();
                for (Runnable body : bodies) {
                    threads.add(new Thread(body, "body-" + threads.size()));
                }
                threads.forEach(Thread::start);
                for (Thread thread : threads) {
                    thread.join();
                }
                steps = context.getStep();
                ended = digest;
                registered = context.getRegisteredThreads().size();
                Runtime.onMainExit();
            } catch (Throwable e) {
                error = e;
                try {
                    steps = context.getStep();
                    ended = digest;
                    registered = context.getRegisteredThreads().size();
                    Runtime.onReportError(e);
                    Runtime.onMainExit();
                } catch (Throwable later) {
                    error.addSuppressed(later);  // the control has ended already
                }
            }
            Runtime.resetAllDelegate();
            error = context.getBugFound() == null ? error : context.getBugFound();
            context.shutDown();
        }
    }

    /** Reports a schedule in which a thread waits for something that Fray does not see, and ends the process, which cannot go on. */
    private void hangs(long seed, Story story, Thread main) {
        out.println("{\"seed\":" + seed + "," + hanging(story, main) + "}");
        out.flush();
        java.lang.Runtime.getRuntime().halt(3);
    }

    private static String hanging(Story story, Thread main) {
        StringBuilder seen = new StringBuilder();
        Thread.getAllStackTraces().forEach((thread, frames) -> {
            if (thread == main || thread.getName().startsWith("body")) {
                seen.append(thread.getName()).append('\n');
                Arrays.stream(frames).limit(8).forEach(f -> seen.append(f).append('\n'));
            }
        });
        return json(story, "the threads hang", "the threads hang", seen.toString());
    }

    /** Gives histograms a sample without values. Theirs takes steps that depend on the clock and on random numbers. */
    private static final class Quiet implements MetricsRegistryListener, Sample {
        @Override public void onMetricAdded(MetricName name, Metric metric) {
            Object histogram = metric instanceof Timer ? Reflect.get(metric, "histogram") : metric;
            if (histogram instanceof Histogram) {
                Reflect.set(histogram, Histogram.class, "sample", this);
                ((AtomicLong) Reflect.get(histogram, "max")).set(Long.MAX_VALUE);
                ((AtomicLong) Reflect.get(histogram, "min")).set(Long.MIN_VALUE);
            }
        }

        @Override public void onMetricRemoved(MetricName name) { }

        @Override public void clear() { }

        @Override public int size() {
            return 0;
        }

        @Override public void update(long value) { }

        @Override public Snapshot getSnapshot() {
            return new Snapshot(List.of());
        }
    }

    // ---- lines

    private static String kind(Throwable e) {
        String where = e instanceof Judge.Violation ? "" : " at " + Arrays.stream(e.getStackTrace())
            .filter(f -> f.getClassName().contains("kafka")).findFirst().map(f -> f.getClassName() + "." + f.getMethodName()).orElse("");
        return (message(e) + where).replaceAll("(/[^ ,]+|[0-9a-f]{32}|[0-9])+", "#");
    }

    private static String message(Throwable e) {
        String said = e instanceof Judge.Violation ? e.getMessage() : "an exception: " + e;
        return said.replaceAll("/\\S*/(?=broker-\\d+/)", "").replaceAll("@[0-9a-f]{6,}", "");
    }

    private static String json(Story story, String kind, String message, String trace) {
        return "\"kind\":" + Loop.quote(kind) + ",\"message\":" + Loop.quote(message) + ",\"trace\":" + Loop.quote(trace) + ",\"shape\":"
            + Loop.quote(story.shape().toString()) + ",\"steps\":"
            + story.told().stream().map(Loop::quote).collect(Collectors.joining(",", "[", "]")) + ",\"shown\":[]";
    }

    private static String json(Taken t) {
        String trace = t.end instanceof Judge.Violation ? "" : Arrays.stream(t.end.getStackTrace()).limit(14).map(StackTraceElement::toString)
            .collect(Collectors.joining("\n"));
        return json(t.story, kind(t.end), message(t.end), trace) + ",\"digest\":\"" + Long.toHexString(t.digest) + "\"";
    }

    private void run(String scheduler, long first, long count, double seconds, boolean ends) throws Exception {
        long began = System.nanoTime();
        long shown = began;
        long steps = 0;
        long whole = 0;
        long done = 0;
        List<Long> taken = new ArrayList<>();
        for (long seed = first; seed < first + count; seed++) {
            Taken t = take(scheduler, seed, seed);
            steps += t.steps;
            whole = whole * 31 + t.digest;
            taken.add(t.steps);
            done++;
            if (t.end != null) {
                out.println("{\"seed\":" + seed + "," + json(t) + "}");
                out.flush();
            }
            long now = System.nanoTime();
            boolean isOver = seconds > 0 && now - began > seconds * 1e9 || seed == first + count - 1 || ends && t.end != null;
            if (isOver || now - shown > 500_000_000L) {
                shown = now;
                out.printf(java.util.Locale.ROOT, "{\"%s\":%d,\"steps\":%d,\"seconds\":%.3f,\"digest\":\"%x\",\"taken\":%s}%n", isOver ? "done" : "at", done,
                    steps, (now - began) / 1e9, whole, taken);
                out.flush();
                taken.clear();
            }
            if (isOver) {
                return;
            }
        }
    }

    /** Counts the violations in other schedules of one story, by kind. */
    private void again(String scheduler, long seed, long count) throws Exception {
        List<String> kinds = new ArrayList<>();
        for (long i = 1; i <= count; i++) {
            Taken t = take(scheduler, seed, seed * 1_000_003 + i);
            if (t.end != null) {
                kinds.add(kind(t.end));
            }
        }
        out.println("{\"again\":" + kinds.stream().map(Loop::quote).collect(Collectors.joining(",", "[", "]")) + "}");
        out.flush();
    }

    /** Two threads that wait for each other in each of Java's ways, and that lose an update of `count` if they are interleaved. */
    private static final class Exercise implements Runnable {
        private final ReentrantLock lock = new ReentrantLock();
        private final AtomicInteger rounds = new AtomicInteger();
        private final Thread[] parked = new Thread[1];
        volatile int count;

        @Override public void run() {
            count++;
            try {
                if (rounds.incrementAndGet() == 1) {
                    parked[0] = Thread.currentThread();
                    LockSupport.park(this);
                    synchronized (this) {
                        this.wait(1);
                    }
                }
                LockSupport.unpark(parked[0]);
                LockSupport.parkNanos(this, 1);
                synchronized (this) {
                    notifyAll();
                }
                lock.lock();
                lock.unlock();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /**
     * Checks that Fray controls threads. It comes before Kafka starts its own threads, which call Fray too: all identity hashes
     * are equal, so that maps within the JVM become trees with locks, and two threads that link Fray's methods at once may
     * wait for each other for ever.
     */
    private void exercise() throws Exception {
        int lost = 0;
        for (int i = 0; i < EXERCISES; i++) {
            Exercise both = new Exercise();
            if (exercised(plain, both, both) != null) {
                throw new IllegalStateException("two threads fail");
            }
            lost += both.count < 2 ? 1 : 0;
        }
        Throwable failed = exercised(plain, () -> {
            throw new Judge.Violation("an exercise");
        });
        Throwable spins = exercised(configuration(false, 500), () -> {
            for (AtomicInteger i = new AtomicInteger(); i.get() >= 0;) {
                i.incrementAndGet();
            }
        });
        if (lost == 0 || !(failed instanceof Judge.Violation) || !(spins instanceof LivenessException)) {
            throw new IllegalStateException("Fray does not control threads: " + lost + " updates are lost; " + failed + "; " + spins);
        }
        Story none = new Story(0, root);
        for (Throwable e : List.of(failed, new IllegalStateException("an exercise"))) {
            json(new Taken(none, e, 0, 0));  // links what reports a violation
        }
        hanging(none, Thread.currentThread());
    }

    private Throwable exercised(Configuration settings, Runnable... bodies) throws Exception {
        settings.setScheduler(scheduler("random", new SplittableRandom(exercised++)));
        Controlled run = new Controlled(settings, List.of(bodies));
        run.start();
        run.join();
        return run.error;
    }

    private void warm() throws Exception {
        exercise();
        for (long seed = 0; seed < UNCONTROLLED; seed++) {
            Story story = new Story(-1 - seed, root);
            story.prepare();
            story.addAll();
            try {
                for (Runnable body : story.bodies()) {
                    body.run();
                }
                story.end();
            } catch (Judge.Violation e) {
                story.note(e.getMessage());  // this story has more threads than are judged
            }
            story.close();
        }
        for (long seed = 0; seed < CONTROLLED; seed++) {
            take("mixed", -1 - seed, -1 - seed);
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.getProperty("fencepost.debug") == null ? new PrintStream(java.io.OutputStream.nullOutputStream()) : System.err);  // Fray reports there
        Exit.Procedure thrown = (status, message) -> {
            throw new Judge.Violation("the process ends itself with status " + status);
        };
        Exit.setHaltProcedure(thrown);
        Exit.setExitProcedure(thrown);
        KafkaYammerMetrics.defaultRegistry().removeListener((MetricsRegistryListener) Reflect.get(KafkaYammerMetrics.INSTANCE, "jmxReporter"));
        KafkaYammerMetrics.defaultRegistry().addListener(new Quiet());
        ProcessHandle.current().parent().ifPresent(parent -> parent.onExit().thenRun(() -> java.lang.Runtime.getRuntime().halt(1)));
        try {
            Schedules schedules = new Schedules(folder(Path.of(arguments[0])), out);
            schedules.warm();
            out.println("{\"kafka\":\"" + AppInfoParser.getVersion() + "\"}");
            out.flush();
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ");
                if (words[0].equals("unlock")) {
                    Reflect.field(Class.forName("fencepost.Unlock"), "off").setInt(null, Integer.parseInt(words[1]));
                    out.println("{\"off\":" + words[1] + "}");
                    out.flush();
                } else if (words[0].equals("again")) {
                    schedules.again(words[1], Long.parseLong(words[2]), Long.parseLong(words[3]));
                } else {
                    schedules.run(words[1], Long.parseLong(words[2]), Long.parseLong(words[3]), Double.parseDouble(words[4]), words[0].equals("find"));
                }
            }
            Broker.remove(schedules.root);
        } catch (Throwable e) {
            e.printStackTrace();
            java.lang.Runtime.getRuntime().halt(1);
        }
        java.lang.Runtime.getRuntime().halt(0);
    }
}
