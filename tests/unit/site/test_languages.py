"""Language tags as programs send them (RFC 5646 and its registry)."""

import pytest

from socialsite.languages import parse_language


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        ("iw", "he"), ("in", "id"), ("ji", "yi"), ("mo", "ro"), ("sh", "sr"), ("jw", "jv"),
        ("iw_IL", "he"), ("IN-id", "id"), ("in-Latn-ID", "id"),
        ("cmn", "zh"), ("cmn-Hans-CN", "zh"), ("zh-Hans-CN", "zh"), ("zh_TW", "zh"),
        ("yue", "zh"), ("yue-Hant-HK", "zh"), ("zh-yue", "zh"), ("nan", "zh"), ("ckb-IQ", "ku"),
        ("arb", "ar"), ("arz", "ar"), ("pes", "fa"), ("prs", "fa"), ("deu", "de"), ("ger", "de"),
        ("no", "no"), ("nb", "nb"), ("nn-NO", "nn"), ("no-bok", "no"),
        ("tl", "tl"), ("fil-PH", "tl"), ("tw", "tw"), ("pt-BR", "pt"),
        ("ast", "ast"), ("kab-DZ", "kab"), ("nds_NL", "nds"), ("GSW", "gsw"), ("smj-SE", "smj"), ("tok", "tok"),
        ("i-lux", "lb"), (" de ", "de"), ("", None), ("xx", None), ("und", None),
        ("-", None), ("de" * 60, None), ("\u0661", None),
    ],
)  # fmt: skip
def test_a_language_tag_is_read_by_the_registry(tag: str, code: str | None) -> None:
    assert parse_language(tag) == code
