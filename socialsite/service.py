"""The base class of the services that views, sockets and commands find by their class: `services[Class]`."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import dataclass_transform


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class Part:
    """A part of the site. Each subclass is a dataclass, whose fields are passed by name."""

    def __init_subclass__(cls) -> None:
        dataclass(kw_only=True, eq=False)(cls)


class Service(Part):
    """The base of all services. mypy accepts no other class in `services[Class]`.

    A process starts only with an object of each subclass.
    """


class ServiceNotBuilt(TypeError):
    """The container builds no object of a subclass of Service."""


def require_all_built(classes: Iterable[type]) -> None:
    """Raise ServiceNotBuilt unless all subclasses of Service are among `classes`, which the container built."""
    missing = {f"{each.__module__}.{each.__qualname__}" for each in set(Service.__subclasses__()).difference(classes)}
    if missing:
        raise ServiceNotBuilt(f"socialsite/container builds no {', no '.join(sorted(missing))}")
