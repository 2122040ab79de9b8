"""Streams of API clients: one websocket for all streams, or one HTTP response of server-sent events for each stream.

https://docs.joinmastodon.org/methods/streaming/. A stream is one or two subscriptions of a socket (timelines/live), so
it has the rights, replays and limits of the site's pages. Only the frames and messages differ.
"""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Final, Literal
from urllib.parse import parse_qs

import msgspec
from django.conf import settings
from django.http import HttpResponse
from django.http.request import split_domain_port, validate_host
from django.http.response import HttpResponseBase
from django.urls import path

from accounts.errors import InvalidToken, MissingScope
from accounts.oauth.scopes import includes
from accounts.sessions.authentication import require_account
from accounts.sessions.sockets import SocketViewer
from accounts.sessions.tokens import AccessTokenService, parse_bearer
from socialsite.analytics import prometheus
from socialsite.errors import Forbidden, Invalid, NotFound, RateLimited
from socialsite.ids import AccountId, PostId
from socialsite.limits import ActionLimits, Caller
from socialsite.web.event_stream import EventStreamResponse, EventStreamWriter
from socialsite.web.middleware.address import find_scope_address
from socialsite.web.requests import ApiToken, SiteRequest
from socialsite.web.services import SiteServices
from socialsite.web.socket_writer import TextFrame
from socialsite.web.websocket import get_header
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields, flag
from timelines.api.presenters import notifications_json, statuses_json
from timelines.live import socket_messages
from timelines.live.channels import SubscriptionDenied
from timelines.live.consumer import StreamConsumer, streaming_servers
from timelines.live.frames import Entry, FrameEncoder
from timelines.live.server import StreamingServer
from timelines.live.socket_messages import BadMessage
from timelines.live.socket_registry import LiveSocket
from timelines.notifications.notification import VisibleNotification
from timelines.pages.page import HydratedPost
from timelines.text.token_scanner import normalize_tag

STREAMING_PATHS: Final = ("/api/v1/streaming", "/api/v1/streaming/")
USER, USER_NOTIFICATION = "user", "user:notification"
NOTIFICATIONS_OF_USER = "user+notification"
"""The name of the second subscription of the stream `user`."""
HASHTAG_STREAMS: Final = frozenset({"hashtag", "hashtag:local"})
LIST_STREAM: Final = "list"
SUBSCRIPTIONS: Final[dict[str, dict[str, str]]] = {
    USER_NOTIFICATION: {USER_NOTIFICATION: "notifications"},
    **{stream: {stream: "public"} for stream in ("public", "public:local", "public:media", "public:local:media")},
    **{stream: {} for stream in ("public:remote", "public:remote:media", "direct")},
}
"""Stream without a parameter -> its subscriptions. This site has no posts of other sites and no direct messages."""
MEDIA_SUFFIX = ":media"
EVENT_STREAMS_PER_ACCOUNT = 24
"""Maximum open responses of server-sent events of a process. An app opens one for each stream that it shows."""
EVENT_STREAMS_RETRY_S = 60
_open_streams: Counter[AccountId] = Counter()

ERRORS: Final = {
    socket_messages.BAD_MESSAGE: ("The message is not valid", 400),
    socket_messages.SIGNED_OUT: ("The access token is invalid", 401),
    socket_messages.FORBIDDEN: ("Record not found", 404),
    socket_messages.RATE_LIMITED: ("Too many messages", 429),
}
"""The text and status of each error of timelines/live."""


class StreamRefused(Exception):
    """The client may not read the stream, or the stream does not exist."""

    def __init__(self, message: str, status: int) -> None:
        self.message = message
        self.status = status
        super().__init__(message)


class StreamMessage(msgspec.Struct, frozen=True):
    """A message of a client on the websocket."""

    type: Literal["subscribe", "unsubscribe"]
    stream: str
    list: str | int | None = None
    tag: str | None = None


_decoder = msgspec.json.Decoder(StreamMessage)


