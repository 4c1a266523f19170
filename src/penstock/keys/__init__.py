"""Keys as bytes, and the groups that keys belong to.

The layout of state and the exchange between subtasks both rest on them, so they have a room of their own.
"""
