"""Cases of patterns and events with what flink-cep 2.3.0 made of them, played through the public API."""
