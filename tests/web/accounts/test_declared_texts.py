"""A text of the profile is declared once: whatever depends on it reads the declaration, or refuses an unknown kind."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accounts.accounts.validation import clean_profile_text
from accounts.forms import make_profile_inputs
from accounts.models import Account
from accounts.profile_texts import PROFILE_TEXTS, ProfileText
from timelines.api.entities.account import account_entity
from timelines.exporting import archive
from timelines.graph.follow import FollowCounts
from timelines.pages.responses import profile_context
from timelines.profiles.summaries import _summary

ROOT = Path(__file__).parents[3]


def test_every_reader_handles_a_text_that_only_its_declaration_names() -> None:
    """The motto is declared in a process of its own, because the site reads the declarations when it is imported."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.added_text", "-p", "no:cacheprovider", "-n", "0"]
    run = subprocess.run(
        [*command, "tests/web/accounts/motto.py"], cwd=ROOT, capture_output=True, text=True, timeout=170,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-10_000:] + run.stderr[-2_000:]


@pytest.mark.parametrize(
    "read",
    [
        lambda account, text: clean_profile_text(text, "x"),
        lambda account, text: make_profile_inputs(text),
        lambda account, text: profile_context(account),
        lambda account, text: archive._actor_texts(account),
        lambda account, text: account_entity(_summary(account, FollowCounts(0, 0), 0, None), "https://example.org"),
    ],
)
def test_a_reader_refuses_a_kind_that_it_does_not_know(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[Account, ProfileText], Any]
) -> None:
    text = ProfileText("Riddle", "riddle", limit=9, errors={})  # type: ignore[arg-type]
    text.name = "riddle"
    account = Account(id=1, handle="alice")
    account.riddle = "x"  # type: ignore[attr-defined]
    monkeypatch.setitem(PROFILE_TEXTS, "riddle", text)
    with pytest.raises(AssertionError, match="riddle"):
        read(account, text)
