# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes without a slurm.conf of their own (slurmd --conf-server): CORE-025, X-30."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading

import pytest

from harness import PREFIX, ROOT, eventually, free_ports
from test_spank import EXAMPLES, build

ON = "SlurmctldParameters=enable_configless\n"


class Host:
    """A directory with only the cluster key represents a host."""

    def __init__(self, c, node, servers=None):
        self.c, self.node = c, node
        self.dir = c.dir / f"host-{node}"
        self.dir.mkdir(exist_ok=True)
        shutil.copy(c.dir / "slurm.key", self.dir / "slurm.key")
        self.servers = servers or f"127.0.0.1:{c.port}"
        self.cache = c.dir / f"spool/{node}/conf-cache/slurm.conf"

    def argv(self, *options):
        return ["env", f"SLURM_CONF={self.dir}/slurm.conf", PREFIX / "sbin/slurmd", "-D", "-N", self.node,
                "--conf-server", self.servers, *options]

    def start(self):
        self.c.spawn(self.node, self.argv())

    def fails(self, *texts):
        """The daemon ends at once and prints the reason."""
        done = self.c.run(self.argv(), cwd="/")
        assert done.returncode == 1
        return done.fails(*texts)


def idle(c, node):
    return lambda: c.node(node)["State"] == "IDLE"


def test_node_starts_without_a_configuration_file(make_cluster):
    """CORE-025: It has the controller's, Include files and all; so have its steps; it follows a reconfiguration."""
    c = make_cluster(nodes=2, conf=ON + "Include more.conf\n", start=False)
    (c.dir / "more.conf").write_text("# of another file\nKillWait=2\nHealthCheckInterval=0\n")
    c.start_controller()
    host = Host(c, "n1")
    host.start()
    c.start_node("n2")
    c.wait_ready()
    kept = host.cache.read_text()
    assert "KillWait=2\n" in kept and "Include" not in kept and "NodeName=n2 " in kept
    assert os.readlink(host.dir / "conf-cache.n1") == str(host.cache.parent)
    assert not (host.dir / "slurm.conf").exists()

    said = c.run(["srun", "-w", "n1", "sh", "-c", "echo $SLURM_CONF; squeue -h -o %N; scontrol show config"]).ok()
    assert said.splitlines()[:2] == [str(host.cache), "n1"]
    assert f"SLURM_CONF              = {c.conf_file}" in said  # of the controller, as always
    assert c.run(["srun", "-N2", "-l", "hostname"]).ok()

    prolog = c.dir / "prolog"
    prolog.write_text(f"#!/bin/sh\necho $SLURM_CONF >{c.dir}/prolog.out\n")
    prolog.chmod(0o755)
    with (c.dir / "more.conf").open("a") as f:
        f.write(f"Prolog={prolog}\nSlurmdTimeout=7\n")
    c.run("scontrol reconfigure").ok()
    eventually(lambda: "SlurmdTimeout=7\n" in host.cache.read_text(), "the node has the new file")
    c.run("srun -w n1 true").ok()
    assert (c.dir / "prolog.out").read_text() == f"{host.cache}\n"
    eventually(idle(c, "n1"), "it is free again")


def test_further_files_are_fetched(make_cluster):
    """plugstack.conf, with the files that it includes, and job_container.conf are sent with slurm.conf and removed with it."""
    c = make_cluster(nodes=1, conf=ON, start=False)
    host = Host(c, "n1")
    plugin = build(c.dir, EXAMPLES / "spank_renice.c", "renice.so")
    (c.dir / "plugstack.conf").write_text("# site: 100% \\\n\ninclude plugstack.d/*\ninclude /nowhere/*\n")
    (c.dir / "plugstack.d").mkdir()
    (c.dir / "plugstack.d/1").write_text(f"\trequired {plugin} 'default=3' # ours\n")
    (c.dir / "job_container.conf").write_text("AutoBasePath=true\n")
    c.start_controller()
    host.start()
    c.wait_ready()
    kept = host.cache.parent / "plugstack.conf"
    assert kept.read_text() == (f"# site: 100% \\\n\n\trequired {plugin} 'default=3' # ours\ninclude /nowhere/*\n")
    assert (host.cache.parent / "job_container.conf").read_text() == "AutoBasePath=true\n"
    for run in (["srun", "nice"], ["srun", "--overlap", "sh", "-c", "srun --overlap nice"]):
        assert c.run(run).ok() == "3"  # commands on the node find the plugin, too
    assert "--renice=" in c.run(["srun", "srun", "--help"]).ok()

    (c.dir / "plugstack.d/1").write_text(f"required {plugin} default=4\n")
    (c.dir / "job_container.conf").unlink()
    c.run("scontrol reconfigure").ok()
    eventually(lambda: "default=4" in kept.read_text(), "the node has the new file")
    eventually(lambda: not (host.cache.parent / "job_container.conf").exists(), "the node has it no more")
    assert c.run(["srun", "nice"]).ok() == "4"
    c.kill("slurmctld")
    c.kill("n1")
    host.start()  # with what it has kept
    c.start_controller()
    c.wait_ready()
    assert c.run(["srun", "nice"]).ok() == "4"
    (c.dir / "plugstack.d/1").unlink()
    (c.dir / "plugstack.conf").unlink()
    c.run("scontrol reconfigure").ok()
    eventually(lambda: not kept.exists(), "the node has no plugins")


