# SPDX-License-Identifier: GPL-3.0-or-later
"""States in released formats are read, and keep their meaning. RELIABILITY L1."""
import difflib
import pathlib
import signal
import sys

import pytest

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))

import state as golden  # noqa: E402

STATES = sorted(p.name for p in GOLDEN.iterdir() if p.is_dir() and p.name.startswith("state-"))


def assert_says(kept, now):
    """All of the kept lines, in their order; there may be more, as of fields that were added since."""
    left = iter(now.splitlines())
    for line in kept.splitlines():
        if not any(other == line for other in left):
            difference = difflib.unified_diff(kept.splitlines(), now.splitlines(), "kept", "now", lineterm="", n=1)
            raise AssertionError(f"{line!r} is not said any more:\n" + "\n".join(difference))


@pytest.mark.parametrize("name", STATES)
def test_recorded_state_files_are_read(make_cluster, name):
    """L1."""
    c = make_cluster(nodes=golden.node_count(GOLDEN / name), start=False)
    ports = golden.configure(c, GOLDEN / name)
    golden.build(GOLDEN / name, c.dir / "state/state.db")
    c.start_controller()
    kept = (GOLDEN / name / "listing.txt").read_text()
    assert_says(kept, golden.listing(c, ports))
    c.kill("slurmctld", signal.SIGKILL)  # and once more, from what this version has written
    c.start_controller()
    again = golden.listing(c, ports)
    assert_says(kept.rpartition("# the next job")[0], again)
    assert "left out" not in c.tail("slurmctld", 10000) and "set aside" not in c.tail("slurmctld", 10000)
    c.kill("slurmctld", signal.SIGTERM)


@pytest.mark.parametrize("name", STATES)
def test_recorded_state_is_read_on_a_server(server, make_cluster, name):
    """The same, brought to PostgreSQL by an export."""
    c = make_cluster(nodes=golden.node_count(GOLDEN / name), start=False)
    ports = golden.configure(c, GOLDEN / name)
    golden.build(GOLDEN / name, c.dir / "state/state.db")
    c.run(f"sluice state export {c.dir}/lines").ok()
    c.conf_file.write_text(c.conf_file.read_text() + f"StateSaveStore={server.url}\n")
    c.run(f"sluice state import {c.dir}/lines").ok()
    c.start_controller()
    assert_says((GOLDEN / name / "listing.txt").read_text(), golden.listing(c, ports))
    c.kill("slurmctld", signal.SIGTERM)
