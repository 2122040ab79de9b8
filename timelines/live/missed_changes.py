"""Sends deletions and edits that happened while a page had no live socket.

Each time a page connects again, it sends the ids and versions of the posts that it shows (`watch`). For every post that
was deleted or edited meanwhile, it gets the same messages as if it had been online. A deleted post that the reader
could not see, a hidden post and an unknown id are all ignored, so that a client cannot distinguish them.
"""

from socialsite.ids import PostId
from timelines.live import socket_messages
from timelines.live.batched_work import BatchedWork
from timelines.live.broadcaster import Broadcaster
from timelines.live.replacement_boosts import ReplacementBoosts
from timelines.live.socket_registry import LiveSocket, SocketRegistry
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext

ShownVersions = dict[PostId, int]
"""The versions of the posts that a client shows. Of a client that does not show edits, the dictionary is empty."""


class MissedChanges(BatchedWork[LiveSocket, ShownVersions]):
    """Checks the posts that sockets show for tombstones and newer versions."""

    batch_size = 20  # sockets; after a restart most sockets show the same posts
    failure_message = "missed deletions and edits could not be read: %s"

    def __init__(
        self,
        registry: SocketRegistry,
        pipeline: ReadPipeline,
        broadcaster: Broadcaster,
        replacement_boosts: ReplacementBoosts,
    ) -> None:
        super().__init__()
        self._registry = registry
        self._pipeline = pipeline
        self._broadcaster = broadcaster
        self._replacement_boosts = replacement_boosts

    def check(self, socket: LiveSocket, versions: ShownVersions) -> None:
        """Add the posts that the socket watches now to the pending work."""
        if socket.watched_post_ids:
            self.add(socket, versions)

    def check_all(self) -> None:
        """Add the posts of every socket, because this process may have missed messages.

        The versions that the clients show are unknown. Clients ignore a version that they show already.
        """
        for socket in self._registry.sockets:
            self.check(socket, dict.fromkeys(socket.watched_post_ids, 0))

    async def process(self, batch: dict[LiveSocket, ShownVersions]) -> None:
        viewers = [ViewerContext(socket.account_id, ViewContext.POST) for socket in batch]
        post_ids = frozenset[PostId]().union(*(socket.watched_post_ids for socket in batch))
        newest, deleted_posts = await self._pipeline.find_changed(post_ids, viewers)
        for socket, deleted in zip(batch, deleted_posts, strict=True):
            if socket in self._registry.sockets:
                for post_id in socket.watched_post_ids & deleted.keys():
                    self._send_deletion(socket, post_id, deleted[post_id].boost_of)
        for post_id, version in newest.items():
            outdated = [
                socket
                for socket, versions in batch.items()
                if socket in self._registry.sockets and versions.get(post_id, version) < version
            ]
            if outdated:
                await self._broadcaster.send_edited(post_id, outdated)

    def _send_deletion(self, socket: LiveSocket, post_id: PostId, original_id: PostId | None) -> None:
        """Send the deletion. If the deleted post was a boost, `original_id` is the boosted post."""
        socket.writer.send(socket_messages.encode_deleted(post_id))
        if original_id is not None:
            self._replacement_boosts.check(post_id, original_id, subscriptions=socket.subscriptions.values())
