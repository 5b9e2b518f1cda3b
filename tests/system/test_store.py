# SPDX-License-Identifier: GPL-3.0-or-later
"""StateSaveStore: the state on a PostgreSQL server. RELIABILITY P1, P5, P7 with a server in the disk's place."""
from harness import DEADLINE, eventually


def test_state_is_stored_on_the_server(server, make_cluster):
    """P1: a killed and restarted controller has all acknowledged changes; the password is not visible."""
    c = make_cluster(nodes=2, conf=f"StateSaveStore={server.url}")
    held = [c.sbatch("-H", "-o", "/dev/null", "-J", f"kept{i}", wrap="true") for i in range(5)]
    c.kill("slurmctld")
    c.start_controller()
    for i, job in enumerate(held):
        assert c.job(job)["JobName"] == f"kept{i}"
        c.run(f"scontrol release {job}").ok()
    assert all(c.wait(job)["JobState"] == "COMPLETED" for job in held)
    assert not (c.dir / "state" / "state.db").exists()
    assert int(server.sql("SELECT epoch FROM sluice_test.lead")) == 2
    shown = c.run("scontrol show config").ok()
    assert "admin:****@" in shown and "do-not-show" not in shown
    assert "do-not-show" not in c.tail("slurmctld", 10000)


def test_unavailable_server_is_awaited(server, make_cluster):
    """P5: nothing is acknowledged while the server is unreachable, and everything continues when it is back."""
    c = make_cluster(nodes=1, conf=f"StateSaveStore={server.url}")
    before = c.sbatch("-H", "-o", "/dev/null", wrap="true")
    server.stop()
    waiting = c.popen(["sbatch", "--parsable", "-H", "-o", "/dev/null", "--wrap=true"])
    eventually(lambda: "nothing is answered until the state can be saved" in c.tail("slurmctld", 100), "a report")
    assert waiting.poll() is None
    server.start()
    out, err = waiting.communicate(timeout=DEADLINE)
    assert waiting.returncode == 0, err
    c.kill("slurmctld")
    c.start_controller()
    assert {c.state(before), c.state(int(out))} == {"PENDING"}
    assert "is saved to postgresql://" in c.tail("slurmctld", 10000)


def test_second_controller_ends_the_first(server, make_cluster):
    """P7: Two controllers on one store: the later one leads, the earlier one ends at its next change."""
    c = make_cluster(nodes=1, conf=f"StateSaveStore={server.url}")
    server.sql("SET search_path = sluice_test; SELECT lead_take('somebody else', false)")
    asking = c.popen(["sbatch", "-H", "-o", "/dev/null", "--wrap=true"])
    eventually(lambda: c.daemons["slurmctld"].poll() is not None, "the end of the first controller")
    assert c.daemons.pop("slurmctld").returncode != 0
    assert "somebody else leads since" in c.tail("slurmctld", 100)
    c.start_controller()
    asking.communicate(timeout=DEADLINE)
    c.wait_ready()
