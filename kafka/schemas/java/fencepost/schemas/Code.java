package fencepost.schemas;

import java.io.File;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import org.apache.kafka.server.common.MetadataVersion;

/** The references in methods of Kafka's classes, as listed by the JDK's javap. */
final class Code {
    private static final Pattern METHOD = Pattern.compile("^  (?!Code:)[a-z].*[ .]([\\w$]+)\\(.*");
    private static final Pattern REFERENCE = Pattern.compile("// (?:(?:Interface)?Method|Field|class|(long)) ([^:]+?)(?::.*)?$");
    private static final Pattern LAMBDA = Pattern.compile("^(?:lambda|\\$anonfun)\\$(\\w+)\\$.*");

    private static final Map<String, String> CLASSES = new LinkedHashMap<>();

    /** Returns the references in a method and its lambdas, in order: Class.member, and constants of type long. */
    static Map<String, Object> of(String name, String method) throws Exception {
        Class.forName(name, false, Code.class.getClassLoader());
        List<String> found = references(name).get(method);
        if (found == null) {
            throw new NoSuchMethodException(name + "." + method);
        }
        return Map.of("refers", found);
    }

    /** Returns the methods in all of Kafka's classes that refer to a method of a class. */
    static Map<String, Object> callers(String owner, String method) throws Exception {
        String told = owner.substring(owner.lastIndexOf('.') + 1) + "." + method;
        TreeSet<String> found = new TreeSet<>();
        for (Map.Entry<String, String> one : classes().entrySet()) {
            String name = one.getKey();
            if (one.getValue().contains(owner.replace('.', '/')) && one.getValue().contains(method)) {  // otherwise, it has none
                references(name).forEach((where, refers) -> {
                    if (refers.contains(told) || name.equals(owner) && refers.contains(method)) {
                        found.add(name.substring(name.lastIndexOf('.') + 1) + "." + where);
                    }
                });
            }
        }
        return Map.of("callers", new ArrayList<>(found));
    }

    /** Returns the version of a replica's fetch for each metadata version, oldest first. */
    static Map<String, Object> fetchVersions() {
        Map<String, Object> found = new LinkedHashMap<>();
        for (MetadataVersion version : MetadataVersion.VERSIONS) {
            found.put(version.name(), version.fetchRequestVersion());
        }
        return found;
    }

    /** Returns the bytes of all of Kafka's classes, by name, as text. */
    private static Map<String, String> classes() throws Exception {
        if (CLASSES.isEmpty()) {
            for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
                if (new File(path).getName().startsWith("kafka")) {
                    try (JarFile jar = new JarFile(path)) {
                        for (JarEntry entry : Collections.list(jar.entries())) {
                            if (entry.getName().endsWith(".class")) {
                                byte[] bytes = jar.getInputStream(entry).readAllBytes();
                                String name = entry.getName().replace(".class", "").replace('/', '.');
                                CLASSES.put(name, new String(bytes, StandardCharsets.ISO_8859_1));
                            }
                        }
                    }
                }
            }
        }
        return CLASSES;
    }

    private static Map<String, List<String>> references(String name) {
        StringWriter text = new StringWriter();
        PrintWriter out = new PrintWriter(text);
        ToolProvider javap = ToolProvider.findFirst("javap")
            .orElseThrow(() -> new IllegalStateException("this Java has no javap: take a JDK"));
        int status = javap.run(out, out, "-p", "-c", "-cp", System.getProperty("java.class.path"), name);
        if (status != 0) {
            throw new IllegalStateException("javap " + name + ": " + text);
        }
        Map<String, List<String>> found = new LinkedHashMap<>();
        List<String> here = new ArrayList<>();
        for (String line : text.toString().split("\n")) {
            Matcher method = METHOD.matcher(line);
            Matcher reference = REFERENCE.matcher(line);
            if (method.matches()) {
                Matcher lambda = LAMBDA.matcher(method.group(1));
                here = found.computeIfAbsent(lambda.matches() ? lambda.group(1) : method.group(1), any -> new ArrayList<>());
            } else if (reference.find()) {
                String what = reference.group(2);
                here.add((reference.group(1) == null ? "" : "long ") + what.substring(what.lastIndexOf('/') + 1).replace("\"", ""));
            }
        }
        return found;
    }

    private Code() {
    }
}
