"""Mail addresses: which are accepted, and how pages show them."""

import pytest

from accounts.addresses import InvalidAddress, mask_address, normalize_address


@pytest.mark.parametrize(
    ("raw", "address"),
    [
        ("Bob.Smith+tag@EXAMPLE.ORG", "Bob.Smith+tag@example.org"),
        ("bob@bücher.example", "bob@xn--bcher-kva.example"),
        ("bob@straße.example", "bob@xn--strae-oqa.example"),  # strasse.example belongs to somebody else
        ("bob@ＥＸＡＭＰＬＥ.org", "bob@example.org"),
        (" bob@example.museum ", "bob@example.museum"),
    ],
)
def test_an_address_keeps_its_name_and_has_an_ascii_domain(raw: str, address: str) -> None:
    assert normalize_address(raw) == address


@pytest.mark.parametrize(
    "raw",
    [
        "", "bob", "@example.org", "bob@", "bob@@example.org", "bob@example", "bob@-example.org", "a" * 65 + "@x.org",
        "bob@" + "a" * 60 + "." + "b" * 200 + ".org", "x" * 100_000 + "@example.org", "bob@example.org\nBcc: eve@x.org",
        "bob@example.org\r\nBcc: eve@x.org", "bob\n@example.org", "bob@exam\rple.org", "bob@example.org\x00",
        "bob@example.org\u2028Bcc: eve@x.org", "bob@example.org\x0bBcc:x", "bob@example.org, eve@x.org",
        "bob@example.org;eve@x.org", "Bob <bob@example.org>", '"bob\r\nBcc: x"@example.org', '"b b"@example.org',
        "bob(comment)@example.org", "bob@[127.0.0.1]", "bob@127.0.0.1\n", "bób@example.org", "bob%0abcc:x@x.org\n",
        "\ud800@example.org", "bob@\ud800.org", "bob@exa mple.org", "=?utf-8?q?=0aBcc:x?=@example.org\x85",
    ],
)  # fmt: skip
def test_an_address_with_a_line_break_or_a_second_address_is_refused(raw: str) -> None:
    with pytest.raises(InvalidAddress):
        normalize_address(raw)


def test_a_shown_address_has_only_the_first_character_of_its_name() -> None:
    assert mask_address("alice@example.org") == "a…@example.org"
