# SPDX-License-Identifier: GPL-3.0-or-later
"""sbcast: a file to the nodes of a job (X-18; the tree CORE-225, commit CORE-227, faults CORE-228 and CORE-229)."""
import contextlib
import hashlib
import os
import pathlib
import pwd
import random
import re
import signal
import stat
import subprocess

import pytest

from harness import ROOT, Cluster, alive, eventually
from preload import library

pytestmark = pytest.mark.skipif(not ROOT, reason="nodes get file systems of their own")
MIB = 1 << 20


class Private(Cluster):
    """Nodes of one host, each of which has a directory 'local' of its own, a small disk."""

    def __init__(self, nodes=4, size="64m", **more):
        self.size = size
        super().__init__(nodes=nodes, **more)

    def spawn(self, name, argv):
        local = self.dir / "local"
        local.mkdir(exist_ok=True)
        if name in self.names:
            line = f'mount -t tmpfs -o size={self.size},mode=1777 tmpfs {local} && exec "$@"'
            argv = ["unshare", "-m", "--propagation", "private", "sh", "-c", line, "sh", *argv]
        super().spawn(name, argv)

    def at(self, node, path=""):
        """The path below that directory, as that node sees it."""
        return pathlib.Path(f"/proc/{self.daemons[node].pid}/root{self.dir}/local/{path}")

    def sums(self, path):
        """Of the file of each node; None: it has none."""
        return [digest(self.at(n, path)) if self.at(n, path).exists() else None for n in self.names]

    def left(self):
        """What lies in the directories of the nodes."""
        return sorted({p.name for n in self.names for p in self.at(n).iterdir()})

    def receivers(self):
        """Node to process, of those that receive."""
        return {n: pid for n in self.names for pid in children(self.daemons[n].pid, "slurmstepd-cast")}

    def put(self, path, data):
        for node in self.names:
            self.at(node, path).write_bytes(data)


def children(pid, name):
    found = []
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{child}/cmdline").read_text().startswith(name):
                found.append(int(child))
    return found


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


@contextlib.contextmanager
def running(make, **options):
    c = make(**options)
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


@pytest.fixture(scope="module")
def nodes():
    with running(Private, nodes=7) as c:
        c.source = c.dir / "source"
        c.source.write_bytes(random.Random(7).randbytes(5 * MIB + 12345))
        c.source.chmod(0o644)
        yield c


@contextlib.contextmanager
def job(c, user=None, nodes=None):
    """A job that has all nodes and does nothing."""
    number = c.sbatch("-N", str(nodes or c.count), "-o", "/dev/null", wrap="sleep 600", user=user)
    eventually(lambda: c.state(number) == "RUNNING", "it runs")
    try:
        yield number
    finally:
        c.run(f"scancel {number}").ok()
        c.wait(number)


@pytest.fixture
def mine(nodes):
    with job(nodes) as number:
        nodes.job_id = number
        yield nodes
    eventually(lambda: not nodes.receivers(), "no receiver is left")
    for node in nodes.names:
        for path in nodes.at(node).iterdir():
            subprocess.run(["rm", "-rf", path], check=True)


def sbcast(c, *words, **more):
    return c.run(["sbcast", "-j", str(c.job_id), *map(str, words)], **more)


def test_sbcast_waits_for_a_suspended_job(mine):
    """sbcast waits, also for a job that gang scheduling suspends, and prints the reason once."""
    mine.run(f"scontrol suspend {mine.job_id}").ok()
    waiting = mine.popen(["sbcast", "-j", str(mine.job_id), mine.source, f"{mine.dir}/local/later"])
    said = waiting.stderr.readline()
    assert said == "sbcast: Requested nodes are busy: the job is suspended: waiting\n", said
    assert not any((mine.at(node) / "later").exists() for node in mine.names)
    mine.run(f"scontrol resume {mine.job_id}").ok()
    out, err = waiting.communicate()
    assert waiting.returncode == 0 and err == "", err
    assert {digest(mine.at(node) / "later") for node in mine.names} == {digest(mine.source)}


def test_file_reaches_every_node(mine):
    """X-18, CORE-225: with every width of the tree."""
    for width in (1, 2, 3, 8):
        dest = f"{mine.dir}/local/w{width}"
        sbcast(mine, "-F", width, mine.source, dest).ok()
        assert mine.sums(f"w{width}") == [digest(mine.source)] * 7
    assert mine.left() == ["w1", "w2", "w3", "w8"]


