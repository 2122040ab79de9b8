"""A question: commands, and how their replies are understood. Several questions share one round trip."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from socialsite.store.encoding import Parts
from socialsite.store.node import Reply
from socialsite.store.scripts import Command

Answer = TypeVar("Answer")


class Question(msgspec.Struct, Generic[Answer], frozen=True):
    """`understand` gets the replies to `commands`, in their order.

    `may_lag`: reads whose answer may be a second old, so a replica may give it (docs/topologies.md).
    """

    commands: Sequence[Command]
    understand: Callable[[Sequence[Reply]], Answer]
    may_lag: bool = False


def joined(*questions: Question[Any]) -> Question[list[Any]]:
    """Several questions as one; it may lag where each of them may."""
    return Question(
        parts_of(questions),
        lambda replies: answers_of(questions, replies),
        all(question.may_lag for question in questions),
    )


def parts_of(questions: Sequence[Question[Any]]) -> Parts:
    """The commands of some questions; those of joined ones lie flat, so that their bytes are still seen."""
    parts: list[Sequence[Command]] = []
    for question in questions:
        commands = question.commands
        parts += commands.parts if type(commands) is Parts else (commands,)
    return Parts(parts)


def answers_of(questions: Sequence[Question[Any]], replies: Sequence[Reply]) -> list[Any]:
    """What each of some questions gets of the replies to all of them, understood."""
    answers, start = [], 0
    for question in questions:
        end = start + len(question.commands)
        answers.append(question.understand(replies[start:end]))
        start = end
    return answers
