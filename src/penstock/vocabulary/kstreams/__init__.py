"""The words of Kafka Streams that the front end and the runtime share: records, windows, serdes, stores, processors."""