def test_components_of_a_heterogeneous_job(nodes):
    """HET-58, HET-59: the nodes of all components, or those of the one that is named, have the same bytes; no other node has any."""
    leader = int(nodes.run(["sbatch", "--parsable", "-o", "/dev/null", "-wn1", "-N1", ":", "-wn[2-3]", "-N2", ":", "-wn[5-6]", "-N2", "--component=io",
                            "--wrap=sleep 600"]).ok())
    eventually(lambda: nodes.state(leader) == "RUNNING", "it runs")
    members = (0,), (1, 2), (4, 5)
    for name, asked, groups in (("all", leader, (0, 1, 2)), ("first", f"{leader}.0", (0,)), ("plus", f"{leader}+1", (1,)), ("dot", f"{leader}.2", (2,)),
                                ("named", f"{leader}+io", (2,)), ("own", leader + 1, (1,))):
        nodes.run(["sbcast", "-j", str(asked), str(nodes.source), f"{nodes.dir}/local/{name}"]).ok()
        there = {node for group in groups for node in members[group]}
        assert nodes.sums(name) == [digest(nodes.source) if i in there else None for i in range(7)], name
    nodes.run(["sbcast", "-j", f"{leader}+3", str(nodes.source), f"{nodes.dir}/local/none"]).fails("has components 0 to 2")
    nodes.run(f"scancel {leader}").ok()
    nodes.wait(leader)
    eventually(lambda: not nodes.receivers(), "no receiver is left")
    for node in nodes.names:
        for path in nodes.at(node).iterdir():
            subprocess.run(["rm", "-rf", path], check=True)


def test_nodelist_selects_nodes_of_the_job(mine):
    """--nodelist: a subset of the job's nodes, in any order; others of the cluster are refused, and nothing is copied then."""
    sbcast(mine, "-F1", "-w", "n[6,2-3],n2", mine.source, f"{mine.dir}/local/some").ok()
    assert [s is not None for s in mine.sums("some")] == [f"n{i}" in ("n2", "n3", "n6") for i in range(1, 8)]
    for nodes in ("n1,n99", "n[", ""):
        assert sbcast(mine, "-f", f"--nodelist={nodes}", mine.source, f"{mine.dir}/local/none").returncode == 1
    sbcast(mine, "-w", "n1,n99", mine.source, f"{mine.dir}/local/none").fails("Invalid node name specified: --nodelist=n1,n99 has nodes that are not of job")
    sbcast(mine, "-w", "n99", mine.source, f"{mine.dir}/local/none").fails("--nodelist=n99 names no node of job")
    assert mine.left() == ["some"]
    sbcast(mine, "-Z", "-w", "n[2-4]", "-F1", mine.source, f"{mine.dir}/local/other").ok()  # of no job
    assert [n for n, s in zip(mine.names, mine.sums("other"), strict=True) if s == digest(mine.source)] == ["n2", "n3", "n4"]


def test_files_of_any_length_are_copied(mine):
    source = mine.dir / "edge"
    for length in (0, 1, 65535, 65536, 65537, 4 * 65536):
        source.write_bytes(random.Random(length).randbytes(length))
        sbcast(mine, "-f", "-s", "64k", source, f"{mine.dir}/local/edge").ok()
        assert mine.sums("edge") == [digest(source)] * 7, length


def test_sbcast_copies_inside_an_allocation(mine):
    """The job is that of SLURM_JOB_ID; a relative DEST is where sbcast is."""
    env = {"SLURM_JOB_ID": str(mine.job_id)}
    mine.run(["sbcast", mine.source, "here"], env=env, cwd=mine.dir / "local").ok()
    assert mine.sums("here") == [digest(mine.source)] * 7
    mine.run(["sbcast", mine.source, f"{mine.dir}/local/"], env=env).ok()
    assert mine.sums("source") == [digest(mine.source)] * 7


def test_mode_and_times_are_preserved(mine):
    source = mine.dir / "program"
    source.write_bytes(b"#!/bin/sh\necho here\n")
    source.chmod(0o775)
    os.utime(source, ns=(10**18 + 1, 10**18 + 7))
    sbcast(mine, source, f"{mine.dir}/local/plain").ok()
    sbcast(mine, "-p", source, f"{mine.dir}/local/kept").ok()
    for node in mine.names:
        plain, kept = mine.at(node, "plain").stat(), mine.at(node, "kept").stat()
        assert stat.S_IMODE(plain.st_mode) == 0o755 and plain.st_mtime_ns != 10**18 + 7
        assert stat.S_IMODE(kept.st_mode) == 0o775 and kept.st_mtime_ns == 10**18 + 7


@pytest.mark.parametrize("path", ["/proc/version", "/sys/devices/system/cpu/possible", "empty"])
def test_file_of_unknown_size_is_copied(mine, path):
    source = pathlib.Path(path)
    if path == "empty":
        source = mine.dir / "empty"
        source.touch()
    sbcast(mine, "-f", source, f"{mine.dir}/local/text").ok()
    for node in mine.names:
        assert mine.at(node, "text").read_bytes() == source.read_bytes()


