# SPDX-License-Identifier: GPL-3.0-or-later
"""Options and signals of slurmctld and slurmd that Slurm's unit files and administrators use."""
import os
import re
import signal
import socket

import pytest

from harness import DEADLINE, PREFIX, ROOT, eventually

DAEMONS = ("slurmctld", "slurmd")


def field(pid, name):
    return re.search(rf"^{name}:\s*(\S+)", open(f"/proc/{pid}/status").read(), re.M).group(1)


@pytest.fixture
def started(make_cluster, tmp_path):
    """Starts one daemon with options, as a service manager would; returns its pid and its notifications."""
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    manager.settimeout(DEADLINE)
    c = make_cluster(nodes=1, start=False)
    daemons = []

    def start(daemon, *options):
        name = [] if daemon == "slurmctld" else ["-N", "n1"]
        p = c.popen([PREFIX / "sbin" / daemon, "--systemd", *name, *options], env={"NOTIFY_SOCKET": str(tmp_path / "notify")})
        daemons.append(p)
        return p, manager.recv(4096).decode()

    yield c, start
    for p in daemons:
        if p.poll() is None:
            p.send_signal(signal.SIGTERM)
        p.wait(DEADLINE)
    manager.close()


@pytest.mark.parametrize("daemon", DAEMONS)
def test_service_manager_is_notified_of_readiness(started, daemon, tmp_path):
    c, start = started
    log = tmp_path / "own.log"
    p, said = start(daemon, "-L", str(log), "-s", "-n", "5")
    assert said == "READY=1"
    assert os.getpriority(os.PRIO_PROCESS, p.pid) == 5
    assert os.readlink(f"/proc/{p.pid}/cwd") == str(tmp_path)
    assert re.search(rf"\] {daemon} (version )?\d+\.\d", log.read_text())
    for survived in (signal.SIGUSR1, signal.SIGALRM, signal.SIGPROF, signal.SIGUSR2):
        p.send_signal(survived)
    eventually(lambda: p.poll() is not None or field(p.pid, "SigPnd") == field(p.pid, "ShdPnd") == "0" * 16, "signals are read")
    p.send_signal(signal.SIGQUIT)
    assert p.wait(DEADLINE) == 0
    assert re.search("stopp(ed|ing)", log.read_text())
    counts = r"SIGPROF: \d+ connections of users, \d+ of callers who are not known yet, 0 requests without an answer"
    assert bool(re.search(counts, log.read_text())) == (daemon == "slurmctld")


def test_sigusr2_reads_the_log_level_again(make_cluster):
    """slurmctld(8), slurmd(8): an invalid file changes nothing."""
    c = make_cluster(nodes=1)
    shown = {"slurmctld": ("scontrol show config", r"^SlurmctldDebug +=? *(\S+)"), "n1": ("scontrol show slurmd n1", r"Slurmd Debug += (\S+)")}

    def level(daemon):
        command, pattern = shown[daemon]
        return re.search(pattern, c.run(command).ok(), re.M)[1]

    before = {daemon: level(daemon) for daemon in shown}
    text = c.conf_file.read_text()
    c.conf_file.write_text(re.sub(r"(?m)^Slurm(ctld|d)Debug=.*$", "", text) + "\nSlurmctldDebug=debug3\nSlurmdDebug=debug3\nKillWait=7\n")
    for daemon in shown:
        c.daemons[daemon].send_signal(signal.SIGUSR2)
        eventually(lambda daemon=daemon: level(daemon) != before[daemon], f"the level of {daemon}")
    assert not re.search(r"(?m)^KillWait *= 7\b", c.run("scontrol show config").ok())  # the rest is not read
    after = {daemon: level(daemon) for daemon in shown}
    c.conf_file.write_text("NonsenseKey\n")
    for daemon, log in (("slurmctld", "slurmctld.log"), ("n1", "slurmd-n1.log")):
        c.daemons[daemon].send_signal(signal.SIGUSR2)
        eventually(lambda log=log: "the log level stays as it is" in (c.dir / log).read_text(), log)
    c.conf_file.write_text(text)  # for scontrol itself
    assert {daemon: level(daemon) for daemon in shown} == after


