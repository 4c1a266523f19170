"""The server: jobs over HTTP with Flink's paths and field names, and the dispatcher that starts and watches drivers."""
