import os
from pathlib import Path
import pytest
from tests.browser.conftest import open_context
from tests.browser.test_pages import ANONYMOUS, SIGNED_IN, UNCHANGED, REFUSALS, prepare_scene
from tests.support.chromium import BrowserPage
from tests.support.page_health import accessibility_violations, overflowing_elements, ANIMATIONS_FINISHED_JS
LANG = os.environ.get("SHOT_LANG", "ar")
OUT = Path("/tmp/w/l7/shots") / LANG
TABLES = {"u": UNCHANGED, "s": SIGNED_IN, "a": ANONYMOUS, "r": {k: v[1] for k, v in REFUSALS.items()}}
ALL = [(t, s) for t in os.environ.get("SHOT_TABLES", "usar") for s in TABLES[t]]
@pytest.mark.parametrize(("table", "state"), ALL)
def test_shot(table, state, site, chromium, visitor):
    own, friend = visitor(), visitor()
    with open_context(chromium, None if table == "a" else own, locale=LANG) as context:
        page = BrowserPage(context.new_page(), site.url)
        if table != "a": page.sign_in_as(own)
        scene = prepare_scene(site, page, own, friend)
        TABLES[table][state](scene)
        OUT.mkdir(parents=True, exist_ok=True)
        name = f"{table}-{state.replace(' ', '_').replace(',', '')}"
        problems = []
        looks = [(360, "light"), (1280, "dark")] if len(state) % 2 else [(360, "dark"), (1280, "light")]
        for width, scheme in looks:
            page.page.set_viewport_size({"width": width, "height": 800})
            page.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.page.wait_for_function(ANIMATIONS_FINISHED_JS)
            page.page.screenshot(path=OUT / f"{name}-{width}-{scheme}.png", full_page=False if width == 1280 else True)
            problems += [f"{width} {scheme} {p}" for p in overflowing_elements(page.page)]
        if LANG in ("ar", "pl"):
            problems += accessibility_violations(page.page)
        problems += page.complaints
        if problems: (OUT / f"{name}.txt").write_text("\n".join(problems))
