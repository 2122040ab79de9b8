"""Parsers of environment variables: accepted texts, refused texts and their messages."""

import os
import re
import subprocess
import sys
from ipaddress import ip_network
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from socialsite import settings_parsers
from socialsite.site.settings import FIELDS, variable_of
from socialsite.store import StoreUnavailable
from socialsite.store.address import Address, with_redis_scheme
from socialsite.store.topology.cluster import _member_address

ROOT = Path(__file__).resolve().parents[3]


def test_a_rate_is_a_number_a_minute_or_off() -> None:
    assert settings_parsers.parse_rate("RATE_LIMIT_POST", "30/m") == 30
    assert settings_parsers.parse_rate("RATE_LIMIT_POST", "off") is None


@pytest.mark.parametrize("text", ["", "30", "30/h", "0/m", "-1/m", "30/m;", "many/m"])
def test_an_invalid_rate_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="RATE_LIMIT_POST must be like"):
        settings_parsers.parse_rate("RATE_LIMIT_POST", text)


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("1024", 1024), ("16mb", 16 << 20), ("2 GB", 2 << 30), ("8kb", 8192)]
)
def test_memory_sizes_use_the_units_of_redis(text: str, size: int) -> None:
    assert settings_parsers.parse_bytes("MEMORY_RESERVE", text) == size


def test_a_memory_size_in_percent_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="MEMORY_RESERVE"):
        settings_parsers.parse_bytes("MEMORY_RESERVE", "5%")


def test_seconds_between_checks_are_a_number_above_0() -> None:
    assert settings_parsers.parse_seconds("ALERT_INTERVAL", "0.5") == 0.5
    for text in ("0", "-1", "nan", "inf", "soon", ""):  # 0 would check without a pause
        with pytest.raises(ImproperlyConfigured, match="ALERT_INTERVAL"):
            settings_parsers.parse_seconds("ALERT_INTERVAL", text)


def test_a_plain_address_is_a_network_of_one() -> None:
    assert settings_parsers.parse_networks("TRUSTED_PROXIES", ["10.0.0.0/8", " ::1", ""]) == [
        ip_network("10.0.0.0/8"),
        ip_network("::1/128"),
    ]


def test_a_host_name_is_refused_as_a_network() -> None:
    with pytest.raises(ImproperlyConfigured, match="TRUSTED_PROXIES"):
        settings_parsers.parse_networks("TRUSTED_PROXIES", ["proxy.example.org"])


def test_the_cache_follows_a_single_server_without_our_own_parameters() -> None:
    cache = settings_parsers.build_cache_settings("redis://10.0.0.1:6379/2?replica=10.0.0.2:6379", is_explicit=False)[
        "default"
    ]
    assert cache["LOCATION"] == "redis://10.0.0.1:6379/2"
    assert "json" in cache["OPTIONS"]["SERIALIZER"]  # pickle is not allowed


def test_the_cache_uses_a_unix_socket() -> None:
    cache = settings_parsers.build_cache_settings("unix:///run/redis.sock?db=2", is_explicit=False)["default"]
    assert cache["LOCATION"] == "unix:///run/redis.sock?db=2"


def test_the_cache_follows_sentinels() -> None:
    url = "redis+sentinel://user:secret@10.0.0.1:26379,[::1]:26380/main"
    cache = settings_parsers.build_cache_settings(url, is_explicit=False)["default"]
    assert cache["LOCATION"] == "redis://main/0"
    assert cache["OPTIONS"]["SENTINELS"] == [("10.0.0.1", 26379), ("::1", 26380)]
    assert (cache["OPTIONS"]["USERNAME"], cache["OPTIONS"]["PASSWORD"]) == ("user", "secret")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("valkey://a:1/2", "redis://a:1/2"),
        ("valkeys://default:valkey://@a:1?ssl_ca_certs=/ca", "rediss://default:valkey://@a:1?ssl_ca_certs=/ca"),
        ("valkey+sentinel://a:1/main", "redis+sentinel://a:1/main"),
        ("valkeys+cluster://a:1", "rediss+cluster://a:1"),
        ("redis://valkey://a", "redis://valkey://a"),
        ("embedded:///valkey", "embedded:///valkey"),
        ("valkeyss://a", "valkeyss://a"),
        ("", ""),
    ],
)
def test_the_schemes_of_valkey_are_those_of_redis(url: str, expected: str) -> None:
    """gomodule/redigo#688, redis-rs/redis-rs#1555, valkey-io/valkey-java#11: providers show such URLs."""
    assert with_redis_scheme(url) == expected


def test_the_settings_read_urls_of_valkey() -> None:
    script = "from django.conf import settings as s; print(s.REDIS_URL, s.REDIS_COMPONENT_URLS, s.CACHES)"
    variables = {"REDIS_URL": "valkey://a:1/0", "REDIS_JOBS_URL": "valkeys://b:2"}
    done = manage("shell", "-c", script, **variables)
    assert "redis://a:1/0 {'jobs': 'rediss://b:2'}" in done.stdout, done.stderr
    assert "valkey" not in done.stdout


