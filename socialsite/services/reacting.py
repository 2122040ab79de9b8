"""How likes, boosts and bookmarks are made, and what publishing and sweeping share with boosts."""

from dataclasses import dataclass

from accounts.services import AccountService
from socialsite.configuration import Configuration
from socialsite.ids import PostIds
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.memory_guard import MemoryGuard
from socialsite.statistics.statistics import Statistics
from socialsite.store import Store
from timelines.services.boosting import BoostingService
from timelines.services.hydrating import Hydrator
from timelines.services.live import LiveService
from timelines.services.placing import Placing
from timelines.services.ports import Noticing
from timelines.services.reactions import ReactionsService, SeenAccounts
from timelines.services.storing import Storing

from .repositories import AnyClock, Repositories


@dataclass(frozen=True, slots=True)
class Reacting:
    """What boosts and reactions stand on."""

    storing: Storing
    boosting: BoostingService
    reactions: ReactionsService


def build_reacting(
    *,
    store: Store,
    clock: AnyClock,
    config: Configuration,
    at: Repositories,
    ids: PostIds,
    live: LiveService,
    outbox: JobQueue,
    statistics: Statistics,
    accounts: AccountService,
    hydrator: Hydrator,
    placing: Placing,
    noticing: Noticing,
) -> Reacting:
    storing = Storing(
        ids=ids, posts=at.posts, placing=placing, outbox=outbox, live=live, meter=statistics.meter
    )
    boosting = BoostingService(
        reactions=at.reactions, posts=at.posts, storing=storing, placing=placing, live=live, noticing=noticing
    )
    reactions = ReactionsService(
        reactions=at.reactions,
        bookmarks=at.bookmarks,
        boosting=boosting,
        hydrator=hydrator,
        posts=at.posts,
        seen=SeenAccounts(store, accounts, at.readers, clock),
        live=live,
        noticing=noticing,
        check_room=MemoryGuard(store, config.memory_reserve).check,
    )
    return Reacting(storing, boosting, reactions)
