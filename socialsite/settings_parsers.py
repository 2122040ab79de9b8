"""Parse environment variables into typed settings.

These functions do not use Django's settings, so that tests can call them directly. An invalid value raises
ImproperlyConfigured with a sentence that names the variable.
"""

import re
from collections.abc import Iterable
from dataclasses import asdict
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from socialsite.site.hosts import normalize_host, origin_of
from socialsite.store.address import Address, SentinelUrl, pop_parameter
from socialsite.store.components import COMPONENTS as STORE_COMPONENTS

Network = IPv4Network | IPv6Network

DEFAULT_RATE_LIMITS = {
    "post": "30/m",
    "edit": "30/m",
    "follow": "60/m",
    "like": "120/m",
    "block": "60/m",
    "delete": "60/m",
    "media": "60/m",
    "list": "120/m",
    "draft": "60/m",
    "report": "10/m",
    "staff": "20/m",
    "login": "10/m",
    "signup": "20/m",
    "app": "20/m",
    "mail": "5/m",
    "appeal": "5/m",
    "token": "60/m",
    "search": "60/m",
    "complete": "300/m",
    "merge": "60/m",
    "socket": "120/m",
    "address": "1200/m",
}
"""Rule -> requests per minute, in the format of RATE_LIMIT_<RULE>."""

MEMORY_UNITS = {"": 1, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}
"""The units of redis.conf."""

COMPONENTS = (*STORE_COMPONENTS, "cache")
"""Groups of keys that are stored together. Each may have its own REDIS_<COMPONENT>_URL."""

SINGLE_SERVER_SCHEMES = ("redis", "rediss", "unix")


def parse_rate(name: str, text: str) -> int | None:
    """Return the requests per minute of a rate such as "30/m", or None for "off"."""
    if text.strip().lower() == "off":
        return None
    match = re.fullmatch(r"\s*([1-9]\d{0,6})/m\s*", text)
    if not match:
        raise ImproperlyConfigured(f'{name} must be like "30/m" or "off", not "{text}".')
    return int(match[1])


def parse_bytes(name: str, text: str) -> int:
    """Return the number of bytes of a size such as "16mb", with the units of redis.conf."""
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", text.lower())
    if not match or match[2] not in MEMORY_UNITS:
        raise ImproperlyConfigured(f'{name} must be a number of bytes such as "16mb", not "{text}".')
    return int(match[1]) * MEMORY_UNITS[match[2]]


