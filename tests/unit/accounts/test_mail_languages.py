"""The languages of mails, and the texts of sanctions."""

from typing import get_args

import pytest
from django.conf import settings
from django.core.mail import EmailMultiAlternatives

from accounts.mail.message import build_message
from accounts.mail.values import MailKind, SendMail
from accounts.sanctions.texts import describe_kind
from socialsite.errors import AccountSilenced
from socialsite.ids import AccountId

FACTS = {
    "handle": "alice",
    "path": "/here/",
    "app": "Tusky",
    "device": "Firefox",
    "unsubscribe": "/away/",
    "lines": "1: alice",
    "title": "Full",
}


@pytest.mark.parametrize("language", [code for code, _name in settings.LANGUAGES])
def test_every_mail_is_built_in_the_language_with_its_direction(language: str) -> None:
    for kind in get_args(MailKind):
        message = build_mail(kind, language)
        html = str(message.alternatives[0][0])
        assert f'<html lang="{language}" dir="{"rtl" if language == "ar" else "ltr"}">' in html
        assert "alice" in message.body
        assert "%(" not in message.subject + message.body


def test_a_long_name_of_the_site_makes_no_long_line() -> None:
    job = SendMail(AccountId(1), "1", "test", "alice@example.org", "ja", 1)
    head = build_message(job, {}, "日本語のとても長いサイトの名前です" * 2).message().as_bytes().partition(b"\n\n")[0]
    assert max(map(len, head.splitlines())) <= 78


def test_the_subject_is_in_the_language_of_the_mail() -> None:
    assert build_mail("new_app", "de").subject == "Eine neue App kann @alice auf Socialsite verwenden"


def build_mail(kind: MailKind, language: str) -> EmailMultiAlternatives:
    job = SendMail(AccountId(1), "m1", kind, "alice@example.org", language, 1_795_187_640_123)
    return build_message(job, FACTS, "Socialsite")


def test_the_decision_and_the_refusal_name_the_same_end_of_a_silence() -> None:
    time = "1 Jan 1970, 00:02 UTC"
    assert time in describe_kind("silence", 60_001)
    assert time in str(AccountSilenced(60_001).message)
