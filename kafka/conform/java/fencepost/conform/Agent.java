package fencepost.conform;

import fencepost.Hits;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javassist.bytecode.BadBytecode;
import javassist.bytecode.Bytecode;
import javassist.bytecode.ClassFile;
import javassist.bytecode.CodeAttribute;
import javassist.bytecode.LineNumberAttribute;
import javassist.bytecode.MethodInfo;

/**
 * Lets methods of Kafka say that they are executed: all of them, or those that a file names, a `class.method descriptor` a
 * line. Behind a tab the numbers of lines may follow that say so too, as `class.method descriptor:NUMBER`. Beside that file,
 * `.hit` gets the names of those that were, now and then.
 */
public final class Agent implements ClassFileTransformer {
    private final Map<String, Set<String>> chosen;

    private Agent(Map<String, Set<String>> chosen) {
        this.chosen = chosen;
    }

    public static void premain(String file, Instrumentation java) throws Exception {
        boolean isAll = file == null || file.isEmpty();
        Map<String, Set<String>> chosen = new HashMap<>();
        for (String line : isAll ? List.<String>of() : Files.readAllLines(Path.of(file))) {
            String[] words = line.split("\t");
            chosen.put(words[0], words.length > 1 ? Set.of(words[1].split(",")) : Set.of());
        }
        java.addTransformer(new Agent(isAll ? null : chosen));
        if (!isAll) {
            Thread writer = new Thread(() -> write(Path.of(file + ".hit")));
            writer.setDaemon(true);
            writer.start();
        }
    }

    private static void write(Path file) {
        try {
            for (int known = -1;; Thread.sleep(200)) {
                List<String> hit = Hits.lines();
                if (hit.size() > known) {
                    known = hit.size();
                    Files.write(file, hit);
                }
            }
        } catch (Exception e) {
            return;  // the folder is gone, and with it whoever reads it
        }
    }

    /** Lets what stands at a place say that it is executed. */
    private static boolean insert(ClassFile file, CodeAttribute code, int place, String name) throws BadBytecode {
        int number = Hits.number(name);
        if (number >= 0) {
            Bytecode call = new Bytecode(file.getConstPool());
            call.addIconst(number);
            call.addInvokestatic("fencepost.Hits", "hit", "(I)V");
            code.iterator().insertAt(place, call.get());
            code.setMaxStack(code.getMaxStack() + 1);
        }
        return number >= 0;
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> before, ProtectionDomain domain, byte[] bytes) {
        if (name == null || !(name.startsWith("kafka/") || name.startsWith("org/apache/kafka/"))) {
            return null;
        }
        try {
            ClassFile file = new ClassFile(new DataInputStream(new ByteArrayInputStream(bytes)));
            boolean edited = false;
            for (MethodInfo method : file.getMethods()) {
                String named = file.getName() + "." + method.getName() + " " + method.getDescriptor();
                CodeAttribute code = method.getCodeAttribute();
                if (code == null || named.contains("Fencepost") || chosen != null && !chosen.containsKey(named)) {
                    continue;
                }
                LineNumberAttribute table = (LineNumberAttribute) code.getAttribute(LineNumberAttribute.tag);
                Set<String> lines = chosen == null || table == null ? Set.of() : chosen.get(named);
                for (int i = lines.isEmpty() ? -1 : table.tableLength() - 1; i >= 0; i--) {
                    if (lines.contains("" + table.lineNumber(i))) {
                        edited |= insert(file, code, table.startPc(i), named + ":" + table.lineNumber(i));
                    }
                }
                edited |= insert(file, code, 0, named);
            }
            if (!edited) {
                return null;
            }
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            file.write(new DataOutputStream(out));
            return out.toByteArray();
        } catch (Exception | LinkageError e) {
            System.err.println("fencepost: " + name + " is executed unseen: " + e);
            return null;
        }
    }
}
