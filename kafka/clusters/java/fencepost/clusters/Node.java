package fencepost.clusters;

import java.io.IOException;

/** A controller or a broker as Kafka's own scripts start it, which ends when whoever started it is gone. */
public final class Node {
    private Node() {
    }

    public static void main(String[] arguments) {
        Thread watch = new Thread(Node::endWithTheStarter, "fencepost-watch");
        watch.setDaemon(true);
        watch.start();
        kafka.Kafka.main(arguments);
    }

    /** Standard input is a pipe that nobody writes to: its end means that the other side has died. */
    private static void endWithTheStarter() {
        try {
            while (System.in.read() >= 0) {
                continue;
            }
        } catch (IOException gone) {
            // the same as its end
        }
        Runtime.getRuntime().halt(3);
    }
}
