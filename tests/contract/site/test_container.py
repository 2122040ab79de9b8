"""The container builds every service when it starts, and refuses to start without one."""

import gc

import pytest

from socialsite.container import Services
from socialsite.service import Service, ServiceNotBuilt


async def test_no_process_starts_without_an_object_of_each_service_class(services: Services) -> None:
    class ForgottenService(Service):
        """A service that a feature declares, but that the container does not build."""

    with pytest.raises(ServiceNotBuilt, match=r"socialsite/container builds no .*\.ForgottenService"):
        Services(services.store, services.clock, services.config)
    del ForgottenService
    gc.collect()
    Services(services.store, services.clock, services.config)


async def test_each_service_is_found_by_its_class(services: Services) -> None:
    built = {type(service) for service in vars(services).values() if isinstance(service, Service)}
    assert len(built) > 50
    for service_class in built:
        assert type(services[service_class]) is service_class


async def test_homes_and_list_timelines_have_their_own_repositories(services: Services) -> None:
    repositories = services.repositories
    for service in (services.fan_out, services.purging, services.affected_timelines):
        assert (service.homes, service.list_timelines) == (repositories.homes, repositories.list_timelines)
