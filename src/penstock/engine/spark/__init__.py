"""The Spark engine: the only package that imports pyspark.

`engine.submit` starts a job. Nothing is imported here: some processes of Spark need one small module of this package.
"""
