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
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import javassist.bytecode.BadBytecode;
import javassist.bytecode.Bytecode;
import javassist.bytecode.ClassFile;
import javassist.bytecode.CodeAttribute;
import javassist.bytecode.CodeIterator;
import javassist.bytecode.ConstPool;
import javassist.bytecode.LineNumberAttribute;
import javassist.bytecode.MethodInfo;
import javassist.bytecode.Mnemonic;
import javassist.bytecode.Opcode;

/**
 * An agent that records which methods of Kafka are executed: all methods, or the methods in a file, with one
 * `class.method descriptor` on each line. After a tab, a line may list line numbers, which are recorded too, as
 * `class.method descriptor:NUMBER`. For each conditional jump in these lines, the agent records `class.method
 * descriptor:NUMBER#N WORDS -` if the jump is not taken, and `+` instead of `-` if it is taken; WORDS are the opcode
 * and the members that are named before the jump. The names of executed methods are written regularly to a file next to
 * the given one, with the suffix `.hit`.
 */
public final class Agent implements ClassFileTransformer {
    private static final int PUSHED = 4;
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
            return;  // the folder was removed, so nothing reads the file
        }
    }

    /** Records whether a conditional jump is taken. */
    public static void jump(int a, int b, int op, int number) {
        boolean isTaken = switch (op) {
            case Opcode.IF_ICMPEQ -> a == b;
            case Opcode.IF_ICMPNE -> a != b;
            case Opcode.IF_ICMPLT -> a < b;
            case Opcode.IF_ICMPGE -> a >= b;
            case Opcode.IF_ICMPGT -> a > b;
            default -> a <= b;
        };
        Hits.hit(isTaken ? number + 1 : number);
    }

    public static void jump(Object a, Object b, int op, int number) {
        Hits.hit((a == b) == (op == Opcode.IF_ACMPEQ) ? number + 1 : number);
    }

    /** Instruments a conditional jump, so that it records whether it is taken. */
    private static boolean insert(ClassFile file, CodeAttribute code, Jump jump, String name) throws BadBytecode {
        int number;
        synchronized (Hits.class) {
            number = Hits.number(name + " -");
            if (Hits.number(name + " +") < 0) {
                return false;
            }
        }
        int op = jump.op;
        boolean isNull = op == Opcode.IFNULL || op == Opcode.IFNONNULL;
        boolean isAlone = isNull || op < Opcode.IF_ICMPEQ;
        boolean isReference = isNull || op >= Opcode.IF_ACMPEQ;
        Bytecode call = new Bytecode(file.getConstPool());
        call.addOpcode(isAlone ? Opcode.DUP : Opcode.DUP2);
        if (isAlone) {
            call.addOpcode(isNull ? Opcode.ACONST_NULL : Opcode.ICONST_0);
        }
        call.addIconst(isNull ? op - Opcode.IFNULL + Opcode.IF_ACMPEQ : isAlone ? op - Opcode.IFEQ + Opcode.IF_ICMPEQ : op);
        call.addIconst(number);
        String type = isReference ? "Ljava/lang/Object;" : "I";
        call.addInvokestatic("fencepost.conform.Agent", "jump", "(" + type + type + "II)V");
        code.iterator().insertAt(jump.place, call.get());
        return true;
    }

    /** A conditional jump in a line, and the members named before it. `number` counts the jumps in the line. */
    private record Jump(int place, int op, int line, int number, String names) { }

    /** Returns the conditional jumps in some lines, last one first, without the null checks of Scala's `==`. */
    private static List<Jump> jumps(ClassFile file, CodeAttribute code, LineNumberAttribute table, Set<String> lines) throws BadBytecode {
        List<Jump> found = new ArrayList<>();
        Map<Integer, Integer> numbers = new HashMap<>();
        Set<String> names = new LinkedHashSet<>();
        int before = Opcode.NOP;
        int last = Opcode.NOP;
        int at = -1;
        for (CodeIterator all = code.iterator(); all.hasNext();) {
            int place = all.next();
            int op = all.byteAt(place);
            int line = table.toLineNumber(place);
            if (line != at) {
                names.clear();
                at = line;
            }
            if (op >= Opcode.GETSTATIC && op <= Opcode.INVOKEINTERFACE) {
                ConstPool pool = file.getConstPool();
                int index = all.u16bitAt(place + 1);
                int member = pool.getTag(index) == ConstPool.CONST_Fieldref ? pool.getFieldrefNameAndType(index)
                    : pool.getTag(index) == ConstPool.CONST_Methodref ? pool.getMethodrefNameAndType(index)
                    : pool.getInterfaceMethodrefNameAndType(index);
                names.add(pool.getUtf8Info(pool.getNameAndTypeName(member)));
            }
            boolean isOfScala = op == Opcode.IFNONNULL && last == Opcode.DUP || op == Opcode.IFNULL && before == Opcode.POP;
            if (Mnemonic.OPCODE[op].startsWith("if") && lines.contains("" + line) && !isOfScala) {
                found.add(0, new Jump(place, op, line, numbers.merge(line, 1, Integer::sum), String.join(", ", names)));
                names.clear();
            }
            before = last;
            last = op;
        }
        return found;
    }

    /** Instruments lines of a method and their conditional jumps, from the end, because an insertion moves all later code. */
    private static boolean lines(ClassFile file, CodeAttribute code, Set<String> lines, String named) throws BadBytecode {
        LineNumberAttribute table = (LineNumberAttribute) code.getAttribute(LineNumberAttribute.tag);
        if (lines.isEmpty() || table == null) {
            return false;
        }
        boolean edited = false;
        TreeMap<Integer, Integer> starts = new TreeMap<>();
        for (int i = 0; i < table.tableLength(); i++) {
            if (lines.contains("" + table.lineNumber(i))) {
                starts.put(table.startPc(i), table.lineNumber(i));
            }
        }
        for (Jump jump : jumps(file, code, table, lines)) {
            for (; !starts.isEmpty() && starts.lastKey() > jump.place; starts.pollLastEntry()) {
                edited |= insert(file, code, starts.lastKey(), named + ":" + starts.lastEntry().getValue());
            }
            String words = Mnemonic.OPCODE[jump.op] + (jump.names.isEmpty() ? "" : " after " + jump.names);
            edited |= insert(file, code, jump, named + ":" + jump.line + "#" + jump.number + " " + words);
        }
        for (; !starts.isEmpty(); starts.pollLastEntry()) {
            edited |= insert(file, code, starts.lastKey(), named + ":" + starts.lastEntry().getValue());
        }
        return edited;
    }

    /** Instruments the code at a position, so that its execution is recorded. */
    private static boolean insert(ClassFile file, CodeAttribute code, int place, String name) throws BadBytecode {
        int number = Hits.number(name);
        if (number >= 0) {
            Bytecode call = new Bytecode(file.getConstPool());
            call.addIconst(number);
            call.addInvokestatic("fencepost.Hits", "hit", "(I)V");
            code.iterator().insertAt(place, call.get());
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
                code.setMaxStack(code.getMaxStack() + PUSHED);
                edited |= chosen != null && lines(file, code, chosen.get(named), named);
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
