"""The live updates of one web process: its pub/sub listener, its sockets and its background tasks.

Each event loop has one `StreamingServer`, which its first socket opens.
"""

import logging

from accounts.sessions.service import SessionService
from socialsite.errors import RateLimited
from socialsite.ids import AccountId, PostId
from socialsite.recipes.task_supervisor import TaskSupervisor
from socialsite.site.service import SiteService
from socialsite.web.services import SiteServices
from timelines.live import socket_messages
from timelines.live.broadcaster import Broadcaster
from timelines.live.channels import ChannelResolver
from timelines.live.dispatcher import LiveDispatcher
from timelines.live.frames import FrameEncoder
from timelines.live.missed_changes import MissedChanges
from timelines.live.replacement_boosts import ReplacementBoosts
from timelines.live.socket_messages import BadMessage, Subscribe, Unsubscribe, Watch, parse_message, parse_post_id
from timelines.live.socket_registry import LiveSocket, SocketRegistry
from timelines.live.subscriptions import SubscriptionManager
from timelines.live_updates.service import LiveService
from timelines.notifications.service import NotificationService
from timelines.reading.pipeline import ReadPipeline

SESSION_CHECK_INTERVAL_S = 4.0
MAX_SUBSCRIPTIONS_PER_SOCKET = 20
"""The maximum number of open timelines of one socket. A page shows one timeline, and a client with columns a few."""
SOCKETS_PER_MESSAGE = 2
"""The maximum of open sockets of an address in this process, as a multiple of its messages in a minute."""
NEXT_SOCKET_AFTER_S = 60

log = logging.getLogger(__name__)


class StreamingServer:
    """Serves the sockets of this process."""

    def __init__(self, services: SiteServices) -> None:
        self.encoders: dict[object, FrameEncoder] = {}
        """The encoders of API clients, which sockets share."""
        pipeline = services[ReadPipeline]
        self._registry = SocketRegistry()
        self._message_limit = services.rules["socket"].limit
        self._sessions, self._site = services[SessionService], services[SiteService]
        broadcaster = Broadcaster(self._registry, pipeline)
        self._replacement_boosts = ReplacementBoosts(self._registry, pipeline, broadcaster)
        self._dispatcher = LiveDispatcher(
            self._registry,
            pipeline,
            services[NotificationService],
            broadcaster,
            self._replacement_boosts,
            resubscribe_lists=lambda account_id: self._subscription_manager.resubscribe_lists(account_id),
        )
        self._missed_changes = MissedChanges(self._registry, pipeline, broadcaster, self._replacement_boosts)
        self._listener = services[LiveService].listen(
            on_message=self._dispatcher.handle,
            on_lost=lambda: self._subscription_manager.pause_all(),
            on_gap=self._replay_missed,
        )
        self._subscription_manager = SubscriptionManager(
            self._registry, self._listener, services[ChannelResolver], services[LiveService], services.clock
        )
        self._supervisor = TaskSupervisor()

    async def open(self) -> None:
        """Start the listener and the background tasks. Raises StoreUnavailable."""
        await self._listener.open()
        self._site.listeners.add(self._close_visitors_if_members_only)
        self._supervisor.repeat(
            SESSION_CHECK_INTERVAL_S, self._close_ended_sessions, "open sessions could not be checked"
        )
        self._supervisor.start(self._dispatcher.send_counts_forever)
        self._supervisor.start(self._missed_changes.run)
        self._supervisor.start(self._replacement_boosts.run)

    async def close(self) -> None:
        self._site.listeners.discard(self._close_visitors_if_members_only)
        await self._supervisor.close()
        await self._subscription_manager.close()
        await self._listener.close()

    def require_room(self, address: str) -> None:
        """Raise RateLimited if the address has as many sockets and event streams as it may have."""
        if self._message_limit and not self._registry.has_room(address, SOCKETS_PER_MESSAGE * self._message_limit):
            raise RateLimited("address", NEXT_SOCKET_AFTER_S)

    def connect(self, socket: LiveSocket) -> None:
        self._registry.add(socket)
        if socket.account_id is None and self._site.settings.members_only:  # since the handshake was checked
            socket.writer.close(socket_messages.SIGNED_OUT_CLOSE_CODE)

    def disconnect(self, socket: LiveSocket) -> None:
        """Remove a socket after its connection was closed. The call may be repeated."""
        for name in list(socket.subscriptions):
            self._subscription_manager.unsubscribe(socket, name)
        self._registry.remove(socket)
        socket.writer.detach()

    def handle_message(self, socket: LiveSocket, text: str | None) -> None:
        """Handle a client's message; `text` is None for a binary message.

        The response to an invalid message is an error.
        """
        try:
            match parse_message(text):
                case Subscribe(timeline, after):
                    self.subscribe(socket, timeline, None if after is None else parse_post_id(after))
                case Unsubscribe(timeline):
                    self.unsubscribe(socket, timeline)
                case Watch(ids, versions):
                    post_ids = [parse_post_id(id) for id in ids]
                    self._registry.set_watched_posts(socket, post_ids)
                    self._missed_changes.check(socket, dict(zip(post_ids, versions or (), strict=False)))
        except BadMessage:
            socket.writer.send(socket_messages.encode_error(socket_messages.BAD_MESSAGE))

    def subscribe(
        self, socket: LiveSocket, name: str, after: PostId | None = None, *, timeline: str | None = None
    ) -> None:
        """Subscribe to a timeline. `name` is its name in frames. Raises BadMessage above the maximum."""
        if name not in socket.subscriptions and len(socket.subscriptions) >= MAX_SUBSCRIPTIONS_PER_SOCKET:
            raise BadMessage
        self._subscription_manager.subscribe(socket, name, after, timeline=timeline)

    def unsubscribe(self, socket: LiveSocket, name: str) -> None:
        self._subscription_manager.unsubscribe(socket, name)

    async def require_access(self, timeline: str, account_id: AccountId | None) -> None:
        """Raise SubscriptionDenied unless the account may subscribe to the timeline."""
        await self._subscription_manager.channels.resolve(timeline, account_id)

    async def _replay_missed(self) -> None:
        """Replay entries, deletions and edits after messages may have been lost."""
        await self._subscription_manager.replay_all()
        self._missed_changes.check_all()

    def _close_visitors_if_members_only(self) -> None:
        if self._site.settings.members_only:
            for socket in tuple(self._registry.sockets):
                if socket.account_id is None:
                    socket.writer.close(socket_messages.SIGNED_OUT_CLOSE_CODE)

    async def _close_ended_sessions(self) -> None:
        """Close the sockets of ended sessions. It is needed if the message about the end was lost."""
        sockets = [
            (socket, (socket.account_id, socket.session_id))
            for socket in self._registry.sockets
            if socket.account_id is not None and socket.session_id is not None
        ]
        pairs = list(dict.fromkeys(pair for _, pair in sockets))
        is_active = dict(zip(pairs, await self._sessions.are_sessions_active(pairs), strict=True))
        for socket, pair in sockets:
            if not is_active[pair]:
                socket.writer.close(socket_messages.SIGNED_OUT_CLOSE_CODE)
