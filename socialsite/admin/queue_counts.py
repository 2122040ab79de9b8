"""How many applications and held posts wait for staff: the numbers in the menu of /ops/."""

from socialsite.container import Services
from socialsite.store import StoreError
from socialsite.tasks import run_together


async def read_queue_counts(services: Services) -> dict[str, int]:
    """Return the numbers by the page's name, without those that cannot be read."""
    try:
        waiting, held = await run_together(services.joining.count_waiting(), services.drafts.count_held())
    except StoreError:
        return {}
    return {"applications": waiting, "held": held}
