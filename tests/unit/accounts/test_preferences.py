"""The stored form of preferences, to which releases add fields."""

from msgspec import structs

from accounts.domain import Preferences, decode_preferences, encode_preferences


def test_preferences_of_an_earlier_release_have_the_defaults_of_new_fields() -> None:
    assert decode_preferences("").is_discoverable
    assert decode_preferences('[true,"de",["fr"],"unlisted"]') == Preferences(True, "de", ("fr",), "unlisted")


def test_preferences_are_read_as_they_were_stored() -> None:
    hidden = structs.replace(Preferences(), is_discoverable=False)
    assert decode_preferences(encode_preferences(hidden)) == hidden
