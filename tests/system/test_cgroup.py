# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps in control groups of the kernel: X-15, CORE-037, CORE-152, GANG-58, GANG-61."""
import os
import pathlib
import re
import signal
import subprocess

import pytest

import cgroups
from harness import PREFIX, alive, child_named, eventually
from test_usage import seconds

TRACK = "ProctrackType=proctrack/cgroup\n"
ALL = TRACK + "TaskPlugin=task/cgroup\n"
LIMITS = "ConstrainRAMSpace=yes\nConstrainSwapSpace=yes\n"
OOM = ("OUT_OF_MEMORY", "0:125", "OutOfMemory")
SAID = re.compile(r"slurmstepd: error: Detected (\d+) oom_kill events? in StepId=(\S+)\. Some of the step tasks have been OOM Killed\.\n"
                  r"slurmstepd: error: (\S+): limit (\d+)M, peak (\d+)M(?:, most of it: ((?:\S+\[\d+\] \d+M(?:, )?)+))?\n")
HOG = "python3 -c 'bytearray(300 << 20)'"
both = pytest.mark.parametrize("version", [1, 2])


@pytest.fixture
def cluster_of():
    """A function that makes clusters whose slurmd uses a version of control groups; skips where there is none."""
    made = []

    def make(version, *args, needs=("freezer",), **more):
        why = cgroups.lacks(version, *(needs if version == 1 else [n for n in needs if n in ("memory", "cpuset")]))
        if why:
            pytest.skip(why)
        context = cgroups.cluster(version, *args, **more)
        made.append(context)
        return context.__enter__()

    yield make
    for context in made:
        context.__exit__(None, None, None)


def numbers(path):
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def ended(c, job):
    c.wait(job)
    fields = c.job(job)
    return fields["JobState"], fields["ExitCode"], fields["Reason"]


# Forgets who it is and whose it is, as far as a process can, and writes down its number.
AWAY = """python3 -c '
import os, signal, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.setsid()
for fd in range(3): os.close(fd)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
os.execve("/bin/sh", ["sh", "-c", "trap \\"\\" TERM HUP INT; echo $$ >{0}.new; mv {0}.new {0}; while :; do sleep 100; done"], dict(PATH="/bin:/usr/bin"))
'
"""


# --- processes -------------------------------------------------------------------------------------------------------
@pytest.mark.trials(20)
@both
def test_escaped_process_ends_with_the_step(cluster_of, version):
    """CORE-037, 152."""
    c = cluster_of(version, conf=TRACK)
    script = "#!/bin/sh\n" + AWAY.format("away") + "while [ ! -e away ]; do sleep 0.05; done\ncat /proc/$(cat away)/cgroup\n"
    job = c.sbatch("--job-name=../../../../tmp/x", script=script)
    assert ended(c, job)[0] == "COMPLETED"
    where = f"slurm_n1/uid_{os.getuid()}/job_{job}/step_batch" if version == 1 else f"n1_slurmstepd.scope/job_{job}/step_batch/user"
    assert re.search(rf"{where}$", c.output(job), re.M), c.output(job)
    (pid,) = numbers(c.work / "away")
    assert not alive(pid)
    eventually(lambda: not c.groups.jobs(), "its directories are gone")


@pytest.mark.trials(20)
@both
def test_a_fork_bomb_is_ended(cluster_of, version):
    c = cluster_of(version, conf=TRACK)
    bomb = ("import os\nfor i in range(50):\n if os.fork() == 0: break\nopen('up', 'w').close()\n"
            "while True:\n  if os.fork(): os._exit(0)\n")
    job = c.sbatch(wrap=f'python3 -c "{bomb}"; sleep 1000')
    eventually(lambda: (c.work / "up").exists(), "it runs")
    c.run(f"scancel -s KILL {job}").ok()
    c.wait(job)
    assert not c.groups.processes()


@both
def test_signals_reach_all_processes(cluster_of, version):
    """SignalChildrenProcesses: those in sessions of their own have it as well; without it they have not."""
    c = cluster_of(version, "SignalChildrenProcesses=yes\n", conf=TRACK)
    catch = "trap 'echo {0} >>heard' USR1; echo >{0}; while :; do sleep 0.05; done"
    job = c.sbatch(wrap=f"setsid sh -c \"{catch.format('far')}\" & {catch.format('near')}")
    eventually(lambda: (c.work / "far").exists() and (c.work / "near").exists(), "both listen")
    c.run(f"scancel -f -s USR1 {job}").ok()
    heard = c.work / "heard"
    eventually(lambda: heard.exists() and sorted(heard.read_text().split()) == ["far", "near"], "both have heard")
    c.run(f"scancel {job}").ok()
    c.wait(job)