@pytest.mark.allocator  # with sanitizers mlockall() does nothing
@pytest.mark.skipif(not ROOT, reason="needs root: memory that can be locked")
def test_slurmd_locks_its_memory_and_takes_another_slurmstepd(started, tmp_path):
    c, start = started
    p, said = start("slurmd", "-M", "-d", str(PREFIX / "sbin/slurmstepd"))
    assert int(field(p.pid, "VmLck")) > 0
    p.send_signal(signal.SIGTERM)
    assert p.wait(DEADLINE) == 0
    c.run([PREFIX / "sbin/slurmd", "-D", "-N", "n1", "-d", "/no/such"]).fails("cannot run /no/such: No such file or directory")
    c.run([PREFIX / "sbin/slurmd", "-D", "-N", "n1", "-d", "such"]).fails("-d needs an absolute path")


def test_gres_of_the_node_are_printed(make_cluster):
    c = make_cluster(nodes=1, start=False)
    conf = c.conf_file.read_text().replace("NodeName=n1 ", "NodeName=n1 Gres=gpu:big:2,tape:3 ")
    c.conf_file.write_text(conf + "GresTypes=gpu,tape\n")
    (c.conf_file.parent / "gres.conf").write_text("Name=gpu Type=big File=/dev/null Cores=0 Links=-1,4\nName=gpu Type=big File=/dev/zero Links=4,-1\n")
    assert c.run([PREFIX / "sbin/slurmd", "-G", "-N", "n1"]).ok().splitlines() == [
        "Gres Name=gpu Type=big Count=1 Index=0 File=/dev/null Cores=0 Links=-1,4",
        "Gres Name=gpu Type=big Count=1 Index=1 File=/dev/zero Cores=(null) Links=4,-1",
        "Gres Name=tape Type=(null) Count=3 Index=0 File=(null) Cores=(null) Links=(null)"]
    (c.conf_file.parent / "slurm.key").unlink()  # it is not used, and need not be there yet
    assert "Gres Name=tape" in c.run([PREFIX / "sbin/slurmd", "-G", "-N", "n1"]).ok()
    c.run([PREFIX / "sbin/slurmd", "-D", "-N", "n1"]).fails("slurm.key' is missing: copy it from the controller")


def test_hardware_is_printed_with_the_sockets_of_its_parameters(cluster):
    """slurmd(8) --parameters beside -C."""
    machine = {"HWLOC_SYNTHETIC": "pack:1 l3:4 core:2 pu:1"}
    for options, sockets in ([], "SocketsPerBoard=1 CoresPerSocket=8 "), (["--parameters", "config_overrides,l3cache_as_socket"],
                                                                         "SocketsPerBoard=4 CoresPerSocket=2 "):
        assert sockets in cluster.run([PREFIX / "sbin/slurmd", "-C", *options], env=machine).ok()


@pytest.mark.parametrize("option", ("--authinfo=x", "--ca-cert-file=/x", "-F", "-Ffeature", "--instance-id=i", "--instance-type=i"))
def test_unsupported_options_are_refused_with_a_remedy(cluster, option):
    done = cluster.run([PREFIX / "sbin/slurmd", "-D", option])
    name = option.partition("=")[0] if option.startswith("--") else option[:2]
    assert done.returncode == 1 and done.stderr.startswith(f"slurmd: error: option '{name}' is not supported: "), done.stderr


def test_extra_of_a_starting_node_holds_until_scontrol_changes_it(make_cluster):
    """slurmd(8) --extra: sent when the node daemon starts, not when the controller restarts."""
    c = make_cluster(nodes=1, start=False)
    c.start_controller()
    c.start_node("n1", "--extra", '{"rack": 7}')
    c.wait_ready()
    assert c.node("n1")["Extra"] == '{"rack": 7}'
    c.run(["scontrol", "update", "NodeName=n1", "Extra=later"]).ok()
    c.kill("slurmctld")
    c.start_controller()
    c.wait_ready()
    assert c.node("n1")["Extra"] == "later"
