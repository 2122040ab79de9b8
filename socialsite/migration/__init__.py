"""Migrate a running site's data to another topology: the placement map, which overrides the environment's URLs.

A store whose data was migrated, or is being migrated, contains a placement map (placement_map.py). Every process
follows it under a short lease (process_lease.py) and switches its topologies accordingly (topology_switcher.py,
migration_router.py). The migrator (migrator.py) changes the map step by step and continues only when every process
reports that it follows. docs/reference/migration.md describes the steps.
"""
