package fencepost.clusters;

import java.util.concurrent.atomic.AtomicInteger;

import javassist.CannotCompileException;
import javassist.ClassPool;
import javassist.CtClass;
import javassist.CtMethod;
import javassist.expr.ExprEditor;
import javassist.expr.MethodCall;

/**
 * Writes a class of Kafka with the repair of a finding. Not every release has its sources on Maven Central, so the
 * class that was released is edited; `repairs/` has the same edits as diffs of Kafka's source.
 */
public final class Repair {
    private Repair() {
    }

    /** Arguments: the finding, the folder to write to. */
    public static void main(String[] arguments) throws Exception {
        CtClass repaired = switch (arguments[0]) {
            case "hyp-1" -> forgetLogEnds();
            case "hyp-10" -> keepReplicasOnly();
            default -> throw new IllegalArgumentException("no repair of " + arguments[0]);
        };
        repaired.writeFile(arguments[1]);
    }

    /** A replica's log end is forgotten in every leader epoch; it was only where the leader had not led before. */
    private static CtClass forgetLogEnds() throws Exception {
        CtClass replica = ClassPool.getDefault().get("org.apache.kafka.server.replica.Replica");
        CtMethod reset = replica.getDeclaredMethod("resetReplicaState", new CtClass[] {
            CtClass.longType, CtClass.longType, CtClass.booleanType, CtClass.booleanType});
        reset.insertBefore("$3 = true;");
        return replica;
    }

    /** Who is no replica any more does not get into the ELR. */
    private static CtClass keepReplicasOnly() throws Exception {
        CtClass builder = ClassPool.getDefault().get("org.apache.kafka.controller.PartitionChangeBuilder");
        AtomicInteger streams = new AtomicInteger();
        builder.getDeclaredMethod("maybePopulateTargetElr").instrument(new ExprEditor() {
            @Override
            public void edit(MethodCall call) throws CannotCompileException {
                boolean ofCandidates = call.getClassName().equals("java.util.Set") && call.getMethodName().equals("stream");
                if (ofCandidates && streams.getAndIncrement() == 0) {
                    call.replace("{ $0.retainAll(this.targetReplicas); $_ = $proceed($$); }");
                }
            }
        });
        if (streams.get() == 0) {
            throw new IllegalStateException("PartitionChangeBuilder.maybePopulateTargetElr has changed");
        }
        return builder;
    }
}
