# SPDX-License-Identifier: GPL-3.0-or-later
"""Directories of a job's own: JobContainerType=job_container/tmpfs and job_container.conf."""
import fcntl
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

import pytest

import harness
from harness import PREFIX, ROOT, Cluster, eventually, make_directory, many

pytestmark = pytest.mark.skipif(not ROOT, reason="needs root")
USERS = ("nobody", "daemon")
KEYS = "JobContainerType=job_container/tmpfs\nPrologFlags=Contain\n"


@pytest.fixture(scope="module")
def programs():
    """The installed tree; a copy outside of /tmp if it lies below, where jobs do not see it."""
    if pathlib.Path("/tmp") not in PREFIX.parents:
        yield PREFIX
        return
    directory = make_directory("sluice-programs.", "/var/tmp")
    yield shutil.copytree(PREFIX, directory / "prefix", symlinks=True)
    shutil.rmtree(directory)


@pytest.fixture
def make(monkeypatch, programs):
    """Clusters outside of /tmp, which jobs see another of."""
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")
    monkeypatch.setattr(harness, "PREFIX", programs)
    made = []

    def new(text="", conf="", nodes=1, start=True):
        c = factory(nodes=nodes, start=False)
        made.append(c)
        text = text or f"AutoBasePath=true BasePath={c.dir}/base/%n"
        (c.dir / "job_container.conf").write_text(text.replace("DIR", str(c.dir)) + "\n")
        with c.conf_file.open("a") as f:
            f.write(KEYS + conf.replace("DIR", str(c.dir)) + "\n")
        if start:
            c.start()
        return c
    with many(Cluster) as factory:
        yield new
        for c in made:
            c.stop()
            for base in c.dir.glob("base*/*"):
                assert not list(base.glob("[0-9]*")), f"left in {base}"
                unmount(base)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
@pytest.mark.parametrize("first, second", [(0, -1), (-1, 0)])
def test_slurmd_in_its_own_namespace_starts_jobs(make, first, second):
    """Some kernels number namespaces per CPU: namespaces of jobs may have lower numbers than that of slurmd, which was created on another CPU."""
    cpus = [str(cpu) for cpu in sorted(os.sched_getaffinity(0))]
    c = make(start=False)
    c.start_controller(wait=False)
    c.spawn("n1", ["taskset", "-c", cpus[first], "unshare", "-m", "taskset", "-c", cpus[second], harness.PREFIX / "sbin/slurmd", "-D", "-N", "n1"])
    c.wait_ready()
    for _ in range(2):
        assert c.run(["srun", "sh", "-c", "ls /tmp | wc -l"]).ok() == "0"


def unmount(path):
    while subprocess.run(["umount", "-l", str(path)], stderr=subprocess.DEVNULL).returncode == 0:
        pass


def base(c, node="n1"):
    return c.dir / "base" / node


def empty(c, node="n1"):
    return lambda: not list(base(c, node).glob("[0-9]*"))


def script(c, name, text):
    path = c.dir / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def test_all_steps_share_the_private_directories(make):
    """The script, its steps and a step from outside see one /tmp and one /dev/shm, which differ from those of the host and belong to their owner."""
    c = make(nodes=2)
    mark = f"mark-{os.getpid()}"
    host = pathlib.Path("/tmp") / f"host-{mark}"
    host.write_text("host")
    try:
        go = c.work / "go"
        text = f"""#!/bin/sh
        exec >out
        ls -A /tmp /dev/shm; stat -c '%U %a' /tmp
        echo one >/tmp/{mark}; echo two >/dev/shm/{mark}
        srun -N1 -n1 -w n1 cat /tmp/{mark} /dev/shm/{mark}
        srun -N1 -n1 -w n2 ls -A /tmp
        touch ready
        while [ ! -e {go} ]; do sleep 0.05; done
        cat /tmp/later
        """
        job = c.sbatch("-N2", "-w", "n[1-2]", script=text, user=USERS[0])
        eventually((c.work / "ready").exists, lambda: c.job(job))
        assert (c.work / "out").read_text().splitlines() == ["/dev/shm:", "", "/tmp:", "nobody 700", "one", "two"]
        assert not (pathlib.Path("/tmp") / mark).exists() and not (pathlib.Path("/dev/shm") / mark).exists()
        c.run(["srun", f"--jobid={job}", "-N1", "-n1", "-w", "n1", "--overlap", "sh", "-c", f"cat /tmp/{mark}; echo later >/tmp/later"],
              user=USERS[0]).ok()
        # Another user, in a job of his own beside it and out of any, finds nothing.
        other = c.run(["srun", "-N1", "-n1", "-w", "n1", "sh", "-c", f"ls -A /tmp /dev/shm; ls {base(c)}/{job}"], user=USERS[1])
        assert mark not in other.stdout and "Permission denied" in other.stderr, other
        seen = subprocess.run(["setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups", "ls", f"{base(c)}/{job}"], text=True, capture_output=True)
        assert seen.returncode != 0 and "Permission denied" in seen.stderr
        go.touch()
        assert c.wait(job)["JobState"] == "COMPLETED"
        assert (c.work / "out").read_text().splitlines()[-1] == "later"
        eventually(empty(c), "removed")
        eventually(empty(c, "n2"), "removed there")
        assert host.read_text() == "host"
    finally:
        host.unlink()


