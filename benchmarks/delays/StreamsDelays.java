import java.util.Properties;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * The job between topics on Kafka Streams, tuned for delay: no cache, records are sent at once, at least once.
 *
 * <p>Told: bootstrap servers, topic to read, topic to write, threads, folder of state, milliseconds between commits. Runs
 * until it is killed.
 */
public final class StreamsDelays {
    public static void main(String[] told) throws Exception {
        Serde<String> text = Serdes.String();
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(told[1], Consumed.with(text, text))
            .groupByKey(Grouped.with(text, text))
            .aggregate(() -> "0", (key, record, before) -> {
                long count = Long.parseLong(before.substring(before.lastIndexOf(',') + 1)) + 1;
                return record + "," + count;
            }, Materialized.with(text, text))
            .toStream()
            .to(told[2], Produced.with(text, text));
        Properties config = new Properties();
        config.put("application.id", "delays");
        config.put("bootstrap.servers", told[0]);
        config.put("num.stream.threads", told[3]);
        config.put("state.dir", told[4]);
        config.put("commit.interval.ms", told[5]);
        config.put("auto.offset.reset", "latest");
        config.put("statestore.cache.max.bytes", 0);
        config.put("producer.linger.ms", 0);
        KafkaStreams streams = new KafkaStreams(builder.build(), config);
        streams.start();
        Thread.currentThread().join();
    }
}
