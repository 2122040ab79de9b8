"""Recognizes host names with a top-level domain of IANA's list (from linkify-it-py), and IPv4 addresses."""

import re
from ipaddress import AddressValueError, IPv4Address

from linkify_it.tlds import TLDS

_ASCII_TLDS = [tld.lower() for tld in TLDS]
_IDN_TLDS = [tld.removeprefix("xn--").encode().decode("punycode") for tld in _ASCII_TLDS if tld.startswith("xn--")]
_TLDS = frozenset(_ASCII_TLDS + _IDN_TLDS)
_FILE_ENDINGS = frozenset(["cc", "md", "mov", "pl", "ps", "py", "rs", "sh", "so", "zip"])
"""Top-level domains that are also file extensions. Such hosts are linked only with a scheme, `www.` or a path."""

_EDGE = r"[A-Za-z0-9\x80-\U0010ffff]"
_LABEL = re.compile(rf"{_EDGE}(?:[A-Za-z0-9_\x80-\U0010ffff-]{{0,61}}{_EDGE})?")
_ASCII_HEAD = re.compile(r"([A-Za-z]{2,})[^\x00-\x7f]")


def host_length(host: str) -> int:
    """Return the length of the host name at the beginning of `host`, or 0 if there is none.

    The host name is shorter than `host` if text in a script without spaces directly follows an ASCII domain.
    """
    trimmed = host.rstrip(".")
    *labels, last = trimmed.split(".")
    if _is_ipv4(trimmed):
        return len(trimmed)
    if not labels or not all(map(_is_label, labels)) or "_" in labels[-1]:
        return 0
    if _is_tld(last):
        return len(trimmed)
    ascii_head = _ASCII_HEAD.match(last)
    return len(trimmed) - len(last) + ascii_head.end(1) if ascii_head and _is_tld(ascii_head[1]) else 0


def is_bare_host(host: str, *, has_path: bool) -> bool:
    """Return whether ASCII labels without a scheme are probably a host name."""
    if host_length(host) != len(host):
        return False
    *labels, last = host.split(".")
    if last.isdigit() or not (last.islower() or host.isupper()):  # "192.168.1.1", "done.In"
        return False
    if labels[0].lower() == "www":
        return len(labels) > 1
    short_number = labels[-1].isdigit() and len(labels[-1]) < 3  # "10.am"
    return not short_number and (has_path or last.lower() not in _FILE_ENDINGS)


def _is_label(label: str) -> bool:
    punycode = label[:4].lower() == "xn--"
    return _LABEL.fullmatch(label) is not None and (label.isascii() or not punycode)


def _is_tld(label: str) -> bool:
    return label.lower() in _TLDS


def _is_ipv4(host: str) -> bool:
    try:
        return bool(IPv4Address(host))
    except AddressValueError:
        return False