def test_node_waits_for_an_absent_controller(make_cluster):
    """The node uses its cached configuration and logs this; changes arrive when the controller is back."""
    c = make_cluster(nodes=1, conf=ON, start=False)
    host = Host(c, "n1")
    host.fails("no configuration from --conf-server", "Connection refused")
    c.start_controller()
    host.start()
    c.wait_ready()
    c.kill("slurmctld", signal.SIGTERM)
    c.kill("n1", signal.SIGTERM)
    host.start()
    eventually(lambda: "going on with that of the last time" in c.tail("n1"), "a word about it")
    with c.conf_file.open("a") as f:
        f.write("KillWait=9\n")
    c.start_controller()
    eventually(idle(c, "n1"), "n1 is there")
    eventually(lambda: "KillWait=9\n" in host.cache.read_text(), "and has the file of now")
    assert c.run("srun hostname").ok()

    c.kill("slurmctld", signal.SIGTERM)
    c.kill("n1", signal.SIGTERM)
    whole = host.cache.read_text()
    for damaged in ("", whole[:-20], whole.replace("KillWait=9", "KillWait=8"), whole.partition("\n")[2], "\0" * 500):
        host.cache.write_text(damaged)
        host.fails("slurm.conf")
    host.cache.write_text(whole)
    host.start()
    c.start_controller()
    c.wait_ready()


def test_refusals_of_the_controller(make_cluster):
    c = make_cluster(nodes=1, start=False)
    c.start_controller()
    host = Host(c, "n1")
    host.fails(f"{c.conf_file} has no SlurmctldParameters=enable_configless")
    assert "refused @" in (c.dir / "slurmctld.log").read_text()
    with c.conf_file.open("a") as f:
        f.write(ON)
    c.run("scontrol reconfigure").ok()
    (host.dir / "slurm.key").write_bytes(os.urandom(64))
    host.fails("does not know the key")
    os.unlink(host.dir / "slurm.key")
    host.fails("slurm.key")
    Host(c, "n9").fails("no NodeName line defines n9")
    assert not (c.dir / "spool").exists()
    with c.conf_file.open("a") as f:
        for i in range(18):
            f.write(f"NodeName=big{i} State=FUTURE Extra={'x' * 1000000}\n")
    c.run("scontrol reconfigure").ok()
    Host(c, "n1").fails("of which a configless node takes")
    Host(c, "n1").start()  # and with a file that fits it goes on
    text = c.conf_file.read_text()
    c.conf_file.write_text("\n".join(line for line in text.splitlines() if "NodeName=big" not in line) + "\n")
    c.run("scontrol reconfigure").ok()
    c.daemons.pop("n1").wait(60)
    Host(c, "n1").start()
    c.wait_ready()