def find_subscriptions(stream: str, parameters: dict[str, str], scopes: tuple[str, ...]) -> dict[str, str]:
    """Return the subscriptions of a stream: name -> timeline. Raises StreamRefused.

    A name is the stream, and after a space its hashtag or list.
    """
    scope = "read:notifications" if stream == USER_NOTIFICATION else "read:statuses"
    if not includes(scopes, scope):
        raise StreamRefused("Access token does not have the required scopes", 401)
    if stream == USER:
        sees_notifications = includes(scopes, "read:notifications")
        return {USER: "home", **({NOTIFICATIONS_OF_USER: "notifications"} if sees_notifications else {})}
    if stream in SUBSCRIPTIONS:
        return SUBSCRIPTIONS[stream]
    if stream in HASHTAG_STREAMS:
        tag = normalize_tag(parameters.get("tag", ""))
        if tag is None:
            raise StreamRefused("Missing tag name parameter", 400)
        return {f"{stream} {parameters['tag']}": f"tag:{tag}"}
    if stream == LIST_STREAM:
        if not parameters.get("list"):
            raise StreamRefused("Missing list name parameter", 400)
        return {f"{stream} {parameters['list']}": f"list:{parameters['list']}"}
    raise StreamRefused("Unknown stream type", 400)


class EntityFrames:
    """Encodes frames of the websocket: the payload of an event is a text of JSON."""

    is_page = False

    def __init__(self, services: SiteServices, site: str) -> None:
        self.services = services
        self.site_url = site

    async def entry(self, name: str, entry: Entry, language: str) -> TextFrame | None:
        """Return an update or a notification. Raises StoreUnavailable."""
        if isinstance(entry, VisibleNotification):
            for notification in await notifications_json(self, [entry]):
                return self.encode(name, "notification", msgspec.json.encode(notification))
            return None
        return await self._status(name, "update", entry)

    async def edited(self, name: str, entry: HydratedPost, language: str) -> TextFrame | None:
        return await self._status(name, "status.update", entry)

    def deleted(self, name: str, post_id: PostId) -> TextFrame | None:
        return self.encode(name, "delete", str(post_id).encode())

    def filters_changed(self, name: str) -> TextFrame | None:
        return self.encode(name, "filters_changed", None) if name == USER else None

    def error(self, code: str, name: str | None = None) -> TextFrame:
        message, status = ERRORS[code]
        return self.encode_error(message, status)

    def encode_error(self, message: str, status: int) -> TextFrame:
        return TextFrame(msgspec.json.encode({"error": message, "status": status}))

    def encode(self, name: str, event: str, payload: bytes | None) -> TextFrame:
        kind, _, parameter = name.partition(" ")
        stream = [USER if kind == NOTIFICATIONS_OF_USER else kind, *([parameter] if parameter else [])]
        text = {} if payload is None else {"payload": payload.decode()}
        return TextFrame(msgspec.json.encode({"stream": stream, "event": event, **text}))

    async def _status(self, name: str, event: str, entry: HydratedPost) -> TextFrame | None:
        if name.endswith(MEDIA_SUFFIX) and not entry.shown.post.extra.media:
            return None
        for status in await statuses_json(self, [entry]):
            return self.encode(name, event, bytes(status))
        return None


class EventFrames(EntityFrames):
    """Encodes server-sent events."""

    def encode_error(self, message: str, status: int) -> TextFrame:
        return TextFrame(b"event: error\ndata: %b\n\n" % msgspec.json.encode({"error": message, "status": status}))

    def encode(self, name: str, event: str, payload: bytes | None) -> TextFrame:
        data = b"undefined" if payload is None else payload  # as Mastodon: clients expect a line of data
        return TextFrame(b"event: %b\ndata: %b\n\n" % (event.encode(), data))


MAX_ENCODERS = 100


def shared_encoder(
    server: StreamingServer, services: SiteServices, site: str, kind: type[EntityFrames]
) -> FrameEncoder:
    """Return the encoder that all sockets of this kind and host share, so that a frame is encoded once."""
    encoder = server.encoders.get((kind, site))
    if encoder is None:
        if len(server.encoders) >= MAX_ENCODERS:
            server.encoders.clear()
        encoder = server.encoders[kind, site] = kind(services, site)
    return encoder


