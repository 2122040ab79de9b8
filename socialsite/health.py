"""Whether the store answers, component by component, for /readyz."""

import asyncio

from socialsite.store.errors import StoreError
from socialsite.store.key import Key

from .middleware.services import loop_services
from .services import Services

WITHIN_S = 2.0
COMPONENTS = ("accounts", "sessions", "posts", "timelines", "public", "follows", "limits", "jobs", "live")


async def component_states() -> dict[str, str]:
    """Component -> "ok", or the kind of trouble: what a server says of itself stays inside."""
    try:
        async with asyncio.timeout(WITHIN_S):
            services = await loop_services.get()
    except (StoreError, TimeoutError) as error:
        return dict.fromkeys(COMPONENTS, type(error).__name__)
    states = await asyncio.gather(*(_state(services, name) for name in COMPONENTS))
    return dict(zip(COMPONENTS, states, strict=True))


async def _state(services: Services, component: str) -> str:
    entrance = Key(
        component, tag="ids", name="ready"
    )  # never written; its way leads through the proxy
    try:
        async with asyncio.timeout(WITHIN_S):
            for node in services.store.topology(component).nodes:
                await node.execute("PING")
            await services.store.node(entrance).execute("EXISTS", entrance)
    except (StoreError, TimeoutError) as error:
        return type(error).__name__
    return "ok"
