import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import javassist.CannotCompileException;
import javassist.ClassPool;
import javassist.CtClass;
import javassist.CtField;
import javassist.CtMethod;
import javassist.CtNewMethod;
import javassist.Modifier;
import javassist.bytecode.CodeIterator;
import javassist.bytecode.LineNumberAttribute;
import javassist.bytecode.MethodInfo;
import javassist.bytecode.Mnemonic;
import javassist.expr.ExprEditor;
import javassist.expr.FieldAccess;
import javassist.expr.MethodCall;

/**
 * Writes an edited class of Kafka. Arguments: a folder, the edit, the class, the method, and the edit's parameters.
 *
 * <p>Changes: `call NAME VALUE` replaces calls with an expression, `body VALUE` replaces the whole method, `field NAME
 * VALUE` replaces reads of a field, `turn N` inverts the N-th comparison of the method, and `add NAME N` adds N to the
 * result of a call. Refactorings: `lines` (other line numbers), `pool` (other constants first), `nop`, `local`,
 * `private` (an unused method), `extract` (the body moves to another method), `order` (methods in reverse order),
 * `debug` (no debugging information), `twice` (a condition negated twice), `unused` (an unused field).
 */
public final class Edit {
    private static CtClass edited;

    private Edit() { }

    public static void main(String[] words) throws Exception {
        edited = ClassPool.getDefault().get(words[2]);
        AtomicInteger edits = new AtomicInteger();
        for (CtMethod method : methods(words[3])) {
            edit(words, method, edits);
        }
        if (edits.get() == 0) {
            throw new IllegalStateException(words[2] + "." + words[3] + " has nothing to edit");
        }
        edited.writeFile(words[0]);
    }

    private static Set<CtMethod> methods(String name) {
        Set<CtMethod> found = new LinkedHashSet<>();
        for (CtMethod method : edited.getDeclaredMethods()) {
            boolean isLambda = method.getName().contains("$anonfun$" + name + "$") || method.getName().startsWith("lambda$" + name + "$");
            if ((method.getName().equals(name) || isLambda) && !Modifier.isAbstract(method.getModifiers())) {
                found.add(method);
            }
        }
        return found;
    }

    private static void edit(String[] words, CtMethod method, AtomicInteger edits) throws Exception {
        MethodInfo info = method.getMethodInfo();
        switch (words[1]) {
            case "call", "add" -> method.instrument(new ExprEditor() {
                @Override
                public void edit(MethodCall call) throws CannotCompileException {
                    if (call.getMethodName().equals(words[4])) {
                        String value = words[1].equals("add") ? "$proceed($$) + " + words[5] : words[5];
                        call.replace(value.equals("-") ? "{ }" : "{ $_ = " + value + "; }");
                        edits.incrementAndGet();
                    }
                }
            });
            case "field" -> method.instrument(new ExprEditor() {
                @Override
                public void edit(FieldAccess access) throws CannotCompileException {
                    if (access.isReader() && access.getFieldName().equals(words[4])) {
                        access.replace("{ $_ = " + words[5] + "; }");
                        edits.incrementAndGet();
                    }
                }
            });
            case "body" -> {
                if (method.getName().equals(words[3])) {
                    method.setBody(words[4].equals("-") ? "{ }" : "{ return " + words[4] + "; }");
                    edits.incrementAndGet();
                }
            }
            case "turn" -> turn(info, Integer.parseInt(words[4]), edits);
            case "lines" -> {
                byte[] table = info.getCodeAttribute().getAttribute(LineNumberAttribute.tag).get();
                for (int at = 4; at + 2 <= table.length; at += 4) {
                    table[at + 1] += 7;
                }
                edits.incrementAndGet();
            }
            case "pool" -> {
                for (int number = 0; number < 300; number++) {
                    info.getConstPool().addStringInfo("nothing " + number);
                }
                edits.incrementAndGet();
            }
            case "debug" -> {
                info.getCodeAttribute().getAttributes().removeIf(a -> !a.getName().equals("StackMapTable"));
                edits.incrementAndGet();
            }
            case "nop" -> {
                info.getCodeAttribute().iterator().insert(new byte[] {0});
                edits.incrementAndGet();
            }
            case "local" -> {
                method.addLocalVariable("unused", CtClass.intType);
                method.insertBefore("unused = 1;");
                edits.incrementAndGet();
            }
            case "private" -> once(edits, () -> edited.addMethod(CtNewMethod.make("private int nobodyCalls() { return 1; }", edited)));
            case "unused" -> once(edits, () -> edited.addField(CtField.make("private int nobodyReads;", edited)));
            case "order" -> once(edits, () -> {
                List<MethodInfo> found = new ArrayList<>(edited.getClassFile().getMethods());
                edited.getClassFile().getMethods().clear();
                for (int at = found.size() - 1; at >= 0; at--) {
                    edited.getClassFile().addMethod2(found.get(at));
                }
            });
            case "extract" -> {
                if (method.getName().equals(words[3]) && edits.get() == 0) {
                    CtMethod moved = CtNewMethod.copy(method, words[3] + "Moved", edited, null);
                    edited.addMethod(moved);
                    method.setBody("{ return " + words[3] + "Moved($$); }");
                    edits.incrementAndGet();
                }
            }
            case "twice" -> method.instrument(new ExprEditor() {
                @Override
                public void edit(MethodCall call) throws CannotCompileException {
                    if (call.getSignature().endsWith(")Z")) {
                        call.replace("{ $_ = !(!$proceed($$)); }");
                        edits.incrementAndGet();
                    }
                }
            });
            default -> throw new IllegalArgumentException(Arrays.toString(words));
        }
    }

    private interface Change {
        void make() throws Exception;
    }

    private static void once(AtomicInteger edits, Change change) throws Exception {
        if (edits.getAndIncrement() == 0) {
            change.make();
        }
    }

    /** Inverts the N-th comparison, so that its branch is taken if it was not taken before. */
    private static void turn(MethodInfo info, int number, AtomicInteger edits) throws Exception {
        int seen = 0;
        CodeIterator at = info.getCodeAttribute().iterator();
        while (at.hasNext()) {
            int pos = at.next();
            int op = at.byteAt(pos);
            if (Mnemonic.OPCODE[op].startsWith("if") && ++seen == number) {
                boolean isNull = Mnemonic.OPCODE[op].endsWith("null");
                at.writeByte(isNull ? op ^ 1 : (op - 153 ^ 1) + 153, pos);
                edits.incrementAndGet();
            }
        }
    }
}
