"""A question under way: sent where it is asked, answered where its answer is needed, without a task."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from typing import TYPE_CHECKING, Any, Generic

from socialsite.store.read import Read, Result

if TYPE_CHECKING:
    from socialsite.store.node import Node, Reply

ReadRunner = Callable[[Read[Any]], Awaitable[list[Any]]]


class PendingReply(Generic[Result]):
    """To be awaited once. Where it could not be sent at once it is asked when it is awaited.

    What fails meanwhile takes nothing away: an answer that nobody waits for is dropped.
    """

    def __init__(self, question: Read[Result], node: "Node | None", later: ReadRunner) -> None:
        self._read = question
        self._node = node
        self._run_reads = later
        self._reply_future: asyncio.Future[list[Reply]] | None = None
        if node is not None and question.commands:
            self._reply_future = node.send_now(question.commands)

    def __await__(self) -> Generator[Any, None, Result]:
        return self._result().__await__()

    async def _result(self) -> Result:
        if self._reply_future is None or self._node is None:
            (answer,) = await self._run_reads(self._read)
            return answer  # type: ignore[no-any-return]
        replies: Sequence[Reply] = await self._node.await_replies(self._read.commands, self._reply_future)
        return self._read.parse(replies)


class LazyAwaitable(Generic[Result]):
    """To be awaited once, or never: what takes further questions, after those that are under way."""

    def __init__(self, go_on: Callable[[], Coroutine[Any, Any, Result]]) -> None:
        self._start = go_on

    def __await__(self) -> Generator[Any, None, Result]:
        return self._start().__await__()
