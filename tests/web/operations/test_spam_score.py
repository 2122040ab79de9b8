"""SpamAssassin takes no mail of the site for spam."""

import re
import subprocess
import time
from typing import get_args

import pytest

from accounts.mail.message import build_message
from accounts.mail.service import new_mail_id
from accounts.mail.values import MailKind, SendMail
from socialsite.ids import AccountId
from tests.support.programs import needs

pytestmark = pytest.mark.nightly

MAX_SCORE = 2.0
CONTEXT = {
    "app": "Tusky", "device": "Firefox on Linux", "path": "/accounts/?token=eyJhIjoxfQ:1abc:" + "x" * 43,
    "lines": "Likes: 5 (@bob, @carol)\nReplies: 1 (@dave)", "title": "The disk is almost full",
}  # fmt: skip


@needs("spamassassin")
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("kind", get_args(MailKind))
def test_spamassassin_scores_a_mail_below_two(settings, kind: MailKind, language: str) -> None:
    settings.SITE_URL, settings.MAIL_FROM = "https://social.example.org", "Socialsite <noreply@social.example.org>"
    now_ms = int(time.time() * 1000)
    job = SendMail(AccountId(7), new_mail_id(now_ms), kind, "alice@example.net", language, now_ms)
    facts = {**CONTEXT, "handle": "alice"} | (
        {"unsubscribe": "/accounts/mail/unsubscribe/?token=x"} if kind == "digest" else {}
    )
    text = build_message(job, facts, "Socialsite").message().as_bytes()
    report = subprocess.run(["spamassassin", "--local", "--test-mode"], input=text, capture_output=True, check=True)
    match = re.search(rb"^X-Spam-Status: \w+, score=(-?[\d.]+)", report.stdout, re.MULTILINE)
    assert match, report.stdout
    assert float(match[1]) < MAX_SCORE, report.stdout.decode(errors="replace")
