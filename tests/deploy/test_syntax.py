"""Check each file of deploy/ with its own program.

No container engine runs here, so the image is not built: the tests below check Dockerfile and compose.yaml by rules.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from socialsite.quickstart.supervisor import make_web_process
from tests.deploy.support import DEPLOY, PASSWORDS, nginx_files, users_file
from tests.support.daphnes import ROOT
from tests.support.ports import free_ports
from tests.support.programs import need
from tests.support.routes import uploads

UNITS = sorted((DEPLOY / "systemd").iterdir())
EXPOSURE_MAX = 2.0
"""Limit of systemd-analyze security: 0 is closed, 10 is open."""


@pytest.fixture
def units(tmp_path):
    """Copy the units as systemd would find them: an instance of each template, with this project's path."""
    for unit in UNITS:
        text = unit.read_text().replace("/opt/socialsite/.venv", sys.prefix)
        name = unit.name.replace("@.service", "@1.service")
        (tmp_path / name).write_text(text.replace("/opt/socialsite", str(ROOT)))
    return tmp_path


def test_systemd_accepts_every_unit(units):
    names = sorted(str(unit) for unit in units.iterdir())
    result = subprocess.run([need("systemd-analyze"), "verify", "--man=no", *names], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


SERVICES = [unit.name.replace("@.", "@1.") for unit in UNITS if unit.suffix == ".service"]


@pytest.mark.parametrize("name", SERVICES)
def test_each_process_runs_in_a_systemd_sandbox(units, name):
    result = subprocess.run(
        [need("systemd-analyze"), "security", "--offline=true", "--no-pager",
         f"--threshold={EXPOSURE_MAX * 10:.0f}", str(units / name)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-500:] + result.stderr


@pytest.mark.parametrize("name", SERVICES)
def test_each_process_can_write_the_archive(units, name):
    lines = (units / name).read_text().splitlines()
    (url,) = (word for line in lines for word in line.split("=", 1)[-1].split() if word.startswith("ARCHIVE_URL="))
    directories = next(line for line in lines if line.startswith("StateDirectory=")).partition("=")[2].split()
    assert Path(url.partition("://")[2]).parent.relative_to("/var/lib").as_posix() in directories
    assert url in (DEPLOY / "socialsite").read_text(), "the operator's commands use the same archive"


@pytest.mark.parametrize("name", SERVICES)
def test_each_process_can_write_the_pictures(units, name):
    text = (units / name).read_text()
    assert " MEDIA_ROOT=/var/lib/socialsite/media" in text
    directories = next(line for line in text.splitlines() if line.startswith("StateDirectory="))
    assert "socialsite/media" in directories.split()
    assert "MEDIA_ROOT=/var/lib/socialsite/media" in (DEPLOY / "socialsite").read_text()


def test_the_web_unit_runs_the_daphne_that_quickstart_runs():
    text = (DEPLOY / "systemd/socialsite-web@.service").read_text()
    assert " ".join(make_web_process(0, 3)._arguments[1:]) in text


def test_nginx_accepts_its_site(tmp_path):
    upstream, plain, tls = free_ports(3)
    conf = nginx_files(tmp_path, upstream=upstream, plain=plain, tls=tls)
    result = subprocess.run([need("nginx"), "-t", "-q", "-c", str(conf)], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_redis_has_no_default_user_and_random_passwords(tmp_path):
    text = users_file(tmp_path).read_text()
    assert "user default reset off" in text.splitlines()
    assert "nopass" not in text
    assert "_SHA256" not in text
    first, second = (
        subprocess.run([DEPLOY / "redis/make-users"], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert first != second, "a password that was not given is made anew"


SCRIPTS = (
    "backup", "restore-drill", "release", "rolling-restart", "socialsite", "certbot/reload-nginx",
    "redis/make-users", "redis/create-cluster.sh",
)  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_shell_accepts_every_script(script):
    subprocess.run(["sh", "-n", str(DEPLOY / script)], check=True)
    assert (DEPLOY / script).stat().st_mode & 0o111, "it can be run"


@pytest.mark.parametrize("web_processes", [1, 2])
def test_a_rolling_restart_never_stops_the_only_web_process(tmp_path, web_processes):
    """systemctl is replaced by a script that records its calls: no systemd runs here."""
    webs = [f"socialsite-web@{number}.service" for number in range(1, web_processes + 1)]
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(
        f"""#!/bin/sh
case $1 in
  list-units) case "$*" in *worker*) echo socialsite-worker@1.service ;;
    *) printf '%s\\n' {" ".join(webs)}; grep -s -o 'web@spare.*' {tmp_path}/calls | sed 's/^/socialsite-/' ;; esac ;;
  is-active) ;;
  *) echo "$@" >> {tmp_path}/calls ;;
esac
"""
    )
    systemctl.chmod(0o755)
    subprocess.run([DEPLOY / "rolling-restart"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    spare = ["start socialsite-web@spare.service"], ["stop socialsite-web@spare.service"]
    before, after = spare if web_processes == 1 else ([], [])
    restarts = [f"restart {unit}" for unit in ("socialsite-worker@1.service", *webs)]
    assert (tmp_path / "calls").read_text().splitlines() == [*before, *restarts, *after]


def test_the_image_runs_as_its_own_user_from_pinned_parts():
    lines = _instructions()
    assert [name for name, _ in lines if name == "FROM"] == ["FROM", "FROM"]
    assert all(re.search(r":[\d.]+-", rest) for name, rest in lines if name == "FROM"), "versions are named"
    users = [rest for name, rest in lines if name == "USER"]
    assert users == ["socialsite"]
    last_user = next(place for place, (name, _) in enumerate(lines) if name == "USER")
    assert all(name not in ("RUN", "COPY") for name, _ in lines[last_user:])
    assert any("--require-hashes" in rest for _, rest in lines)
    for name, rest in lines:
        if name == "COPY" and not rest.startswith("--from"):
            source = rest.split()[0]
            assert (ROOT / source).exists(), source
            assert f"!{source}" in (ROOT / ".dockerignore").read_text().split(), source
        if name == "CMD":
            assert json.loads(rest)[-1] == "socialsite.asgi:application"
    assert {name for name, _ in lines} <= {
        "FROM", "ARG", "ENV", "RUN", "COPY", "WORKDIR", "USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "CMD",
    }  # fmt: skip


@pytest.mark.parametrize("extra", ["", "requirements-postgres.txt"])
def test_the_image_installs_the_postgresql_requirements_on_request(tmp_path, extra):
    """A shell runs the install line against a fake pip that prints its arguments."""
    (line,) = (rest for name, rest in _instructions() if name == "RUN" and "--require-hashes" in rest)
    lines = _instructions()
    assert ("ARG", 'EXTRA_REQUIREMENTS=""') in lines[: lines.index(("RUN", line))]
    pip = tmp_path / "pip"
    pip.write_text('#!/bin/sh\necho "$@"\n')
    pip.chmod(0o755)
    pip_arguments = subprocess.run(
        ["sh", "-c", line.replace("/opt/venv/bin/pip", str(pip))],
        env={"EXTRA_REQUIREMENTS": extra, "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    files = [Path(word).name for word in pip_arguments if word.endswith(".txt")]
    assert files == (["requirements.txt", extra] if extra else ["requirements.txt"])
    assert all((ROOT / name).exists() for name in files)


def _instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    rows = (line.strip() for line in text.splitlines())
    return [tuple(row.split(None, 1)) for row in rows if row and not row.startswith("#")]  # type: ignore[misc]


def compose_services() -> dict[str, dict[str, Any]]:
    services: dict[str, dict[str, Any]] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    return services


def test_compose_services_are_restricted_and_health_checked():
    services = compose_services()
    assert set(services) == {"proxy", "web", "worker", "operator", "redis"}
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["restart"] == ("no" if name == "operator" else "unless-stopped"), name
        assert {"stop_grace_period", "mem_limit", "pids_limit"} <= set(service), name
        assert ("ports" in service) is (name == "proxy"), name
    assert services["web"]["depends_on"]["redis"]["condition"] == "service_healthy"


def test_each_container_has_its_own_secrets_only():
    for name, service in compose_services().items():
        variables = set(re.findall(r"\$\{(\w+_PASSWORD|SECRET_KEY)", str(service)))
        is_site = name in PASSWORDS
        assert variables == ({"SECRET_KEY", f"{name.upper()}_PASSWORD"} if is_site else set()), name
        assert ".env" not in str(service.get("env_file", "")).replace("site.env", ""), name


def test_the_containers_share_the_archive_and_trust_the_proxy():
    services = compose_services()
    for name in ("web", "worker", "operator"):
        environment = services[name]["environment"]
        directory = environment["ARCHIVE_URL"].removeprefix("sqlite://").rpartition("/")[0]
        assert f"archive:{directory}" in services[name]["volumes"]
        assert f"media:{environment['MEDIA_ROOT']}" in services[name]["volumes"]
        assert "temporary:/tmp" in services[name]["volumes"], "archives of 1 GB arrive there, not in memory"
        assert directory in (DEPLOY / "Dockerfile").read_text(), "the volume gets its owner from the image"
        assert environment["TRUSTED_PROXIES"] == services["proxy"]["networks"]["inside"]["ipv4_address"] + "/32"


def test_the_proxy_of_compose_overwrites_forwarded_headers_of_clients():
    text = (DEPLOY / "Caddyfile").read_text()
    for line in (
        "header_up X-Forwarded-For {remote_host}",
        "header_up X-Forwarded-Proto {scheme}",
        "dynamic a web 8000",
    ):
        assert line in text
    assert re.search(r"@inside path /metrics /readyz\n\s+respond @inside 404", text)


def test_the_proxy_of_compose_forwards_uploads_as_large_as_the_site_reads_them():
    text = (DEPLOY / "Caddyfile").read_text()
    sizes = dict(re.findall(r"request_body @(\w+) {\n\s+max_size (\d+)MB", text))
    matchers = dict(re.findall(r"@(\w+) path(?:_regexp)? (\S+)\n", text))
    (others,) = re.findall(r"@others not path_regexp (\S+)\n", text)
    for method, path, size_bytes in uploads():
        limits = [int(sizes[name]) * 1_000_000 for name, pattern in matchers.items() if re.search(pattern, path)]
        assert len(limits) == 1, (method, path)
        assert limits[0] >= size_bytes, (method, path)
        assert re.search(others, path), "the limit of the other addresses is smaller"


def test_prometheus_and_grafana_name_only_metrics_that_exist():
    """The names come from the code; tests/web/operations/test_metrics.py scrapes them from a running site."""
    code = "".join(
        file.read_text()
        for file in (*(ROOT / "socialsite/analytics").glob("*.py"), ROOT / "socialsite/web/metrics_page.py")
    )
    metric_names = set(re.findall(r'"(socialsite_[a-z_]+)"', code))
    for file in (DEPLOY / "grafana/socialsite.json", DEPLOY / "socialsite.rules.yml"):
        for name in re.findall(r"socialsite_[a-z_]+", file.read_text()):
            assert re.sub("_(total|bucket|count|sum)$", "", name) in metric_names, f"{file.name}: {name}"


def test_each_dashboard_panel_has_its_own_place_and_queries():
    dashboard = json.loads((DEPLOY / "grafana/socialsite.json").read_text())
    panels = dashboard["panels"]
    assert {"title", "uid", "schemaVersion", "panels", "templating", "time"} <= set(dashboard)
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({tuple(panel["gridPos"].values()) for panel in panels}) == len(panels)
    assert all(target["expr"] for panel in panels for target in panel["targets"])


def test_each_alert_links_to_the_manual():
    rules = yaml.safe_load((DEPLOY / "socialsite.rules.yml").read_text())["groups"][0]["rules"]
    manual = "docs/guide/troubleshooting.md"
    headings = re.findall(r"^#+ (.+)$", (ROOT / manual).read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for rule in rules:
        page, _, anchor = rule["annotations"]["see"].partition("#")
        assert (page, anchor in anchors) == (manual, True), rule["alert"]
    assert yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["rule_files"] == ["socialsite.rules.yml"]
