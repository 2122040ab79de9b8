"""Operations on the whole store: scans, memory reports, backup and restore.

They know the application only by the declarations of its key families. They work on every topology:
scans read each node, and all other reads and writes are routed by key.
"""