def test_endless_files_are_refused(mine):
    """The end of such a file cannot be reached: it is refused, and nothing is sent."""
    sbcast(mine, "/proc/kmsg", f"{mine.dir}/local/text2").fails("`/proc/kmsg`")
    pipe = mine.dir / "pipe"
    os.mkfifo(pipe)
    sbcast(mine, pipe, f"{mine.dir}/local/text2").fails(f"`{pipe}` is not a regular file")
    assert not mine.at("n1", "text2").exists()


def test_broadcast_network_is_used():
    """BcastAddr: requests go to the node daemons as before, the file goes to the other address."""
    with running(Private, nodes=2, start=False) as c:
        text = c.conf_file.read_text()
        c.conf_file.write_text(re.sub(r"^(NodeName=n(\d) .*)$", r"\1 BcastAddr=127.0.9.\2", text, flags=re.M))
        c.start()
        assert [c.node(node).get("BcastAddr") for node in c.names] == ["127.0.9.1", "127.0.9.2"]
        number = c.sbatch("-N2", "-o", "/dev/null", wrap="exec sleep 200000")
        eventually(lambda: c.state(number) == "RUNNING", "it runs")
        source = c.dir / "source"
        source.write_bytes(bytes(60 * MIB))
        process = c.popen(["sbcast", "-j", str(number), "-F1", source, f"{c.dir}/local/x"])
        seen = set()

        def look():
            for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
                address = line.split()[2].split(":")[0]
                if address in ("0109007F", "0209007F"):
                    seen.add(address)
            return len(seen) == 2 or process.poll() is not None
        eventually(look, "both receivers are connected to")
        assert process.wait(60) == 0 and len(seen) == 2
        assert c.sums("x") == [digest(source)] * 2


def test_node_without_the_broadcast_network_is_named():
    """CORE-229: the others have the file, and are named."""
    with running(Private, nodes=3, start=False) as c:
        text = c.conf_file.read_text()
        c.conf_file.write_text(re.sub(r"^(NodeName=n2 .*)$", rf"\1 BcastAddr=no-such-host.invalid", text, flags=re.M))
        c.start()
        number = c.sbatch("-N3", "-o", "/dev/null", wrap="exec sleep 200000")
        eventually(lambda: c.state(number) == "RUNNING", "it runs")
        source = c.dir / "source"
        source.write_bytes(b"data")
        said = c.run(["sbcast", "-j", str(number), source, f"{c.dir}/local/x"]).fails("REQUEST_FILE_BCAST(n2): ")
        assert said.endswith(f"sbcast: error: `{source}` is on n[1,3] only, as {c.dir}/local/x\n"), said
        assert c.sums("x") == [digest(source), None, digest(source)]


def test_existing_file_is_kept_without_force(mine):
    mine.put("there", b"old")
    said = sbcast(mine, mine.source, f"{mine.dir}/local/there").fails()
    assert "sbcast: error: REQUEST_FILE_BCAST(n[1-7]): File exists" in said and said.count("REQUEST") == 1, said
    for node in mine.names:
        assert mine.at(node, "there").read_bytes() == b"old"
    sbcast(mine, "-f", mine.source, f"{mine.dir}/local/there").ok()
    assert mine.sums("there") == [digest(mine.source)] * 7
    assert mine.left() == ["there"]


def test_failure_of_one_node_leaves_the_file_on_none(mine):
    """CORE-227: one node fails, so no node has the file."""
    mine.at("n5", "one").write_bytes(b"old")
    said = sbcast(mine, mine.source, f"{mine.dir}/local/one").fails("(n5): File exists", "no node has it")
    assert "(n4)" not in said
    assert [s is not None for s in mine.sums("one")] == [n == "n5" for n in mine.names]
    assert mine.at("n5", "one").read_bytes() == b"old"


def test_full_disk_is_reported(mine):
    """CORE-227: the error names the place and comes before any data is written."""
    big = mine.dir / "big"
    with open(big, "wb") as f:
        f.truncate(65 * MIB)
    sbcast(mine, big, f"{mine.dir}/local/big").fails("REQUEST_FILE_BCAST(n[1-7]): No space left on device")
    assert mine.left() == []


def test_disk_filling_on_one_node_leaves_no_file(mine):
    mine.at("n2", "filler").write_bytes(bytes(62 * MIB))
    said = sbcast(mine, mine.source, f"{mine.dir}/local/x").fails("REQUEST_FILE_BCAST(n2): No space left on device")
    assert said.count("REQUEST_FILE_BCAST") == 1
    assert mine.left() == ["filler"]


