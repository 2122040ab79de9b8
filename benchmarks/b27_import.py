"""The import of the slashdot graph (870,161 follows), and of 72,567 posts with their search index (ubuntu-irc).

Times of the importer alone, with files that are read and checked line by line, onto one server without persistence.
The garbage collector is set as in the import commands. One round.
"""

import tempfile
import time
from pathlib import Path

from benchmarks.environment import prepare
from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.imported import GRAPH, POSTS, import_graph, import_posts, open_services_on_one_server, split_file
from benchmarks.running import run_alone


async def measure(plan: Plan) -> list[Figure]:
    prepare()
    from socialsite.web.gc_tuning import freeze_startup_objects

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (graph,), (posts,) = split_file(GRAPH, folder, plan, 1), split_file(POSTS, folder, plan, 1)
        async with open_services_on_one_server() as services:
            freeze_startup_objects()
            started = time.perf_counter()
            await import_graph(services, graph)
            imported_graph = time.perf_counter()
            count = await import_posts(services, posts)
            imported_posts = time.perf_counter()
    return [
        Figure("import of the follows", "s", Samples.of(imported_graph - started), at_most(8)),
        Figure(f"import of {count:,} posts with search", "s", Samples.of(imported_posts - imported_graph), at_most(8)),
    ]


if __name__ == "__main__":
    run_alone("B27", measure)
