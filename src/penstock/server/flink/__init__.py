"""Documents of jobs as Flink's REST API tells them: paths and fields as of Flink 2.3, so that its clients understand.

Where Flink has a field that nothing here corresponds to, it has the value that Flink gives where it does not know.
"""
