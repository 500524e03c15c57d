package fencepost.conform;

import fencepost.Loop;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javassist.bytecode.AccessFlag;
import javassist.bytecode.AttributeInfo;
import javassist.bytecode.BadBytecode;
import javassist.bytecode.BootstrapMethodsAttribute;
import javassist.bytecode.ClassFile;
import javassist.bytecode.CodeAttribute;
import javassist.bytecode.CodeIterator;
import javassist.bytecode.ConstPool;
import javassist.bytecode.ExceptionTable;
import javassist.bytecode.FieldInfo;
import javassist.bytecode.LineNumberAttribute;
import javassist.bytecode.MethodInfo;
import javassist.bytecode.Mnemonic;
import javassist.bytecode.Opcode;
import javassist.bytecode.SourceFileAttribute;

/**
 * Lists the methods of Kafka that differ between two folders of jars (the arguments A and B), with a line of JSON for
 * each method. Line numbers, the order of constants, and the numbers of lambdas are ignored.
 */
public final class Methods {
    private static final Set<Integer> BRANCHES = Set.of(Opcode.IFNULL, Opcode.IFNONNULL, Opcode.GOTO, Opcode.JSR);

    private static final Pattern TARGET = Pattern.compile("@(\\d{1,5})\\b");

    private Methods() { }

    /** An instruction as text, with jump targets counted from the first and from the last instruction, and the named member or null. */
    private record Instruction(String text, String fromEnd, String calls, int line) {
        private boolean isLike(Instruction other) {
            return text.equals(other.text) || fromEnd.equals(other.fromEnd);
        }
    }

    /** The content of a method: its instructions, other relevant attributes, and the lambdas that it names, in order. */
    private record Body(List<Instruction> code, String rest, List<String> lambdas) { }

    public static void main(String[] folders) throws Exception {
        Map<String, byte[]> a = classes(Path.of(folders[0]));
        Map<String, byte[]> b = classes(Path.of(folders[1]));
        Set<String> names = new TreeSet<>(a.keySet());
        names.addAll(b.keySet());
        for (String name : names) {
            if (!Arrays.equals(a.get(name), b.get(name))) {
                new Methods().compare(name, parsed(a.get(name)), parsed(b.get(name)));
            }
        }
    }

    private static Map<String, byte[]> classes(Path folder) throws Exception {
        Map<String, byte[]> found = new TreeMap<>();
        List<Path> jars;
        try (Stream<Path> files = Files.list(folder)) {
            jars = files.filter(f -> f.getFileName().toString().matches("kafka.*\\.jar") && !f.toString().endsWith("-test.jar")).sorted().toList();
        }
        for (Path path : jars) {
            try (JarFile jar = new JarFile(path.toFile())) {
                for (JarEntry entry : (Iterable<JarEntry>) jar.stream()::iterator) {
                    if (entry.getName().endsWith(".class") && !entry.getName().endsWith("-info.class")) {
                        found.putIfAbsent(entry.getName(), jar.getInputStream(entry).readAllBytes());
                    }
                }
            }
        }
        return found;
    }

    private static ClassFile parsed(byte[] bytes) throws Exception {
        return bytes == null ? null : new ClassFile(new DataInputStream(new ByteArrayInputStream(bytes)));
    }

    private ClassFile a;
    private ClassFile b;
    private final Set<String> seen = new HashSet<>();

    private void compare(String name, ClassFile one, ClassFile other) throws BadBytecode {
        a = one;
        b = other;
        if (a == null || b == null) {
            ClassFile only = a == null ? b : a;
            for (MethodInfo m : only.getMethods()) {
                tell(only, m, a == null ? null : m, a == null ? "added" : "removed", List.of(), a == null ? body(b, m).code : List.of());
            }
            return;
        }
        Set<String> fields = fields(a);
        fields.removeAll(fields(b));
        Set<String> others = fields(b);
        others.removeAll(fields(a));
        if (!Objects.equals(shape(a), shape(b)) || !fields.isEmpty() || !others.isEmpty()) {
            System.out.println("{\"owner\":" + Loop.quote(b.getName()) + ",\"change\":\"shape\",\"only_a\":" + list(fields) + ",\"only_b\":" + list(others) + "}");
        }
        Map<String, MethodInfo> mine = methods(a);
        Map<String, MethodInfo> its = methods(b);
        Set<String> all = new LinkedHashSet<>(its.keySet());
        all.addAll(mine.keySet());
        for (String key : all) {
            if (!isLambda(key)) {
                compare(mine.get(key), its.get(key));
            }
        }
    }