def test_directories_are_removed_after_the_epilog(make):
    """Also with a kill of slurmd in between; links and deep trees that a user has created there cause no deletion elsewhere."""
    c = make(start=False)
    victim = c.dir / "victim"
    victim.mkdir()
    (victim / "kept").write_text("kept")
    victim.chmod(0o777)
    epilog = script(c, "epilog", f"ls {base(c)}/$SLURM_JOB_ID >{c.dir}/epilog.new && mv {c.dir}/epilog.new {c.dir}/epilog.out\n"
                                 f"while [ ! -e {c.dir}/go ]; do sleep 0.05; done\n")
    with c.conf_file.open("a") as f:
        f.write(f"Epilog={epilog}\n")
    c.start()
    deep = "d=/tmp; for i in $(seq 100); do d=$d/x; done; mkdir -p $d; touch $d/leaf; chmod 500 /tmp/x/x"
    job = c.sbatch("-o", "/dev/null", wrap=f"ln -s {victim} /tmp/link; ln -s {victim}/kept /tmp/x.link; ln -s / /tmp/root; {deep}; mkfifo /tmp/pipe",
                   user=USERS[0])
    eventually((c.dir / "epilog.out").exists, lambda: c.job(job))
    assert (c.dir / "epilog.out").read_text().split() == ["0"]
    c.kill("n1")
    (c.dir / "go").touch()
    c.start_node("n1")
    eventually(empty(c), "removed by the next daemon")
    eventually(lambda: c.job(job)["JobState"] == "COMPLETED", "over")
    assert (victim / "kept").read_text() == "kept"


def test_restarted_daemon_finds_the_namespace(make):
    c = make()
    job = c.sbatch("-o", "/dev/null", wrap="echo old >/tmp/f; sleep 100000", user=USERS[0])
    eventually(lambda: list(base(c).glob(f"{job}/0/f")), "it runs")
    c.kill("n1")
    c.start_node("n1")
    c.wait_ready()
    assert c.run(["srun", f"--jobid={job}", "--overlap", "cat", "/tmp/f"], user=USERS[0]).ok() == "old"
    c.run(f"scancel {job}")
    eventually(empty(c), "removed")


def test_leftovers_of_unknown_jobs_are_removed(make):
    """A starting daemon removes it, for example after a power failure. A job with the same number that begins meanwhile sees none of it."""
    c = make(conf="FirstJobId=4711", start=False)
    (base(c) / "4711" / "0").mkdir(parents=True)
    (base(c) / "4711" / "0" / "file").write_text("x")
    (base(c) / "4712.left.1" / "0").mkdir(parents=True)
    (base(c) / "keep").mkdir()
    c.start()
    assert c.run(["srun", "ls", "-A", "/tmp"], user=USERS[0]).ok() == ""
    eventually(empty(c), "removed")
    assert (base(c) / "keep").exists()


def waiters(inode):
    """How many wait for a lock."""
    return sum("->" in line and f":{inode} " in line for line in pathlib.Path("/proc/locks").read_text().splitlines())


