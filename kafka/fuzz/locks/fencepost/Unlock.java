package fencepost;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import org.apache.kafka.server.util.LockUtils;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Locks of Kafka's methods that can be taken out, one method at a time: the planted bugs of `fencepost fuzz --threads`. */
public final class Unlock {
    /** The number of the method that takes no lock, from 1 on; 0 if all methods do. */
    static int off;
    private static final ThreadLocal<Object> OWN = ThreadLocal.withInitial(Object::new);
    private static final String SELF = "fencepost/Unlock";

    private Unlock() { }

    /** Returns what a method locks: an object that only this thread has, if its lock was taken out. */
    public static Object monitor(Object of, int method) {
        return off == method ? OWN.get() : of;
    }

    public static void lock(Lock lock, int method) {
        if (off != method) {
            lock.lock();
        }
    }

    public static void unlock(Lock lock, int method) {
        if (off != method) {
            lock.unlock();
        }
    }

    public static <T, E extends Exception> T inLock(Lock lock, LockUtils.ThrowingSupplier<T, E> body, int method) throws E {
        return off == method ? body.get() : LockUtils.inLock(lock, body);
    }

    public static <E extends Exception> void inLock(Lock lock, LockUtils.ThrowingRunnable<E> body, int method) throws E {
        inLock(lock, () -> supplied(body), method);
    }

    public static <T, E extends Exception> T inReadLock(ReadWriteLock lock, LockUtils.ThrowingSupplier<T, E> body, int method) throws E {
        return inLock(lock.readLock(), body, method);
    }

    public static <E extends Exception> void inReadLock(ReadWriteLock lock, LockUtils.ThrowingRunnable<E> body, int method) throws E {
        inLock(lock.readLock(), () -> supplied(body), method);
    }

    public static <T, E extends Exception> T inWriteLock(ReadWriteLock lock, LockUtils.ThrowingSupplier<T, E> body, int method) throws E {
        return inLock(lock.writeLock(), body, method);
    }

    public static <E extends Exception> void inWriteLock(ReadWriteLock lock, LockUtils.ThrowingRunnable<E> body, int method) throws E {
        inLock(lock.writeLock(), () -> supplied(body), method);
    }

    private static <E extends Exception> Object supplied(LockUtils.ThrowingRunnable<E> body) throws E {
        body.run();
        return null;
    }

    /** Arguments: the folder to write to, then `CLASS METHOD` for each method. Prints the number of locks that each method takes. */
    public static void main(String[] arguments) throws Exception {
        Map<String, List<Integer>> classes = new TreeMap<>();
        int[] found = new int[arguments.length];
        for (int i = 1; i < arguments.length; i++) {
            classes.computeIfAbsent(arguments[i].split(" ")[0], name -> new ArrayList<>()).add(i);
        }
        for (Map.Entry<String, List<Integer>> of : classes.entrySet()) {
            String name = of.getKey().replace('.', '/') + ".class";
            try (InputStream in = Unlock.class.getClassLoader().getResourceAsStream(name)) {
                ClassReader reader = new ClassReader(in);
                ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
                reader.accept(new Editor(writer, of.getValue(), arguments, found), 0);
                Path file = Path.of(arguments[0]).resolve(name);
                Files.createDirectories(file.getParent());
                Files.write(file, writer.toByteArray());
            }
        }
        for (int i = 1; i < arguments.length; i++) {
            System.out.println(found[i]);
        }
    }

    /** Numbers the locks of a class's methods. */
    private static final class Editor extends ClassVisitor {
        private final List<Integer> numbers;
        private final String[] named;
        private final int[] found;

        Editor(ClassWriter writer, List<Integer> numbers, String[] named, int[] found) {
            super(Opcodes.ASM9, writer);
            this.numbers = numbers;
            this.named = named;
            this.found = found;
        }

        @Override public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
            MethodVisitor made = super.visitMethod(access, name, descriptor, signature, exceptions);
            int number = numbers.stream().filter(i -> named[i].endsWith(" " + name)).findFirst().orElse(0);
            return number == 0 ? made : new MethodVisitor(Opcodes.ASM9, made) {
                @Override public void visitInsn(int opcode) {
                    if (opcode == Opcodes.MONITORENTER || opcode == Opcodes.MONITOREXIT) {
                        call("monitor", "(Ljava/lang/Object;I)Ljava/lang/Object;", opcode == Opcodes.MONITORENTER);
                    }
                    super.visitInsn(opcode);
                }

                @Override public void visitMethodInsn(int opcode, String owner, String called, String type, boolean isInterface) {
                    boolean isLock = owner.startsWith("java/util/concurrent/locks/") && type.equals("()V");
                    if (owner.endsWith("/LockUtils")) {
                        call(called, type.replace(")", "I)"), true);
                    } else if (isLock && (called.startsWith("lock") || called.equals("unlock"))) {  // nobody interrupts a thread here
                        call(called.equals("unlock") ? called : "lock", "(Ljava/util/concurrent/locks/Lock;I)V", called.startsWith("lock"));
                    } else {
                        super.visitMethodInsn(opcode, owner, called, type, isInterface);
                    }
                }

                private void call(String called, String type, boolean counts) {
                    found[number] += counts ? 1 : 0;
                    super.visitIntInsn(Opcodes.SIPUSH, number);
                    super.visitMethodInsn(Opcodes.INVOKESTATIC, SELF, called, type, false);
                }
            };
        }
    }
}