@both
def test_processes_end_after_daemons_were_killed(cluster_of, version):
    """The step daemon and the node daemon are killed: a process that escaped both is found by its directory."""
    c = cluster_of(version, conf=TRACK)
    script = "#!/bin/sh\n" + AWAY.format("{0}") + "sleep 1000\n"
    job = c.sbatch(script=script.format("one"))
    one = eventually(lambda: numbers(c.work / "one"), "it has run away")[0]
    os.kill(child_named(c.daemons["n1"].pid, "slurmstepd"), signal.SIGKILL)
    c.wait(job)
    assert not alive(one)
    eventually(lambda: not c.groups.jobs(), "its directories are gone")
    job = c.sbatch(script=script.format("two"))
    two = eventually(lambda: numbers(c.work / "two"), "it has run away")[0]
    shepherd = child_named(c.daemons["n1"].pid, "slurmstepd")
    c.kill("n1")
    os.kill(shepherd, signal.SIGKILL)
    assert alive(two)
    c.start_node("n1")
    c.wait(job)
    assert not alive(two)
    eventually(lambda: not c.groups.jobs(), "its directories are gone")


@both
def test_killed_node_daemon_leaves_steps_running(cluster_of, version):
    c = cluster_of(version, conf=TRACK)
    job = c.sbatch(wrap="while [ ! -e go ]; do sleep 0.05; done")
    eventually(lambda: c.state(job) == "RUNNING" and c.groups.processes(), "it runs")
    c.kill("n1")
    (c.groups.base / (f"uid_{os.getuid()}" if version == 1 else "") / "job_4711/step_0").mkdir(parents=True)
    c.start_node("n1")
    eventually(lambda: not [j for j in c.groups.jobs() if "4711" in j], "an empty directory is swept")
    assert len(c.groups.jobs()) == 1
    (c.work / "go").touch()
    assert ended(c, job)[0] == "COMPLETED"


@both
def test_foreign_groups_are_left_alone(cluster_of, version):
    c = cluster_of(version, conf=TRACK)
    c.kill("n1", signal.SIGTERM)
    other = c.groups.base / (f"uid_{os.getuid()}" if version == 1 else "") / "job_4711/step_0"
    other.mkdir(parents=True)
    sleeper = subprocess.Popen(["sleep", "1000"])
    try:
        (other / "cgroup.procs").write_text(str(sleeper.pid))
        c.start_node("n1")
        c.wait_ready()
        assert "job_4711 holds 1 processes of a job that this node does not know; they are left alone" in c.tail("n1", 100)
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()
    c.kill("n1", signal.SIGTERM)
    c.start_node("n1")
    eventually(lambda: not c.groups.jobs(), "it is swept when it is empty")


@both
def test_suspended_job_is_frozen(cluster_of, version):
    """GANG-61: also a process that would not stop, in its own session with a handler for SIGTSTP."""
    c = cluster_of(version, conf=TRACK + "PreemptParameters=suspend_grace_time=0\n")
    count = "trap '' TSTP; i=0; while :; do i=$((i+1)); echo $i >count; done"
    job = c.sbatch(wrap=f"setsid sh -c \"{count.replace('$', chr(92) + '$')}\" & wait")
    number = lambda: (numbers(c.work / "count") or [0])[0]
    eventually(lambda: number() > 10, "it counts")
    c.run(f"scontrol suspend {job}").ok()
    step = next(c.groups.base.glob("**/step_batch"))
    if version == 1:
        eventually(lambda: (step / "freezer.state").read_text() == "FROZEN\n", "it is frozen")
    else:
        eventually(lambda: "frozen 1" in (step / "cgroup.events").read_text(), "it is frozen")
    before = number()
    assert c.state(job) == "SUSPENDED"
    assert number() == before
    c.run(f"scontrol resume {job}").ok()
    eventually(lambda: number() > before, "it goes on")
    c.run(f"scontrol suspend {job}").ok()
    eventually(lambda: c.state(job) == "SUSPENDED", "it stands")
    c.run(f"scancel {job}").ok()
    c.wait(job)
    assert not c.groups.processes()


def test_unkillable_process_drains_the_node(cluster_of):
    """The processes are frozen from above, as by a file server that does not answer: the node is drained, and the reason names the process. When it
    ends at last, the directories are removed without a message."""
    c = cluster_of(1, conf=TRACK + "UnkillableStepTimeout=1\n")
    job = c.sbatch(wrap=": >up; exec sleep 1000")
    eventually(lambda: (c.work / "up").exists(), "it runs")
    state = c.groups.base / "freezer.state"
    state.write_text("FROZEN")
    eventually(lambda: state.read_text() == "FROZEN\n", "it stands")
    c.run(f"scancel {job}").ok()
    eventually(lambda: "DRAIN" in c.node("n1")["State"], "the node is drained")
    assert re.search(rf"Kill task failed: step {job}\.batch: pid \d+ \((sleep|slurm_script)\) state D", c.run("scontrol show node n1").ok())
    c.wait(job)
    assert len(c.groups.processes()) == 1
    state.write_text("THAWED")
    eventually(lambda: not c.groups.jobs(), "its directories are gone")
    assert "cannot be removed" not in c.tail("n1", 1000)


@pytest.mark.skipif(not (PREFIX / "sbin/slurmstepd-pmix").exists(), reason="needs a build with libpmix-dev")
@both
def test_pmix_server_is_in_the_group_of_the_step(cluster_of, version):
    """It is the user's process, and loads the user's libraries."""
    c = cluster_of(version, conf=TRACK)
    look = "for p in $(cat $(find /proc/$PPID/task/$PPID/children)); do cat /proc/$p/comm; grep -c slurm /proc/$p/cgroup; done"
    words = c.run(["srun", "-n1", "--mpi=pmix", "sh", "-c", look]).ok().split()
    assert "slurmstepd-pmix" in words and "0" not in words, words