@pytest.mark.parametrize("url", ["embedded:///data", "redis+cluster://a:1,b:2", "redis+shards://a:1"])
def test_the_cache_is_in_process_memory_on_any_other_topology(url: str) -> None:
    assert "locmem" in settings_parsers.build_cache_settings(url, is_explicit=False)["default"]["BACKEND"]


def test_a_cluster_chosen_for_the_cache_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="REDIS_CACHE_URL"):
        settings_parsers.build_cache_settings("redis+cluster://a:1", is_explicit=True)


def test_a_stored_secret_key_belongs_to_its_own_directory(tmp_path: Path) -> None:
    (tmp_path / "secret_key").write_text("kept\n")
    assert settings_parsers.read_secret_key(f"embedded://{tmp_path}") == "kept"
    assert settings_parsers.read_secret_key(f"embedded://{tmp_path / 'other'}") == ""
    assert settings_parsers.read_secret_key(f"unix://{tmp_path}") == ""


def manage(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py with these variables on top of a production site's."""
    base = {"PATH": os.environ["PATH"], "SECRET_KEY": "k" * 30 + "abcdefghijklmnopqrstuvwxyz"}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments], cwd=ROOT, env=base | variables, capture_output=True, text=True
    )


def example() -> dict[str, str]:
    lines = (ROOT / ".env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_a_missing_secret_key_prevents_the_start_with_one_sentence() -> None:
    answer = manage("check", SECRET_KEY="", REDIS_URL="redis://127.0.0.1")
    assert answer.returncode == 1
    assert answer.stderr.strip().splitlines()[-1].startswith("The settings cannot be used: SECRET_KEY is not set")


def test_the_example_passes_the_deployment_checks() -> None:
    variables = example()
    del variables["SECRET_KEY"]
    answer = manage("check", "--deploy", "--fail-level", "WARNING", **variables)
    assert answer.returncode == 0, answer.stderr
    assert "no issues" in answer.stdout


def test_the_example_names_every_variable_the_settings_read() -> None:
    text = (ROOT / ".env.example").read_text()
    source = (ROOT / "socialsite" / "settings.py").read_text()
    read = set(re.findall(r'(?:env\.\w+|_count)\(\s*"([A-Z_]+)"', source))
    read |= {f"RATE_LIMIT_{rule.upper()}" for rule in settings_parsers.DEFAULT_RATE_LIMITS}
    read |= {variable_of(name) for name in FIELDS}
    read |= {f"REDIS_{component.upper()}_URL" for component in settings_parsers.COMPONENTS}
    named = set(re.findall(r"^#?([A-Z_]+)=", text, re.MULTILINE))
    assert read - named == set()
    assert named - read == set()


def test_the_example_has_the_defaults_of_numbers_and_rates() -> None:
    text = (ROOT / ".env.example").read_text()
    source = (ROOT / "socialsite" / "settings.py").read_text()
    counts = {name: number.replace("_", "") for name, number in re.findall(r'_count\("(\w+)", ([\d_]+)', source)}
    rates = {f"RATE_LIMIT_{rule.upper()}": rate for rule, rate in settings_parsers.DEFAULT_RATE_LIMITS.items()}
    named = dict(re.findall(r"^#(\w+)=(.*)$", text, re.MULTILINE))
    assert len(counts) > 15
    assert {name: named.get(name) for name in counts | rates} == counts | rates


@pytest.mark.parametrize(
    ("url", "host", "port", "tls", "ssl"),
    [
        ("smtp+tls://me:p%40ss@mail.example.org", "mail.example.org", 587, True, False),
        ("smtp+ssl://mail.example.org", "mail.example.org", 465, False, True),
        ("smtp://127.0.0.1:2525", "127.0.0.1", 2525, False, False),
    ],
)
def test_a_mail_url_names_the_server_its_port_and_its_encryption(url: str, host: str, port: int, tls: bool, ssl: bool):
    found = settings_parsers.parse_mail_url(url)
    assert (found["EMAIL_HOST"], found["EMAIL_PORT"]) == (host, port)
    assert (bool(found.get("EMAIL_USE_TLS")), bool(found.get("EMAIL_USE_SSL"))) == (tls, ssl)
    if "@" in url:
        assert (found["EMAIL_HOST_USER"], found["EMAIL_HOST_PASSWORD"]) == ("me", "p@ss")


@pytest.mark.parametrize(
    "url", ["http://mail.example.org", "smtp://", "mail.example.org", "consolemail://", "smtp://x:y"]
)
def test_a_mail_url_that_names_no_server_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="MAIL_URL"):
        settings_parsers.parse_mail_url(url)


