package fencepost.schemas;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.utils.AppInfoParser;

/** Answers questions about Kafka's generated message classes and its code, one question per line, as JSON. */
public final class Schemas {
    static final ObjectMapper JSON = new ObjectMapper();
    static final String MESSAGES = "org.apache.kafka.common.message.";

    public static void main(String[] words) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        out.println(JSON.writeValueAsString(Map.of("kafka", AppInfoParser.getVersion())));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                answer.put("told", told(line));
            } catch (ClassNotFoundException | NoSuchMethodException | NoSuchFieldException error) {
                answer.put("changed", error.getMessage());
            } catch (Exception | LinkageError error) {
                StringWriter trace = new StringWriter();
                error.printStackTrace(new PrintWriter(trace));
                answer.put("broken", trace.toString());
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    private static Map<String, Object> told(String line) throws Exception {
        String[] words = line.split(" ", 4);
        switch (words[0]) {
            case "fields": return fields(words[1]);
            case "trip": return Trips.trip(words[1], Short.parseShort(words[2]), JSON.readTree(words[3]));
            case "build": return Trips.built(words[1], Short.parseShort(words[2]));
            case "header": return Trips.header(words[1], Short.parseShort(words[2]));
            case "has": return has(words[1], words.length > 2 ? words[2] : "");
            case "code": return Code.of(words[1], words[2]);
            case "callers": return Code.callers(words[1], words[2]);
            case "constant": return Map.of("value", constant(words[1], words[2]));
            case "kept": return Kept.epochs(5, 9);
            case "parked": return Kept.parked();
            case "fetch-versions": return Code.fetchVersions();
            default: throw new IllegalArgumentException("no such question: " + line);
        }
    }

    /** Returns, by version and path, the type of each field, and whether it is tagged. */
    private static Map<String, Object> fields(String name) throws Exception {
        Class<?> message = Class.forName(MESSAGES + name);
        Schema[] schemas = (Schema[]) message.getField("SCHEMAS").get(null);
        Map<String, Object> found = new LinkedHashMap<>();
        for (int version = 0; version < schemas.length; version++) {
            if (schemas[version] != null) {
                Map<String, String> by = new TreeMap<>();
                fields("", schemas[version], by);
                found.put(String.valueOf(version), by);
            }
        }
        return found;
    }

    private static void fields(String prefix, Schema schema, Map<String, String> by) throws ReflectiveOperationException {
        for (BoundField bound : schema.fields()) {
            if (bound.def.type instanceof TaggedFields) {
                for (Map.Entry<Integer, Field> one : tagged((TaggedFields) bound.def.type).entrySet()) {
                    field(prefix, one.getValue(), " tag " + one.getKey(), by);
                }
            } else {
                field(prefix, bound.def, "", by);
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<Integer, Field> tagged(TaggedFields type) throws ReflectiveOperationException {
        java.lang.reflect.Field fields = TaggedFields.class.getDeclaredField("fields");
        fields.setAccessible(true);
        return (Map<Integer, Field>) fields.get(type);
    }

    private static void field(String prefix, Field field, String tag, Map<String, String> by) throws ReflectiveOperationException {
        Type type = field.type;
        String path = prefix + field.name;
        while (type.isArray()) {
            type = type.arrayElementType().orElseThrow();
            path += "[]";
        }
        by.put(path, (type instanceof Schema ? "struct" : type.toString().toLowerCase()) + tag);
        if (type instanceof Schema) {
            fields(path + ".", (Schema) type, by);
        }
    }

    /** Returns whether a class exists and has a certain field or method. */
    private static Map<String, Object> has(String name, String member) {
        boolean found;
        try {
            Class<?> type = Class.forName(name, false, Schemas.class.getClassLoader());
            found = member.isEmpty();
            for (Method method : type.getDeclaredMethods()) {
                found |= method.getName().equals(member);
            }
            for (java.lang.reflect.Field field : type.getDeclaredFields()) {
                found |= field.getName().equals(member);
            }
        } catch (ClassNotFoundException error) {
            found = false;
        }
        return Map.of("there", found);
    }

    private static Object constant(String name, String member) throws ReflectiveOperationException {
        java.lang.reflect.Field field = Class.forName(name).getDeclaredField(member);
        field.setAccessible(true);
        return field.get(null);
    }

    private Schemas() {
    }
}
