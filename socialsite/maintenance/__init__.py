"""Operations on the whole store: scans, memory reports, backup and restore.

They know nothing of the application but the names of its key families (key_families.py). They work on every topology:
scans go over the nodes, and everything else goes by key.
"""