# --- limits ----------------------------------------------------------------------------------------------------------
@both
def test_jobs_are_confined_to_their_cores(cluster_of, version):
    """GANG-58."""
    c = cluster_of(version, "ConstrainCores=yes\n", conf=ALL, needs=("freezer", "cpuset"))
    if c.cpus < 2:
        pytest.skip("one CPU here: nothing to tell apart")
    show = "echo $(taskset -cp $$ | sed 's/.*: //')"
    assert c.run(["srun", "-n1", "-c2", "sh", "-c", show]).ok() == "0,1"
    first = c.sbatch("-n1", wrap=f"{show}; while [ ! -e go ]; do sleep 0.05; done; taskset -cp 0-1 $$; {show}")
    eventually(lambda: c.state(first) == "RUNNING", "it runs")
    second = c.run(["srun", "-n1", "sh", "-c", show]).ok()
    (c.work / "go").touch()
    c.wait(first)
    lines = c.output(first).splitlines()
    assert {lines[0], second} == {"0", "1"}
    assert lines[-1] == lines[0]  # it cannot have more by asking for it


@both
def test_steps_are_confined_to_their_cores(cluster_of, version):
    """Two steps of a job at a time have cores of their own; the script has all of them."""
    c = cluster_of(version, "ConstrainCores=yes\n", conf=ALL, needs=("freezer", "cpuset"))
    if c.cpus < 2:
        pytest.skip("one CPU here: nothing to tell apart")
    own = c.work / "own"
    own.write_text("#!/bin/sh\ntaskset -cp $$ | sed 's/.*: //' >$1\nwhile [ ! -e $2 ]; do sleep 0.05; done\n")
    own.chmod(0o755)
    step = f"srun -n1 --exact --mem=50 {own}"
    job = c.sbatch("-n2", wrap=f"touch none; {own} all none; {step} one two & {step} two one & wait; cat all one two")
    assert ended(c, job)[0] == "COMPLETED"
    assert c.output(job).split()[0] == "0,1" and sorted(c.output(job).split()[1:]) == ["0", "1"], c.output(job)
    # without --exact those of the job
    job = c.sbatch("-n2", wrap=f"srun -n1 --mem=50 --cpu-bind=none {own} wide none; cat wide")
    assert ended(c, job)[0] == "COMPLETED" and c.output(job) == "0,1\n", c.output(job)


def test_binding_stays_within_the_cores(cluster_of):
    """Both plugins number the same CPUs: a task is bound to CPUs that its step may use."""
    c = cluster_of(1, "ConstrainCores=yes\n", conf=TRACK + "TaskPlugin=task/affinity,task/cgroup\n", needs=("freezer", "cpuset"))
    if c.cpus < 2:
        pytest.skip("one CPU here: nothing to tell apart")
    show = "taskset -cp $$ | sed 's/.*: //'"
    assert sorted(c.run(["srun", "-n2", "--cpu-bind=threads", "sh", "-c", show]).ok().split()) == ["0", "1"]
    first = c.sbatch("-n1", wrap="touch up; while [ ! -e over ]; do sleep 0.05; done")
    eventually(lambda: (c.work / "up").exists(), "it has the first CPU")
    got = c.run(["srun", "-n1", "--cpu-bind=threads", "sh", "-c", show])
    (c.work / "over").touch()
    assert got.ok() == "1" and "error" not in got.stderr, got.stderr
    c.wait(first)


def test_cores_beyond_the_machine_are_not_bound(cluster_of):
    cpus = os.cpu_count() + 1
    c = cluster_of(1, "ConstrainCores=yes\n", conf=ALL, needs=("freezer", "cpuset"), cpus=cpus)
    assert f"this machine has {cpus - 1} CPUs, and {cpus} are configured: no task is bound to any: ConstrainCores has no effect" in c.tail("n1")
    assert c.run(f"srun -n{cpus} true").returncode == 0


def memory(cluster_of, version, conf=LIMITS, **more):
    return cluster_of(version, conf, conf=ALL, needs=("freezer", "memory"), memory=2000, **more)


@both
def test_memory_of_scripts_and_steps_is_limited(cluster_of, version):
    c = memory(cluster_of, version)
    job = c.sbatch("--mem=100", wrap=f"{HOG}; exit 0")
    assert ended(c, job) == OOM
    said = SAID.search(c.output(job))
    assert said, c.output(job)
    kills, step, node, limit, peak, most = said.groups()
    assert (kills, step, node, limit) == ("1", f"{job}.batch", "n1", "100") and 98 <= int(peak) <= 100
    assert re.match(r"python3\[\d+\] \d+M", most or "python3[1] 1M")
    assert f"step {job}.batch: the kernel has ended processes of it: it was given 102400 KiB of memory, peak " in c.tail("n1", 100)
    assert c.run(["squeue", "-h", "-tall", f"-j{job}", "-o%t %T %r"]).ok().split() == ["OOM", "OUT_OF_MEMORY", "OutOfMemory"]
    got = c.run(["srun", "-n1", "--mem=100", "sh", "-c", f"exec {HOG}"])
    assert got.returncode == 253
    assert SAID.search(got.stderr) and "srun: error: n1: task 0: Out Of Memory\n" in got.stderr, got.stderr
    job = int(re.search(r"StepId=(\d+)\.0", got.stderr).group(1))
    assert ended(c, job) == OOM
    # who stays within has what it was given
    assert c.run(["srun", "-n1", "--mem=400", "sh", "-c", f"{HOG}; echo $?"]).ok() == "0"