def test_links_are_not_followed(mine):
    """G6: the target of a link at the end of the path remains unchanged."""
    secret = mine.dir / "secret"
    secret.write_text("not yours")
    for node in mine.names:
        mine.at(node, "link").symlink_to(secret)
    sbcast(mine, mine.source, f"{mine.dir}/local/link").fails("File exists")
    sbcast(mine, "-f", mine.source, f"{mine.dir}/local/link").ok()
    assert secret.read_text() == "not yours"
    for node in mine.names:
        assert not mine.at(node, "link").is_symlink()
    assert mine.sums("link") == [digest(mine.source)] * 7


def test_invalid_destinations_are_refused(mine):
    where = f"{mine.dir}/local"
    sbcast(mine, mine.source, f"{where}/no/such").fails("(n[1-7]): No such file or directory")
    sbcast(mine, "-f", mine.source, where).fails("(n[1-7]): Is a directory")
    sbcast(mine, mine.source, f"{where}/" + "x" * 300).fails("(n[1-7]): File name too long")
    sbcast(mine, mine.source, f"{where}/a\nb").ok()
    assert mine.left() == ["a\nb"]


def test_nodes_may_share_a_directory(mine):
    """Nodes that share a file system: they agree on the file, with and without force."""
    dest = mine.work / "shared"
    sbcast(mine, mine.source, dest).ok()
    assert digest(dest) == digest(mine.source)
    sbcast(mine, mine.source, dest).fails("File exists")
    sbcast(mine, "-f", mine.source, dest).ok()
    assert [p.name for p in mine.work.iterdir()] == ["shared"]
    dest.unlink()


def test_compressible_and_random_data_are_copied(mine):
    """X-18: data that can be compressed, and data that cannot."""
    text = mine.dir / "text"
    text.write_bytes(b"all work and no play\n" * 300000)
    for name, source in (("t", text), ("r", mine.source)):
        sbcast(mine, "--compress", "-F", "1", source, f"{mine.dir}/local/{name}").ok()
        assert mine.sums(name) == [digest(source)] * 7
    sbcast(mine, "-f", "-C=lz4", text, f"{mine.dir}/local/t").ok()
    done = sbcast(mine, "-f", "--compress=rot13", text, f"{mine.dir}/local/t")
    assert done.returncode == 0
    assert done.stderr == "sbcast: error: Compression type 'rot13' unknown, disabling compression support.\n"
    assert mine.sums("t") == [digest(text)] * 7


def test_file_is_created_with_the_rights_of_the_user(nodes):
    """The receiver acts with the rights of the job's user: files that the user may not write remain unchanged."""
    c = nodes
    user = pwd.getpwnam("nobody")
    with job(c, user="nobody") as number:
        c.job_id = number
        for node in c.names:
            c.at(node, "roots").mkdir(0o755)
            c.at(node, "shut").mkdir(0o700)
            c.at(node, "rootfile").write_text("root's")
        sbcast(c, c.source, f"{c.dir}/local/mine", user="nobody").ok()
        for node in c.names:
            assert c.at(node, "mine").stat().st_uid == user.pw_uid
            assert c.at(node, "mine").stat().st_gid == user.pw_gid
        sbcast(c, c.source, f"{c.dir}/local/roots/x", user="nobody").fails("(n[1-7]): Permission denied")
        sbcast(c, c.source, f"{c.dir}/local/shut/x", user="nobody").fails("(n[1-7]): Permission denied")
        sbcast(c, "-f", c.source, f"{c.dir}/local/rootfile", user="nobody").fails("(n[1-7]): Operation not permitted")
        for node in c.names:
            assert c.at(node, "rootfile").read_text() == "root's"
        # root may, and writes as the job's user.
        sbcast(c, "-f", c.source, f"{c.dir}/local/mine").ok()
        sbcast(c, c.source, f"{c.dir}/local/roots/x").fails("(n[1-7]): Permission denied")
        assert c.at("n1", "mine").stat().st_uid == user.pw_uid
        sbcast(c, c.source, f"{c.dir}/local/other", user="daemon").fails("Access/permission denied")
    assert all("other" not in os.listdir(c.at(n)) for n in c.names)
    for node in c.names:
        subprocess.run(f"rm -rf {c.at(node)}/*", shell=True, check=True)


