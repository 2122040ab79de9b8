"""Migrate a running site's data to another topology. A placement map overrides the URLs of the environment.

A store contains a placement map (placement_map.py) once a migration of its data has started. Every process
follows it under a short lease (process_lease.py) and switches its topologies accordingly (topology_switcher.py,
migration_router.py). The migrator (migrator.py) changes the map step by step and continues only when every process
reports that it follows. docs/reference/migration.md describes the steps.
"""
