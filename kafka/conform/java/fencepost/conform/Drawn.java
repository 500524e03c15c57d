package fencepost.conform;

import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.kafka.common.utils.Exit;

/** Prints a random history as `SHAPE|STEP;STEP`. Arguments: a folder, the profile, and the seed. */
public final class Drawn {
    private Drawn() { }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        Exit.Procedure thrown = (status, message) -> {
            throw new IllegalStateException("the process ends itself with status " + status);
        };
        Exit.setHaltProcedure(thrown);
        Exit.setExitProcedure(thrown);
        Class<?> fuzz = Class.forName("fencepost.Fuzz");
        Constructor<?> made = fuzz.getDeclaredConstructor(Path.class, PrintStream.class);
        made.setAccessible(true);
        Method drawn = fuzz.getDeclaredMethod("drawn", String.class, long.class);
        drawn.setAccessible(true);
        Object history = drawn.invoke(made.newInstance(Path.of(arguments[0]), System.err), arguments[1], Long.parseLong(arguments[2]));
        List<?> steps = (List<?>) value(history, "steps");
        out.println(value(history, "shape") + "|" + steps.stream().map(Object::toString).collect(Collectors.joining(";")));
        out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static Object value(Object of, String name) throws Exception {
        Field field = of.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }
}