def test_invalid_command_lines_are_refused_as_slurm_does(mine):
    """As Slurm says it, with its exit status."""
    done = mine.run("sbcast one")
    assert done.returncode == 1
    assert done.stderr == 'Need two file names, have 1 names\nTry "sbcast --help" for more information\n'
    done = mine.run("sbcast a b")
    assert done.returncode == 1
    assert done.stderr == ("sbcast: error: Need a job id to run this command.  "
                           "Run from within a Slurm job or use the --jobid option.\n")
    done = sbcast(mine, "/no/such", "/tmp/x")
    assert (done.returncode, done.stderr) == (255, "sbcast: error: Can't open `/no/such`: No such file or directory\n")
    assert sbcast(mine, "/dev/zero", "/tmp/x").returncode == 255
    mine.run("sbcast -j 999 /etc/passwd /tmp/x").fails("Invalid job id specified")
    mine.run(f"sbcast -j {mine.job_id}.9 /etc/passwd /tmp/x").fails("Invalid job step id specified")
    mine.run("sbcast -j nonsense /etc/passwd /tmp/x").fails("Invalid job id specified: nonsense")
    assert mine.run("sbcast --version").ok().startswith("slurm ")
    assert "--send-libs" in mine.run("sbcast --help").ok()


def test_cast_to_a_pending_or_ended_job_is_refused(nodes):
    number = nodes.sbatch("-H", "-N", "1", wrap="true")
    nodes.run(f"sbcast -j {number} /etc/passwd {nodes.dir}/local/x").fails("Job is pending execution")
    nodes.run(f"scancel {number}").ok()
    nodes.run(f"sbcast -j {number} /etc/passwd {nodes.dir}/local/x").fails("Job/step already completing or completed")


def test_cast_to_a_step_reaches_its_nodes_only(mine):
    step = mine.popen(["srun", "--overlap", f"--jobid={mine.job_id}", "-N2", "-n2", "-w", "n2,n4", "sleep", "600"])
    eventually(lambda: "0" in mine.run(f"squeue -h -s -j {mine.job_id} -o %i").stdout, "the step")
    mine.run(f"sbcast -j {mine.job_id}.0 {mine.source} {mine.dir}/local/s").ok()
    mine.run(f"sbcast -j {mine.job_id}.batch {mine.source} {mine.dir}/local/b").ok()
    assert [s is not None for s in mine.sums("s")] == [n in ("n2", "n4") for n in mine.names]
    assert [s is not None for s in mine.sums("b")] == [n == "n1" for n in mine.names]
    step.send_signal(signal.SIGKILL)
    step.communicate()
    mine.run(f"scancel {mine.job_id}.0")


# --- faults: a transfer that stands still until the fault is there ------------------------------------------------------

def written(pid):
    """Bytes that the process has written to anything."""
    return int(pathlib.Path(f"/proc/{pid}/io").read_text().split("wchar: ")[1].split()[0])


# The sender reads on only when the file 'hold' has gone: half of the file is under way until then.
HOLD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

