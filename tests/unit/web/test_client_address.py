"""The client address of a request, with forged forwarding headers."""

from ipaddress import ip_network

import pytest

from socialsite.web.middleware.address import find_client_address

PROXIES = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "client"),
    [
        ("203.0.113.9", "", "203.0.113.9"),
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),  # the peer is not a proxy: its header is not trusted
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.1", "198.51.100.1"),  # the client wrote 1.1.1.1
        ("10.0.0.1", "1.1.1.1,198.51.100.1,10.9.9.9", "198.51.100.1"),  # through two of our proxies
        ("10.0.0.1", "10.0.0.2, 10.0.0.3", "10.0.0.2"),
        ("10.0.0.1", "10.1.1.1, 198.51.100.1", "198.51.100.1"),  # the client claims to be one of our proxies
        ("10.0.0.1", "198.51.100.1, nonsense", "10.0.0.1"),
        ("10.0.0.1", "nonsense, 198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "198.51.100.1:4711", "198.51.100.1"),
        ("10.0.0.1", "[2001:db8::7]:4711", "2001:db8::7"),
        ("10.0.0.1", "2001:db8::7", "2001:db8::7"),
        ("10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"),
        ("::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("fd00::1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "fe80::1%eth0", "fe80::1"),
        ("10.0.0.1", ",,,", "10.0.0.1"),
        (None, "198.51.100.1", "198.51.100.1"),  # a unix socket, its other end a proxy
        (None, "", "unknown"),
    ],
)
def test_the_client_is_the_rightmost_address_that_is_not_a_proxy(peer, forwarded_for, client):
    assert find_client_address(peer, forwarded_for, PROXIES) == client


@pytest.mark.parametrize("peer", ["203.0.113.9", "10.0.0.1", "2001:db8::1"])
def test_the_header_is_ignored_without_trusted_proxies(peer):
    assert find_client_address(peer, "198.51.100.1", []) == peer


def test_a_thousand_claimed_addresses_are_one_client():
    claims = [f"198.51.{number % 256}.{number // 256}" for number in range(1_000)]
    assert {find_client_address("203.0.113.9", claim, PROXIES) for claim in claims} == {"203.0.113.9"}
    assert {find_client_address("10.0.0.1", f"{claim}, 203.0.113.9", PROXIES) for claim in claims} == {"203.0.113.9"}


def test_a_very_long_header_is_read_from_its_end():
    assert find_client_address("10.0.0.1", "1.1.1.1, " * 100_000 + "203.0.113.9", PROXIES) == "203.0.113.9"
