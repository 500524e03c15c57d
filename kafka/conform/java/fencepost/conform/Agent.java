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
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import javassist.bytecode.Bytecode;
import javassist.bytecode.ClassFile;
import javassist.bytecode.CodeAttribute;
import javassist.bytecode.ConstPool;
import javassist.bytecode.MethodInfo;

/**
 * Lets methods of Kafka say that they are executed: all of them, or those that a file names, a `class.method descriptor` a
 * line. Beside that file, `.hit` gets the names of those that were, now and then.
 */
public final class Agent implements ClassFileTransformer {
    private final Set<String> chosen;

    private Agent(Set<String> chosen) {
        this.chosen = chosen;
    }

    public static void premain(String file, Instrumentation java) throws Exception {
        boolean isAll = file == null || file.isEmpty();
        java.addTransformer(new Agent(isAll ? null : new HashSet<>(Files.readAllLines(Path.of(file)))));
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
                if (code == null || named.contains("Fencepost") || chosen != null && !chosen.contains(named)) {
                    continue;
                }
                int number = Hits.number(named);
                if (number >= 0) {
                    ConstPool pool = file.getConstPool();
                    Bytecode call = new Bytecode(pool);
                    call.addIconst(number);
                    call.addInvokestatic("fencepost.Hits", "hit", "(I)V");
                    code.iterator().insert(call.get());
                    code.setMaxStack(code.getMaxStack() + 1);
                    edited = true;
                }
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
