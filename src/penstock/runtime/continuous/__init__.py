"""Tasks that stay: records flow through them all the time, and barriers in the stream cut versions, as in Flink."""
