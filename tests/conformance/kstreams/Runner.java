// Plays topologies, described as data, on Kafka Streams' own test driver: a case a line in, its results a line out.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.test.TestRecord;

@SuppressWarnings({"unchecked", "rawtypes"})
public class Runner {
    static final Serde<String> TEXT = Serdes.String();
    static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        int number = 0;
        while ((line = in.readLine()) != null) {
            JsonNode given = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            try {
                play(given, answer, new File(args[0], "case-" + number++));
            } catch (Exception error) {
                answer.put("error", String.valueOf(error));
            }
            out.println(JSON.writeValueAsString(answer));
        }
    }

    static void play(JsonNode given, ObjectNode answer, File folder) {
        Topology topology = new Runner().build(given.get("program"));
        answer.put("describe", topology.describe().toString());
        Properties config = new Properties();
        config.put("application.id", "oracle");
        config.put("bootstrap.servers", "unused:9092");
        config.put("default.key.serde", Serdes.StringSerde.class);
        config.put("default.value.serde", Serdes.StringSerde.class);
        config.put("state.dir", folder.getPath());
        config.put("statestore.cache.max.bytes", 0);
        config.put("__emit.interval.ms.kstreams.windowed.aggregation__", 0L);
        config.put("__emit.interval.ms.kstreams.outer.join.spurious.results.fix__", 0L);
        ArrayNode output = answer.putArray("output");
        try (TopologyTestDriver driver = new TopologyTestDriver(topology, config, Instant.ofEpochMilli(0))) {
            Map<String, TestInputTopic<String, String>> inputs = new HashMap<>();
            for (JsonNode event : given.get("input")) {
                if (event.has("advance")) {
                    driver.advanceWallClockTime(Duration.ofMillis(event.get("advance").asLong()));
                } else {
                    String topic = event.get("topic").asText();
                    inputs.computeIfAbsent(topic, each ->
                            driver.createInputTopic(each, new StringSerializer(), new StringSerializer()))
                        .pipeInput(text(event.get("key")), text(event.get("value")), event.get("ts").asLong());
                }
                drain(driver, given.get("outputs"), output);
            }
        }
    }

    static void drain(TopologyTestDriver driver, JsonNode topics, ArrayNode output) {
        ArrayNode step = output.addArray();
        for (JsonNode topic : topics) {
            TestOutputTopic<byte[], byte[]> read =
                driver.createOutputTopic(topic.asText(), new ByteArrayDeserializer(), new ByteArrayDeserializer());
            while (!read.isEmpty()) {
                TestRecord<byte[], byte[]> record = read.readRecord();
                ArrayNode row = step.addArray();
                row.add(topic.asText()).add(hex(record.key())).add(hex(record.value())).add(record.timestamp());
            }
        }
    }

    static String hex(byte[] data) {
        if (data == null) {
            return null;
        }
        StringBuilder text = new StringBuilder();
        for (byte each : data) {
            text.append(String.format("%02x", each));
        }
        return text.toString();
    }

    static String text(JsonNode node) {
        return node == null || node.isNull() ? null : node.asText();
    }

    // ---- functions that programs name ----

    static String shown(Object value) {
        return value == null ? "null" : value.toString();
    }

    static boolean holds(String name, String key, Object given) {
        String value = given == null ? null : given.toString();
        switch (name) {
            case "odd": return value != null && value.length() % 2 == 1;
            case "a_or_b": return value != null && (value.startsWith("a") || value.startsWith("b"));
            case "small": return value != null && value.length() < 8;
            default: throw new IllegalArgumentException(name);
        }
    }

    static String mapped(String name, Object given) {
        String value = given == null ? null : given.toString();
        switch (name) {
            case "tag": return value == null ? null : value + "'";
            case "drop_c": return value == null || value.startsWith("c") ? null : value;
            case "shown": return shown(given);
            default: throw new IllegalArgumentException(name);
        }
    }

    static String keyOf(String name, String key, String value) {
        switch (name) {
            case "first": return value == null ? null : value.substring(0, 1);
            case "digit": return value == null ? null : "k" + (value.charAt(value.length() - 1) % 3);
            case "digit_or_none": return value.startsWith("c") ? null : "k" + (value.charAt(1) % 4);
            default: throw new IllegalArgumentException(name);
        }
    }

    static List<String> pieces(String value) {
        List<String> found = new ArrayList<>();
        if (value != null) {
            for (char each : value.toCharArray()) {
                found.add(String.valueOf(each));
            }
        }
        return found;
    }

    static final ValueJoiner JOIN = (left, right) -> shown(left) + "|" + shown(right);
    static final Initializer<String> START = () -> ".";
    static final Aggregator ADD = (key, value, aggregate) -> aggregate + shown(value);
    static final Aggregator SUBTRACT = (key, value, aggregate) -> aggregate + "-" + shown(value);
    static final Merger MERGE = (key, left, right) -> left + "&" + right;
    static final Reducer PLUS = (left, right) -> left + "+" + right;
    static final Reducer MINUS = (left, right) -> left + "~" + right;

    // ---- programs ----

    final StreamsBuilder builder = new StreamsBuilder();
    final Map<String, Object> made = new HashMap<>();

    Topology build(JsonNode program) {
        for (JsonNode step : program) {
            Object result = step(step, step.get("op").asText(), made.get(step.path("in").asText("")));
            if (step.has("id")) {
                made.put(step.get("id").asText(), result);
            }
        }
        return builder.build();
    }

    Object step(JsonNode step, String op, Object in) {
        Consumed<String, String> consumed = Consumed.with(TEXT, TEXT);
        switch (op) {
            case "stream": return builder.stream(step.get("topic").asText(), consumed);
            case "table":
                return step.has("store")
                    ? builder.table(step.get("topic").asText(), consumed, Materialized.as(step.get("store").asText()))
                    : builder.table(step.get("topic").asText(), consumed);
            case "global_table": return builder.globalTable(step.get("topic").asText(), consumed);
            case "to":
                if (in instanceof KTable) {
                    in = ((KTable) in).toStream();
                }
                ((KStream) in).to(step.get("topic").asText());
                return null;
            default:
                if (in instanceof KStream) {
                    return streamStep(step, op, (KStream) in);
                }
                if (in instanceof KTable) {
                    return tableStep(step, op, (KTable) in);
                }
                return groupStep(step, op, in);
        }
    }

    Object streamStep(JsonNode step, String op, KStream<String, Object> in) {
        String fn = step.path("fn").asText("");
        Object other = made.get(step.path("other").asText(""));
        switch (op) {
            case "filter": return in.filter((key, value) -> holds(fn, key, value));
            case "filter_not": return in.filterNot((key, value) -> holds(fn, key, value));
            case "map_values": return in.mapValues(value -> mapped(fn, value));
            case "map": return in.map((key, value) -> KeyValue.pair(keyOf(fn, key, (String) value), value));
            case "flat_map_values": return in.flatMapValues(value -> pieces((String) value));
            case "flat_map": {
                KStream<String, Object> changed = in.flatMap((key, value) -> {
                    List<KeyValue<String, Object>> found = new ArrayList<>();
                    for (String each : pieces((String) value)) {
                        found.add(KeyValue.pair(each, (Object) (key + each)));
                    }
                    return found;
                });
                return changed;
            }
            case "select_key": return in.selectKey((key, value) -> keyOf(fn, key, (String) value));
            case "merge": return in.merge((KStream) other);
            case "repartition": return ((KStream) in).repartition(Repartitioned.with(TEXT, TEXT));
            case "peek": return in.peek((key, value) -> { });
            case "branch": {
                Map<String, KStream<String, Object>> branches = in.split(Named.as("split-"))
                    .branch((key, value) -> holds(fn, key, value)).defaultBranch();
                made.put(step.get("rest").asText(), branches.get("split-0"));
                return branches.get("split-1");
            }
            case "group_by_key": return ((KStream) in).groupByKey(Grouped.with(TEXT, TEXT));
            case "group_by":
                return ((KStream) in).groupBy((key, value) -> keyOf(fn, (String) key, (String) value), Grouped.with(TEXT, TEXT));
            case "to_table":
                return step.has("store")
                    ? ((KStream) in).toTable(Materialized.as(step.get("store").asText()))
                    : ((KStream) in).toTable();
            case "join": return ((KStream) in).join((KStream) other, JOIN, joinWindows(step), StreamJoined.with(TEXT, TEXT, TEXT));
            case "left_join":
                return ((KStream) in).leftJoin((KStream) other, JOIN, joinWindows(step), StreamJoined.with(TEXT, TEXT, TEXT));
            case "outer_join":
                return ((KStream) in).outerJoin((KStream) other, JOIN, joinWindows(step), StreamJoined.with(TEXT, TEXT, TEXT));
            case "join_table": return ((KStream) in).join((KTable) other, JOIN, Joined.with(TEXT, TEXT, TEXT));
            case "left_join_table": return ((KStream) in).leftJoin((KTable) other, JOIN, Joined.with(TEXT, TEXT, TEXT));
            case "join_global": {
                KeyValueMapper<String, Object, String> select = (key, value) -> keyOf(fn, key, (String) value);
                return in.join((GlobalKTable<String, Object>) other, select, (ValueJoiner<Object, Object, Object>) JOIN);
            }
            case "left_join_global": {
                KeyValueMapper<String, Object, String> select = (key, value) -> keyOf(fn, key, (String) value);
                return in.leftJoin((GlobalKTable<String, Object>) other, select, (ValueJoiner<Object, Object, Object>) JOIN);
            }
            case "process_count": {
                builder.addStateStore(Stores.keyValueStoreBuilder(
                    Stores.persistentKeyValueStore(step.get("store").asText()), TEXT, Serdes.Long()));
                return ((KStream) in).process(
                    () -> new CountingProcessor(step.get("store").asText(), step), step.get("store").asText());
            }
            case "process_windows": {
                builder.addStateStore(Stores.windowStoreBuilder(Stores.persistentWindowStore(
                    step.get("store").asText(), Duration.ofMillis(100), Duration.ofMillis(10), false), TEXT, TEXT));
                return ((KStream) in).process(
                    () -> new WindowProcessor(step.get("store").asText()), step.get("store").asText());
            }
            default: throw new IllegalArgumentException("stream " + op);
        }
    }

    static class CountingProcessor implements Processor<String, String, String, String> {
        final String name;
        final JsonNode step;
        ProcessorContext<String, String> context;
        KeyValueStore<String, Long> store;

        CountingProcessor(String name, JsonNode step) {
            this.name = name;
            this.step = step;
        }

        public void init(ProcessorContext<String, String> context) {
            this.context = context;
            store = context.getStateStore(name);
            if (step.has("stream_time")) {
                context.schedule(Duration.ofMillis(step.get("stream_time").asLong()), PunctuationType.STREAM_TIME, this::report);
            }
            if (step.has("wall_clock")) {
                context.schedule(Duration.ofMillis(step.get("wall_clock").asLong()), PunctuationType.WALL_CLOCK_TIME, this::report);
            }
        }

        void report(long time) {
            StringBuilder text = new StringBuilder();
            store.all().forEachRemaining(entry -> text.append(entry.key).append(entry.value));
            context.forward(new Record<>("at", text.toString(), time));
        }

        public void process(Record<String, String> record) {
            String key = shown(record.key());
            Long before = store.get(key);
            long count = before == null ? 1 : before + 1;
            store.put(key, count >= 4 ? null : Long.valueOf(count));
            context.forward(record.withValue(shown(record.value()) + count));
        }
    }

    static class WindowProcessor implements Processor<String, String, String, String> {
        final String name;
        ProcessorContext<String, String> context;
        WindowStore<String, String> store;

        WindowProcessor(String name) {
            this.name = name;
        }

        public void init(ProcessorContext<String, String> context) {
            this.context = context;
            store = context.getStateStore(name);
        }

        public void process(Record<String, String> record) {
            if (record.key() == null) {
                return;
            }
            long start = record.timestamp() / 10 * 10;
            store.put(record.key(), record.value(), start);
            StringBuilder text = new StringBuilder();
            store.fetch(record.key(), Math.max(0, start - 30), start + 10)
                .forEachRemaining(entry -> text.append(entry.key).append(entry.value));
            context.forward(record.withValue(text + ":" + shown(store.fetch(record.key(), start))));
        }
    }

    JoinWindows joinWindows(JsonNode step) {
        JoinWindows windows = JoinWindows.ofTimeDifferenceAndGrace(
            Duration.ofMillis(step.get("within").asLong()), Duration.ofMillis(step.path("grace").asLong(0)));
        if (step.has("before")) {
            windows = windows.before(Duration.ofMillis(step.get("before").asLong()));
        }
        if (step.has("after")) {
            windows = windows.after(Duration.ofMillis(step.get("after").asLong()));
        }
        return windows;
    }

    Object tableStep(JsonNode step, String op, KTable in) {
        String fn = step.path("fn").asText("");
        KTable other = made.get(step.path("other").asText("")) instanceof KTable
            ? (KTable) made.get(step.path("other").asText("")) : null;
        Materialized kept = step.has("store") ? Materialized.as(step.get("store").asText()) : null;
        Predicate holds = (key, value) -> holds(fn, shown(key), value);
        switch (op) {
            case "filter": return kept == null ? in.filter(holds) : in.filter(holds, kept);
            case "filter_not": return kept == null ? in.filterNot(holds) : in.filterNot(holds, kept);
            case "map_values": {
                ValueMapper mapper = value -> mapped(fn, value);
                return kept == null ? in.mapValues(mapper) : in.mapValues(mapper, kept.withValueSerde(TEXT));
            }
            case "to_stream": return in.toStream();
            case "group_by":
                return in.groupBy((key, value) ->
                    KeyValue.pair(keyOf(fn, shown(key), value.toString()), value.toString()), Grouped.with(TEXT, TEXT));
            case "join": return kept == null ? in.join(other, JOIN) : in.join(other, JOIN, kept);
            case "left_join": return kept == null ? in.leftJoin(other, JOIN) : in.leftJoin(other, JOIN, kept);
            case "outer_join": return kept == null ? in.outerJoin(other, JOIN) : in.outerJoin(other, JOIN, kept);
            case "fk_join":
                return in.join(other, (java.util.function.Function<Object, Object>) value ->
                    keyOf("digit_or_none", null, value.toString()), JOIN);
            case "fk_left_join":
                return in.leftJoin(other, (java.util.function.Function<Object, Object>) value ->
                    keyOf("digit_or_none", null, value.toString()), JOIN);
            case "suppress": return in.suppress(suppressed(step));
            default: throw new IllegalArgumentException("table " + op);
        }
    }

    Suppressed suppressed(JsonNode step) {
        if (!step.has("wait")) {
            return Suppressed.untilWindowCloses(Suppressed.BufferConfig.unbounded());
        }
        Suppressed.BufferConfig buffer = step.has("records")
            ? Suppressed.BufferConfig.maxRecords(step.get("records").asLong()) : Suppressed.BufferConfig.unbounded();
        return Suppressed.untilTimeLimit(Duration.ofMillis(step.get("wait").asLong()), buffer);
    }

    Object groupStep(JsonNode step, String op, Object in) {
        String store = step.has("store") ? step.get("store").asText() : null;
        if (op.equals("windowed_by")) {
            return windowed(step, in);
        }
        if (op.equals("cogroup")) {
            return in instanceof CogroupedKStream
                ? ((CogroupedKStream) in).cogroup((KGroupedStream) made.get(step.get("other").asText()), SUBTRACT)
                : ((KGroupedStream) in).cogroup(ADD);
        }
        Materialized text = store == null ? Materialized.with(TEXT, TEXT) : Materialized.<String, String, KeyValueStore<Bytes, byte[]>>as(store).withKeySerde(TEXT).withValueSerde(TEXT);
        if (step.has("retention")) {
            text = text.withRetention(Duration.ofMillis(step.get("retention").asLong()));
        }
        Materialized count = store == null ? null : Materialized.as(store);
        if (in instanceof KGroupedStream) {
            KGroupedStream group = (KGroupedStream) in;
            switch (op) {
                case "count": return count == null ? group.count() : group.count(count);
                case "reduce": return group.reduce(PLUS);
                default: return group.aggregate(START, ADD, text);
            }
        }
        if (in instanceof KGroupedTable) {
            KGroupedTable group = (KGroupedTable) in;
            switch (op) {
                case "count": return count == null ? group.count() : group.count(count);
                case "reduce": return group.reduce(PLUS, MINUS);
                default: return group.aggregate(START, ADD, SUBTRACT, text);
            }
        }
        if (in instanceof TimeWindowedKStream) {
            TimeWindowedKStream group = (TimeWindowedKStream) in;
            switch (op) {
                case "count": return count == null ? group.count() : group.count(count);
                case "reduce": return group.reduce(PLUS);
                default: return group.aggregate(START, ADD, text);
            }
        }
        if (in instanceof SessionWindowedKStream) {
            SessionWindowedKStream group = (SessionWindowedKStream) in;
            switch (op) {
                case "count": return count == null ? group.count() : group.count(count);
                case "reduce": return group.reduce(PLUS);
                default: return group.aggregate(START, ADD, MERGE, text);
            }
        }
        if (in instanceof CogroupedKStream) {
            return ((CogroupedKStream) in).aggregate(START, text);
        }
        if (in instanceof TimeWindowedCogroupedKStream) {
            return ((TimeWindowedCogroupedKStream) in).aggregate(START, text);
        }
        return ((SessionWindowedCogroupedKStream) in).aggregate(START, MERGE, text);
    }

    Object windowed(JsonNode step, Object in) {
        long size = step.get("size").asLong();
        Duration grace = Duration.ofMillis(step.path("grace").asLong(0));
        boolean close = step.path("emit").asText("").equals("close");
        switch (step.get("kind").asText()) {
            case "session": {
                SessionWindows windows = SessionWindows.ofInactivityGapAndGrace(Duration.ofMillis(size), grace);
                if (in instanceof CogroupedKStream) {
                    return ((CogroupedKStream) in).windowedBy(windows);
                }
                SessionWindowedKStream made = ((KGroupedStream) in).windowedBy(windows);
                return close ? made.emitStrategy(EmitStrategy.onWindowClose()) : made;
            }
            case "sliding": {
                SlidingWindows windows = SlidingWindows.ofTimeDifferenceAndGrace(Duration.ofMillis(size), grace);
                if (in instanceof CogroupedKStream) {
                    return ((CogroupedKStream) in).windowedBy(windows);
                }
                TimeWindowedKStream made = ((KGroupedStream) in).windowedBy(windows);
                return close ? made.emitStrategy(EmitStrategy.onWindowClose()) : made;
            }
            default: {
                TimeWindows windows = TimeWindows.ofSizeAndGrace(Duration.ofMillis(size), grace);
                if (step.has("advance")) {
                    windows = windows.advanceBy(Duration.ofMillis(step.get("advance").asLong()));
                }
                if (in instanceof CogroupedKStream) {
                    return ((CogroupedKStream) in).windowedBy(windows);
                }
                TimeWindowedKStream made = ((KGroupedStream) in).windowedBy(windows);
                return close ? made.emitStrategy(EmitStrategy.onWindowClose()) : made;
            }
        }
    }
}
