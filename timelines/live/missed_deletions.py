"""Sends deletions that happened while a page had no live socket.

Each time a page connects again, it sends the ids of the posts that it shows (`watch`). For every post that was deleted
meanwhile, it gets the same messages as if it had been online. A deleted post that the reader could not see, a hidden
post and an unknown id are all ignored, so that a client cannot distinguish them.
"""

from socialsite.ids import PostId
from timelines.live import socket_messages
from timelines.live.batched_work import BatchedWork
from timelines.live.replacement_boosts import ReplacementBoosts
from timelines.live.socket_registry import LiveSocket, SocketRegistry
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext


class MissedDeletions(BatchedWork[LiveSocket, frozenset[PostId]]):
    """Checks the posts that sockets show for tombstones."""

    batch_size = 20  # sockets; after a restart most sockets show the same posts
    failure_message = "missed deletions could not be read: %s"

    def __init__(self, registry: SocketRegistry, pipeline: ReadPipeline, replacement_boosts: ReplacementBoosts) -> None:
        super().__init__()
        self._registry = registry
        self._pipeline = pipeline
        self._replacement_boosts = replacement_boosts

    def check(self, socket: LiveSocket) -> None:
        """Add the posts that the socket watches now to the pending work."""
        if socket.watched_post_ids:
            self.add(socket, socket.watched_post_ids)

    def check_all(self) -> None:
        """Add the posts of every socket, because this process may have missed messages about deletions."""
        for socket in self._registry.sockets:
            self.check(socket)

    async def process(self, batch: dict[LiveSocket, frozenset[PostId]]) -> None:
        viewers = [ViewerContext(socket.account_id, ViewContext.POST) for socket in batch]
        deleted_posts = await self._pipeline.find_deleted(frozenset[PostId]().union(*batch.values()), viewers)
        for (socket, watched_ids), deleted in zip(batch.items(), deleted_posts, strict=True):
            if socket in self._registry.sockets:
                for post_id in watched_ids & deleted.keys():
                    self._send_deletion(socket, post_id, deleted[post_id].boost_of)

    def _send_deletion(self, socket: LiveSocket, post_id: PostId, original_id: PostId | None) -> None:
        """Send the deletion. If the deleted post was a boost, `original_id` is the boosted post."""
        socket.writer.send(socket_messages.encode_deleted(post_id))
        if original_id is not None:
            self._replacement_boosts.check(post_id, original_id, subscriptions=socket.subscriptions.values())
