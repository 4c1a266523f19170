import java.util.concurrent.locks.LockSupport;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.types.Row;

/** Makes the records (key, moment it is due in ms) of one subtask: Flink's generator gives each an unbroken range. */
public class DueNumbers implements GeneratorFunction<Long, Row> {
    private final double millisecondsEach;
    private final long keys;
    private transient boolean hasBegun;
    private transient long first;
    private transient double beganMs;

    public DueNumbers(double recordsPerSecond, long keys) {
        this.millisecondsEach = 1000 / recordsPerSecond;
        this.keys = keys;
    }

    @Override
    public Row map(Long number) {
        if (!hasBegun) {
            hasBegun = true;
            first = number;
            beganMs = now();
        }
        // Sleeps until the record is due. Flink's own rate limiter lets records out in bursts.
        double due = beganMs + (number - first) * millisecondsEach;
        for (double left = due - now(); left > 0; left = due - now()) {
            LockSupport.parkNanos((long) (left * 1e6));
        }
        return Row.of(number * 2654435761L % 4294967296L % keys, due);
    }

    private static double now() {
        java.time.Instant now = java.time.Instant.now();
        return now.getEpochSecond() * 1000.0 + now.getNano() / 1e6;
    }
}
