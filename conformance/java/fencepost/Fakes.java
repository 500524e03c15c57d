package fencepost;

import java.lang.reflect.InvocationHandler;
import java.util.Properties;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.utils.Timer;

/** What stands in for the world outside: a clock that stands still, a scheduler that runs nothing, topics without settings. */
final class Fakes {
    static final long NOW = 1_000_000_000L;

    private Fakes() { }

    /** Time passes for a follower by setting back when it was last caught up, and for a session by its last contact. */
    static final class Clock implements Time {
        @Override public long milliseconds() {
            return NOW;
        }

        @Override public long nanoseconds() {
            return NOW * 1_000_000;
        }

        @Override public long hiResClockMs() {
            return NOW;
        }

        @Override public void sleep(long ms) {
            throw new UnsupportedOperationException("nobody sleeps here");
        }

        @Override public void waitObject(Object on, Supplier<Boolean> condition, long deadline) {
            throw new UnsupportedOperationException("nobody waits here");
        }

        @Override public Timer timer(long timeout) {
            return Time.SYSTEM.timer(timeout);
        }
    }

    /** A Scheduler or a Timer on which nothing ever happens. */
    static Object idle(Class<?> type) {
        return Reflect.proxy(type, (self, method, arguments) -> {
            if (method.isDefault()) {
                return InvocationHandler.invokeDefault(self, method, arguments);
            }
            Class<?> returned = method.getReturnType();
            if (returned.isInterface() && java.util.concurrent.Future.class.isAssignableFrom(returned)) {
                return idle(returned);
            }
            return returned == int.class ? (Object) 0 : returned == long.class ? (Object) 0L : returned == boolean.class ? (Object) false : null;
        });
    }

    /** A ConfigRepository: no topic has settings of its own. */
    static Object settings(Class<?> type) {
        return Reflect.proxy(type, (self, method, arguments) ->
            method.isDefault() ? InvocationHandler.invokeDefault(self, method, arguments) : new Properties());
    }
}
