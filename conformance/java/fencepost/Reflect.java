package fencepost;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;

/** Calls by name: what is private, and what has other packages or parameters in other releases. */
final class Reflect {
    private static final Map<String, Class<?>> TYPES = new HashMap<>();
    private static final Map<Named, Method> METHODS = new HashMap<>();
    private static final Map<Named, Field> FIELDS = new HashMap<>();

    private Reflect() { }

    /** A class that a release is too new or too old for, or a member that has changed. */
    static final class Changed extends RuntimeException {
        Changed(String message) {
            super(message);
        }
    }

    /** The first of these classes that there is. To look for one that is missing takes long, so it is done once. */
    static Class<?> type(String... names) {
        return TYPES.computeIfAbsent(names[0], key -> {
            for (String name : names) {
                try {
                    return Class.forName(name);
                } catch (ClassNotFoundException e) {
                    continue;
                }
            }
            throw new Changed("class " + String.join(" or ", names));
        });
    }

    private record Named(Class<?> owner, String name, int parameters) { }

    static Method method(Class<?> owner, String name, int parameters) {
        return METHODS.computeIfAbsent(new Named(owner, name, parameters), key -> {
            for (Class<?> c = owner; c != null; c = c.getSuperclass()) {
                for (Method m : c.getDeclaredMethods()) {
                    if (m.getName().equals(name) && m.getParameterCount() == parameters && !m.isBridge()) {
                        m.setAccessible(true);
                        return m;
                    }
                }
            }
            for (Method m : owner.getMethods()) {
                if (m.getName().equals(name) && m.getParameterCount() == parameters) {
                    m.setAccessible(true);
                    return m;
                }
            }
            throw new Changed("method " + owner.getName() + "." + name + " with " + parameters + " parameters");
        });
    }

    static Object call(Object target, String name, Object... arguments) {
        return invoke(method(target.getClass(), name, arguments.length), target, arguments);
    }

    static Object invoke(Method method, Object target, Object... arguments) {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw unchecked(e.getCause());
        } catch (IllegalAccessException | IllegalArgumentException e) {
            throw new Changed("method " + method + ": " + e.getMessage());
        }
    }

    static Field field(Class<?> owner, String name) {
        return FIELDS.computeIfAbsent(new Named(owner, name, -1), key -> {
            for (Class<?> c = owner; c != null; c = c.getSuperclass()) {
                try {
                    Field found = c.getDeclaredField(name);
                    found.setAccessible(true);
                    return found;
                } catch (NoSuchFieldException e) {
                    continue;
                }
            }
            throw new Changed("field " + owner.getName() + "." + name);
        });
    }

    static Object get(Object target, String name) {
        return get(target, target.getClass(), name);
    }

    static Object get(Object target, Class<?> owner, String name) {
        try {
            return field(owner, name).get(target);
        } catch (IllegalAccessException e) {
            throw new Changed("field " + name + ": " + e.getMessage());
        }
    }

    static void set(Object target, Class<?> owner, String name, Object value) {
        try {
            field(owner, name).set(target, value);
        } catch (IllegalAccessException e) {
            throw new Changed("field " + name + ": " + e.getMessage());
        }
    }

    static Object proxy(Class<?> type, InvocationHandler handler) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
            switch (method.getName()) {
                case "toString": return "fake " + type.getSimpleName();
                case "hashCode": return System.identityHashCode(self);
                case "equals": return self == arguments[0];
                default: return handler.invoke(self, method, arguments);
            }
        });
    }

    static RuntimeException unchecked(Throwable cause) {
        if (cause instanceof Error) {
            throw (Error) cause;
        }
        return cause instanceof RuntimeException ? (RuntimeException) cause : new RuntimeException(cause);
    }

    static long number(Object value) {
        return ((Number) value).longValue();
    }
}
