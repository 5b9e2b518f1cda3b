# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that hang in the kernel: CORE-152, 159, 187; RELIABILITY B5.

A file system whose server never answers blocks each process that accesses it; no signal ends such a process.
"""
import ctypes
import os
import pathlib
import re
import struct
import threading

import pytest

from harness import ROOT, eventually

LIBC = ctypes.CDLL(None, use_errno=True)
INIT, INTERRUPT, FORGET = 26, 36, 2
MNT_FORCE, MNT_DETACH = 1, 2


class DeafFileSystem:
    def __init__(self, where):
        self.where = os.fsencode(where)
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        if LIBC.mount(b"deaf", self.where, b"fuse", 0, options.encode()):
            os.close(self.fd)
            raise OSError(ctypes.get_errno(), "mount")
        self.asked = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 18)
            except OSError:
                return
            _, kind, unique = struct.unpack_from("IIQ", request)
            if kind == INIT:
                body = struct.pack("IIIIHHIIHHI", 7, 31, 65536, 0, 12, 9, 4096, 1, 0, 0, 0) + bytes(28)
                os.write(self.fd, struct.pack("IiQ", 16 + len(body), 0, unique) + body)
            elif kind not in (INTERRUPT, FORGET):
                self.asked.set()

    def end(self):
        LIBC.umount2(self.where, MNT_FORCE | MNT_DETACH)
        os.close(self.fd)


@pytest.fixture
def deaf(tmp_path):
    if not ROOT or not os.access("/dev/fuse", os.W_OK):
        pytest.skip("mounts a file system")
    try:
        fs = DeafFileSystem(tmp_path)
    except OSError as e:
        pytest.skip(f"cannot mount: {e}")
    fs.path = tmp_path / "file"
    try:
        yield fs
    finally:
        fs.end()


def with_program(make_cluster, **more):
    c = make_cluster(conf="UnkillableStepTimeout=1", start=False, **more)
    program = c.dir / "unkillable"
    program.write_text("#!/bin/sh\necho $SLURM_JOB_ID $SLURM_STEP_ID $SLURMD_NODENAME >>$(dirname $0)/told\n")
    program.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"UnkillableStepProgram={program}\n")
    c.start()
    return c


@pytest.mark.trials(20)
def test_unkillable_process_drains_its_node_only(make_cluster, deaf):
    """B5, CORE-152, 159, 187."""
    c = with_program(make_cluster, nodes=3)
    task = c.work / "task"
    task.write_text(f"#!/bin/sh\n[ $SLURMD_NODENAME != n2 ] || exec ls {deaf.path}\nsleep 1000\n")
    task.chmod(0o755)
    job = c.sbatch("-N3", "--ntasks-per-node=1", "-o", "/dev/null", wrap=f"srun {task}")
    assert deaf.asked.wait(30)
    c.run(f"scancel {job}").ok()
    assert c.wait(job)["JobState"] == "CANCELLED"
    eventually(lambda: c.node("n2")["State"] == "IDLE+DRAIN", "n2 drained")
    reason = c.node("n2")["Reason"]
    assert re.match(rf"Kill task failed: step {job}\.0: pid \d+ \(ls\) state D, wchan \w+", reason), reason
    assert pathlib.Path(f"/proc/{re.search(r'pid ([0-9]+)', reason)[1]}/comm").read_text() == "ls\n"
    assert [c.node(n)["State"] for n in ("n1", "n3")] == ["IDLE", "IDLE"]
    eventually(lambda: (c.dir / "told").exists(), "the program ran")
    assert (c.dir / "told").read_text() == f"{job} 0 n2\n"
    assert "Kill task failed" in c.run("sinfo -R -h").ok()
    assert "Kill task failed" in (c.dir / "slurmctld.log").read_text()
    assert c.run("srun -N2 true").returncode == 0


def test_hanging_directory_delays_no_job_end(make_cluster, deaf):
    """It hangs before anything of the job was started."""
    c = with_program(make_cluster, nodes=1)
    job = c.sbatch("-D", str(deaf.path), "-o", "/dev/null", wrap="true")
    assert deaf.asked.wait(30)
    c.run(f"scancel {job}").ok()
    c.wait(job)
    eventually(lambda: c.node("n1")["State"] == "IDLE+DRAIN", "drained")
    assert "state D" in c.node("n1")["Reason"] and f"step {job}.batch" in c.node("n1")["Reason"]