@contextlib.contextmanager
def stranger(answer):
    """A server of something else: says this, and nothing more."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept = []

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    peer, _ = server.accept()
                    kept.append(peer)
                    peer.sendall(answer)
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        for peer in kept:
            peer.close()
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.slow
def test_invalid_servers_are_refused(make_cluster):
    c = make_cluster(nodes=1, conf=ON, start=False)
    for bad in ("", "a b", "host:0", "host:99999", ",", "[::1"):
        Host(c, "n1", bad).fails("--conf-server")
    closed = free_ports(1)[0]
    Host(c, "n1", f"127.0.0.1:{closed},no-such-host.invalid").fails(f"127.0.0.1:{closed}: Connection refused",
                                                                    "no-such-host.invalid")
    with stranger(b"SSH-2.0-OpenSSH_9.2\r\n" * 10) as port:
        Host(c, "n1", f"127.0.0.1:{port}").fails(f"127.0.0.1:{port}")
        c.start_controller()
        Host(c, "n1", f"127.0.0.1:{closed},127.0.0.1:{c.port}").start()  # the next one is asked
        c.wait_ready()
    with stranger(b"") as port:
        c.kill("n1", signal.SIGTERM)
        Host(c, "n1", f"127.0.0.1:{port},127.0.0.1:{c.port}").start()
        eventually(lambda: c.running("n1") and "registered with the controller" in c.tail("n1"), "a silent one is left")
        c.wait_ready()


@pytest.mark.skipif(not ROOT, reason="only root mistrusts programs of others")
def test_inapplicable_configuration_is_reported(make_cluster):
    """The old file stays in effect and in the cache; the controller gets a report, and another one when the problem is over."""
    c = make_cluster(nodes=1, conf=ON, start=False)
    c.start_controller()
    host = Host(c, "n1")
    host.start()
    c.wait_ready()
    before = host.cache.read_text()
    prolog = c.dir / "prolog"
    prolog.write_text("#!/bin/sh\n")
    prolog.chmod(0o777)
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={prolog}\n")
    c.run("scontrol reconfigure").ok()
    log = c.dir / "slurmctld.log"
    eventually(lambda: "node n1 goes on with its former configuration: Prolog" in log.read_text(), "the node's refusal")
    assert host.cache.read_text() == before and c.run("srun true").returncode == 0
    c.kill("n1", signal.SIGTERM)
    host.fails("Prolog")
    prolog.chmod(0o755)
    host.start()
    c.wait_ready()
    assert f"Prolog={prolog}" in host.cache.read_text()


NAMESPACE = """
set -e
mount -t tmpfs tmpfs /run
export SLURM_CONF=$1/slurm.conf
slurmd --conf-server $2
unset SLURM_CONF
test "$(readlink /run/slurm/conf)" = $3
sinfo -h -o '%N %P'
slurmd 2>&1 | grep 'slurm.conf' || { echo a daemon followed another; exit 1; }
"""


@pytest.mark.skipif(not ROOT, reason="makes a mount namespace")
def test_commands_find_the_fetched_configuration(make_cluster):
    c = make_cluster(nodes=1, conf=ON, start=False)
    text = c.conf_file.read_text().replace("NodeName=n1 ", f"NodeName=n1 NodeHostname={socket.gethostname()} ")
    c.conf_file.write_text(text)
    c.start_controller()
    host = Host(c, "n1")
    env = c.environment()
    del env["SLURM_CONF"]
    done = subprocess.run(["unshare", "-m", "/bin/sh", "-c", NAMESPACE, "sh", host.dir, host.servers, host.cache.parent],
                          text=True, capture_output=True, env=env, timeout=60)
    try:
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.splitlines()[0] == "n1 main*"
        c.wait_ready()
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.kill(int(pathlib.Path(c.dir / "slurmd-n1.pid").read_text()), signal.SIGTERM)
        eventually(lambda: not (c.dir / "slurmd-n1.pid").exists(), "slurmd has ended")


@pytest.mark.slow
def test_node_with_a_stale_file_uses_the_heartbeat_of_the_controller(make_cluster):
    """A node whose own slurm.conf is of another time beats as often as the controller's SlurmdTimeout wants."""
    c = make_cluster(nodes=1, conf="SlurmdTimeout=300", start=False)
    host = c.dir / "stale"
    host.mkdir()
    shutil.copy(c.dir / "slurm.key", host / "slurm.key")
    (host / "slurm.conf").write_text(c.conf_file.read_text())
    with c.conf_file.open("a") as f:
        f.write("SlurmdTimeout=3\n")
    c.start_controller()
    c.spawn("n1", [PREFIX / "sbin/slurmd", "-D", "-N", "n1", "-f", host / "slurm.conf"])
    c.wait_ready()
    c.run("srun sleep 6").ok()
    assert "DOWN" not in (c.dir / "slurmctld.log").read_text()
