# SPDX-License-Identifier: GPL-3.0-or-later
"""SlurmctldPrimaryOnProg and SlurmctldPrimaryOffProg follow the lead."""
import os
import re
import signal

import pytest

from harness import eventually
from test_takeover import Pair

SCRIPT = """#!/bin/sh
env | sort >DIR/env.WORD
echo "$SLURMCTLD_HOST WORD" >>DIR/said
"""


def programs(tmp_path, on=SCRIPT, off=SCRIPT):
    """The lines for slurm.conf."""
    for word, text in (("on", on), ("off", off)):
        file = tmp_path / word
        file.write_text(text.replace("WORD", word).replace("DIR", str(tmp_path)))
        file.chmod(0o755)
    return f"SlurmctldPrimaryOnProg={tmp_path}/on\nSlurmctldPrimaryOffProg={tmp_path}/off\n"


def said(tmp_path):
    file = tmp_path / "said"
    return sorted(file.read_text().splitlines()) if file.exists() else []


def test_programs_follow_the_lead(make_cluster, tmp_path):
    p = Pair(make_cluster, nodes=1, conf=programs(tmp_path))
    c = p.c
    want = ["localhost on"]

    def more(*words):
        want.extend(words)
        eventually(lambda: said(tmp_path) == sorted(want), f"{want}\n" + c.tail("slurmctld") + c.tail(p.backup))
    more()
    env = dict(line.split("=", 1) for line in (tmp_path / "env.on").read_text().splitlines())
    assert env["SLURM_CONF"] == str(c.conf_file) and env["SLURM_CLUSTER_NAME"] == "test"
    assert set(env) <= {"PATH", "PWD", "SHLVL", "_", "OLDPWD", "SLURM_CONF", "SLURM_CLUSTER_NAME", "SLURMCTLD_HOST"}
    c.kill("slurmctld")
    p.leads("backup")
    more("backup on")  # who was killed can run nothing
    p.start_primary()
    p.leads("localhost")
    more("localhost on", "backup off")
    c.run("scontrol takeover").ok()
    p.leads("backup")
    more("backup on", "localhost off")
    eventually(lambda: "SlurmctldPrimaryOffProg has ended well" in p.log("slurmctld"), "its end is logged")
    c.run("scontrol shutdown slurmctld").ok()
    for name in ("slurmctld", p.backup):
        assert c.daemons.pop(name).wait(60) == 0
    more()  # nothing: no other one leads


@pytest.mark.slow
def test_deposed_leader_runs_the_off_program(server, make_cluster, tmp_path):
    p = Pair(make_cluster, nodes=1, conf=programs(tmp_path) + f"StateSaveStore={server.url}\n")
    c = p.c
    eventually(lambda: said(tmp_path) == ["localhost on"], "it leads")
    c.daemons["slurmctld"].send_signal(signal.SIGSTOP)
    eventually(lambda: said(tmp_path) == ["backup on", "localhost on"], "the backup leads")
    c.daemons["slurmctld"].send_signal(signal.SIGCONT)
    eventually(lambda: said(tmp_path) == ["backup on", "localhost off", "localhost on"], "it has noticed")


def test_hanging_failover_program_delays_nobody(make_cluster, tmp_path):
    os.mkfifo(tmp_path / "never")
    p = Pair(make_cluster, nodes=1, conf=programs(tmp_path, on="#!/bin/sh\nread x <DIR/never\n", off="#!/bin/sh\nexit 3\n"))
    c = p.c
    c.run("scontrol takeover").ok()
    p.leads("backup")
    c.run("srun true").ok()
    eventually(lambda: re.search("SlurmctldPrimaryOffProg: .*3", p.log("slurmctld")), "its failure is told")
