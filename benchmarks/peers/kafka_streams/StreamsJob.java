import java.io.FileWriter;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;

/**
 * The jobs of Kafka Streams itself, for the comparison.
 *
 * <p>Told: file of the report, numbers of records (by comma), job, bootstrap servers, prefix of topics, threads, folder of
 * state, whether to report results. A run is over when as many records have left as came in. Writes a line of JSON for
 * each number of records, as reporting.py does.
 */
public final class StreamsJob {
    private static final Serde<String> TEXT = Serdes.String();

    public static void main(String[] told) throws Exception {
        String[] sizes = told[1].split(",");
        for (int turn = 0; turn < sizes.length; turn++) {
            long records = Long.parseLong(sizes[turn]);
            List<String> found = Collections.synchronizedList(new ArrayList<>());
            long started = System.nanoTime();
            run(told, told[4] + "-" + turn, records, Boolean.parseBoolean(told[7]) ? found : null);
            report(told[0], records, (System.nanoTime() - started) / 1e9, found);
        }
    }

    private static void run(String[] told, String prefix, long records, List<String> found) throws Exception {
        CountDownLatch over = new CountDownLatch(1);
        AtomicLong left = new AtomicLong(records);
        StreamsBuilder builder = new StreamsBuilder();
        Consumed<String, String> consumed = Consumed.with(TEXT, TEXT);
        KStream<String, String> results = told[2].equals("kstreams_count")
            ? builder.stream(prefix + "-in", consumed).groupByKey(Grouped.with(TEXT, TEXT)).count().toStream().mapValues(String::valueOf)
            : builder.stream(prefix + "-in", consumed).join(builder.table(prefix + "-table", consumed), (value, row) -> value + ":" + row);
        results.peek((key, value) -> {
            if (found != null) {
                found.add("[" + key + "," + value.replace(":", ",") + "]");
            }
            if (left.decrementAndGet() == 0) {
                over.countDown();
            }
        }).to(prefix + "-out", Produced.with(TEXT, TEXT));
        Properties config = new Properties();
        config.put("application.id", prefix);
        config.put("bootstrap.servers", told[3]);
        config.put("num.stream.threads", told[5]);
        config.put("state.dir", told[6]);
        config.put("auto.offset.reset", "earliest");
        // Every update leaves, as it does in Penstock.
        config.put("statestore.cache.max.bytes", 0);
        try (KafkaStreams streams = new KafkaStreams(builder.build(), config)) {
            streams.start();
            over.await();
        }
    }

    private static void report(String path, long records, double seconds, List<String> found) throws IOException {
        try (FileWriter report = new FileWriter(path, true)) {
            double ended = System.currentTimeMillis() / 1e3;
            report.write("{\"records\": " + records + ", \"seconds\": " + seconds + ", \"ended\": " + ended
                + ", \"results\": [" + String.join(",", found) + "]}\n");
        }
    }
}
