"""The parts of libraries that are not documented and that the site uses. A new release may change them.

Each part stands in one table with the modules that use it; the reasons are in those modules.
"""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WEB, DAPHNE = "socialsite/web", "socialsite/web/daphne"
HANDLER, UPLOADS, FLOW = (f"{WEB}/handler.py",), (f"{WEB}/uploads.py",), (f"{DAPHNE}/flow_control.py",)
LIMITS, SHUTDOWN = (f"{DAPHNE}/request_limits.py",), (f"{DAPHNE}/graceful_shutdown.py",)
METRIC_FILE, HISTOGRAM = ("socialsite/analytics/metrics_file.py",), ("socialsite/analytics/prometheus.py",)
ENCODER = ("timelines/media/encoder.py",)

PARTS = {
    ("django.http.response", "HttpResponseBase"): {"_resource_closers": HANDLER},
    ("django.core.handlers.asgi", "ASGIHandler"): dict.fromkeys(
        ("_middleware_chain", "_view_middleware", "_get_response_async", "run_get_response", "create_request"), HANDLER
    ),
    ("django.http.request", "HttpRequest"): {
        "_body": HANDLER, "_post": UPLOADS, "_files": UPLOADS, "_get_raw_host": (f"{WEB}/requests.py",),
    },
    ("django.contrib.sessions.backends.base", "SessionBase"): {"_aget_session": ("accounts/sessions/service.py",)},
    ("django.middleware.csrf", "CsrfViewMiddleware"): {"_set_csrf_cookie": (f"{WEB}/middleware/django_async.py",)},
    ("django.core.management.base", "BaseCommand"): {"_called_from_command_line": ("socialsite/management/base.py",)},
    ("twisted.web.http", "HTTPChannel"): {
        **dict.fromkeys(("_path", "_command", "_networkProducer", "totalHeadersSize", "maxHeaders"), LIMITS),
        "persistent": SHUTDOWN,
    },
    ("twisted.web.http", "_ChunkedTransferDecoder"): {"_MalformedChunkedDataError": LIMITS},
    ("twisted.web.http", "_GenericHTTPChannelProtocol"): {"_channel": SHUTDOWN},
    ("twisted.web.http", "Request"): dict.fromkeys(
        ("gotLength", "handleContentChunk", "parsePOSTFormSubmission"), LIMITS
    ),
    ("twisted.internet.tcp", "Server"): dict.fromkeys(
        ("_tempDataBuffer", "dataBuffer", "bufferSize", "writeSomeData"), FLOW
    ),
    ("daphne.http_protocol", "WebRequest"): dict.fromkeys(("handle_reply", "check_timeouts"), SHUTDOWN),
    ("daphne.server", "Server"): dict.fromkeys(("kill_all_applications", "connections"), SHUTDOWN),
    ("daphne.cli", "CommandLineInterface"): {"server_class": SHUTDOWN},
    ("daphne.ws_protocol", "WebSocketFactory"): {"protocol": LIMITS},
    ("daphne.ws_protocol", "WebSocketProtocol"): {
        **dict.fromkeys(("onFrameBegin", "current_frame", "inside_message", "dropConnection"), LIMITS),
        "wasNotCleanReason": LIMITS, "http_request_data": FLOW, "sendCloseFrame": SHUTDOWN,
    },
    ("prometheus_client.mmap_dict", "MmapedDict"): dict.fromkeys(
        ("_init_value", "_capacity", "_fname", "_used", "_f", "_m"), METRIC_FILE
    ),
    ("prometheus_client.metrics", "Histogram"): dict.fromkeys(("_upper_bounds", "_buckets", "_sum"), HISTOGRAM),
    ("PIL.GifImagePlugin", "GifImageFile"): dict.fromkeys(("_seek",), ENCODER),
}  # fmt: skip
"""Class of a library -> its undocumented names -> the modules that use them."""
OWN_NAMES = {"_exit", "_replace", "_asdict", "_api_fields"}
"""Names with an underscore that are documented, or that the site itself sets on a request."""
ROWS = [(*owner, name, used_by) for owner, names in PARTS.items() for name, used_by in names.items()]


@pytest.mark.parametrize(("module", "owner", "name", "used_by"), ROWS, ids=lambda value: str(value)[:40])
def test_a_library_still_has_the_part_that_the_site_uses(
    module: str, owner: str, name: str, used_by: tuple[str, ...]
) -> None:
    modules = {each.__module__ for each in inspect.getmro(getattr(import_module(module), owner))}
    sources = "".join(inspect.getsource(import_module(each)) for each in modules - {"builtins"})
    assert re.search(rf"\b{name}\b", sources), f"{module}.{owner} has no {name} in this release: change {used_by}"
    for path in used_by:
        assert name in (ROOT / path).read_text(), f"{path} no longer uses {name}: take it out of this table"


def test_the_table_names_every_private_part_of_a_library() -> None:
    trees = {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text())
        for package in ("socialsite", "timelines", "accounts")
        for path in (ROOT / package).rglob("*.py")
    }
    own = OWN_NAMES | {name for tree in trees.values() for node in ast.walk(tree) for name in defined_names(node)}
    listed = {(path, name) for _module, _owner, name, used_by in ROWS for path in used_by}
    used = {
        (path, node.attr)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr) and node.attr not in own
    }
    assert used - listed - {("socialsite/analytics/metrics_file.py", "_INITIAL_MMAP_SIZE")} == set()


def defined_names(node: ast.AST) -> list[str]:
    """Return the names that a node of the site's own code defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return [node.attr] if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") else []
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    return []


def test_the_state_of_an_open_socket_is_the_number_of_autobahn() -> None:
    from autobahn.websocket.protocol import WebSocketProtocol

    from socialsite.web.daphne.flow_control import WEBSOCKET_STATE_OPEN

    assert WebSocketProtocol.STATE_OPEN == WEBSOCKET_STATE_OPEN
