import java.io.FileWriter;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;

/**
 * The pattern jobs of the comparison in Flink's own CEP library. No Python touches a record.
 *
 * <p>Told: file of the report, numbers of records (by comma), keys, records in a second of event time, parallelism, ranges
 * of the pattern, its seconds, whether to report the matches. Writes a line of JSON for each number of records, as
 * reporting.py does.
 */
public final class PatternJob {
    private static final long PERIOD = 1_000_003L;
    private static final long PRIME = 2_147_483_647L;
    private static final long SQUARE = 7_368_787L;
    private static final long LINEAR = 48_271L;
    private static final long VALUES = 1_000L;

    private final long keys;
    private final long rate;
    private final int parallelism;
    private final String ranges;
    private final long seconds;
    private final boolean collects;

    private PatternJob(String[] told) {
        keys = Long.parseLong(told[2]);
        rate = Long.parseLong(told[3]);
        parallelism = Integer.parseInt(told[4]);
        ranges = told[5];
        seconds = Long.parseLong(told[6]);
        collects = Boolean.parseBoolean(told[7]);
    }

    public static void main(String[] told) throws Exception {
        PatternJob job = new PatternJob(told);
        for (String size : told[1].split(",")) {
            long records = Long.parseLong(size);
            long started = System.nanoTime();
            List<String> found = job.run(records);
            double took = (System.nanoTime() - started) / 1e9;
            report(told[0], records, took, found);
        }
    }

    private static void report(String file, long records, double took, List<String> found) throws IOException {
        String results = found == null ? "null" : "[" + String.join(", ", found) + "]";
        double ended = System.currentTimeMillis() / 1e3;
        try (FileWriter writer = new FileWriter(file, true)) {
            writer.write(String.format(
                    java.util.Locale.ROOT,
                    "{\"records\": %d, \"seconds\": %f, \"ended\": %f, \"results\": %s}%n",
                    records, took, ended, results));
        }
    }

    /** Key, value and time of each record. The source gives each subtask half of the range: the halves become the even
     * and the odd numbers, so that event time goes on in both at once. */
    private DataStream<Tuple3<Long, Long, Long>> records(StreamExecutionEnvironment environment, long count) {
        long half = parallelism == 2 ? (count + 1) / 2 : count;
        long keyCount = keys;
        long perSecond = rate;
        return environment
                .fromSource(new NumberSequenceSource(0, count - 1), WatermarkStrategy.noWatermarks(), "numbers")
                .map(place -> {
                    long number = half == count ? place : place < half ? place * 2 : (place - half) * 2 + 1;
                    long turn = number % PERIOD;
                    long key = turn * (turn * SQUARE + LINEAR) % PRIME % keyCount;
                    return Tuple3.of(key, number % VALUES, number * 1000 / perSecond);
                })
                .returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG))
                .assignTimestampsAndWatermarks(WatermarkStrategy
                        .<Tuple3<Long, Long, Long>>forMonotonousTimestamps()
                        .withTimestampAssigner((record, before) -> record.f2));
    }

    private Pattern<Tuple3<Long, Long, Long>, ?> pattern() {
        Pattern<Tuple3<Long, Long, Long>, Tuple3<Long, Long, Long>> made = null;
        for (String range : ranges.split(",")) {
            long low = Long.parseLong(range.split("-")[0]);
            long high = Long.parseLong(range.split("-")[1]);
            String name = "from " + low;
            made = made == null ? Pattern.begin(name) : made.followedBy(name);
            made = made.where(SimpleCondition.of(event -> low <= event.f1 && event.f1 < high));
        }
        return made.within(Duration.ofSeconds(seconds));
    }

    private List<String> run(long count) throws Exception {
        Configuration settings = new Configuration();
        settings.setString("pipeline.object-reuse", "true");
        settings.setString("taskmanager.numberOfTaskSlots", String.valueOf(parallelism));
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.getExecutionEnvironment(settings).setParallelism(parallelism);
        DataStream<Tuple3<Long, Long, Long>> found =
                CEP.pattern(records(environment, count).keyBy(record -> record.f0, Types.LONG), pattern())
                        .process(new Ends(), Types.TUPLE(Types.LONG, Types.LONG, Types.LONG));
        if (collects) {
            List<String> matches = new ArrayList<>();
            try (CloseableIterator<Tuple3<Long, Long, Long>> each = found.executeAndCollect()) {
                each.forEachRemaining(match ->
                        matches.add("[" + match.f0 + ", " + match.f1 + ", " + match.f2 + "]"));
            }
            return matches;
        }
        found.sinkTo(new DiscardingSink<>());
        environment.execute("benchmark");
        return null;
    }

    /** Key, time of the first and time of the last event of a match. */
    private static final class Ends
            extends PatternProcessFunction<Tuple3<Long, Long, Long>, Tuple3<Long, Long, Long>> {
        @Override
        public void processMatch(
                Map<String, List<Tuple3<Long, Long, Long>>> match,
                Context context,
                Collector<Tuple3<Long, Long, Long>> out) {
            Tuple3<Long, Long, Long> first = null;
            Tuple3<Long, Long, Long> last = null;
            for (List<Tuple3<Long, Long, Long>> events : match.values()) {
                for (Tuple3<Long, Long, Long> event : events) {
                    first = first == null || event.f2 < first.f2 ? event : first;
                    last = last == null || event.f2 > last.f2 ? event : last;
                }
            }
            out.collect(Tuple3.of(first.f0, first.f2, last.f2));
        }
    }
}