def test_a_job_whose_old_directories_are_being_removed(make):
    """The job was requeued after a power failure and does not use directories that are being removed; the removal leaves the new ones alone."""
    c = make(conf="FirstJobId=4711", start=False)
    old = base(c) / "4711"
    (old / "0").mkdir(parents=True)
    (old / "0" / "file").write_text("x")
    held = os.open(old, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    inode = os.fstat(held).st_ino
    c.start()
    eventually(lambda: waiters(inode) == 1, "somebody is to remove it")
    go = c.work / "go"
    job = c.sbatch("-o", "out", wrap=f"ls -A /tmp; echo new >/tmp/f; touch ready; while [ ! -e {go} ]; do sleep 0.05; done; cat /tmp/f", user=USERS[0])
    assert job == 4711
    eventually(lambda: waiters(inode) == 3, lambda: c.job(job))  # the script, and its extern step
    shutil.rmtree(old)
    os.close(held)
    eventually((c.work / "ready").exists, lambda: c.job(job))
    eventually(lambda: subprocess.run(["pgrep", "-f", f"remove {old}$"], stdout=subprocess.DEVNULL).returncode, "the remover has ended")
    go.touch()
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert (c.work / "out").read_text() == "new\n"


def test_concurrent_first_steps_share_the_namespace(make):
    """Many steps that are the first of their job on the node find one namespace."""
    c = make()
    text = "#!/bin/sh\nfor i in 1 2 3 4; do srun -n1 --overlap readlink /proc/self/ns/mnt & done; wait\n"
    job = c.sbatch("-N1", "-n4", "-o", "out", script=text, user=USERS[0])
    c.wait(job)
    lines = (c.work / "out").read_text().split()
    assert len(lines) == 4 and len(set(lines)) == 1 and lines[0] != os.readlink("/proc/self/ns/mnt")
    alloc = c.run(["srun", "-n4", "readlink", "/proc/self/ns/mnt"], user=USERS[0]).ok().split()
    assert len(alloc) == 4 and len(set(alloc)) == 1 and alloc[0] != os.readlink("/proc/self/ns/mnt")


def test_configured_directories_and_scripts_are_used(make):
    """Dirs, InitScript, CloneNSScript within the namespace, CloneNSEpilog before its end; a line for this node only."""
    c = make("BasePath=/nowhere\nNodeName=n1 BasePath=DIR/base/n1 AutoBasePath=yes Dirs=DIR/scratch,DIR/scratch/deep,/dev/shm "
             "InitScript=DIR/init CloneNSScript=DIR/clone CloneNSEpilog=DIR/end Shared=true EntireStepInNS=true", start=False)
    (c.dir / "scratch" / "deep").mkdir(parents=True)
    script(c, "init", f"env >{c.dir}/init.out; readlink /proc/self/ns/mnt >>{c.dir}/init.out\n")
    script(c, "clone", f"mkdir -p {c.dir}/scratch/deep; echo made >/dev/shm/by-clone; readlink /proc/self/ns/mnt >{c.dir}/clone.out\n")
    script(c, "end", f"cat /dev/shm/by-clone >{c.dir}/end.new; mv {c.dir}/end.new {c.dir}/end.out\n")
    (c.dir / "scratch" / "outside").write_text("x")
    c.start()
    done = c.run(["srun", "sh", "-c", f"cat /dev/shm/by-clone; ls {c.dir}/scratch; ls -d /tmp/.. ; readlink /proc/self/ns/mnt"], user=USERS[0])
    lines = done.ok().split()
    assert lines[0] == "made" and "outside" not in lines
    assert (c.dir / "clone.out").read_text().strip() == lines[-1]
    told = (c.dir / "init.out").read_text().splitlines()
    assert told[-1] == os.readlink("/proc/self/ns/mnt")
    env = dict(line.partition("=")[::2] for line in told[:-1])
    uid = str(pwd.getpwnam(USERS[0]).pw_uid)
    assert (env["SLURM_JOB_UID"], env["SLURMD_NODENAME"], env["SLURM_NS"]) == (uid, "n1", f"{base(c)}/{env['SLURM_JOB_ID']}/.ns")
    eventually((c.dir / "end.out").exists, "the epilog of the namespace")
    assert (c.dir / "end.out").read_text() == "made\n"
    eventually(empty(c), "removed")
    assert "EntireStepInNS has no effect" in c.tail("n1", 200)


@pytest.mark.parametrize("key", ("InitScript", "CloneNSScript"))
def test_failing_script_starts_no_task(make, key):
    c = make(f"AutoBasePath=true BasePath=DIR/base/%n {key}=DIR/bad", start=False)
    script(c, "bad", "exit 3\n")
    c.start()
    c.run(["srun", "touch", f"{c.work}/ran"], user=USERS[0]).fails(f"{key} {c.dir}/bad exited with status 3")
    assert not (c.work / "ran").exists()
    eventually(lambda: "DRAIN" in c.node("n1")["State"], lambda: c.node("n1"))
    assert f"{key} {c.dir}/bad exited with status 3" in c.node("n1")["Reason"]
    eventually(empty(c), "removed")


def test_hanging_clone_script_is_ended(make):
    c = make("AutoBasePath=true BasePath=DIR/base/%n CloneNSScript=DIR/bad CloneNSScript_Wait=1", start=False)
    script(c, "bad", "sleep 1000\n")
    c.start()
    c.run(["srun", "true"], user=USERS[0]).fails("did not end within 1 s")
    eventually(empty(c), "removed")


@pytest.mark.parametrize("text,says", (
    ("BasePath=DIR/none", "BasePath (AutoBasePath=true makes it): DIR/none"),
    ("AutoBasePath=true BasePath=/tmp/x", "BasePath=/tmp/x is in /tmp, of which each job has one of its own"),
    ("AutoBasePath=true BasePath=DIR/base Dirs=DIR/spool", "SlurmdSpoolDir=DIR/spool/n1 is in DIR/spool"),
    ("AutoBasePath=true BasePath=DIR/base InitScript=DIR/loose", "InitScript: DIR/loose"),
    ("BasePath=DIR/work", "others"),
    ("Nonsense=1", "job_container.conf:1: unknown key Nonsense"),
))
def test_slurmd_does_not_start_with_unusable_directories(make, text, says):
    c = make(text, start=False)
    (c.dir / "spool").mkdir(exist_ok=True)
    script(c, "loose", "true\n").chmod(0o777)
    from harness import PREFIX
    done = subprocess.run([PREFIX / "sbin/slurmd", "-D", "-N", "n1"], env=c.environment(), cwd=c.dir, text=True, capture_output=True, timeout=60)
    assert done.returncode != 0 and says.replace("DIR", str(c.dir)) in done.stderr, done.stderr


def test_streams_prologs_and_epilogs_of_tasks_are_inside(make):
    c = make(conf="TaskProlog=DIR/task_prolog\nTaskEpilog=DIR/task_epilog", start=False)
    script(c, "task_prolog", "ls /tmp >/tmp/prolog; echo export SEEN=$(readlink /proc/self/ns/mnt)\n")
    script(c, "task_epilog", f"readlink /proc/self/ns/mnt >{c.work}/epilog.new; cat /tmp/out.0 >>{c.work}/epilog.new; mv {c.work}/epilog.new {c.work}/epilog.out\n")
    c.start()
    out = c.run(["srun", "-o", "/tmp/out.%t", "sh", "-c", f"echo $SEEN $(readlink /proc/self/ns/mnt); ls /tmp | tee {c.work}/ls"], user=USERS[0])
    out.ok()
    assert (c.work / "ls").read_text().split() == ["out.0", "prolog"]
    eventually((c.work / "epilog.out").exists, "the task's epilog")
    first, second, third, *_ = (c.work / "epilog.out").read_text().split()
    assert first == second == third
    assert not pathlib.Path("/tmp/out.0").exists()


def test_broadcast_files_are_in_the_namespace(make):
    """Also when they come before the first step of the job."""
    c = make(nodes=2)
    (c.work / "data").write_text("sent")
    out = c.run(["salloc", "-N2", "sh", "-c", "sbcast data /tmp/by-sbcast && srun cat /tmp/by-sbcast"], user=USERS[0], cwd=c.work)
    assert out.ok() == "sentsent"
    assert not pathlib.Path("/tmp/by-sbcast").exists()
    eventually(empty(c), "removed")
    eventually(empty(c, "n2"), "removed there")
