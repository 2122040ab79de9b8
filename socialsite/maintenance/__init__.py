"""Operations on the whole store: scans, memory reports, backup and restore.

They depend on the application only by the names of its key families (key_families.py). They work on every topology:
scans read each node, and all other reads and writes are routed by key.
"""
