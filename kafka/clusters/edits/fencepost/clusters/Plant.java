package fencepost.clusters;

import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

import javassist.CannotCompileException;
import javassist.ClassPool;
import javassist.CtClass;
import javassist.CtMethod;
import javassist.Modifier;
import javassist.expr.ExprEditor;
import javassist.expr.FieldAccess;
import javassist.expr.MethodCall;

/** Writes a class of Kafka with a planted mistake: a method that does nothing, or an omitted call or assignment. */
public final class Plant {
    private Plant() {
    }

    /**
     * Arguments: the folder to write to, the class, the method, the call to omit from it, or the field that is not set
     * (`-`: the method does nothing), and the value to return instead (`-`: none). Every method with this name is edited.
     */
    public static void main(String[] arguments) throws Exception {
        CtClass edited = ClassPool.getDefault().get(arguments[1]);
        String value = arguments[4];
        AtomicInteger edits = new AtomicInteger();
        Set<CtMethod> methods = new LinkedHashSet<>();
        for (CtMethod method : edited.getDeclaredMethods()) {
            if (method.getName().equals(arguments[2]) && !Modifier.isAbstract(method.getModifiers())) {
                methods.add(method);
            }
        }
        for (CtMethod method : methods) {
            if (arguments[3].equals("-")) {
                method.setBody(value.equals("-") ? "{ }" : "{ return " + value + "; }");
                edits.incrementAndGet();
            } else {
                method.instrument(new ExprEditor() {
                    @Override
                    public void edit(MethodCall call) throws CannotCompileException {
                        if (call.getMethodName().equals(arguments[3])) {
                            call.replace(value.equals("-") ? "{ }" : "{ $_ = " + value + "; }");
                            edits.incrementAndGet();
                        }
                    }

                    @Override
                    public void edit(FieldAccess access) throws CannotCompileException {
                        if (access.isWriter() && access.getFieldName().equals(arguments[3]) && value.equals("-")) {
                            access.replace("{ }");
                            edits.incrementAndGet();
                        }
                    }
                });
            }
        }
        if (edits.get() == 0) {
            throw new IllegalStateException(arguments[1] + "." + arguments[2] + " has nothing to leave out");
        }
        edited.writeFile(arguments[0]);
    }
}
