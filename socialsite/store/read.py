"""A question: commands, and how their replies are understood. Several questions share one round trip."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from socialsite.store.encoding import PipelineChain
from socialsite.store.node import Reply
from socialsite.store.scripts import Command

Result = TypeVar("Result")


class Read(msgspec.Struct, Generic[Result], frozen=True):
    """`understand` gets the replies to `commands`, in their order.

    `may_lag`: reads whose answer may be a second old, so a replica may give it (docs/reference/topologies.md).
    """

    commands: Sequence[Command]
    parse: Callable[[Sequence[Reply]], Result]
    may_lag: bool = False


def combine(*questions: Read[Any]) -> Read[list[Any]]:
    """Several questions as one; it may lag where each of them may."""
    return Read(
        combine_commands(questions),
        lambda replies: parse_replies(questions, replies),
        all(question.may_lag for question in questions),
    )


def combine_commands(questions: Sequence[Read[Any]]) -> PipelineChain:
    """The commands of some questions; those of joined ones lie flat, so that their bytes are still seen."""
    parts: list[Sequence[Command]] = []
    for question in questions:
        commands = question.commands
        parts += commands.pipelines if type(commands) is PipelineChain else (commands,)
    return PipelineChain(parts)


def parse_replies(questions: Sequence[Read[Any]], replies: Sequence[Reply]) -> list[Any]:
    """What each of some questions gets of the replies to all of them, understood."""
    answers, start = [], 0
    for question in questions:
        end = start + len(question.commands)
        answers.append(question.parse(replies[start:end]))
        start = end
    return answers
