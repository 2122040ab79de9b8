"""Why a move does not begin, or stops. Each message is one sentence that says what to do."""

from socialsite.store.errors import StoreError


class MigrationRefused(StoreError):
    """Nothing was changed, or what was begun is safe: the message says how to go on."""


class MigratorReplaced(MigrationRefused):
    """Another mover is at work, or this one stood still for too long."""

    def __init__(self) -> None:
        super().__init__(
            "another repartition took over, or this one stood still for seconds: see that no other runs, "
            "then repeat it with --resume"
        )


class ProcessesNotFollowing(StoreError):
    """Processes did not follow a step in time."""

    def __init__(self, processes: list[str]) -> None:
        super().__init__(f"{len(processes)} processes of the site did not follow in time")
