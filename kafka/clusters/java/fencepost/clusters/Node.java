package fencepost.clusters;

import java.io.IOException;

/** A controller or broker, started the way Kafka's own scripts do it. It ends when its parent process has ended. */
public final class Node {
    private Node() {
    }

    public static void main(String[] arguments) {
        Thread watch = new Thread(Node::endWithTheStarter, "fencepost-watch");
        watch.setDaemon(true);
        watch.start();
        kafka.Kafka.main(arguments);
    }

    /** Nothing is written to standard input, which is a pipe: its end means that the parent process has died. */
    private static void endWithTheStarter() {
        try {
            while (System.in.read() >= 0) {
                continue;
            }
        } catch (IOException gone) {
            // same as the end of the input
        }
        Runtime.getRuntime().halt(3);
    }
}