def test_https_enables_host_cookies_and_strict_transport_security() -> None:
    answer = manage("diffsettings", "--output", "hash", HTTPS="1")
    settings = dict(line.split(" = ", 1) for line in answer.stdout.splitlines() if " = " in line)
    assert settings["SESSION_COOKIE_NAME"].startswith("'__Host-sessionid'")
    assert settings["CSRF_COOKIE_NAME"].startswith("'__Host-csrftoken'")
    assert settings["SESSION_COOKIE_SECURE"].startswith("True")
    assert int(settings["SECURE_HSTS_SECONDS"].split()[0]) == 31536000


@pytest.mark.parametrize(
    ("hosts", "https", "url"),
    [
        (["social.example.org", "localhost"], True, "https://social.example.org"),
        ([".example.org", "*", "localhost"], False, "http://localhost"),
        ([], False, "http://localhost"),
    ],
)
def test_the_default_address_of_the_site_is_its_first_host(hosts: list[str], https: bool, url: str) -> None:
    assert settings_parsers.default_site_url(hosts, https) == url


@pytest.mark.parametrize(
    ("url", "location", "login", "sentinel_login"),
    [
        (
            "redis+sentinel://app:p%40ss%23word@127.0.0.1:26379/Main?db=3&sentinel_password=s3cret",
            "redis://Main/3",
            {"USERNAME": "app", "PASSWORD": "p@ss#word"},
            {"password": "s3cret"},
        ),
        (
            "rediss+sentinel://:p%2Fw@[::1]:26379,h:26380/main?ssl_check_hostname=no&sentinel_username=u%40",
            "redis://main/0",
            {"PASSWORD": "p/w"},
            {"username": "u@", "ssl": True, "ssl_check_hostname": False},
        ),
        ("redis://u:p%40x@[::1]:6379/2?replica=[::1]:6380", "redis://u:p%40x@[::1]:6379/2", {}, {}),
    ],
)
def test_the_cache_reads_a_url_as_the_store_does(
    url: str, location: str, login: dict[str, str], sentinel_login: dict[str, object]
) -> None:
    cache = settings_parsers.build_cache_settings(url, is_explicit=False)["default"]
    assert cache["LOCATION"] == location
    assert login.items() <= cache["OPTIONS"].items()
    assert sentinel_login.items() <= cache["OPTIONS"].get("SENTINEL_KWARGS", {}).items()


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://Social.Example.org/", "https://social.example.org"),
        ("HTTPS://social.example.org:443", "https://social.example.org"),
        ("http://social.example.org:80", "http://social.example.org"),
        ("https://social.example.org:8443", "https://social.example.org:8443"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("https://Straße.example", "https://xn--strae-oqa.example"),
        ("https://☕.example", "https://xn--53h.example"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://localhost:8000", "http://localhost:8000"),
    ],
)
def test_the_address_of_the_site_is_written_as_browsers_write_an_origin(text: str, origin: str) -> None:
    assert settings_parsers.parse_site_url(text) == origin


def test_allowed_hosts_are_written_as_browsers_send_them() -> None:
    hosts = ["Social.example", ".example.org", "*", "[::1]", "bücher.example", ".Пример.рф"]
    idna = ["xn--bcher-kva.example", ".xn--e1afmkfd.xn--p1ai"]
    assert settings_parsers.parse_allowed_hosts(hosts) == [*hosts[:4], *idna]


def test_trusted_origins_are_written_as_browsers_send_them() -> None:
    parse = settings_parsers.parse_trusted_origins
    assert parse(["HTTPS://Social.example:443/", "https://bücher.example:8443"]) == [
        "https://social.example",
        "https://xn--bcher-kva.example:8443",
    ]
    assert parse(["https://*.example.org"]) == ["https://*.example.org"]
    with pytest.raises(ImproperlyConfigured, match="CSRF_TRUSTED_ORIGINS"):
        parse(["https://social.example:port"])


def test_a_contact_is_a_uri_that_push_services_accept() -> None:
    parse = settings_parsers.parse_security_contact
    assert parse("security@example.org") == "mailto:security@example.org"
    for text in ("", "mailto:security@example.org", "https://example.org/security", "https://social.example/@admin"):
        assert parse(text) == text
    wrong = ("mailto:", "mailto:nobody", "a b@example.org", "mailto: a@example.org", "mailto:<a@example.org>")
    for text in ("example.org", "tel:+49-1", "http://example.org", *wrong):
        with pytest.raises(ImproperlyConfigured, match="SECURITY_CONTACT"):
            parse(text)


def test_the_address_of_a_replica_may_be_ipv6() -> None:
    replica = Address.parse("redis://[::1]:6379/0").with_location("[::1]:6380")
    assert (replica.host, replica.port, str(replica)) == ("::1", 6380, "[::1]:6380")


@pytest.mark.parametrize("host", [None, b""])
def test_a_member_without_a_host_has_the_host_of_the_queried_sentinel(host: bytes | None) -> None:
    assert _member_address([host, 7001, b"id"], "10.0.0.1") == ("10.0.0.1", 7001)
    with pytest.raises(StoreUnavailable, match="cluster-announce-hostname"):
        _member_address([b"?", 7001, b"id"], "10.0.0.1")
