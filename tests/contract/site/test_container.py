"""The container builds each service, with the parts that the types of its fields name."""

from dataclasses import fields, is_dataclass
from typing import Protocol, get_type_hints

import pytest

from socialsite.container import ATTRIBUTE_BY_CLASS, Services


@pytest.mark.parametrize("service_class", ATTRIBUTE_BY_CLASS, ids=lambda each: each.__name__)
async def test_each_service_has_parts_of_the_types_of_its_fields(services: Services, service_class: type) -> None:
    service = services[service_class]
    assert isinstance(service, service_class)
    if not is_dataclass(service_class):
        return
    hints = get_type_hints(service_class)
    for field in fields(service_class):
        hint, part = hints[field.name], getattr(service, field.name)
        is_protocol = Protocol in getattr(hint, "__bases__", ())
        if isinstance(hint, type) and not is_protocol:
            assert isinstance(part, hint), field.name
        elif is_protocol:
            methods = [name for name, member in vars(hint).items() if callable(member) and not name.startswith("_")]
            assert all(callable(getattr(part, name, None)) for name in methods), field.name


async def test_homes_and_list_timelines_have_their_own_repositories(services: Services) -> None:
    at = services.repositories
    assert (services.reading.homes, services.reading.list_timelines) == (at.homes, at.list_timelines)
    assert (services.fan_out.homes, services.fan_out.list_timelines) == (at.homes, at.list_timelines)
