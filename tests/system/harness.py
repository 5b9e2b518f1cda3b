# SPDX-License-Identifier: GPL-3.0-or-later
"""A private cluster for tests: real daemons on loopback in a directory of its own, driven through the commands.

Nothing here waits for a time: waiting is asking again until a deadline, which is only for a test that has failed.
"""
import base64
import collections
import contextlib
import json
import os
import pathlib
import pwd
import random
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
import weakref

PREFIX = pathlib.Path(os.environ.get("SLUICE_PREFIX", pathlib.Path(__file__).parents[2] / "build/prefix")).resolve()
LOOK_PREFIX = pathlib.Path(os.environ.get("SLUICE_LOOK_PREFIX", PREFIX)).resolve()  # of commands that only ask how far things are
DEADLINE = 60.0  # seconds until something that must happen counts as not happening
ASK_SHARE, ASK_MAX = 10, 0.05  # eventually() asks again after a tenth of what it has waited, in seconds
ROOT = os.geteuid() == 0
SOAK = int(os.environ.get("SLUICE_SOAK") or 0)  # percent of the amounts of a release; 0: a sample
PORTS, WORKERS_MAX = (10000, 32000), 8  # as many as tools/test has at most
DAY = int(os.environ.get("SLUICE_DAY") or time.time() // 86400)  # what is drawn, and which half sanitizers run, changes every day
SEED = int(os.environ.get("SLUICE_SEED") or DAY)
SANITIZED = bool({"ASAN_OPTIONS", "TSAN_OPTIONS"} & os.environ.keys())  # daemons are slower
REPORT = re.compile(rb"(?:Address|Leak|Thread|Memory)Sanitizer|runtime error: ")  # of a sanitizer


def amount(sample, release):
    """How many of something a test does."""
    return max(sample, release * SOAK // 100)


def ignore_nothing_in_commands():
    """A process passes ignored signals on to its children: nohup, and shells that start a program in the background, would decide which signals
    tasks ignore. A handler without effect sets this process's signals right, and programs start with the default."""
    by_python = {signal.SIGPIPE, signal.SIGXFSZ}  # which subprocess restores
    for number in signal.valid_signals() - by_python:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)


def random_name(prefix):
    """Returns the prefix and eight random letters. No text that a test searches contains these letters, so no line matches only because of the name
    of a directory."""
    return prefix + "".join(random.SystemRandom().choices("JKQVXZ", k=8))


def make_directory(prefix, parent=None, mode=0o755):
    """Creates a directory below 'parent', by default in the temporary directory."""
    while True:
        path = pathlib.Path(parent or tempfile.gettempdir()) / random_name(prefix)
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
            path.chmod(mode)  # whatever the umask
            return path


PORTS_GIVEN = collections.deque(maxlen=1000)  # who has got one may not listen there yet


def free_ports(count, first=None, last=None):
    """Below those that outgoing connections take, and of a worker's own: others may come between the look and the use."""
    if first is None:
        share = (PORTS[1] - PORTS[0]) // WORKERS_MAX
        first = PORTS[0] + share * (int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % WORKERS_MAX)
        last = first + share
    ports = []
    while len(ports) < count:
        port = random.randrange(first, last)
        with socket.socket() as s:
            try:
                s.bind(("", port))
            except PermissionError:
                raise
            except OSError:
                continue
        if port not in ports and port not in PORTS_GIVEN:
            ports.append(port)
    PORTS_GIVEN.extend(ports if last - first > 2 * PORTS_GIVEN.maxlen else ())
    return ports


def eventually(check, what, deadline=DEADLINE):
    """Polls until the result is true; returns it. A missing file counts as false. Polls less often the longer it takes, because polling takes CPU
    time from the processes under test."""
    begin = time.monotonic()
    while True:
        try:
            answer = check()
        except FileNotFoundError:
            answer = None
        if answer:
            return answer
        waited = time.monotonic() - begin
        if waited > deadline:
            raise AssertionError(f"did not happen within {deadline} s: {what() if callable(what) else what}")
        time.sleep(min(waited / ASK_SHARE, ASK_MAX))


class Command(subprocess.Popen):
    """A command that runs while the test continues. Waiting for it has the same limit as all other waits; a test that fails while its command would
    run forever must end, too."""

    def wait(self, timeout=DEADLINE):
        return super().wait(timeout)

    def communicate(self, input=None, timeout=DEADLINE):
        return super().communicate(input, timeout)

    def __exit__(self, kind, *rest):
        if kind is not None and self.poll() is None:
            self.kill()
        super().__exit__(kind, *rest)


def alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_connected(pid):
    """Whether the process has a socket now."""
    try:
        return any(os.readlink(link).startswith("socket:") for link in pathlib.Path(f"/proc/{pid}/fd").iterdir())
    except OSError:  # it closed one while this looked, or went
        return False


def child_named(pid, name):
    """The number of the child process of that name, or None."""
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == name:
                return int(child)
        except OSError:  # went meanwhile
            continue
    return None


def files_below(directory):
    """Returns all files below a directory, at any depth, while daemons create and remove directories there; Path.rglob() fails when one disappears.
    """
    for where, directories, files in os.walk(directory):
        yield from (pathlib.Path(where, name) for name in (*directories, *files))


def processes_of(directory):
    """Returns every process that belongs to a cluster's directory: by command line, environment or working directory. Each test examines all
    processes of the machine several times: with pathlib that would take twice as long."""
    found = {}
    needle = str(directory).encode()
    variable = b"SLURM_CONF=" + needle

    def read_file(name):
        with open(name, "rb", buffering=0) as file:
            return file.read()

    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            cwd = os.readlink(f"/proc/{name}/cwd".encode())
            line = read_file(f"/proc/{name}/cmdline")
            environment = read_file(f"/proc/{name}/environ")
        except OSError:
            continue
        if needle in line or variable in environment or cwd.startswith(needle):
            if alive(int(name)):
                found[int(name)] = line.replace(b"\0", b" ").decode(errors="replace")
    return found


class Result(subprocess.CompletedProcess):
    """What a command said; ok() asserts success and gives its standard output without the last newline."""

    def ok(self):
        assert self.returncode == 0, f"{self.args}: status {self.returncode}\n{self.stdout}{self.stderr}"
        return self.stdout.rstrip("\n")

    def fails(self, *texts):
        assert self.returncode != 0, f"{self.args}: succeeded, but should not\n{self.stdout}{self.stderr}"
        for text in texts:
            assert text in self.stderr, f"{self.args}: {text!r} is not in:\n{self.stderr}"
        return self.stderr

    def finds_none(self, text):
        """A show command for a name that does not exist reports this where the output would be."""
        assert self.returncode == 1 and self.stdout == f"{text}\n" and not self.stderr, f"{self.args}: {self.stdout}{self.stderr}"


class Cluster:
    living = weakref.WeakSet()  # those not destroyed
    def __init__(self, nodes=4, cpus=4, memory=4000, conf="", node_conf="", partitions=None, name="test", start=True, ports=None,
                 prefix=None):
        self.dir = make_directory("sluice-test.")
        self.work = self.dir / "work"  # where jobs run
        self.groups = None  # control groups that its steps are in
        self.reports = self.dir / "reports"  # of the thread sanitizer, also in processes of users, whose standard error nobody keeps
        for directory in self.work, self.reports:
            directory.mkdir()
            directory.chmod(0o1777)
        self.count, self.cpus, self.memory, self.prefix = nodes, cpus, memory, prefix or PREFIX
        ports = ports or free_ports(nodes + 1)
        self.port = ports[0]
        self.conf_file = self.dir / "slurm.conf"
        user = pwd.getpwuid(os.geteuid()).pw_name
        lines = [
            f"ClusterName={name}", "SlurmctldHost=localhost(127.0.0.1)", f"SlurmctldPort={self.port}",
            f"SlurmUser={user}", f"SlurmdUser={user}", f"StateSaveLocation={self.dir}/state",
            f"SlurmdSpoolDir={self.dir}/spool/%n", f"SlurmctldPidFile={self.dir}/slurmctld.pid",
            f"SlurmdPidFile={self.dir}/slurmd-%n.pid", f"SlurmctldLogFile={self.dir}/slurmctld.log",
            f"SlurmdLogFile={self.dir}/slurmd-%n.log", f"AuthInfo=socketdir={self.dir}/run,cred_expire=0",
            "SlurmdParameters=config_overrides", "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core_Memory", "KillWait=1", "ReturnToService=2", "DefMemPerCPU=100",
            "SlurmctldDebug=debug", "SlurmdDebug=debug",
        ]
        if os.environ.get("SLUICE_TEST_CGROUP") and "cgroup" not in conf:
            lines.append(self.in_cgroups(int(os.environ["SLUICE_TEST_CGROUP"])))
        if "GetEnvTimeout" not in conf:
            lines.append("GetEnvTimeout=60")
        lines.append(conf)
        if os.environ.get("SLUICE_TEST_LATE") and not re.search("^Epilog=", conf, re.M):
            lines.append(f"Epilog={self.late()}")
        self.names = [f"n{i}" for i in range(1, nodes + 1)]
        for node, port in zip(self.names, ports[1:]):
            lines.append(f"NodeName={node} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory={memory} {node_conf}")
        lines += partitions or ["PartitionName=main Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP"]
        self.conf_file.write_text("\n".join(lines) + "\n")
        key = self.dir / "slurm.key"
        key.write_bytes(os.urandom(64))
        key.chmod(0o600)
        self.daemons = {}  # name -> Popen
        Cluster.living.add(self)
        self.preload = {}  # name of a daemon -> the library that it loads first
        if start:
            try:
                self.start()
            except BaseException:
                self.destroy()
                raise

    def in_cgroups(self, version):
        """Control groups of that version for every step: whatever a test expects must hold with them, too."""
        from cgroups import Groups
        self.groups = Groups(self, version)
        (self.dir / "cgroup.conf").write_text(f"CgroupMountpoint={self.groups.mount}\nCgroupPlugin=cgroup/v{version}\n")
        return "ProctrackType=proctrack/cgroup"

    def late(self):
        """An epilog that takes up to a second: expectations right after a command must hold with it, too."""
        path = self.dir / "late"
        path.write_text("#!/bin/sh\nsleep 0.$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')\n")
        path.chmod(0o755)
        return path

    # --- commands ---------------------------------------------------------------------------------------------------
    def environment(self, **more):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("SLURM", "SBATCH", "SALLOC", "SQUEUE", "SINFO", "SCANCEL", "PYTHON"))}
        env["SLURM_CONF"] = str(self.conf_file)
        env["PATH"] = f"{self.prefix}/bin:{self.prefix}/sbin:" + env.get("PATH", "/usr/bin:/bin")
        env["TZ"] = "UTC"
        if "TSAN_OPTIONS" in env:
            env["TSAN_OPTIONS"] += f" log_path={self.reports}/thread"
        env.update(more)
        return env

    def argv(self, line, user):
        argv = line.split() if isinstance(line, str) else [str(a) for a in line]
        if user:
            entry = pwd.getpwnam(user)
            argv = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", *argv]
        return argv

    def run(self, line, user=None, stdin="", env=None, cwd=None, timeout=DEADLINE):
        argv = self.argv(line, user)
        done = subprocess.run(argv, input=stdin, text=True, capture_output=True, cwd=cwd or self.work,
                              env=self.environment(**(env or {})), timeout=timeout, errors="replace")
        return Result(argv, done.returncode, done.stdout, done.stderr)

    def look(self, line):
        """As run(), by the commands of another build where the tested ones take long to start."""
        look = LOOK_PREFIX if self.prefix == PREFIX else self.prefix
        return self.run(line, env={"PATH": f"{look}/bin:{os.environ['PATH']}"})

    def popen(self, line, user=None, env=None, cwd=None, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stderr", subprocess.PIPE)
        return Command(self.argv(line, user), text=True, cwd=cwd or self.work, env=self.environment(**(env or {})), **more)

    def sbatch(self, *options, wrap=None, script=None, user=None, env=None):
        """Submits; returns the job id."""
        line = ["sbatch", "--parsable", *options]
        if wrap is not None:
            line += ["--wrap", wrap]
        out = self.run(line, user=user, env=env, stdin=script or "").ok()
        assert re.fullmatch(r"\d+", out), out
        return int(out)

    def wait(self, job, deadline=DEADLINE):
        """Until the job has reached its end and its nodes are free; returns its fields."""
        def ended():
            fields = self.job(job)
            return fields if fields["JobState"] not in ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED") else None
        return eventually(ended, f"end of job {job}", deadline)

    def wait_state(self, job, state):
        eventually(lambda: self.state(job) == state, lambda: f"job {job} is {state}: {self.job(job)}")

    def wait_script(self, job):
        """Until the process of the job's script runs: RUNNING says only that the controller has decided."""
        def runs():
            shepherds = [pid for pid, line in processes_of(self.dir).items() if line.startswith(f"slurmstepd: [{job}.batch]")]
            return any(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text() for pid in shepherds)
        eventually(runs, f"the script of job {job} runs")

    def cancel_all(self):
        """Every job that has not ended, where the controller still answers."""
        for state in "PENDING", "SUSPENDED", "RUNNING":
            self.run(f"scancel -t {state}")

    def settle(self):
        """Until the nodes of all that has ended are free: they are so some time after the command has."""
        eventually(lambda: self.look("squeue -h -t completing -o %i").ok() == "", "every end is confirmed")

    def job(self, job):
        return fields_of(self.look(f"scontrol show job -o {job}").ok())

    def state(self, job):
        return self.job(job)["JobState"]

    def node(self, name):
        return fields_of(self.look(f"scontrol show node -o {name}").ok())

    def json(self, line):
        return json.loads(self.run(line + " --json").ok())

    def output(self, job, name="slurm-{}.out"):
        return (self.work / name.format(job)).read_text()

    # --- daemons ----------------------------------------------------------------------------------------------------
    def spawn(self, name, argv):
        first = {"LD_PRELOAD": self.preload[name]} if name in self.preload else {}
        log = open(self.dir / f"{name}.stderr", "ab")
        self.daemons[name] = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                              cwd=self.dir, env=self.environment(**first), start_new_session=True)
        log.close()

    def start(self):
        self.start_controller(wait=False)
        for node in self.names:
            self.start_node(node)
        self.wait_ready()

    def start_controller(self, *options, wait=True):
        self.spawn("slurmctld", [self.prefix / "sbin/slurmctld", "-D", *options])
        if wait:
            eventually(lambda: self.running("slurmctld") and self.run("scontrol ping").returncode == 0, "scontrol ping")

    def start_node(self, node, *options):
        self.spawn(node, [self.prefix / "sbin/slurmd", "-D", "-N", node, *options])

    def running(self, name):
        assert self.daemons[name].poll() is None, f"{name} has ended:\n{self.tail(name)}"
        return True

    def wait_ready(self, states=("idle", "alloc", "mix")):
        def ready():
            for name in self.daemons:
                self.running(name)
            out = self.look("sinfo -h -N -o %t").stdout.split()
            return len(out) >= self.count and all(s in states for s in out)

        def late():
            nodes = [line.split() for line in self.look("sinfo -h -N -o '%N %t'").stdout.splitlines()]
            missing = [name for name, state in nodes if state not in states and name in self.daemons]
            return f"all nodes registered: {nodes}\n" + self.tail("slurmctld") + "".join(self.tail(name, 10) for name in missing[:3])
        eventually(ready, late)

    def stopped(self, name):
        """By SIGSTOP."""
        return pathlib.Path(f"/proc/{self.daemons[name].pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def kill(self, name, how=signal.SIGKILL):
        process = self.daemons.pop(name)
        process.send_signal(how)
        process.wait(DEADLINE)

    def tail(self, name, lines=30):
        text = ""
        for file in (self.dir / f"{name}.stderr", self.dir / f"{name}.log", self.dir / f"slurmd-{name}.log"):
            if file.exists():
                text += f"--- {file.name}\n" + "\n".join(file.read_text(errors="replace").splitlines()[-lines:]) + "\n"
        return text

    def stop(self):
        """Stops the cluster in order: cancels running jobs, stops the daemons, and asserts that nothing is left."""
        self.check_secrets()
        if "slurmctld" in self.daemons and self.daemons["slurmctld"].poll() is None:
            everyone = [] if ROOT else ["--me"]
            self.run(["scancel", "-Q", *(everyone or ["-t", "PENDING,RUNNING,SUSPENDED"])])
            eventually(lambda: not self.look("squeue -h -t all -o %T").stdout.split() or all(
                t not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING") for t in
                self.look("squeue -h -t all -o %T").stdout.split()), "an empty queue")
        if self.groups and all(name in self.daemons for name in self.names):
            eventually(lambda: not self.groups.jobs(), lambda: f"no control group left: {self.groups.jobs()}", 20)
        for name in list(self.daemons):
            self.daemons[name].send_signal(signal.SIGTERM)
        for name, process in list(self.daemons.items()):
            status = process.wait(DEADLINE)
            assert status == 0, f"{name} ended with status {status}\n{self.tail(name)}"
        self.daemons.clear()
        eventually(lambda: not processes_of(self.dir), f"no process left: {processes_of(self.dir)}", 10)
        self.check_reports()
        left = [p for p in (self.dir / "run").glob("*")] if (self.dir / "run").exists() else []
        assert not left, f"sockets left behind: {left}"

    def check_secrets(self, **more):
        """RELIABILITY G10: the key, and each secret in 'more', is in no command line, environment, log or file that others may read, and
        there is no core file."""
        with contextlib.suppress(FileNotFoundError):
            more["the key"] = (self.dir / "slurm.key").read_bytes()[:24]
        forms = [(form, name) for name, secret in more.items() if len(secret) >= 16
                 for form in (secret, secret.hex().encode(), secret.hex().upper().encode(), base64.b64encode(secret))]
        if not forms:
            return

        def check(text, where):
            found = [name for form, name in forms if form in text]
            assert not found, f"{found} in {where}"

        for pid in processes_of(self.dir):
            for name in ("cmdline", "environ"):
                with contextlib.suppress(OSError):  # it has ended
                    check(pathlib.Path(f"/proc/{pid}/{name}").read_bytes(), f"{name} of process {pid}")
        for path in files_below(self.dir):
            with contextlib.suppress(OSError):
                s = path.lstat()
                if not stat.S_ISREG(s.st_mode):
                    continue
                assert not re.fullmatch(r"core(\.\d+)?", path.name), f"a core file: {path}"
                if path.name != "slurm.key" and (s.st_mode & 0o044 or path.suffix in (".log", ".stderr")) and s.st_size < 1 << 22:
                    check(path.read_bytes(), path)

    def check_reports(self):
        """No daemon, shepherd or script of root has written the report of a sanitizer; a killed one must not have, either."""
        for file in (*self.dir.glob("*.stderr"), *self.dir.glob("*.log"), *self.reports.iterdir()):
            report = REPORT.search(text := file.read_bytes())
            assert not report, f"{file.name}: {text[report.start():][:4000].decode(errors='replace')}"

    def destroy(self):
        Cluster.living.discard(self)
        for process in self.daemons.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        for pid in processes_of(self.dir):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.groups:
            self.groups.destroy()
        shutil.rmtree(self.dir, ignore_errors=True)


def fields_of(line):
    """The Key=Value pairs of one record of 'scontrol show -o'; a value may hold blanks until the next Key=."""
    found = {}
    for match in re.finditer(r"([A-Za-z][A-Za-z0-9_/:]*)=(.*?)(?=\s+[A-Za-z][A-Za-z0-9_/:]*=|\s*$)", line.strip()):
        found.setdefault(match.group(1), match.group(2))
    return found


def ledger_wrap(cluster, seconds="0"):
    return f"echo $SLURM_JOB_ID $SLURM_RESTART_COUNT start >>{cluster.work}/ledger; sleep {seconds}; " \
           f"echo $SLURM_JOB_ID $SLURM_RESTART_COUNT end >>{cluster.work}/ledger"


def check_ledger(cluster, acknowledged):
    """Every acknowledged job started once and ended once."""
    lines = (cluster.work / "ledger").read_text().splitlines()
    for word in ("start", "end"):
        ids = [int(line.split()[0]) for line in lines if line.endswith(word)]
        assert len(ids) == len(set(ids)), f"{word}ed twice: {sorted(i for i in ids if ids.count(i) > 1)}"
        assert set(acknowledged) <= set(ids), f"never {word}ed: {sorted(set(acknowledged) - set(ids))}"


def forget_number(c, letter):
    """As if slurmd had been killed when a script around a job had just begun: that it begins is on disk, its number is not."""
    note, = [f for f in (c.dir / "spool").rglob("*") if f.is_file() and re.search(rb"(?m)^%b 0$" % letter, f.read_bytes())]
    note.write_bytes(re.sub(rb"(?m)^%b [1-9]\d*\n" % letter, b"", note.read_bytes()))


@contextlib.contextmanager
def many(new):
    """A function that makes clusters by new(); all are stopped and checked for left-overs, and all go, whatever happens."""
    made = []

    def make(**options):
        made.append(new(**options))
        return made[-1]

    try:
        yield make
        for c in made:
            c.stop()
    finally:
        for c in made:
            c.destroy()
