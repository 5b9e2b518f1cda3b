# SPDX-License-Identifier: GPL-3.0-or-later
import collections
import os
import pathlib
import random
import shlex
import signal

import pytest

from harness import DAY, PREFIX, ROOT, SEED, SOAK, Cluster, amount, ignore_nothing_in_commands, many
from postgres import Server


# What these are about is decided in the controller, which unit tests and the simulator run with sanitizers: all of them are slow.
DECISIONS = {f"test_{name}.py" for name in (
    "crowd", "depend", "dynamic", "external", "gres", "leadprog", "parts", "preempt", "priority", "private", "reservation", "services",
    "split", "suspend", "takeover", "usage")}


# Files whose tests wait more than a minute together. They begin first: a worker that begins one of them last keeps the others waiting.
BEGIN_FIRST = [f"test_{name}.py" for name in (
    "takeover", "hosts", "cast", "cgroup", "kill_commands", "gang", "crash", "damage", "het_step", "silent", "srun", "gang_faults", "crowd", "suspend",
    "adopt", "hostile_users", "node_guard", "split", "configless")]


SAMPLE = int(os.environ.get("SLUICE_SAMPLE", "1"))  # 1 of SAMPLE tests of each file runs, another one each day
SAMPLE_SLOW = int(os.environ.get("SLUICE_SAMPLE_SLOW", str(SAMPLE)))  # the same of all slow ones together
CI = os.environ.get("CI")
EXPECTED_SKIPS = {line.split()[0] for line in (pathlib.Path(__file__).parent / "expected_skips.txt").read_text().splitlines()
                  if line.startswith("test_")}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    seen = collections.Counter()
    for item in list(items):
        if item.path.name in DECISIONS:
            item.add_marker(pytest.mark.slow)
        is_slow = item.get_closest_marker("slow") is not None and SAMPLE_SLOW != SAMPLE
        group, share = ("slow", SAMPLE_SLOW) if is_slow else (item.path, SAMPLE)
        if (seen[group] + DAY) % share:
            items.remove(item)
        seen[group] += 1
    order = {name: place for place, name in enumerate(BEGIN_FIRST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


def pytest_configure(config):
    ignore_nothing_in_commands()
    config.addinivalue_line("markers", "figure: measures a time that RELIABILITY bounds: alone in the soak")
    config.addinivalue_line("markers", "slow: fewer a day where every process is ten times slower (sanitizers): long, or about processes and not memory")
    config.addinivalue_line("markers", "trials(release): runs once, and so often for a release, from other numbers of 'pick' each time")
    config.addinivalue_line("markers", "allocator: replaces malloc or measures memory: left out with sanitizers, which have a malloc of their own")


def pytest_generate_tests(metafunc):
    mark = metafunc.definition.get_closest_marker("trials")
    if mark and amount(1, *mark.args) > 1:
        metafunc.fixturenames.append("trial")
        metafunc.parametrize("trial", range(amount(1, *mark.args)), ids=lambda number: f"trial{number}")


@pytest.fixture
def trial():
    """The number of this run of a test that has trials."""
    return 0


@pytest.fixture
def pick(request, trial):
    """Makes the random choices of this test."""
    return random.Random(f"{SEED} {request.node.name}")


@pytest.fixture(scope="module")
def cluster():
    """Four nodes of four CPUs, shared by the tests of a file; stopped and checked for left-overs at its end."""
    c = Cluster()
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


@pytest.fixture
def make_cluster():
    """A function that makes clusters for one test."""
    with many(Cluster) as make:
        yield make


@pytest.fixture
def nobody():
    """Words before a command that make it an ordinary user's; only root has them."""
    if not ROOT:
        pytest.skip("needs root to become an ordinary user")
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]


@pytest.fixture
def server():
    """A PostgreSQL server for one test; without the package the test is left out."""
    s = Server()
    try:
        yield s
    finally:
        s.destroy()


@pytest.fixture(autouse=True)
def settled():
    """A test that shares a cluster finds the nodes free that those before it have used."""
    for c in Cluster.living:
        if "slurmctld" in c.daemons and c.daemons["slurmctld"].poll() is None:
            c.settle()


@pytest.fixture(autouse=True)
def on_failure(request):
    """Shows the logs of all clusters, and cancels their jobs: the next tests of the file find the nodes free."""
    yield
    report = getattr(request.node, "report_call", None)
    if report is None or not report.failed:
        return
    for c in list(Cluster.living):
        for name, process in c.daemons.items():
            if (process.poll() or 0) < 0 and process.poll() != -signal.SIGKILL:
                print(f"{name} was ended by signal {-process.poll()}")
        print(c.tail("slurmctld", 60))
        for node in c.names[:2]:
            print(c.tail(node, 30))
        if "slurmctld" in c.daemons and c.daemons["slurmctld"].poll() is None:
            c.cancel_all()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    setattr(item, "report_" + call.when, report)
    name = item.nodeid.rpartition("/")[2]
    if report.skipped and CI and name not in EXPECTED_SKIPS:
        report.outcome, report.longrepr = "failed", f"skipped, which tests/system/expected_skips.txt does not expect: {report.longrepr[2]}"
    if report.failed:
        report.sections.append(("to repeat this", f"SLUICE_SEED={SEED} {f'SLUICE_SOAK={SOAK} ' if SOAK else ''}SLUICE_PREFIX={shlex.quote(str(PREFIX))} "
                                f"/usr/bin/python3 -m pytest -p no:cacheprovider {shlex.quote('tests/system/' + name)}"))