def parse_int(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ImproperlyConfigured(f'{name} must be a whole number, not "{text}".') from None


def parse_seconds(name: str, text: str) -> float:
    """Return a number of seconds above 0."""
    try:
        if 0 < float(text) < float("inf"):
            return float(text)
    except ValueError:
        pass
    raise ImproperlyConfigured(f'{name} must be a number of seconds above 0, not "{text}".')


def find_unknown_redis_variables(names: Iterable[str]) -> list[str]:
    """Return variables that look like REDIS_<COMPONENT>_URL, but have an unknown component."""
    matches = ((name, re.fullmatch(r"REDIS_([A-Z_]+)_URL", name)) for name in names)
    return sorted(name for name, match in matches if match and match[1].lower() not in COMPONENTS)


def require_at_least(name: str, number: int, lowest: int) -> int:
    if number < lowest:
        raise ImproperlyConfigured(f"{name} must be {lowest} or more, not {number}.")
    return number


def parse_networks(name: str, texts: Iterable[str]) -> list[Network]:
    """Parse networks in CIDR notation. An address without a prefix length is a network of one address."""
    try:
        return [ip_network(text.strip()) for text in texts if text.strip()]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be comma-separated networks: {error}.") from error


def parse_allowed_hosts(names: Iterable[str]) -> list[str]:
    """Return the hosts as browsers send them: in IDNA. Patterns keep their dot."""
    return [name if name.isascii() else "." * name.startswith(".") + normalize_host(name) for name in names]


def parse_trusted_origins(urls: Iterable[str]) -> list[str]:
    """Return the origins as browsers write them. Patterns such as `https://*.example.org` stay."""
    try:
        return [url if "*" in url or "://" not in url else origin_of(url) for url in urls]
    except ValueError as error:
        raise ImproperlyConfigured('CSRF_TRUSTED_ORIGINS must be like "https://social.example.org".') from error


def default_site_url(allowed_hosts: Iterable[str], https: bool) -> str:
    """Return the address of the first allowed host that is a name without wildcard, or of this machine."""
    names = (host for host in allowed_hosts if not host.startswith((".", "*")))
    return f"{'https' if https else 'http'}://{next(names, 'localhost')}"


def parse_site_url(url: str) -> str:
    """Return the address of the site. Its origin is written as browsers write it."""
    try:
        return origin_of(url) + urlsplit(url).path.rstrip("/")
    except ValueError as error:
        raise ImproperlyConfigured('SITE_URL must be like "https://social.example.org".') from error


def parse_security_contact(text: str) -> str:
    """Return the URI of a contact (RFC 9116, RFC 8292). A mail address becomes a mailto: URI."""
    text = text.strip()
    if re.fullmatch(r"[^\s:/@]+@[^\s:/@]+", text):
        return f"mailto:{text}"
    if text and not re.match(r"(mailto:[^\s@<>]+@[^\s@<>]+|https://\S+)$", text, re.IGNORECASE):
        raise ImproperlyConfigured(f'SECURITY_CONTACT must be a mailto: or https: address, not "{text}".')
    return text


def read_secret_key(url: str) -> str:
    """Return the secret key that quickstart stored in the directory of an embedded server, "" if there is none."""
    scheme, _, directory = url.partition("://")
    file = Path(directory).expanduser() / "secret_key"
    return file.read_text().strip() if scheme == "embedded" and file.is_file() else ""


def default_archive_url(url: str, base: Path) -> str:
    """Return the default of ARCHIVE_URL: a file in the data directory, which is created at its first use."""
    scheme, _, directory = url.partition("://")
    data = Path(directory).expanduser() if scheme == "embedded" else base / "data"
    return f"sqlite://{data / 'archive.sqlite3'}"


def default_media_root(url: str, base: Path) -> Path:
    """Return the default of MEDIA_ROOT: a folder in the data directory, which is created at the first upload."""
    scheme, _, directory = url.partition("://")
    return (Path(directory).expanduser() if scheme == "embedded" else base / "data") / "media"


def default_mail_root(url: str, base: Path) -> Path:
    """Return the folder of the mails of a site without MAIL_URL, which is created at the first mail."""
    return default_media_root(url, base).with_name("mail")


def parse_mail_url(url: str) -> dict[str, Any]:
    """Return Django's settings of the SMTP server at `url`. Without a URL mails are files in MAIL_ROOT.

    `smtp+tls` uses STARTTLS at port 587, `smtp+ssl` TLS at port 465, `smtp` no encryption at port 25.
    """
    if not url:
        return {"EMAIL_BACKEND": "accounts.mail.backends.FileBackend"}
    ports = {"smtp": 25, "smtp+tls": 587, "smtp+ssl": 465}
    try:
        parts = urlsplit(url)
        is_valid = bool(parts.hostname) and parts.scheme in ports and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ImproperlyConfigured('MAIL_URL must be like "smtp+tls://user:password@mail.example.org:587".')
    config: dict[str, Any] = environ.Env.email_url_config(url)  # type: ignore[no-untyped-call]
    return {**config, "EMAIL_PORT": config["EMAIL_PORT"] or ports[parts.scheme]}


def default_mail_from(site_url: str) -> str:
    """Return the address of the sender of mails: noreply at the host of the site."""
    return f"noreply@{urlsplit(site_url).hostname or 'localhost'}"


def build_media_storage(root: Path, bucket: str, endpoint: str) -> dict[str, Any]:
    """Return Django's storage of pictures: the folder `root`, or an S3 bucket if one is named.

    The S3 library reads the access key from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
    """
    if not bucket:
        options = {"location": str(root), "allow_overwrite": True}
        return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    s3_options = {"bucket_name": bucket, "endpoint_url": endpoint or None, "default_acl": None, "file_overwrite": True}
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": s3_options}


def build_cache_settings(url: str, *, is_explicit: bool) -> dict[str, dict[str, Any]]:
    """Return Django's CACHES: Redis at `url` if django-redis supports the URL, else the memory of the process.

    If `is_explicit`, the operator set the URL for the cache, and an unsupported URL raises ImproperlyConfigured.
    Cached data may be lost at any time, and it is not pickled.
    """
    name = "REDIS_CACHE_URL" if is_explicit else "REDIS_URL"
    scheme = url.partition("://")[0]
    try:
        if scheme in SINGLE_SERVER_SCHEMES:
            location, _ = pop_parameter(url, "replica")
            Address.parse(location)
            return {"default": _redis_cache(location)}
        if scheme in ("redis+sentinel", "rediss+sentinel"):
            return {"default": _sentinel_cache(url)}
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} cannot be read: {error}.") from error
    if is_explicit:
        raise ImproperlyConfigured(f'{name} must be a single server or Sentinel, not "{scheme}://".')
    return {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}


def _redis_cache(location: str, **options: object) -> dict[str, Any]:
    return {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": location,
        "KEY_PREFIX": "cache",
        "OPTIONS": {
            "SERIALIZER": "django_redis.serializers.json.JSONSerializer",
            "SOCKET_CONNECT_TIMEOUT": 1,
            "SOCKET_TIMEOUT": 1,
            "IGNORE_EXCEPTIONS": True,
            **options,
        },
    }


def _sentinel_cache(url: str) -> dict[str, Any]:
    """Return the settings of a Django cache that uses the master and the database of the store."""
    parts = SentinelUrl.parse(url)
    login, sentinel = parts.login, parts.sentinels[0]
    tls = {"ssl": True, **{f"ssl_{name}": text for name, text in asdict(login.tls).items()}} if login.tls else {}
    return _redis_cache(
        f"redis://{parts.master_name}/{login.db}",
        CLIENT_CLASS="django_redis.client.SentinelClient",
        CONNECTION_FACTORY="django_redis.pool.SentinelConnectionFactory",
        CONNECTION_POOL_CLASS="socialsite.store.cache_pool.MasterPool",
        CONNECTION_POOL_KWARGS={"master_name": parts.master_name, **tls},
        SENTINELS=[(each.host, each.port) for each in parts.sentinels],
        SENTINEL_KWARGS={**_login_options(sentinel), "socket_timeout": 1, "socket_connect_timeout": 1, **tls},
        **{name.upper(): text for name, text in _login_options(login).items()},
    )


def _login_options(address: Address) -> dict[str, str]:
    options = {"username": address.username, "password": address.password}
    return {name: text for name, text in options.items() if text}
