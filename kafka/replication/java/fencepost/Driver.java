package fencepost;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.NoSuchElementException;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.controller.FencepostChanges;

/** Executes the lines about a controller and brokers. */
public final class Driver implements Loop.Driven {
    private final Path root;
    private World world;

    private Driver(Path root) {
        this.root = root;
    }

    public static void main(String[] arguments) throws Exception {
        Loop.run(arguments[0], new Driver(Path.of(arguments[0])));
    }

    @Override
    public String state() throws Exception {
        return world.state();
    }

    @Override
    public String dump() throws Exception {
        return world.dump();
    }

    /** Returns the result of PartitionChangeBuilder for each change, or null if it throws an exception. */
    @Override
    public String told(String line) {
        String[] words = line.split(" ");
        if (!words[0].equals("changes")) {
            return null;
        }
        int[] n = Arrays.stream(words).skip(1).mapToInt(Integer::parseInt).toArray();
        StringBuilder out = new StringBuilder("{\"changed\":[");
        for (int at = 0; at < n.length; at += FencepostChanges.WIDTH) {
            out.append(at == 0 ? "" : ",");
            try {
                out.append(FencepostChanges.changed(n, at));
            } catch (IllegalStateException | IllegalArgumentException | NoSuchElementException | ApiException e) {
                out.append("null");
            }
        }
        return out.append("]}").toString();
    }

    @Override
    public void end() throws Exception {
        Broker.remove(root);
    }

    @Override
    public void act(String action, int[] n) throws Exception {
        switch (action) {
            case "reset":
                if (world != null) {
                    world.close();
                }
                world = new World(n[0], n[1], n[2] == 1, n[3] == 1, n[4], n[5], n[6], n[7], n[8], root);
                break;
            case "look": break;
            case "crash": world.crash(n[0], n[1]); break;
            case "stop": world.stop(n[0]); break;
            case "start": world.start(n[0], n[1]); break;
            case "register": world.register(n[0], n[1]); break;
            case "fence": world.fence(n[0]); break;
            case "unfence": world.unfence(n[0]); break;
            case "begin-shutdown": world.beginShutdown(n[0]); break;
            case "elect": world.elect(); break;
            case "reassign": world.reassign(n[0]); break;
            case "cancel": world.reassign(null); break;
            case "elr-off": world.turnElrOff(); break;
            case "min-isr": world.changeMinIsr(n[0]); break;
            case "configs": world.configure(n[0]); break;
            case "alter": world.alter(n[0]); break;
            case "resend": world.resend(n[0]); break;
            case "drop": world.drop(n[0]); break;
            case "answer": world.answer(n[0]); break;
            case "apply": world.apply(n[0], n[1]); break;
            case "produce": world.produce(n[0]); break;
            case "fetch": world.fetch(n[0], n[1]); break;
            case "late": world.late(n[0]); break;
            case "lose": world.lose(n[0]); break;
            case "take": world.takeLate(n[0]); break;
            case "forget": world.loseLate(n[0]); break;
            case "read": world.read(n[0]); break;
            case "follow": world.follow(n[0]); break;
            case "fail": world.fail(n[0]); break;
            case "return": world.restore(n[0]); break;
            case "replace": world.replace(n[0]); break;
            case "take-out": world.takeOut(n[0]); break;
            case "mark-offline": world.markOffline(n[0]); break;
            case "assign": world.assign(n[0]); break;
            case "delete": world.delete(n[0], n[1]); break;
            case "write-start": world.writeLogStart(n[0]); break;
            case "out-of-range": world.outOfRange(n[0], n[1]); break;
            case "lag": world.lag(n[0], n[1]); break;
            case "shrink": world.shrink(n[0], n[1]); break;
            default: throw new IllegalArgumentException("an action that this driver does not know: " + action);
        }
    }
}
