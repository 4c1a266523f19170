"""Topologies as data, with random inputs and what Kafka Streams 4.3.1 made of them."""
