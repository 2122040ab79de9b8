"""`manage.py check --tag redis` on real servers; plain `check` connects to no server."""

import re
from contextlib import ExitStack
from io import StringIO
from typing import Any

import pytest
import redis
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from tests.support.ports import free_port
from tests.support.redis_server import RedisServer


def check(*arguments: str) -> str:
    """Return the output of the command; raise SystemCheckError on a warning."""
    out = StringIO()
    call_command("check", *arguments, fail_level="WARNING", stdout=out, stderr=out)
    return out.getvalue()


def test_a_plain_check_opens_no_connection(settings: Any) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}"
    assert "no issues" in check()


def test_the_redis_tag_connects_and_names_unreachable_servers(settings: Any) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}"
    with pytest.raises(SystemCheckError, match=r"socialsite\.E002"):
        check("--tag", "redis")


def test_a_server_without_persistence_is_a_warning(settings: Any, redis_url: str) -> None:
    settings.REDIS_URL = redis_url
    with pytest.raises(SystemCheckError, match=r"socialsite\.W001") as found:
        check("--tag", "redis")
    assert "E00" not in str(found.value)


def test_an_evicting_server_is_an_error_and_a_durable_server_passes(settings: Any, redis_url: str) -> None:
    settings.REDIS_URL = redis_url
    with redis.Redis.from_url(redis_url) as client:
        client.config_set("appendonly", "yes")
        try:
            assert "no issues" in check("--tag", "redis")
            client.config_set("maxmemory-policy", "allkeys-lru")
            with pytest.raises(SystemCheckError, match=r"socialsite\.E004"):
                check("--tag", "redis")
        finally:
            client.config_set("maxmemory-policy", "noeviction")
            client.config_set("appendonly", "no")


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_a_replica_that_does_not_answer_is_a_warning(settings: Any, host: str) -> None:
    port, server = free_port(), RedisServer(aof=True)
    with ExitStack() as stack:
        stack.callback(server.stop)
        settings.REDIS_URL = f"{server.start().url}&replica={host}:{port}"
        with pytest.raises(SystemCheckError, match=rf"socialsite\.W006.*{re.escape(host)}:{port}"):
            check("--tag", "redis")


def test_another_number_of_partitions_is_an_error(settings: Any, redis_url: str) -> None:
    settings.REDIS_URL = redis_url
    with redis.Redis.from_url(redis_url) as client:
        client.config_set("appendonly", "yes")
        client.set("follows:{map}:partitions", 8)
        try:
            with pytest.raises(SystemCheckError, match=r"socialsite\.E005"):
                check("--tag", "redis")
        finally:
            client.config_set("appendonly", "no")
