"""The Redis store: connections, topologies, reads and writes. Only this package imports redis.

It imports no Django and no application. Other packages import its public names from here. The first use of such a name
imports redis, so that a process that only starts the embedded server does not.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from socialsite.store.public import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        if name.startswith("__") or name == "public":
            raise AttributeError(name)
        from socialsite.store import public

        if name not in public.__all__:
            raise AttributeError(name)
        globals().update({each: getattr(public, each) for each in public.__all__})
        return globals()[name]
