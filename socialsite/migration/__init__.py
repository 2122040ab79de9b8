"""Moving a site's data while it serves: the map that wins over the environment, and who keeps to it.

A store whose data moved, or is moving, holds a record (record.py) that every process keeps by a short lease
(lease.py) and arranges its store by (arranging.py, relay.py). The mover (mover.py) changes the record step by
step and relies on a step only when every process has said that it follows. docs/reference/migration.md tells the story.
"""
