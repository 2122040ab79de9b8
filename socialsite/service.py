"""The base class of the services that views, sockets and commands find by their class: `services[Class]`."""

from collections.abc import Iterable


class Service:
    """mypy accepts no other class in `services[Class]`, and no process starts without an object of each subclass."""

    __slots__ = ()


class ServiceNotBuilt(TypeError):
    """The container builds no object of a subclass of Service."""


def require_all_built(classes: Iterable[type]) -> None:
    """Raise ServiceNotBuilt unless all subclasses of Service are among `classes`, which the container built."""
    built = set(map(_name, classes))  # not the classes: a dataclass with slots replaces its class
    missing = sorted(set(map(_name, Service.__subclasses__())) - built)
    if missing:
        raise ServiceNotBuilt(f"socialsite/container builds no {', no '.join(missing)}")


def _name(service_class: type) -> str:
    return f"{service_class.__module__}.{service_class.__qualname__}"