@both
def test_memory_limit_ends_one_task_of_several(cluster_of, version):
    """The others continue; a task that fails for its own reasons is not reported as out of memory."""
    c = memory(cluster_of, version)
    task = c.work / "task"
    task.write_text(f"#!/bin/sh\n[ $SLURM_PROCID = 1 ] && exec {HOG}\nwhile [ ! -e over ]; do sleep 0.05; done\nexit 3\n")
    task.chmod(0o755)
    srun = c.popen(["srun", "-n2", "--overcommit", "--mem=100", task])
    top = c.groups.of("memory") if version == 1 else c.groups.base
    group = eventually(lambda: next(top.glob("**/step_0"), None), "it runs")
    counts = group / ("memory.oom_control" if version == 1 else "memory.events")
    eventually(lambda: "oom_kill 1\n" in counts.read_text(), "one is ended")
    (c.work / "over").touch()
    said = srun.communicate(timeout=60)[1]
    assert srun.returncode == 253
    assert "srun: error: n1: task 1: Out Of Memory\n" in said and "srun: error: n1: task 0: Exited with exit code 3\n" in said, said


FEW = f"[ $SLURM_PROCID = 1 ] && exec {HOG}; while [ ! -e over ]; do sleep 0.05; done; echo on"


@pytest.mark.trials(10)
@both
@pytest.mark.parametrize("how", [["--oom-kill-step"], []], ids=["option", "configuration"])
def test_memory_ends_the_step(cluster_of, version, how):
    """--oom-kill-step: the task that could go on ends as well, on another node, too."""
    c = memory(cluster_of, version, nodes=2) if how else cluster_of(
        version, LIMITS, conf=ALL + "TaskPluginParam=OOMKillStep\n", needs=("freezer", "memory"), memory=2000, nodes=2)
    got = c.run(["srun", "-n3", "-N2", "--overcommit", "--mem=100", *how, "sh", "-c", FEW])
    assert got.returncode == 253 and "on" not in got.stdout.split(), got.stdout
    assert SAID.search(got.stderr), got.stderr
    job = c.sbatch("--mem=100", *how, wrap=f"sh -c \"{HOG}\" & sleep 1000; wait; sleep 1000")  # a process that is no task
    assert ended(c, job) == OOM


@both
@pytest.mark.parametrize("how", [["--oom-kill-step=0"], []], ids=["option", "default"])
def test_memory_ends_the_task_alone(cluster_of, version, how):
    """--oom-kill-step=0, and when nothing is said: those on other nodes go on, too."""
    c = memory(cluster_of, version, nodes=2)
    srun = c.popen(["srun", "-n2", "-N2", "--mem=100", *how, "sh", "-c", FEW])
    for line in srun.stderr:
        if "Out Of Memory" in line:
            break
    job = c.run("squeue -h -o %A").ok()
    eventually(lambda: "n2" not in c.run(f"scontrol listpids {job}").stdout and c.run("squeue -h -s -o %i").ok() == f"{job}.0", "n1 goes on")
    (c.work / "over").touch()
    assert srun.communicate(timeout=60)[0] == "on\n" and srun.returncode == 253


@both
def test_step_out_of_memory_does_not_end_the_script(cluster_of, version):
    """The script continues; a step that ran out of memory does not mark the job as out of memory."""
    c = memory(cluster_of, version)
    job = c.sbatch("--mem=600", wrap=f"srun -n1 --mem=100 sh -c \"exec {HOG}\"; echo srun $?; {HOG}; echo own $?; exit 3")
    assert ended(c, job) == ("FAILED", "3:0", "NonZeroExitCode")
    text = c.output(job)
    assert f"StepId={job}.0." in text and "limit 100M" in text and "srun 253\n" in text and "own 0\n" in text, text


@both
def test_memory_of_a_job_is_limited_as_a_whole(cluster_of, version):
    """Neither step is over its own limit, and both together are over the job's."""
    c = memory(cluster_of, version)
    hold = ("python3 -c 'import os, time\nb = bytearray(180 << 20)\nopen(\"up\", \"w\").close()\n"
            "while not os.path.exists(\"over\"): time.sleep(0.05)'")
    script = f"#!/bin/sh\nsrun -n1 --overlap {hold} &\nwhile [ ! -e up ]; do sleep 0.05; done\npython3 -c 'bytearray(180 << 20)'\ntouch over\nwait\n"
    job = c.sbatch("--mem=300", script=script)
    c.wait(job)
    said = re.search(r": limit of the job 300M, peak of all its steps here (\d+)M, of this step (\d+)M", c.output(job))
    assert said and 298 <= int(said[1]) <= 300 and int(said[2]) < 250, c.output(job)


