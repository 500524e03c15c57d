package fencepost.clusters;

import java.util.ArrayList;
import java.util.List;

/** `kafka-storage format` for the nodes of a cluster, one after another in the same process. */
public final class Format {
    private Format() {
    }

    /** Arguments: the cluster's id, more options in one argument (which may be empty), the nodes' property files. */
    public static void main(String[] arguments) {
        for (int at = 2; at < arguments.length; at++) {
            List<String> words = new ArrayList<>(List.of("format", "--ignore-formatted", "--cluster-id", arguments[0], "--config", arguments[at]));
            if (!arguments[1].isEmpty()) {
                words.addAll(List.of(arguments[1].split(" ")));
            }
            int status = kafka.tools.StorageTool.execute(words.toArray(new String[0]), System.out);
            if (status != 0) {
                System.exit(status);
            }
        }
    }
}
