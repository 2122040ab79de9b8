"""Errors of a migration. Each message is one sentence with the operator's next step."""

from socialsite.store.errors import StoreError


class MigrationRefused(StoreError):
    """The migration did not start, or stopped in a safe state; the message explains how to continue."""


class RepartitionUnfinished(MigrationRefused):
    """A repartition of edges is in progress. Only `repartition_edges` with the same count can finish it."""

    def __init__(self) -> None:
        super().__init__("a repartition of edges is in progress: repeat it with the same number of partitions")


class MigratorReplaced(MigrationRefused):
    """Another migrator acquired the lock, or this migrator was paused for too long."""

    def __init__(self) -> None:
        super().__init__(
            "another repartition has the lock, or this one was paused for seconds: check that no other runs, "
            "then repeat it with --resume"
        )


class ProcessesNotFollowing(StoreError):
    """Some processes did not follow a new epoch in time."""

    def __init__(self, processes: list[str]) -> None:
        super().__init__(f"{len(processes)} processes of the site did not follow in time")
