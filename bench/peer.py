# SPDX-License-Identifier: GPL-3.0-or-later
"""Debian's slurm-wlm beside ours: fetched from the package archive, unpacked under a prefix (never installed), started with
its own munge on loopback. Used by bench.py only; no test depends on it."""
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests/system"))
from harness import free_ports  # noqa: E402

PACKAGES = ["slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "munge", "libmunge2"]


class Unavailable(Exception):
    pass


def fetch(place):
    """Downloads and unpacks the packages once; returns the root of the unpacked tree."""
    root = place / "root"
    if (root / "usr/sbin/slurmctld-wlm").exists() or (root / "usr/sbin/slurmctld").exists():
        return root
    debs = place / "debs"
    (debs / "partial").mkdir(parents=True, exist_ok=True)
    line = ["apt-get", "install", "-y", "-q", "--download-only", "--reinstall", "--no-install-recommends",
            "-o", f"Dir::Cache::archives={debs}", *PACKAGES]
    done = subprocess.run(line, capture_output=True, text=True)
    files = sorted(debs.glob("*.deb"))
    if not files:
        raise Unavailable("its packages could not be fetched: " + (done.stderr.strip().splitlines() or ["?"])[-1])
    for deb in files:
        subprocess.run(["dpkg", "-x", deb, root], check=True)
    return root


class Slurm:
    """A Slurm cluster of 'nodes' node daemons of 'cpus' CPUs each."""
    name = "slurm"

    def __init__(self, place, nodes, cpus, memory):
        self.root = fetch(place)
        self.dir = place / "run"
        shutil.rmtree(self.dir, ignore_errors=True)
        for sub in ("state", "spool", "munge", "work"):
            (self.dir / sub).mkdir(parents=True)
        self.work = self.dir / "work"
        self.processes = {}
        lib = self.root / "usr/lib/x86_64-linux-gnu"
        self.path = self.dir / "bin"  # without Debian's "-wlm" suffixes, which alternatives would hide
        self.path.mkdir()
        for folder in ("usr/bin", "usr/sbin"):
            for program in (self.root / folder).glob("*"):
                name = program.name.removesuffix("-wlm")
                if not (self.path / name).exists():
                    (self.path / name).symlink_to(program)
        self.libraries = f"{lib}:{lib}/slurm-wlm"
        self.socket = self.dir / "munge/munge.socket"
        user = pwd.getpwuid(os.geteuid()).pw_name
        ports = free_ports(nodes + 1)
        plugins = lib / "slurm-wlm"
        text = f"""ClusterName=bench
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={self.socket}
CryptoType=crypto/munge
StateSaveLocation={self.dir}/state
SlurmdSpoolDir={self.dir}/spool/%n
SlurmctldPidFile={self.dir}/slurmctld.pid
SlurmdPidFile={self.dir}/slurmd-%n.pid
SlurmctldLogFile={self.dir}/slurmctld.log
SlurmdLogFile={self.dir}/slurmd-%n.log
PluginDir={plugins}
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
MaxJobCount=100000
SlurmdParameters=config_overrides
KillWait=1
ReturnToService=2
"""
        for i, port in enumerate(ports[1:], 1):
            text += f"NodeName=n{i} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory={memory}\n"
        text += "PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP\n"
        self.conf = self.dir / "slurm.conf"
        self.conf.write_text(text)
        (self.dir / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        self.nodes = nodes
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def environment(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "SQUEUE"))}
        env.update(SLURM_CONF=str(self.conf), PATH=f"{self.path}:{env['PATH']}", LD_LIBRARY_PATH=self.libraries)
        return env

    def spawn(self, name, argv):
        log = open(self.dir / f"{name}.stderr", "ab")
        self.processes[name] = subprocess.Popen([str(a) for a in argv], env=self.environment(), stdout=log, stderr=log,
                                                stdin=subprocess.DEVNULL, start_new_session=True, cwd=self.dir)

    def start(self):
        key = self.dir / "munge/key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        (self.dir / "munge").chmod(0o755)
        self.spawn("munged", [self.path / "munged", "--foreground", "--force", f"--key-file={key}",
                              f"--socket={self.socket}", f"--pid-file={self.dir}/munge/pid",
                              f"--log-file={self.dir}/munge/log", f"--seed-file={self.dir}/munge/seed"])
        self.until(self.socket.exists, "munged")
        self.spawn("slurmctld", [self.path / "slurmctld", "-D", "-f", self.conf])
        for i in range(1, self.nodes + 1):
            self.spawn(f"n{i}", [self.path / "slurmd", "-D", "-N", f"n{i}", "-f", self.conf, "-d",
                                self.path / "slurmstepd"])
        self.until(lambda: self.run("sinfo -h -t idle -o %D").stdout.strip() == str(self.nodes), "idle nodes")

    def until(self, check, what, seconds=60):
        end = time.monotonic() + seconds
        while not check():
            for name, process in self.processes.items():
                if process.poll() is not None:
                    text = (self.dir / f"{name}.stderr").read_text()[-300:]
                    raise Unavailable(f"its {name} ended: {text}")
            if time.monotonic() > end:
                raise Unavailable(f"it did not come up ({what})")
            time.sleep(0.05)

    def run(self, line):
        return subprocess.run(line if isinstance(line, list) else line.split(), env=self.environment(), text=True,
                              capture_output=True, cwd=self.work)

    def tune(self):
        """For throughput, as its own guide advises; latencies are measured before, with its defaults."""
        with self.conf.open("a") as f:
            f.write("SchedulerParameters=defer,batch_sched_delay=1,sched_min_interval=200000\n")
        done = self.run("scontrol reconfigure")
        if done.returncode != 0:
            raise Unavailable("it could not be reconfigured: " + done.stderr)

    def pid(self, daemon):
        return self.processes[daemon].pid

    def stop(self):
        for process in reversed(list(self.processes.values())):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