    private void compare(MethodInfo mine, MethodInfo its) throws BadBytecode {
        if (mine == null || its == null) {
            MethodInfo only = mine == null ? its : mine;
            if (seen.add(only.getName() + only.getDescriptor() + (mine == null))) {
                tell(mine == null ? b : a, only, mine, mine == null ? "added" : "removed", List.of(), mine == null ? body(b, its).code : List.of());
            }
            return;
        }
        if (!seen.add(mine.getName() + mine.getDescriptor() + " " + its.getName())) {
            return;
        }
        Body one = body(a, mine);
        Body other = body(b, its);
        if (!texts(one).equals(texts(other)) || !one.rest.equals(other.rest)) {
            int from = 0;
            int endA = one.code.size();
            int endB = other.code.size();
            while (from < Math.min(endA, endB) && one.code.get(from).isLike(other.code.get(from))) {
                from++;
            }
            while (endA > from && endB > from && one.code.get(endA - 1).isLike(other.code.get(endB - 1))) {
                endA--;
                endB--;
            }
            tell(b, its, mine, "changed", one.code.subList(from, endA), other.code.subList(from, endB));
        }
        Map<String, MethodInfo> here = methods(a);
        Map<String, MethodInfo> there = methods(b);
        for (int i = 0; i < Math.max(one.lambdas.size(), other.lambdas.size()); i++) {
            compare(i < one.lambdas.size() ? here.get(one.lambdas.get(i)) : null, i < other.lambdas.size() ? there.get(other.lambdas.get(i)) : null);
        }
    }

    private static void tell(ClassFile file, MethodInfo method, MethodInfo before, String change, List<Instruction> a, List<Instruction> b) {
        SourceFileAttribute source = (SourceFileAttribute) file.getAttribute(SourceFileAttribute.tag);
        Set<String> callsA = calls(a);
        Set<String> callsB = calls(b);
        callsA.removeAll(calls(b));
        callsB.removeAll(calls(a));
        System.out.println("{\"owner\":" + Loop.quote(file.getName()) + ",\"name\":" + Loop.quote(method.getName()) + ",\"descriptor\":"
            + Loop.quote(method.getDescriptor()) + ",\"before\":" + Loop.quote(before == null ? "" : file.getName() + "." + before.getName() + " " + before.getDescriptor())
            + ",\"change\":\"" + change + "\",\"code\":" + (method.getCodeAttribute() != null)
            + ",\"file\":" + Loop.quote(source == null ? "" : source.getFileName()) + ",\"lines_a\":" + lines(a) + ",\"lines_b\":" + lines(b)
            + ",\"only_a\":" + list(callsA) + ",\"only_b\":" + list(callsB) + "}");
    }

    private static Set<String> calls(List<Instruction> code) {
        return code.stream().map(Instruction::calls).filter(Objects::nonNull).collect(Collectors.toCollection(LinkedHashSet::new));
    }

    private static String lines(List<Instruction> code) {
        return code.stream().map(Instruction::line).filter(n -> n > 0).sorted().distinct().map(String::valueOf).collect(Collectors.joining(",", "[", "]"));
    }

    private static String list(Set<String> texts) {
        return texts.stream().map(Loop::quote).collect(Collectors.joining(",", "[", "]"));
    }

    private static List<String> texts(Body body) {
        return body.code.stream().map(Instruction::text).toList();
    }

    private static boolean isLambda(String key) {
        return key.startsWith("lambda$") || key.contains("$anonfun$");
    }

    private static String shape(ClassFile file) {
        return file.getSuperclass() + " " + List.of(file.getInterfaces()) + " " + (file.getAccessFlags() & ~AccessFlag.SUPER);
    }

