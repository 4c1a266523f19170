"""The in-process engine: a whole job in this process, without Spark or Java.

Start one with `penstock.engine.in_process.submission.submit`. Nothing is imported here, so that the test kit can
plug in its crashes (`chances`) without loading the engine.
"""
