"""System checks without a server: placement of components, and facts of an INFO reply."""

import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks

from socialsite import translations
from socialsite.checks import check_server_info
from socialsite.store.replies import parse_info


def ids(messages: list[Any]) -> list[str]:
    return [message.id for message in messages]


GOOD = b"redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n"


@pytest.mark.parametrize("version", [b"7.0.15", b"8.0.2", b"7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2"])
def test_a_correct_server_gives_no_message(version: bytes) -> None:
    assert check_server_info("here", parse_info(b"# Server\r\n" + GOOD.replace(b"7.0.15", version))) == []


@pytest.mark.parametrize(
    ("good", "bad", "found"),
    [
        (b"7.0.15", b"6.2.14", "socialsite.E003"),
        (b"7.0.15", b"7.4.2", "socialsite.W008"),
        (b"7.0.15", b"7.2.4\r\nserver_name:valkey\r\nvalkey_version:7.2.8", "socialsite.W008"),
        (b"noeviction", b"allkeys-lru", "socialsite.E004"),
        (b"aof_enabled:1", b"aof_enabled:0", "socialsite.W001"),
    ],
)
def test_each_wrong_fact_is_named_in_a_message(good: bytes, bad: bytes, found: str) -> None:
    assert ids(check_server_info("here", parse_info(GOOD.replace(good, bad)))) == [found]


def test_twemproxy_is_refused_for_jobs_live_and_sessions(settings: Any) -> None:
    settings.REDIS_URL = "redis+twemproxy://127.0.0.1:22121"
    settings.REDIS_COMPONENT_URLS = {"jobs": "redis://127.0.0.1:6379"}
    (error,) = run_checks(tags=["redis"])
    assert error.id == "socialsite.E001"
    assert "live, sessions" in error.msg


def test_a_misspelt_component_is_reported(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:6379"
    monkeypatch.setenv("REDIS_LIMITS_URL", "redis://127.0.0.1:6380")
    monkeypatch.setenv("REDIS_TIMELINE_URL", "redis://127.0.0.1:6380")
    (warning,) = run_checks(tags=["redis"])
    assert (warning.id, warning.msg) == ("socialsite.W002", "REDIS_TIMELINE_URL places no component.")


def test_replicas_cannot_be_required_behind_twemproxy(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:6379"
    settings.REDIS_COMPONENT_URLS = {"posts": "redis+twemproxy://127.0.0.1:22121?nodes=127.0.0.1:6380"}
    assert run_checks(tags=["redis"]) == []
    settings.REQUIRE_REPLICAS = 1
    (error,) = run_checks(tags=["redis"])
    assert (error.id, "posts" in error.msg) == ("socialsite.E001", True)


@pytest.mark.parametrize("scheme", ["redis+sentinel", "redis+cluster"])
def test_the_check_warns_until_the_operator_sets_require_replicas(
    monkeypatch: pytest.MonkeyPatch, settings: Any, scheme: str
) -> None:
    settings.SECURITY_CONTACT = "mailto:security@social.example.org"
    settings.REDIS_URL, settings.REDIS_COMPONENT_URLS = f"{scheme}://127.0.0.1:26379", {}
    monkeypatch.delenv("REQUIRE_REPLICAS", raising=False)
    assert ids(run_checks(tags=["redis"], include_deployment_checks=True)) == ["socialsite.W003"]
    assert run_checks(tags=["redis"]) == []
    for decision in ("0", "1"):
        monkeypatch.setenv("REQUIRE_REPLICAS", decision)
        assert run_checks(tags=["redis"], include_deployment_checks=True) == []


def test_a_site_without_a_contact_for_security_holes_is_reported(settings: Any) -> None:
    settings.REDIS_URL, settings.REDIS_COMPONENT_URLS = "redis://127.0.0.1:6379", {}
    assert ids(run_checks(tags=["redis"], include_deployment_checks=True)) == ["socialsite.W004"]


def test_a_language_that_is_not_compiled_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shutil.copytree(translations.LOCALE / "de", tmp_path / "de")
    monkeypatch.setattr(translations, "LOCALE", tmp_path)
    po = tmp_path / "de/LC_MESSAGES/django.po"
    po.with_suffix(".mo").unlink()
    (warning,) = run_checks(tags=["translation"], include_deployment_checks=True)
    assert (warning.id, "de" in warning.msg) == ("socialsite.W007", True)
    translations.compile_translations()
    assert run_checks(tags=["translation"], include_deployment_checks=True) == []
    os.utime(po, (time.time() + 10, time.time() + 10))
    assert ids(run_checks(tags=["translation"], include_deployment_checks=True)) == ["socialsite.W007"]


def test_a_site_without_a_mail_server_or_with_a_sender_of_another_domain_is_reported(settings: Any) -> None:
    settings.SITE_URL, settings.MAIL_URL = "https://social.example.org", ""
    (warning,) = run_checks(tags=["mail"], include_deployment_checks=True)
    assert (warning.id, "MAIL_URL" in warning.msg) == ("socialsite.W005", True)
    settings.MAIL_URL = "smtp+tls://mail.example.org"
    for sender, is_reported in (
        ("Site <noreply@example.org>", False),
        ("noreply@social.example.org", False),
        ("noreply@example.com", True),
        ("noreply@l.example.org.evil", True),
    ):
        settings.MAIL_FROM = sender
        assert ids(run_checks(tags=["mail"], include_deployment_checks=True)) == ["socialsite.W005"] * is_reported
    assert run_checks(tags=["mail"]) == []


def test_an_unknown_topology_is_reported_by_name(settings: Any) -> None:
    settings.REDIS_URL = "mysql://127.0.0.1"
    settings.REDIS_COMPONENT_URLS = {}
    assert ids(run_checks(tags=["redis"])) == ["socialsite.E001"]
