"""How Spark's JVM and its Python workers are started, and started quickly."""
