package fencepost;

import java.util.ArrayList;
import java.util.List;

/** Records of executed methods. An agent numbers the methods, and makes each method record its execution. */
public final class Hits {
    private static final int MOST = 1 << 18;
    private static final boolean[] HIT = new boolean[MOST];
    private static final List<String> NAMES = new ArrayList<>();
    private static int told;

    private Hits() { }

    /** Returns the number of a method, or -1 if there are too many methods. */
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

    /** Returns the names of executed methods, one per line. */
    public static synchronized List<String> lines() {
        List<String> found = new ArrayList<>();
        for (int i = 0; i < NAMES.size(); i++) {
            if (HIT[i]) {
                found.add(NAMES.get(i));
            }
        }
        return found;
    }

    /** Returns, as JSON, the names of methods added since the last call, and the numbers of methods executed since then. */
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
