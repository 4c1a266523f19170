"""The dispatcher: takes programs, runs each as a driver process of its own, watches it and starts it again.

Everything that must outlive a dispatcher is in its registry, a database; the processes only read and write it. So any
number of dispatchers can share one: one of them leads and supervises, the others answer requests and wait.
"""
