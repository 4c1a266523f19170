"""Small programs that run unchanged in PyFlink and in Penstock; what PyFlink made of each is kept beside them.

`python -m tests.conformance.pyflink_programs` compares; with `--measure`, run by a Python that has apache-flink, it
writes `measured/*.json` anew. A program is a function of `p`, which has the names of either package.
"""