    private static Set<String> fields(ClassFile file) {
        Set<String> found = new TreeSet<>();
        for (FieldInfo field : file.getFields()) {
            int constant = field.getConstantValue();
            found.add(field.getName() + " " + field.getDescriptor() + (constant == 0 ? "" : " = " + file.getConstPool().getLdcValue(constant)));
        }
        return found;
    }

    private static Map<String, MethodInfo> methods(ClassFile file) {
        Map<String, MethodInfo> found = new LinkedHashMap<>();
        for (MethodInfo method : file.getMethods()) {
            found.put(method.getName() + method.getDescriptor(), method);
        }
        return found;
    }

    private static Body body(ClassFile file, MethodInfo method) throws BadBytecode {
        CodeAttribute attribute = method.getCodeAttribute();
        List<String> lambdas = new ArrayList<>();
        int flags = method.getAccessFlags() & (AccessFlag.SYNCHRONIZED | AccessFlag.STATIC | AccessFlag.ABSTRACT | AccessFlag.NATIVE);
        if (attribute == null) {
            return new Body(List.of(), "" + flags, lambdas);
        }
        LineNumberAttribute lines = (LineNumberAttribute) attribute.getAttribute(LineNumberAttribute.tag);
        Map<Integer, Integer> ordinals = new TreeMap<>();
        for (CodeIterator at = attribute.iterator(); at.hasNext();) {
            ordinals.put(at.next(), ordinals.size());
        }
        ordinals.put(attribute.getCodeLength(), ordinals.size());
        List<Instruction> code = new ArrayList<>();
        CodeIterator at = attribute.iterator();
        while (at.hasNext()) {
            int pos = at.next();
            code.add(instruction(file, at, pos, ordinals, lambdas, lines == null ? 0 : lines.toLineNumber(pos)));
        }
        StringBuilder rest = new StringBuilder("" + flags);
        ExceptionTable caught = attribute.getExceptionTable();
        for (int i = 0; i < caught.size(); i++) {
            String type = caught.catchType(i) == 0 ? "any" : file.getConstPool().getClassInfo(caught.catchType(i));
            rest.append(' ').append(ordinals.get(caught.startPc(i))).append('-').append(ordinals.get(caught.endPc(i))).append(':')
                .append(ordinals.get(caught.handlerPc(i))).append(type);
        }
        return new Body(code, rest.toString(), lambdas);
    }