static ssize_t held_pread(int fd, void *buf, size_t len, off64_t at)
{
    ssize_t (*real)(int, void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pread64");

    while (at == 24 << 20 && access(DIR "/hold", F_OK) == 0)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    return real(fd, buf, len, at);
}
ssize_t pread64(int fd, void *buf, size_t len, off64_t at)
{
    return held_pread(fd, buf, len, at);
}
ssize_t __pread64_chk(int fd, void *buf, size_t len, off64_t at, size_t room)
{
    return held_pread(fd, buf, len, at);
}
"""


class Midway:
    """A transfer that is held when every node has something and none has all; down a chain, n1 first."""

    def __init__(self, c, *options, source=None, dest=None):
        eventually(lambda: not c.receivers(), "those of the one before have ended")
        self.hold = c.holding.parent / "hold"
        self.hold.touch()
        self.run = c.popen(["sbcast", "-j", str(c.job_id), "-f", "-F1", "-s64k", "-t5", *options, str(source or c.large),
                            dest or f"{c.dir}/local/half"], env={"LD_PRELOAD": str(c.holding)})
        eventually(lambda: len(c.receivers()) == c.count, "all of them receive")
        self.pids = c.receivers()
        eventually(lambda: min(map(written, self.pids.values())) > MIB, "all of them have something")
        assert max(map(written, self.pids.values())) < 25 * MIB

    def kill(self, node, how=signal.SIGKILL):
        os.kill(self.pids[node], how)

    def finish(self):
        self.hold.unlink()
        out, said = self.run.communicate(timeout=60)
        return self.run.returncode, said

    def gone(self):
        eventually(lambda: not any(map(alive, self.pids.values())), "no receiver is left")


@pytest.fixture
def large(mine):
    mine.large = mine.dir / "large"
    if not mine.large.exists():
        mine.large.write_bytes(random.Random(9).randbytes(48 * MIB))
        where = mine.dir / "held"
        where.mkdir()
        mine.holding = pathlib.Path(library(where, HOLD))
    yield mine


@pytest.mark.parametrize("which", ["n1", "n4", "n7"])
def test_dying_node_fails_alone(large, which):
    """CORE-228, CORE-229: only this node fails; the nodes below it continue from their positions."""
    m = Midway(large)
    m.kill(which)
    status, said = m.finish()
    assert status == 1
    assert f"sbcast: error: REQUEST_FILE_BCAST({which}): " in said and said.count("REQUEST") == 1, said
    assert large.sums("half") == [None if n == which else digest(large.large) for n in large.names]
    m.gone()


@pytest.mark.parametrize("dying", ["236", "13"])
def test_several_dying_nodes_fail_alone(large, dying):
    """CORE-229: neighbours, too, and the two that one is fed by and feeds."""
    m = Midway(large)
    for n in dying:
        m.kill(f"n{n}")
    status, said = m.finish()
    told = re.findall(r"^sbcast: error: REQUEST_FILE_BCAST\((.*?)\): ", said, re.M)
    assert status == 1 and told and sorted(re.findall(r"\d", ",".join(told))) == list(dying), said
    assert large.sums("half") == [None if n[1] in dying else digest(large.large) for n in large.names]
    m.gone()


def test_hanging_node_is_given_up(large):
    """CORE-229: it is given up after --timeout, and does no harm when it wakes."""
    m = Midway(large, "-t3")
    m.kill("n3", signal.SIGSTOP)
    status, said = m.finish()
    assert status == 1
    assert "REQUEST_FILE_BCAST(n3): it has been silent for too long (--timeout)" in said and said.count("REQUEST") == 1, said
    m.kill("n3", signal.SIGCONT)
    m.gone()
    assert large.sums("half") == [None if n == "n3" else digest(large.large) for n in large.names]


def test_dying_sender_leaves_no_file(large):
    """CORE-227: no node keeps a part of the file."""
    m = Midway(large)
    m.run.kill()
    m.run.communicate()
    m.gone()
    assert large.left() == []


def test_end_of_the_job_ends_the_cast(large):
    m = Midway(large)
    large.run(f"scancel {large.job_id}").ok()
    m.gone()
    status, said = m.finish()
    assert status == 1 and "the job has ended" in said, said
    assert large.left() == []
    large.wait(large.job_id)


def test_changing_source_is_not_mixed(large):
    """The source changes while it is read: no node gets a mixture."""
    source = large.dir / "changes"
    source.write_bytes(large.large.read_bytes())
    m = Midway(large, source=source)
    with open(source, "r+b") as f:
        f.seek(47 * MIB)
        f.write(b"new")
    status, said = m.finish()
    assert status == 1 and f"`{source}` was changed while it was read" in said, said
    m = Midway(large, source=source)
    with open(source, "r+b") as f:
        f.truncate(47 * MIB)
    status, said = m.finish()
    assert status == 1 and f"`{source}` became shorter while it was read" in said, said
    assert large.left() == []


def test_removed_directory_fails_the_cast(large):
    for node in large.names:
        large.at(node, "dir").mkdir()
    m = Midway(large, dest=f"{large.dir}/local/dir/x")
    large.at("n4", "dir").rmdir()
    status, said = m.finish()
    assert status == 1 and "REQUEST_FILE_BCAST(n4): No such file or directory" in said, said
    assert said.count("REQUEST") == 1
    m.gone()


def test_receivers_survive_a_killed_node_daemon(large):
    """Receivers outlive it, as steps do."""
    m = Midway(large)
    where = large.at("n3")
    held = os.open(where, os.O_PATH)
    large.kill("n3")
    status, said = m.finish()
    assert (status, said) == (0, "")
    assert digest(f"/proc/self/fd/{held}/half") == digest(large.large)
    os.close(held)
    large.start_node("n3")
    large.wait_ready()


def test_nodes_lost_before_the_cast_are_named(mine):
    """CORE-229: one daemon does not run, another one does not answer."""
    mine.kill("n6")
    os.kill(mine.daemons["n2"].pid, signal.SIGSTOP)
    try:
        done = sbcast(mine, "-t", "2", mine.source, f"{mine.dir}/local/g")
        said = done.fails("REQUEST_FILE_BCAST(n2): ", "REQUEST_FILE_BCAST(n6): ")
        assert said.count("REQUEST") == 2
        assert f"`{mine.source}` is on n[1,3-5,7] only, as {mine.dir}/local/g" in said, said
        living = [n for n in mine.names if n != "n6"]
        assert [n for n in living if mine.at(n, "g").exists()] == [n for n in living if n != "n2"]
    finally:
        os.kill(mine.daemons["n2"].pid, signal.SIGCONT)
        mine.start_node("n6")
        mine.wait_ready()


# --- srun --bcast --------------------------------------------------------------------------------------------------------

def compile_program(c):
    """A program with a library of its own, which says where both are."""
    where = c.dir / "built"
    if not where.exists():
        (where / "lib").mkdir(parents=True)
        (where / "l.c").write_text('const char *word(void) { return "library"; }\n')
        (where / "p.c").write_text('#include <stdio.h>\n#include <stdlib.h>\nconst char *word(void);\n'
                                   'int main(int argc, char **argv) { char *l = getenv("LD_LIBRARY_PATH");\n'
                                   'printf("%s %s %s %s\\n", argv[0], argv[1], word(), l ? l : "none"); return 0; }\n')
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", "lib/libword.so", "l.c"], cwd=where, check=True)
        subprocess.run(["gcc", "-o", "prog", "p.c", "-Llib", "-lword", f"-Wl,-rpath,{where}/lib"], cwd=where, check=True)
    return where


def test_srun_runs_the_copy(nodes):
    """X-18, HET-60: under the requested name, only on the nodes of the step."""
    c, where = nodes, f"{nodes.dir}/local"
    built = compile_program(c)
    out = c.run(["srun", "-N3", f"--bcast={where}/mine", "--export=PATH", built / "prog", "a"]).ok().splitlines()
    assert out == [f"{where}/mine a library none"] * 3
    assert sum(c.at(n, "mine").exists() for n in c.names) == 3
    assert c.run(["srun", "-N7", f"--bcast={where}/mine", built / "prog", "a"]).returncode == 0  # replaced
    for node in c.names:
        assert c.at(node, "mine").stat().st_mode & 0o777 == (built / "prog").stat().st_mode & 0o777
        c.at(node, "mine").unlink()


def test_srun_sends_libraries(nodes):
    """X-18: into the directory beside the copy, where the program finds them; libraries in system directories are not sent."""
    c, where = nodes, f"{nodes.dir}/local"
    built = compile_program(c)
    line = ["srun", "-N2", "-w", "n2,n3", f"--bcast={where}/p", "--send-libs", "--compress", "--export=PATH"]
    assert c.run([*line, built / "prog", "b"]).ok().splitlines() == [f"{where}/p b library {where}/p_libs"] * 2
    for node in ("n2", "n3"):
        assert [p.name for p in c.at(node, "p_libs").iterdir()] == ["libword.so"]
        assert digest(c.at(node, "p_libs/libword.so")) == digest(built / "lib/libword.so")
    apart = f"{built},/lib,/lib64,/usr"
    out = c.run([*line, f"--bcast-exclude={apart}", built / "prog", "b"], env={"LD_LIBRARY_PATH": "/x"}).ok()
    assert out.splitlines() == [f"{where}/p b library none"] * 2
    out = c.run([*line[:-1], "--export=ALL", built / "prog", "b"], env={"LD_LIBRARY_PATH": "/x"}).ok()
    assert out.splitlines() == [f"{where}/p b library {where}/p_libs:/x"] * 2
    # NONE: the C library and the loader's own file go, too.
    c.run([*line, "--bcast-exclude=NONE", built / "prog", "b"]).ok()
    assert {"libc.so.6", "libword.so"} < {p.name for p in c.at("n2", "p_libs").iterdir()}
    for node in c.names:
        subprocess.run(f"rm -rf {c.at(node)}/*", shell=True, check=True)


def test_srun_names_its_copies(nodes):
    """A directory, --chdir, or SLURM_BCAST: with the job, the step and the node in the name."""
    c, where = nodes, nodes.dir / "local"
    built = compile_program(c)
    line = ["-N2", "-w", "n1,n2", "--send-libs=no", built / "prog", "c"]
    for out in (c.run(["srun", f"--bcast={where}/", *line]).ok(), c.run(["srun", "--bcast", f"--chdir={where}", *line]).ok(),
                c.run(["srun", *line], env={"SLURM_BCAST": f"{where}/"}).ok(),
                c.run(["srun", "--bcast", *line], cwd=where).ok()):
        names = sorted(pathlib.Path(w.split()[0]).name for w in out.splitlines())
        job = names[0].split("_")[2]
        assert names == [f"slurm_bcast_{job}_n1", f"slurm_bcast_{job}_n2"] and job.endswith(".0")
        assert c.at("n1", names[0]).exists() and not c.at("n1", names[1]).exists()
    out = c.run(["srun", f"--bcast={where}/", "--send-libs", "--export=PATH", "-N2", "-w", "n1,n2", built / "prog", "c"]).ok()
    for word in out.splitlines():
        assert word.split()[3] == word.split()[0] + "_libs"
    for node in c.names:
        subprocess.run(f"rm -rf {c.at(node)}/*", shell=True, check=True)


def test_srun_fails_with_its_copy(nodes):
    """Nothing is launched, and the job is over."""
    c, where = nodes, nodes.dir / "local"
    built = compile_program(c)
    c.run(["srun", "-N2", f"--bcast={where}/no/such", built / "prog", "d"]).fails("REQUEST_FILE_BCAST(n[1-2]): No such file")
    c.run(["srun", "-N2", f"--bcast={where}/x", "/no/such"]).fails("Can't open `/no/such`")
    c.run(["srun", "-N2", "--multi-prog", f"--bcast={where}/x", "/dev/null"]).fails("--bcast copies one program")
    eventually(lambda: c.run("squeue -h").ok() == "", "no job is left")
    done = c.run(["srun", "--compress", "true"])
    assert "warning: option --compress has no effect without --bcast" in done.stderr and done.returncode == 0


def test_interrupted_srun_leaves_no_copy(nodes):
    c, where = nodes, nodes.dir / "local"
    os.kill(c.daemons["n2"].pid, signal.SIGSTOP)
    try:
        run = c.popen(["srun", "-N2", "-w", "n1,n2", "-Q", f"--bcast={where}/x", compile_program(c) / "prog"])
        eventually(lambda: children(c.daemons["n1"].pid, "slurmstepd-cast"), "it copies")
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=30)
        assert run.returncode != 0
    finally:
        os.kill(c.daemons["n2"].pid, signal.SIGCONT)
    eventually(lambda: c.run("squeue -h").ok() == "" and not c.receivers(), "nothing is left")
    assert c.left() == []


def test_sbcast_sends_libraries(mine):
    built = compile_program(mine)
    sbcast(mine, "--send-libs", built / "prog", f"{mine.dir}/local/p").ok()
    for node in mine.names:
        assert [p.name for p in mine.at(node, "p_libs").iterdir()] == ["libword.so"]
    for node in mine.names:  # somebody else's directory is not one to load libraries from
        os.chmod(mine.at(node, "p_libs"), 0o777)
    sbcast(mine, "-f", "--send-libs", built / "prog", f"{mine.dir}/local/p").fails("Operation not permitted")
    sbcast(mine, "-f", "--send-libs", "--exclude", f"{built}/,/lib,/usr/lib", built / "prog", f"{mine.dir}/local/p").ok()
    done = sbcast(mine, "-f", "--send-libs=perhaps", built / "prog", f"{mine.dir}/local/p")
    assert done.stderr == "sbcast: error: Ignoring unrecognized --send-libs value 'perhaps'\n" and done.returncode == 0
    sbcast(mine, "--send-libs", mine.source, f"{mine.dir}/local/data").ok()  # no program
    assert mine.left() == ["data", "p", "p_libs"]


def test_bcast_parameters_are_defaults(make_cluster):
    """BcastParameters and BcastExclude are the defaults of the options."""
    with running(Private, nodes=2) as c:
        built = compile_program(c)
        local = c.dir / "local"
        c.conf_file.write_text(c.conf_file.read_text() + f"BcastParameters=DestDir={local},Compression=lz4,send_libs,what\n"
                               f"BcastExclude=/usr,/lib,/lib64\n")
        with job(c) as number:
            c.job_id = number
            done = sbcast(c, "-v", built / "prog", "rel")
            assert "unknown BcastParameters=what is ignored" in done.stderr and "compress   = 1" in done.stderr
            assert done.returncode == 0
            assert c.left() == ["rel", "rel_libs"]
            sbcast(c, "--send-libs=no", "--compress=none", built / "prog", "alone").ok()
            assert c.left() == ["alone", "rel", "rel_libs"]
        out = c.run(["srun", "-N2", "--bcast", built / "prog", "x"]).ok()
        assert all(w.startswith(f"{local}/slurm_bcast_") for w in out.splitlines())


def test_cast_runs_between_prolog_and_epilog(make_cluster):
    """A receiver is the first that a job has on a node."""
    with running(Private, nodes=2, start=False) as c:
        for name in ("prolog", "epilog"):
            script = c.dir / name
            script.write_text(f"#!/bin/sh\necho $SLURM_JOB_ID >> {c.dir}/{name}.$SLURMD_NODENAME\n"
                              + (f"mkdir {c.dir}/local/made && chmod 777 {c.dir}/local/made\n" if name == "prolog" else ""))
            script.chmod(0o755)
        c.conf_file.write_text(c.conf_file.read_text() + f"Prolog={c.dir}/prolog\nEpilog={c.dir}/epilog\n")
        c.start()
        with job(c) as number:
            c.job_id = number
            sbcast(c, "/etc/passwd", f"{c.dir}/local/made/x").ok()
            assert c.sums("made/x") == [digest("/etc/passwd")] * 2
            assert not (c.dir / "epilog.n2").exists()
        eventually(lambda: (c.dir / "epilog.n2").exists(), "its epilog on the node that had nothing but a file")
        assert (c.dir / "prolog.n2").read_text() == f"{number}\n" == (c.dir / "epilog.n2").read_text()