class ApiStreamConsumer(StreamConsumer):
    """The websocket of an API client. Its credential is an access token, never a cookie."""

    scopes: tuple[str, ...] = ()
    first_message: StreamMessage | None = None
    encoder: EntityFrames

    async def authenticate(self, services: SiteServices) -> SocketViewer:
        """Read the access token of the header, the query string or the subprotocol, which is sent back."""
        scope, address = self.scope, find_scope_address(self.scope)
        await services[ActionLimits].enforce(Caller(None, address), "address")
        query = {name: values[0] for name, values in parse_qs(scope["query_string"].decode("latin-1")).items()}
        text = parse_bearer(get_header(scope, b"authorization"))
        self.subprotocol = next(iter(scope.get("subprotocols") or ()), None)
        if text is None:
            text = query.get("access_token") or self.subprotocol or ""
        _, token = await services[AccessTokenService].load(text)
        if token is None or token.account_id is None:
            raise InvalidToken
        self.scopes = token.scopes
        if not (includes(token.scopes, "read:statuses") or includes(token.scopes, "read:notifications")):
            raise MissingScope
        encoder = shared_encoder(self.server, services, _site_of_scope(get_header(scope, b"host")), EntityFrames)
        assert isinstance(encoder, EntityFrames)
        self.encoder = encoder
        if stream := query.get("stream"):
            self.first_message = StreamMessage("subscribe", stream, query.get("list"), query.get("tag"))
        return SocketViewer(token.account_id, token.id, settings.LANGUAGE_CODE, address)

    def on_open(self, socket: LiveSocket) -> None:
        if self.first_message is not None:
            self._handle(socket, self.first_message)

    def handle_message(self, socket: LiveSocket, text: str | None) -> None:
        try:
            if text is None or len(text) > socket_messages.MAX_MESSAGE_BYTES:
                raise BadMessage
            self._handle(socket, _decoder.decode(text))
        except (BadMessage, msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
            socket.writer.send(self.encoder.error(socket_messages.BAD_MESSAGE))

    def _handle(self, socket: LiveSocket, message: StreamMessage) -> None:
        parameters = {"tag": message.tag or "", "list": "" if message.list is None else str(message.list)}
        try:
            for name, timeline in find_subscriptions(message.stream, parameters, self.scopes).items():
                if message.type == "unsubscribe":
                    self.server.unsubscribe(socket, name)
                elif name not in socket.subscriptions:
                    self.server.subscribe(socket, name, timeline=timeline)
        except StreamRefused as refusal:
            socket.writer.send(self.encoder.encode_error(refusal.message, refusal.status))


api_websocket_urlpatterns = [
    path(url.removeprefix("/"), ApiStreamConsumer.as_asgi())  # type: ignore[no-untyped-call]
    for url in STREAMING_PATHS
]


def _site_of_scope(host: str) -> str:
    """Return the address of the site for a handshake. Raises Forbidden if the host is not allowed."""
    domain, _ = split_domain_port(host.lower())
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        raise Forbidden
    return f"{'https' if settings.HTTPS else 'http'}://{host}"


# Server-sent events


@endpoint(None)
async def health(request: SiteRequest) -> HttpResponse:
    return HttpResponse("OK", content_type="text/plain")


@endpoint("read:statuses", "read:notifications", needs_account=True)
async def stream_events(request: SiteRequest, stream: str = "") -> HttpResponseBase:
    """Return a stream as server-sent events. The stream is a part of the path, such as `public/local`."""
    fields, token = api_fields(request), request.token
    assert token is not None
    stream = stream.replace("/", ":") or fields.get("stream", "")
    if stream.startswith("public") and flag(fields, "only_media") and not stream.endswith(MEDIA_SUFFIX):
        stream += MEDIA_SUFFIX
    account_id, services, address = AccountId(require_account(request).id), request.services, request.client_address
    server = await streaming_servers.get(services)
    parameters = {name: fields.get(name, "") for name in ("tag", "list")}
    try:
        subscriptions = find_subscriptions(stream, parameters, token.scopes)
        for timeline in subscriptions.values():
            await server.require_access(timeline, account_id)
    except StreamRefused as refusal:
        error = MissingScope() if refusal.status == 401 else Invalid({"stream": refusal.message})
        raise error from refusal
    except SubscriptionDenied as denied:
        raise NotFound from denied
    server.require_room(address)
    if _open_streams[account_id] >= EVENT_STREAMS_PER_ACCOUNT:
        raise RateLimited("address", EVENT_STREAMS_RETRY_S)
    encoder = shared_encoder(server, services, request.site_url, EventFrames)
    return EventStreamResponse(_events(server, account_id, address, token, encoder, subscriptions))


async def _events(
    server: StreamingServer,
    account_id: AccountId,
    address: str,
    token: ApiToken,
    encoder: FrameEncoder,
    subscriptions: dict[str, str],
) -> AsyncIterator[bytes]:
    writer = EventStreamWriter()
    socket = LiveSocket(writer, account_id, token.id, settings.LANGUAGE_CODE, encoder, address)
    server.connect(socket)
    prometheus.SOCKETS.inc()
    _open_streams[account_id] += 1
    try:
        for name, timeline in subscriptions.items():
            server.subscribe(socket, name, timeline=timeline)
        async for chunk in writer.chunks():
            yield chunk
    finally:
        server.disconnect(socket)
        prometheus.SOCKETS.dec()
        _open_streams[account_id] -= 1
        if not _open_streams[account_id]:
            del _open_streams[account_id]