    private static Instruction instruction(ClassFile file, CodeIterator at, int pos, Map<Integer, Integer> ordinals, List<String> lambdas, int line)
        throws BadBytecode {
        ConstPool pool = file.getConstPool();
        int op = at.byteAt(pos);
        String name = Mnemonic.OPCODE[op];
        String calls = null;
        StringBuilder text = new StringBuilder(op == Opcode.LDC_W ? "ldc" : name).append(' ');
        if (op == Opcode.LDC || op == Opcode.LDC_W || op == Opcode.LDC2_W) {
            int index = op == Opcode.LDC ? at.byteAt(pos + 1) : at.u16bitAt(pos + 1);
            text.append(constant(file, index, lambdas));
        } else if (op >= Opcode.GETSTATIC && op <= Opcode.INVOKEINTERFACE) {
            int index = at.u16bitAt(pos + 1);
            int tag = pool.getTag(index);
            calls = tag == ConstPool.CONST_Fieldref ? pool.getFieldrefName(index) : tag == ConstPool.CONST_InterfaceMethodref
                ? pool.getInterfaceMethodrefName(index) : pool.getMethodrefName(index);
            String owner = tag == ConstPool.CONST_Fieldref ? pool.getFieldrefClassName(index) : tag == ConstPool.CONST_InterfaceMethodref
                ? pool.getInterfaceMethodrefClassName(index) : pool.getMethodrefClassName(index);
            String type = tag == ConstPool.CONST_Fieldref ? pool.getFieldrefType(index) : tag == ConstPool.CONST_InterfaceMethodref
                ? pool.getInterfaceMethodrefType(index) : pool.getMethodrefType(index);
            text.append(owner.equals(file.getName()) && isLambda(calls) ? lambda(calls + type, lambdas) : owner + "." + calls + type);
        } else if (op == Opcode.INVOKEDYNAMIC) {
            int index = at.u16bitAt(pos + 1);
            int nameAndType = pool.getInvokeDynamicNameAndType(index);
            calls = pool.getUtf8Info(pool.getNameAndTypeName(nameAndType));
            text.append(calls).append(pool.getUtf8Info(pool.getNameAndTypeDescriptor(nameAndType)));
            AttributeInfo found = file.getAttribute(BootstrapMethodsAttribute.tag);
            BootstrapMethodsAttribute.BootstrapMethod boot = ((BootstrapMethodsAttribute) found).getMethods()[pool.getInvokeDynamicBootstrap(index)];
            text.append(' ').append(constant(file, boot.methodRef, lambdas));
            for (int argument : boot.arguments) {
                text.append(' ').append(constant(file, argument, lambdas));
            }
        } else if (op == Opcode.NEW || op == Opcode.ANEWARRAY || op == Opcode.CHECKCAST || op == Opcode.INSTANCEOF || op == Opcode.MULTIANEWARRAY) {
            text.append(pool.getClassInfo(at.u16bitAt(pos + 1)));
        } else if (op >= Opcode.IFEQ && op <= Opcode.JSR || BRANCHES.contains(op)) {
            text.append('@').append(ordinals.get(pos + at.s16bitAt(pos + 1)));
        } else if (op == Opcode.GOTO_W || op == Opcode.JSR_W) {
            text.append('@').append(ordinals.get(pos + at.s32bitAt(pos + 1)));
        } else if (op == Opcode.TABLESWITCH || op == Opcode.LOOKUPSWITCH) {
            int start = (pos & ~3) + 4;
            text.append('@').append(ordinals.get(pos + at.s32bitAt(start)));
            int low = at.s32bitAt(start + 4);
            int count = op == Opcode.LOOKUPSWITCH ? low : at.s32bitAt(start + 8) - low + 1;
            for (int i = 0; i < count; i++) {
                int entry = op == Opcode.LOOKUPSWITCH ? start + 8 + 8 * i : start + 12 + 4 * i;
                text.append(' ').append(op == Opcode.LOOKUPSWITCH ? at.s32bitAt(entry) : low + i).append("->@")
                    .append(ordinals.get(pos + at.s32bitAt(op == Opcode.LOOKUPSWITCH ? entry + 4 : entry)));
            }
        } else {
            int end = at.lookAhead() > pos ? at.lookAhead() : pos + 1;
            for (int i = pos + 1; i < end; i++) {
                text.append(at.byteAt(i)).append(' ');
            }
        }
        int end = ordinals.get(at.getCodeLength());
        String fromEnd = TARGET.matcher(text).replaceAll(found -> "@" + (end - Integer.parseInt(found.group(1))));
        return new Instruction(text.toString(), fromEnd, calls, line);
    }

    private static String lambda(String key, List<String> lambdas) {
        lambdas.add(key);
        return "a lambda";
    }

    private static String constant(ClassFile file, int index, List<String> lambdas) {
        ConstPool pool = file.getConstPool();
        switch (pool.getTag(index)) {
            case ConstPool.CONST_Class: return pool.getClassInfo(index);
            case ConstPool.CONST_MethodType: return pool.getUtf8Info(pool.getMethodTypeInfo(index));
            case ConstPool.CONST_MethodHandle: {
                int member = pool.getMethodHandleIndex(index);
                boolean isField = pool.getTag(member) == ConstPool.CONST_Fieldref;
                boolean isInterface = pool.getTag(member) == ConstPool.CONST_InterfaceMethodref;
                String owner = isField ? pool.getFieldrefClassName(member) : isInterface ? pool.getInterfaceMethodrefClassName(member) : pool.getMethodrefClassName(member);
                String name = isField ? pool.getFieldrefName(member) : isInterface ? pool.getInterfaceMethodrefName(member) : pool.getMethodrefName(member);
                String type = isField ? pool.getFieldrefType(member) : isInterface ? pool.getInterfaceMethodrefType(member) : pool.getMethodrefType(member);
                return owner.equals(file.getName()) && isLambda(name) ? lambda(name + type, lambdas) : owner + "." + name + type;
            }
            default: return String.valueOf(pool.getLdcValue(index));
        }
    }
}
