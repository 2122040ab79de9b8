"""An answer to HEAD has no body: the client would read the bytes as the next answer of the connection."""

import asyncio

import httpx

from tests.support.daphnes import DaphneProcess
from tests.support.routes import routes
from tests.support.world import World

PATHS = [*(route.path for route in routes()), "/static/css/site.css", "/nothing/here/", "/static/nothing.css"]


async def test_no_answer_to_head_has_a_body(daphne: DaphneProcess, world: World) -> None:
    """Send HEAD, then a probe on the same connection: any bytes before the probe's answer are a body."""
    alice = await world.person("alice")
    for number in range(40):
        await alice.publishes(f"{number} {'x' * 480}")
    async with httpx.AsyncClient(base_url=daphne.origin) as reader:
        pages = [f"/{path}/?limit=100" for path in ("public", "@alice")]
        sizes = [len((await reader.get(path)).content) for path in pages]
    assert min(sizes) > 65_536  # large enough to be sent in chunks
    wrong = [path for path in (*PATHS, *pages) if await behind_the_head(daphne, path)]
    assert wrong == []


async def behind_the_head(daphne: DaphneProcess, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", daphne.port)
    host = f"Host: 127.0.0.1:{daphne.port}\r\n".encode()
    try:
        async with asyncio.timeout(10):
            writer.write(b"HEAD %b HTTP/1.1\r\n%b\r\n" % (path.encode(), host))
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"GET /livez HTTP/1.1\r\n%bConnection: close\r\n\r\n" % host)
            return (await reader.read()).partition(b"HTTP/1.1 ")[0]
    finally:
        writer.close()
