package fencepost;

import java.util.ArrayList;
import java.util.List;

/** Which methods were executed: an agent gives each a number, and lets it say so. */
public final class Hits {
    private static final int MOST = 1 << 18;
    private static final boolean[] HIT = new boolean[MOST];
    private static final List<String> NAMES = new ArrayList<>();
    private static int told;

    private Hits() { }

    /** The number of a method; -1 if there are too many. */
    public static synchronized int number(String name) {
        if (NAMES.size() == MOST) {
            return -1;
        }
        NAMES.add(name);
        return NAMES.size() - 1;
    }

    public static void hit(int number) {
        HIT[number] = true;
    }

    /** The names of those that were executed, a line each. */
    public static synchronized List<String> lines() {
        List<String> found = new ArrayList<>();
        for (int i = 0; i < NAMES.size(); i++) {
            if (HIT[i]) {
                found.add(NAMES.get(i));
            }
        }
        return found;
    }

    /** The names of methods that are new since the last time, and the numbers of those that were executed since then, as JSON. */
    public static synchronized String json() {
        StringBuilder out = new StringBuilder("{\"names\":[");
        for (int i = told; i < NAMES.size(); i++) {
            out.append(i == told ? "" : ",").append(Loop.quote(NAMES.get(i)));
        }
        told = NAMES.size();
        out.append("],\"hit\":[");
        String comma = "";
        for (int i = 0; i < NAMES.size(); i++) {
            if (HIT[i]) {
                HIT[i] = false;
                out.append(comma).append(i);
                comma = ",";
            }
        }
        return out.append("]}").toString();
    }
}
