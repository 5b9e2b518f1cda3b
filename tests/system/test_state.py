# SPDX-License-Identifier: GPL-3.0-or-later
"""The saved state of other versions. RELIABILITY L1."""
import hashlib
import signal
import sqlite3

import pytest

from harness import DEADLINE
from statefile import JOB, META, NODE, State, checksum, field

NEWER = field(1000, 42) + field(1001, b"new")  # fields that no version has


def files_of(directory):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in directory.iterdir() if p.name != "lock"}


def refuses_to_start(c):
    """What it says."""
    c.start_controller(wait=False)
    process = c.daemons.pop("slurmctld")
    assert process.wait(DEADLINE) != 0
    return c.tail("slurmctld", 20)


@pytest.fixture
def stopped(make_cluster):
    """A cluster without nodes that run, with a held job, whose controller was stopped in order."""
    c = make_cluster(nodes=2, start=False)
    c.start_controller()
    c.sbatch("-H", "-o", "/dev/null", "-J", "kept", wrap="true")
    c.run("scontrol update NodeName=n2 State=DRAIN Reason=broken").ok()
    c.kill("slurmctld", signal.SIGTERM)
    return c


@pytest.mark.parametrize("how", ["SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("which", ["records", "tables"])
def test_newer_state_is_refused_untouched(stopped, how, which):
    """L1: Also with -i, and also when a log is to be read back that a killed controller left."""
    c, state = stopped, State(stopped)
    if which == "records":
        state.add(META, 0, field(4, 99) + field(5, b"9.8.7"))
    else:
        with state.open() as db:
            db.execute("PRAGMA user_version = 99")
    if how == "SIGKILL":  # the change is in the log alone, as a kill leaves it
        db = sqlite3.connect(state.path)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("INSERT INTO named(kind, name, sum, data) VALUES(99, 'x', 0, x'00')")
        db.commit()
        kept = {p: p.read_bytes() for p in state.path.parent.iterdir()}
        db.close()
        for path, data in kept.items():
            if path.name != "state.db-shm":
                path.write_bytes(data)
        assert (state.path.parent / "state.db-wal").stat().st_size > 0
    before = files_of(state.path.parent)
    for option in (), ("-i",), ("-R",):
        c.start_controller(*option, wait=False)
        assert c.daemons.pop("slurmctld").wait(DEADLINE) != 0
        said = c.tail("slurmctld", 20)
        assert "newer version" in said and "format 99" in said and "start that version" in said and str(state.path.parent) in said
        assert which == "tables" or "9.8.7" in said
        assert files_of(state.path.parent) == before


def test_newer_state_on_a_server_is_refused_untouched(server, make_cluster):
    """The lead, and with it the epoch, stays as it is."""
    c = make_cluster(nodes=1, conf=f"StateSaveStore={server.url}", start=False)
    c.start_controller()
    c.kill("slurmctld", signal.SIGTERM)
    server.sql("UPDATE sluice_test.about SET format = 99")
    everything = "SELECT md5(string_agg(t::text, ',')) FROM (SELECT l::text FROM sluice_test.lead l UNION ALL SELECT n::text " \
        "FROM sluice_test.numbered n) AS t"
    before = server.sql(everything)
    assert "format 99" in refuses_to_start(c) and before == server.sql(everything)
    server.sql("UPDATE sluice_test.about SET format = 1")
    row = bytes.fromhex(server.sql("SELECT encode(data, 'hex') FROM sluice_test.numbered WHERE kind = 1")) + field(4, 98)
    server.sql(f"UPDATE sluice_test.numbered SET sum = {checksum(META, 0, row)}, data = '\\x{row.hex()}' WHERE kind = 1")
    before = server.sql(everything)
    assert "format 98" in refuses_to_start(c) and before == server.sql(everything)


def test_older_state_is_read(stopped):
    """L1: The first format had no number."""
    c, state = stopped, State(stopped)
    state.put(META, 0, field(1, 4711) + field(2, 3))
    c.start_controller()
    assert c.run("squeue -h -o %j").ok() == "kept" and c.node("n2")["Reason"].startswith("broken")
    assert c.sbatch("-H", "-o", "/dev/null", wrap="true") == 4711
    c.kill("slurmctld", signal.SIGTERM)
    assert field(4, 8) in state.get(META, 0)


def test_fields_of_a_newer_version_are_kept(stopped):
    c, state = stopped, State(stopped)
    records = [(META, 0), (JOB, 1), (NODE, "n2")]
    for kind, key in records:
        state.add(kind, key, NEWER)
    for life in range(2):
        c.start_controller()
        c.run(f"scontrol update JobId=1 TimeLimit={100 + life}").ok()
        c.run(f"scontrol update NodeName=n2 State=DRAIN Reason=broken{life}").ok()
        c.run("scontrol reconfigure").ok()
        c.kill("slurmctld", signal.SIGTERM if life else signal.SIGKILL)
        assert [state.get(kind, key).count(NEWER) for kind, key in records] == [1, 1, 1]
        assert f"broken{life}".encode() in state.get(NODE, "n2")