def test_limits_without_tracking(cluster_of):
    """Only TaskPlugin is set: the processes of a step are the step daemon's descendants, and the directories are removed nevertheless."""
    c = cluster_of(1, LIMITS, conf="TaskPlugin=task/cgroup\n", memory=2000, needs=("memory",))
    script = "#!/bin/sh\n" + AWAY.format("away") + f"while [ ! -e away ]; do sleep 0.05; done\ncat /proc/$(cat away)/cgroup\n{HOG}\n"
    job = c.sbatch("--mem=100", script=script)
    assert ended(c, job) == OOM
    text = c.output(job)
    assert SAID.search(text) and re.search(rf":memory:.*/job_{job}/step_batch$", text, re.M) and not re.search(r":freezer:.*job_", text), text
    assert not alive(numbers(c.work / "away")[0])


@both
def test_percentages_scale_the_memory_limits(cluster_of, version):
    c = memory(cluster_of, version, "ConstrainRAMSpace=yes\nAllowedRAMSpace=150\nMinRAMSpace=40\n")
    group = "cat /sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)/memory.limit_in_bytes"
    if version == 2:
        group = "cat $(find /sys/fs/cgroup -maxdepth 0)$(sed -n 's/^0:://p' /proc/self/cgroup)/../memory.max"
    assert int(c.run(["srun", "-n1", "--mem=100", "sh", "-c", group]).ok()) == 150 << 20
    assert int(c.run(["srun", "-n1", "--mem=10", "sh", "-c", group]).ok()) == 40 << 20


@pytest.mark.parametrize("more, args, hard, both_kinds", [
    ("MaxRAMPercent=10.5\n", "--mem=300", 210, None),
    ("MaxRAMPercent=10.5\nConstrainSwapSpace=yes\nAllowedSwapSpace=50\nMaxSwapPercent=12\n", "--mem=300", 210, 240),
    ("MinRAMSpace=70\nConstrainSwapSpace=yes\nAllowedSwapSpace=50.5\n", "--mem=40", 70, 70),
    ("ConstrainSwapSpace=yes\nAllowedSwapSpace=50.5\n", "--mem=200", 200, 301),
])
def test_bounds_are_parts_of_the_configured_memory(cluster_of, more, args, hard, both_kinds):
    """MaxRAMPercent and MaxSwapPercent are of RealMemory, which is less than the machine has."""
    c = memory(cluster_of, 1, "ConstrainRAMSpace=yes\n" + more)
    show = "cd /sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup); cat memory.limit_in_bytes memory.memsw.limit_in_bytes"
    limits = [int(word) >> 20 for word in c.run(["srun", "-n1", args, "sh", "-c", show]).ok().split()]
    assert limits[0] == hard and (both_kinds is None or limits[1] == both_kinds), limits


def test_slice_and_extra_controllers(cluster_of):
    """CgroupSlice, and EnableExtraControllers with a controller that version 2 has here; where it has none, the groups get none."""
    extra = [word for word in cgroups.EXTRA if not cgroups.lacks(2, word)][:1]
    enable = "".join(f"EnableExtraControllers={word}\n" for word in extra)
    c = cluster_of(2, "CgroupSlice=a-b.slice\n" + enable, conf=TRACK)
    top = c.groups.trees["unified"]
    base = top / "a.slice/a-b.slice/n1_slurmstepd.scope"
    job = c.sbatch(wrap="sed -n s/^0:://p /proc/self/cgroup; touch up; while [ ! -e go ]; do sleep 0.05; done")
    eventually(lambda: (c.work / "up").exists(), "it runs")
    for place in (base / f"job_{job}", base / f"job_{job}/step_batch", base / f"job_{job}/step_batch/user"):
        assert (place / "cgroup.controllers").read_text().split() == extra
    (c.dir / "cgroup.conf").write_text((c.dir / "cgroup.conf").read_text().replace("a-b.slice", "c.slice"))
    c.run("scontrol reconfigure")
    eventually(lambda: "CgroupSlice=c.slice holds when slurmd is started again" in c.tail("n1"), "slurmd says so")
    (c.work / "go").touch()
    assert ended(c, job)[0] == "COMPLETED" and c.output(job).strip().endswith(f"/job_{job}/step_batch/user")
    (c.dir / "cgroup.conf").write_text((c.dir / "cgroup.conf").read_text().replace(enable, "") + "EnableExtraControllers=nfs\n")
    c.kill("n1", signal.SIGTERM)
    c.start_node("n1")
    eventually(lambda: "EnableExtraControllers: unknown controller 'nfs'" in c.tail("n1"), "slurmd says so")


