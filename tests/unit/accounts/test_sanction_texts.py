"""The words about sanctions."""

from accounts.sanctions.texts import describe_kind
from socialsite.errors import AccountSilenced


def test_the_decision_and_the_refusal_name_the_same_end_of_a_silence() -> None:
    time = "1 Jan 1970, 00:02 UTC"
    assert time in describe_kind("silence", 60_001)
    assert time in str(AccountSilenced(60_001).message)
