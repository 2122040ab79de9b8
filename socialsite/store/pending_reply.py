"""A question under way: sent where it is asked, answered where its answer is needed, without a task."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from typing import TYPE_CHECKING, Any, Generic

from socialsite.store.read import Answer, Question

if TYPE_CHECKING:
    from socialsite.store.node import Node, Reply

Asking = Callable[[Question[Any]], Awaitable[list[Any]]]


class Asked(Generic[Answer]):
    """To be awaited once. Where it could not be sent at once it is asked when it is awaited.

    What fails meanwhile takes nothing away: an answer that nobody waits for is dropped.
    """

    def __init__(self, question: Question[Answer], node: "Node | None", later: Asking) -> None:
        self._question = question
        self._node = node
        self._later = later
        self._sent: asyncio.Future[list[Reply]] | None = None
        if node is not None and question.commands:
            self._sent = node.begin(question.commands)

    def __await__(self) -> Generator[Any, None, Answer]:
        return self._answer().__await__()

    async def _answer(self) -> Answer:
        if self._sent is None or self._node is None:
            (answer,) = await self._later(self._question)
            return answer  # type: ignore[no-any-return]
        replies: Sequence[Reply] = await self._node.finish(self._question.commands, self._sent)
        return self._question.understand(replies)


class Later(Generic[Answer]):
    """To be awaited once, or never: what takes further questions, after those that are under way."""

    def __init__(self, go_on: Callable[[], Coroutine[Any, Any, Answer]]) -> None:
        self._go_on = go_on

    def __await__(self) -> Generator[Any, None, Answer]:
        return self._go_on().__await__()
