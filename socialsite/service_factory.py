"""The properties of the container (container.py) whose services it builds when they are first used."""

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache, cached_property
from typing import Protocol, TypeVar, get_type_hints

S = TypeVar("S")


class ServiceBuilder(Protocol):
    def build(self, service_class: type[S], **parts: object) -> S: ...


class BuiltService(cached_property[S]):
    """A cached property whose service the container builds without explicit parts."""

    def __init__(self, service_class: type[S]) -> None:
        def build(services: ServiceBuilder) -> S:
            return services.build(service_class)

        build.__annotations__["return"] = service_class  # read for ATTRIBUTE_BY_CLASS
        super().__init__(build)


@cache
def field_types(service_class: Callable[..., object]) -> dict[str, object]:
    """Return the types of the fields of a dataclass, or of the parameters of another class."""
    types = get_type_hints(service_class if is_dataclass(service_class) else service_class.__init__)
    return {name: field_type for name, field_type in types.items() if name != "return"}
