# SPDX-License-Identifier: GPL-3.0-or-later
"""slurmctld --check reports all errors at once; a reconfiguration accepts nothing that would not work."""
import os
import re
import subprocess

import pytest

from harness import DEADLINE, PREFIX, ROOT, eventually

LUA = "function slurm_job_submit(j, p, u) return slurm.SUCCESS end function slurm_job_modify(j, r, p, u) return slurm.SUCCESS end"


def check(c):
    return subprocess.run([PREFIX / "sbin/slurmctld", "--check", "-f", c.conf_file], capture_output=True, text=True, timeout=DEADLINE,
                          env=c.environment())


def add(c, text):
    c.conf_file.write_text(c.conf_file.read_text() + text + "\n")


def test_every_error_is_reported(make_cluster):
    """Wrong lines, values, nodes, partitions, programs, scripts and the key: one run names all of them, each with its place."""
    c = make_cluster(nodes=1, start=False)
    (c.dir / "plain").write_text("")
    (c.dir / "job_submit.lua").write_text("function slurm_job_submit(\n")
    (c.dir / "slurm.key").chmod(0o644)
    add(c, "KillWait=abc\nSelectTypeParameters=CR_Magic\nNodeName=x[ CPUs=1\nNodeName=y CPUs=many\nPartitionName=q Nodes=n1 MaxTime=never\n"
           f"PartitionName=r Nodes=n1 PreemptMode=perhaps\nPrologSlurmctld={c.dir}/none\nEpilogSlurmctld={c.dir}/plain\n"
           f"Prolog={c.dir}/elsewhere\nJobSubmitPlugins=lua\nMessageTimeout=soon\nSrunEpilog={c.dir}/else\nMailProg={c.dir}/mail\n"
           f"PlugStackConfig={c.dir}/stack\nJobCompType=jobcomp/filetxt\nJobCompLoc={c.dir}/no/log")
    done = check(c)
    assert done.returncode == 1
    for text in ("KillWait=abc", "CR_Magic", "x[", "CPUs=many", "MessageTimeout=soon", f"PrologSlurmctld={c.dir}/none: no such file",
                 f"EpilogSlurmctld={c.dir}/plain: not an executable file: run 'chmod +x", "JobSubmitPlugins=lua", "job_submit.lua:",
                 "slurm.key"):
        assert len(re.findall(f"^.*error: .*{re.escape(text)}|^error: .*{re.escape(text)}", done.stderr, re.M)) >= 1, (text, done.stderr)
    assert re.search(f"^warning: Prolog={c.dir}/elsewhere: no such file on this host; each node needs it$", done.stderr, re.M)
    for text in (f"SrunEpilog={c.dir}/else: no such file on this host; each host that runs srun needs it",
                 f"MailProg={c.dir}/mail: No such file or directory: no mail is sent",
                 f"PlugStackConfig={c.dir}/stack: no such file on this host; each node and each host that runs srun needs it",
                 f"JobCompLoc={c.dir}/no/log: no directory '{c.dir}/no': create it, writable for SlurmUser "):
        assert f"warning: {text}" in done.stderr, (text, done.stderr)
    assert len(set(done.stderr.splitlines())) == len(done.stderr.splitlines()), "each once"
    # The partitions are checked when the nodes are right.
    c.conf_file.write_text(re.sub("NodeName=[xy].*\n", "", c.conf_file.read_text()))
    done = check(c)
    assert "MaxTime=never" in done.stderr and "PreemptMode=perhaps" in done.stderr, done.stderr


@pytest.mark.parametrize("text, says", [
    ("BasePath=relative", "job_container.conf:1: BasePath=relative: expected an absolute path"),
    ("BasePath=/scratch\nNodeName=n2 Shared=maybe", "job_container.conf:2: Shared=maybe: expected true or false"),
    ("BasePath=/scratch\nNodeName=n2 BasePath=/tmp/jobs", "BasePath=/tmp/jobs is in /tmp"),
    ("BasePath=/scratch Dir=/tmp", "job_container.conf:1: unknown key Dir")])
def test_the_directories_of_jobs_are_checked(make_cluster, text, says):
    """job_container.conf is read by node daemons, which do not start with errors in it."""
    c = make_cluster(nodes=2, start=False)
    add(c, "JobContainerType=job_container/tmpfs")
    done = check(c)
    assert done.returncode == 0 and re.search("^warning: .*job_container.conf: .*each node needs it$", done.stderr, re.M), done.stderr
    file = c.conf_file.parent / "job_container.conf"
    file.write_text("BasePath=/scratch InitScript=/none/init\n")
    done = check(c)
    assert done.returncode == 0 and "InitScript=/none/init: no such file on this host; each node needs it" in done.stderr, done.stderr
    file.write_text(text + "\n")
    done = check(c)
    assert done.returncode == 1 and says in done.stderr, done.stderr


def test_the_key_of_tokens_is_checked_before_a_start_needs_it(make_cluster):
    """G2: --check reports a key that would prevent the next start, and a reconfiguration refuses it."""
    c = make_cluster(nodes=1)
    key = c.dir / "state/jwt_hs256.key"
    add(c, "AuthAltTypes=auth/jwt")
    command = f"dd if=/dev/urandom of={key} bs=64 count=1"
    for data, mode, why in ((None, None, f"is missing: run '{command}', 'chown "),
                            (31, 0o600, f"31 bytes, a key has at least 32; make one with: {command}"),
                            (32, 0o640, "mode 0640 lets others in; run: chmod 0600 ")):
        if data:
            key.write_bytes(os.urandom(data))
            key.chmod(mode)
        done = check(c)
        assert done.returncode == 1, done.stderr
        assert re.findall(f"^error: AuthAltTypes=auth/jwt: .*{re.escape(str(key))}.*", done.stderr, re.M) and why in done.stderr, done.stderr
        c.run("scontrol reconfigure").fails("AuthAltTypes=auth/jwt: ", why)
    key.chmod(0o600)
    assert check(c).returncode == 0
    assert "AuthAltTypes: takes effect when slurmctld is restarted" in c.run("scontrol reconfigure").ok()