@both
def test_step_opens_its_devices_only(cluster_of, version):
    """Cards made of /dev/full and /dev/zero: a step can open its own ones, and no other access changes."""
    c = cluster_of(version, "ConstrainDevices=yes\n", conf=ALL + "GresTypes=gpu,shard\n", node_conf="Gres=gpu:2,shard:4", needs=("freezer", "devices"),
                   start=False)
    cards = [c.dir / f"card{n}" for n in (0, 1)]
    for card, minor in zip(cards, (7, 5)):
        os.mknod(card, 0o666 | 0o020000, os.makedev(1, minor))
        card.chmod(0o666)
    (c.dir / "gres.conf").write_text(f"Name=gpu File={c.dir}/card[0-1]\n")
    c.start()
    look = f"for f in {cards[0]} {cards[1]} /dev/null /dev/urandom; do (exec <$f) 2>/dev/null && echo yes || echo no; done"
    run = lambda *options: c.run(["srun", "-n1", *options, "sh", "-c", look]).ok().split()
    assert run() == ["no", "no", "yes", "yes"]
    assert run("--gres=gpu:1") == ["yes", "no", "yes", "yes"]
    assert run("--gres=gpu:2") == ["yes", "yes", "yes", "yes"]
    assert run("--gres=shard:2") == ["yes", "no", "yes", "yes"]
    eventually(lambda: c.node("n1")["State"] == "IDLE", "the cards are free again")
    told = ["srun", "-n1", "--gres=gpu:1", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES of $SLURM_STEP_GPUS; exec sleep ${1:-0}", "-"]
    holder = c.popen([*told, "1000"])  # programs count the cards that they can open from 0
    assert holder.stdout.readline() == "0 of 0\n" and c.run(told).ok() == "0 of 1"
    c.run("scancel --me").ok()
    holder.communicate()
    job = c.sbatch("--gres=gpu:2", wrap=f"{look}; srun -n1 --gres=gpu:1 sh -c '{look}'; srun -n1 --gres=none sh -c '{look}'")
    c.wait(job)
    words = c.output(job).split()
    assert words[:4] == ["yes"] * 4 and sorted(words[4:6]) == ["no", "yes"] and words[8:10] == ["no", "no"], words


@both
def test_user_cannot_leave_or_change_a_group(cluster_of, version, nobody):
    """A user can neither leave the group nor change its limits."""
    c = cluster_of(version, conf=TRACK)
    tree = c.groups.base
    attempt = (f"d=$(find {tree} -name step_0); for f in {tree}/cgroup.procs $d/cgroup.procs $d/freezer.state $d/cgroup.freeze; do "
               "(echo $$ >$f) 2>/dev/null && echo $f; done; mkdir $d/mine 2>/dev/null && echo $d/mine; echo over")
    assert c.run(["srun", "-n1", "sh", "-c", attempt], user="nobody").ok() == "over"


FAKE = {"cgroup.procs": "", "cgroup.controllers": "cpuset memory\n", "cgroup.subtree_control": "cpuset memory\n", "cgroup.kill": "",
        "cgroup.freeze": "", "cgroup.events": "populated 0\nfrozen 0\n", "cpu.stat": "usage_usec 0\nuser_usec 0\nsystem_usec 0\n",
        "cpuset.cpus": "", "memory.max": "", "memory.high": "", "memory.swap.max": "", "memory.current": "0\n",
        "memory.peak": f"{99 << 20}\n", "memory.stat": "anon 0\n", "memory.events": "oom_kill 0\n"}


def test_version_2_with_every_controller(make_cluster):
    """On plain directories, since none of our machines has all controllers: the written files and values, and the interpretation of read values."""
    c = make_cluster(nodes=1, cpus=min(2, os.cpu_count()), start=False, conf=ALL + "JobAcctGatherType=jobacct_gather/cgroup\n")
    top = c.dir / "cgroup"
    scope = top / "system.slice/n1_slurmstepd.scope"
    user = scope / "job_1/step_batch/user"
    user.mkdir(parents=True)
    daemons = [scope / f"stepd_{number}" for number in (1, 2)]
    for place in [*daemons, user, *user.parents]:
        if place == c.dir:
            break
        place.mkdir(exist_ok=True)
        for name, text in FAKE.items():
            (place / name).write_text(text)
    (c.dir / "cgroup.conf").write_text(f"CgroupMountpoint={top}\nConstrainCores=yes\n{LIMITS}AllowedSwapSpace=50\n")
    c.start()
    assert "error: task" not in c.tail("n1", 100)
    step = user.parent
    job = c.sbatch("-n1", "--mem=100", wrap="while [ ! -e go ]; do sleep 0.05; done")
    eventually(lambda: (user / "cgroup.procs").read_text() == "0", "it has entered")
    assert (daemons[0] / "cgroup.procs").read_text() == "0" and int((daemons[0] / "memory.max").read_text()) == 68 << 20
    for place in (step.parent, step):
        assert (place / "cpuset.cpus").read_text() == "0"
        assert int((place / "memory.max").read_text()) == 100 << 20
        assert int((place / "memory.swap.max").read_text()) == 50 << 20
        assert (place / "memory.high").read_text() == ""
    (step / "cpu.stat").write_text("usage_usec 9000000\nuser_usec 7000000\nsystem_usec 2000000\n")
    (step / "memory.stat").write_text(f"anon {77 << 20}\nfile {900 << 20}\n")
    live = eventually(lambda: c.run(f"sstat -n -P -o AveCPU,MaxRSS,AveRSS -j {job}.batch").ok(), "the step is known to run")
    assert live == "00:00:09|77M|77M", live
    (step / "memory.events").write_text("oom 2\noom_kill 2\n")
    (c.work / "go").touch()
    assert ended(c, job) == OOM
    assert time_of_all(c) >= 9
    said = SAID.search(c.output(job))
    assert said and said.groups()[:5] == ("2", f"{job}.batch", "n1", "100", "99"), c.output(job)
    # a directory that cannot be made for it: nothing runs outside
    job = c.sbatch("--mem=100", wrap="touch ran")
    eventually(lambda: "DRAIN" in c.node("n1")["State"], "the node is drained")
    assert "cannot" in c.node("n1")["Reason"] and "job_2" in c.node("n1")["Reason"]
    c.run(f"scancel {job}").ok()
    c.wait(job)
    assert not (c.work / "ran").exists()


# --- what is missing, and what is said -------------------------------------------------------------------------------
GATHER = TRACK + "JobAcctGatherType=jobacct_gather/cgroup\nJobAcctGatherFrequency=0\n"


def test_configuration_of_control_groups_is_shown(cluster_of):
    c = cluster_of(1, "ConstrainDevices=no\n", conf=GATHER, needs=("freezer", "cpuacct"))
    shown = c.run("scontrol show config").ok()
    assert "JobAcctGatherType       = jobacct_gather/cgroup\n" in shown and "ProctrackType           = proctrack/cgroup\n" in shown
    assert "\nCgroup Support Configuration:\n" in shown and f"CgroupMountpoint        = {c.groups.mount}\n" in shown
    (c.dir / "cgroup.conf").write_text("ConstrainCore=yes\n")
    checked = c.run(f"slurmctld --check -f {c.conf_file}")
    assert f"{c.dir}/cgroup.conf:1: warning: unknown key ConstrainCore" in checked.stdout + checked.stderr
    (c.dir / "cgroup.conf").write_text("\nConstrainCores=perhaps\n")
    c.run(f"slurmctld --check -f {c.conf_file}").fails(f"{c.dir}/cgroup.conf:2: ConstrainCores=perhaps: expected YES or NO")


HOG_IN = """
import sys
open(sys.argv[1], "w").write("0")
bytearray(80 << 20)
"""


def test_memory_of_step_daemons_is_limited(cluster_of):
    """Step daemons of a job have a memory limit of their own, which grows with its steps; beyond it this job ends, and others go on."""
    c = memory(cluster_of, 1)
    job, other = (c.sbatch("--mem=100", wrap="srun -n1 --overlap sh -c 'touch up.$SLURM_JOB_ID; exec sleep 1000'") for _ in range(2))
    groups = [c.groups.of("memory") / f"uid_{os.getuid()}/stepd_{number}" for number in (job, other)]
    eventually(lambda: all((c.work / f"up.{number}").exists() for number in (job, other)), "both steps run")
    assert all(len(numbers(group / "cgroup.procs")) == 2 for group in groups)
    daemons = numbers(groups[0] / "cgroup.procs")
    assert numbers(groups[0] / "memory.limit_in_bytes") == [(64 + 2 * 4) << 20]
    assert not set(daemons) & set(numbers(groups[0].parent / f"job_{job}/cgroup.procs"))
    # the kernel chooses the largest process: a larger one than the daemons stands for the daemon that has grown
    assert subprocess.run(["python3", "-c", HOG_IN, groups[0] / "cgroup.procs"]).returncode == -signal.SIGKILL
    os.kill(daemons[0], signal.SIGKILL)
    c.wait(job)
    assert f"step daemons of job {job} have used the 72 MiB that they may have on node n1" in c.tail("n1", 100)
    assert f"step daemons of job {job} have used the 72 MiB" in c.run(f"scontrol show job {job}").ok()
    assert c.state(other) == "RUNNING" and len(numbers(groups[1] / "cgroup.procs")) == 2
    eventually(lambda: not groups[0].exists(), "the directory of the daemons is gone")


def time_of_all(c):
    """CPU seconds of everybody on n1."""
    rows = [line.split() for line in c.run("sluice usage n1").ok().splitlines()[1:] if " CPUs since " not in line]
    return sum(seconds(row[4]) for row in rows if row[2] == "-")


@both
def test_time_of_a_step_whose_shepherd_was_killed(cluster_of, version):
    """The CPU time of processes that no sample covered and for which no process waited is counted."""
    c = cluster_of(version, conf=GATHER, needs=("freezer", "cpuacct"))
    burn = "import os\nwhile sum(os.times()[:2]) < 1.3: pass\nopen('up', 'w').close()\nimport signal; signal.pause()"
    job = c.sbatch(wrap=f'exec python3 -c "{burn}"')
    eventually(lambda: (c.work / "up").exists(), "it has worked")
    os.kill(child_named(c.daemons["n1"].pid, "slurmstepd"), signal.SIGKILL)
    c.wait(job)
    assert time_of_all(c) >= 1  # whole seconds


@both
def test_time_of_unreaped_processes_is_counted(cluster_of, version):
    """In sstat: processes that ended between two samples, and whose parent ignores their ends."""
    c = cluster_of(version, conf=GATHER, needs=("freezer", "cpuacct"))
    burn = ("import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\npid = os.fork()\nif pid == 0:\n"
            "  while sum(os.times()[:2]) < 1.3: pass\n  os._exit(0)\ntry: os.waitpid(pid, 0)\nexcept ChildProcessError: pass\n"
            "open('up', 'w').close()\nsignal.pause()")
    job = c.sbatch(wrap=f'exec python3 -c "{burn}"')
    eventually(lambda: (c.work / "up").exists(), "it has worked")
    assert seconds(c.run(f"sstat -n -P -o AveCPU -j {job}.batch").ok()) >= 1  # whole seconds
    c.run(f"scancel {job}").ok()
    c.wait(job)


def test_missing_control_groups_stop_slurmd(make_cluster):
    """slurmd does not start without the requested controllers, and names the missing ones."""
    c = make_cluster(nodes=1, start=False, conf=ALL)
    (c.dir / "cgroup.conf").write_text(f"CgroupMountpoint={c.dir}/none\nConstrainRAMSpace=yes\n")
    c.start_controller()
    c.start_node("n1")
    eventually(lambda: c.daemons["n1"].poll() is not None, "it ends")
    said = c.tail("n1")
    assert f"slurm.conf asks for cgroups: no cgroup file system is mounted at {c.dir}/none" in said, said
    c.daemons.pop("n1")
    (c.dir / "cgroup.conf").write_text(f"CgroupMountpoint={c.dir}/none\nCgroupPlugin=disabled\n")
    c.start_node("n1")
    c.wait_ready()
    assert "CgroupPlugin=disabled in cgroup.conf: steps are not confined" in c.tail("n1")
    assert c.run("srun -n1 echo yes").ok() == "yes"


def test_missing_memory_controller_is_logged_once(cluster_of):
    """Logged once; the figures come from /proc."""
    c = cluster_of(1, conf=GATHER, needs=("freezer", "cpuacct", "memory"), start=False)
    (c.groups.mount / "memory").unlink()
    c.start()
    said = [line for line in c.tail("n1", 100).splitlines() if line.startswith("[") and "jobacct_gather/cgroup: " in line]
    assert len(said) == 1 and "memory is what /proc says" in said[0], c.tail("n1", 100)
    assert "ConstrainRAMSpace" not in c.tail("n1", 100)
    job = c.sbatch(wrap="exec sleep 100000")
    eventually(lambda: c.run(f"sstat -n -P -o MaxRSS -j {job}.batch").stdout.strip() not in ("", "0"), "it has some")
    c.run(f"scancel {job}").ok()
    c.wait(job)


def test_missing_controllers_are_logged(cluster_of):
    c = cluster_of(1, LIMITS + "ConstrainCores=yes\n", conf=ALL, start=False)
    (c.groups.mount / "memory").unlink()
    c.start()
    said = c.tail("n1")
    assert said.count(f"task/cgroup: no memory controller at {c.groups.mount}/memory: No such file or directory: "
                      "ConstrainRAMSpace and ConstrainSwapSpace have no effect; mount it") == 2, said  # log and terminal
    assert c.run("srun -n1 echo yes").ok() == "yes"


def test_second_daemon_of_a_name_is_refused(cluster_of):
    c = cluster_of(1, conf=TRACK)
    other = c.dir / "other.conf"
    other.write_text(re.sub(r"Port=(\d+)", lambda m: f"Port={int(m[1]) + 1}", c.conf_file.read_text()).replace(f"{c.dir}/spool", f"{c.dir}/spool2"))
    got = c.run(["slurmd", "-D", "-N", "n1", "-f", str(other)])
    assert got.returncode == 1 and "another slurmd uses cgroup slurm_n1" in got.stderr, got.stderr


def test_reconfigure_confines_later_jobs(cluster_of):
    """scontrol reconfigure: jobs that start later are confined, running ones stay as they are."""
    c = cluster_of(1, needs=("freezer", "memory"))
    job = c.sbatch("--mem=100", wrap="cat /proc/self/cgroup; touch up; while [ ! -e go ]; do sleep 0.05; done")
    eventually(lambda: (c.work / "up").exists(), "it runs")
    with c.conf_file.open("a") as f:
        f.write(ALL)
    c.run("scontrol reconfigure").ok()
    inside = lambda: "slurm_n1" in c.run("srun -n1 --mem=100 cat /proc/self/cgroup").ok()
    eventually(inside, "a step is in a group")
    (c.work / "go").touch()
    assert ended(c, job)[0] == "COMPLETED"
    assert "slurm_n1" not in c.output(job)
    # back to what it was, and nothing is left of what began before
    job = c.sbatch("--mem=100", wrap="touch there; while [ ! -e on ]; do sleep 0.05; done")
    eventually(lambda: (c.work / "there").exists(), "it runs")
    c.conf_file.write_text(c.conf_file.read_text().replace(ALL, ""))
    c.run("scontrol reconfigure").ok()
    eventually(lambda: not inside(), "a step is in no group")
    (c.work / "on").touch()
    assert ended(c, job)[0] == "COMPLETED"
    eventually(lambda: not c.groups.jobs(), "its directories are gone")
    # elsewhere: not while it runs
    with c.conf_file.open("a") as f:
        f.write(ALL)
    (c.dir / "cgroup.conf").write_text(f"CgroupMountpoint={cgroups.TOP}\n")
    c.run("scontrol reconfigure").ok()
    eventually(lambda: "hold when slurmd is started again; what there was stays" in c.tail("n1"), "it says so")