def test_an_unreadable_topology_is_one_error(make_cluster):
    c = make_cluster(nodes=1, start=False)
    add(c, "TopologyPlugin=topology/tree")
    (c.dir / "topology.yaml").write_text("- topology: x\n  colour: red\n")
    done = check(c)
    assert done.returncode == 1 and re.findall("error: .*topo.*", done.stderr) == [
        f"error: {c.dir}/topology.yaml:2:3: unknown key colour"], done.stderr


def test_missing_key_is_a_warning_where_it_can_be_created(make_cluster):
    c = make_cluster(nodes=1, start=False)
    (c.dir / "slurm.key").unlink()
    done = check(c)
    assert done.returncode == 0
    assert f"warning: cluster key '{c.dir}/slurm.key' is missing: slurmctld creates one when it starts; copy the key" in done.stderr


def test_controllers_that_cannot_be_found(make_cluster):
    """A SlurmctldHost without an address is an error; one that does not answer may only not run yet."""
    c = make_cluster(nodes=1, start=False, conf="SlurmctldHost=lost(no.such.host.invalid)\nSlurmctldHost=down(127.0.0.9)")
    done = check(c)
    assert re.search("^error: SlurmctldHost=lost: the address of 'no.such.host.invalid' is unknown: .*SlurmctldHost=lost.ADDRESS.$", done.stderr, re.M)
    assert done.returncode == 1
    c.conf_file.write_text(c.conf_file.read_text().replace("SlurmctldHost=lost(no.such.host.invalid)\n", ""))
    done = check(c)
    assert "SlurmctldHost=lost" not in done.stderr and done.returncode == 0


def test_abort_on_fatal(make_cluster):
    """With ABORT_ON_FATAL in the environment a daemon that cannot go on aborts."""
    c = make_cluster(nodes=1, start=False)
    lines = [[PREFIX / "sbin/slurmctld", "-D", "-f", "/no/slurm.conf"], [PREFIX / "sbin/slurmd", "-D", "-f", "/no/slurm.conf"]]
    for abort in ({}, {"ABORT_ON_FATAL": "1"}):
        for line in lines:
            done = subprocess.run(["prlimit", "--core=0", *line], env={**c.environment(), **abort}, capture_output=True, text=True, timeout=DEADLINE)
            assert done.returncode == (-6 if abort else 1) and "/no/slurm.conf" in done.stderr


@pytest.mark.parametrize("alias", ["127.0.0.1", "localhost"])
def test_controller_with_two_names_obeys_an_order_once(make_cluster, alias):
    """The leader passes on orders to the other controllers, of which one is the leader itself."""
    c = make_cluster(nodes=1, start=False, conf=f"SlurmctldHost=alias({alias})")
    done = check(c)
    assert done.returncode == 1
    assert f"error: SlurmctldHost=alias is another name of SlurmctldHost=localhost: both have the address {alias}; remove one" in done.stderr
    c.start()
    c.run("scontrol reconfigure").ok()
    c.run("scontrol reconfigure").ok()
    c.run("scontrol ping").ok()
    log = (c.dir / "slurmctld.log").read_text()
    assert log.count("reconfigure asked for by") == log.count("the configuration was read again") == 2
    if alias != "127.0.0.1":
        eventually(lambda: "two SlurmctldHost lines name one controller" in (c.dir / "slurmctld.log").read_text(), "the log says so")
    c.run("scontrol shutdown").ok()
    for name in ("slurmctld", "n1"):
        assert c.daemons.pop(name).wait(DEADLINE) == 0


@pytest.mark.parametrize("script, says", [(None, "job_submit.lua does not exist"), ("function slurm_job_submit(", "job_submit.lua:1:"),
                                          ("x = 1", "slurm_job_submit")])
def test_reconfigure_refuses_a_script_that_does_not_load(make_cluster, script, says):
    c = make_cluster(nodes=1)
    if script:
        (c.dir / "job_submit.lua").write_text(script)
    add(c, "JobSubmitPlugins=lua\nKillWait=7")
    c.run("scontrol reconfigure").fails(says)
    c.run("scontrol reconfigure --dry-run").fails(says)
    assert "KillWait                = 1 sec" in c.run("scontrol show config").stdout
    c.sbatch(wrap="true")
    (c.dir / "job_submit.lua").write_text(LUA)
    c.run("scontrol reconfigure").ok()
    assert "KillWait                = 7 sec" in c.run("scontrol show config").stdout


@pytest.mark.parametrize("name", ["resources.yaml", "topology.yaml", "job_submit.lua"])
def test_reconfigure_waits_for_no_pipe(make_cluster, name):
    """A configuration file that is a pipe is refused by name: the controller does not wait for a writer."""
    c = make_cluster(nodes=1)
    os.mkfifo(c.dir / name)
    if name == "job_submit.lua":
        add(c, "JobSubmitPlugins=lua")
    for line in "slurmctld --check", "scontrol reconfigure", "scontrol reconfigure":
        c.run(line).fails(f"{c.dir}/{name}: not a regular file")
    (c.dir / name).unlink()
    if name == "job_submit.lua":
        (c.dir / name).write_text(LUA)
    c.run("scontrol reconfigure").ok()
