# SPDX-License-Identifier: GPL-3.0-or-later
"""--cpu-freq: the frequency of the CPUs of steps, on plain files instead of those of the kernel (SlurmdParameters=cpufreq_path)."""
import os
import pathlib
import re
import signal

import pytest

import cgroups
from harness import eventually, fields_of, processes_of

FILES = {"cpuinfo_min_freq": "800000", "cpuinfo_max_freq": "3000000", "scaling_min_freq": "800000", "scaling_max_freq": "3000000",
         "scaling_cur_freq": "1800000", "scaling_setspeed": "<unsupported>", "scaling_governor": "schedutil",
         "scaling_available_frequencies": "3000000 2400000 1800000 800000", "scaling_available_governors": "ondemand performance userspace schedutil"}
CPU = sorted(os.sched_getaffinity(0))[0]  # the only one of the node
BEFORE = "schedutil 800000 3000000"


class Kernel:
    """The files of the kernel."""
    def __init__(self, top):
        self.top = pathlib.Path(top)
        for cpu in range(os.cpu_count()):
            directory = self.top / f"cpu{cpu}/cpufreq"
            directory.mkdir(parents=True)
            for name, text in FILES.items():
                (directory / name).write_text(text + "\n")

    def line(self, cpu=CPU):
        names = ("scaling_governor", "scaling_min_freq", "scaling_max_freq")
        return " ".join((self.top / f"cpu{cpu}/cpufreq" / name).read_text().strip() for name in names)

    def show(self):
        """A command that prints the same from inside of a step."""
        directory = self.top / f"cpu{CPU}/cpufreq"
        return ["sh", "-c", f"for f in governor min_freq max_freq; do cat {directory}/scaling_$f; echo; done | xargs; echo $SLURM_CPU_FREQ_REQ"]


@pytest.fixture
def site(make_cluster):
    def make(conf="TaskPlugin=task/affinity", kernel=True):
        c = make_cluster(nodes=1, cpus=1, start=False)
        c.kernel = Kernel(c.dir / "cpu") if kernel else None
        path = c.dir / ("cpu" if kernel else "none")
        path.mkdir(exist_ok=True)
        text = c.conf_file.read_text().replace("SlurmdParameters=config_overrides", f"SlurmdParameters=config_overrides,cpufreq_path={path}")
        c.conf_file.write_text(text + conf + "\n")
        c.start()
        return c
    return make


def back(c):
    eventually(lambda: c.kernel.line() == BEFORE, "it is as it was")
    eventually(lambda: not (c.dir / "spool/n1/cpufreq").exists(), "nothing is noted")


def test_step_runs_at_the_requested_frequency(site):
    c = site()
    for asked, expected in (("high", "userspace 800000 3000000"), ("performance", "performance 800000 3000000"),
                            ("low-medium:OnDemand", "ondemand 800000 1800000"), ("1800000:userspace", "userspace 1800000 1800000")):
        lines = c.run(["srun", f"--cpu-freq={asked}", *c.kernel.show()]).ok().splitlines()
        assert lines[0] == expected and lines[1].lower() == asked.lower()
        back(c)
    assert c.run(c.kernel.show()).ok().splitlines()[0] == BEFORE
    lines = c.run(["srun", *c.kernel.show()], env={"SLURM_CPU_FREQ_REQ": "performance"}).ok().splitlines()
    assert lines == ["performance 800000 3000000", "Performance"]


def test_frequency_of_a_job_applies_to_its_steps(site):
    c = site()
    show = " ".join(f"'{word}'" if " " in word else word for word in c.kernel.show())
    job = c.sbatch("-o", f"{c.work}/out", "--cpu-freq=highm1", script=f"#!/bin/sh\n{show}\nsrun {show}\n")
    assert c.job(job)["CPUFreqReq"] == "HighM1"
    c.wait(job)
    assert (c.work / "out").read_text().splitlines() == [BEFORE, "HighM1", "userspace 800000 3000000", "HighM1"]
    lines = c.run(["salloc", "--cpu-freq=performance", "srun", *c.kernel.show()]).ok().splitlines()
    assert lines == ["performance 800000 3000000", "Performance"]
    back(c)


def test_default_frequency_and_permitted_governors(site):
    c = site("TaskPlugin=task/affinity\nCpuFreqDef=Performance\nCpuFreqGovernors=OnDemand,PowerSave\nLaunchParameters=batch_step_set_cpu_freq")
    assert c.run(["srun", *c.kernel.show()]).ok().splitlines() == ["performance 800000 3000000", ""][:1]
    assert c.run(["srun", "--cpu-freq=ondemand", *c.kernel.show()]).ok().splitlines()[0] == "ondemand 800000 3000000"
    show = " ".join(f"'{word}'" if " " in word else word for word in c.kernel.show())
    job = c.sbatch("-o", f"{c.work}/out", "--cpu-freq=ondemand", script=f"#!/bin/sh\n{show}\n")
    c.wait(job)
    assert (c.work / "out").read_text().splitlines()[0] == "ondemand 800000 3000000"
    back(c)
    c.run("srun --cpu-freq=performance true").fails("governor Performance is not one of CpuFreqGovernors=OnDemand,PowerSave")
    c.run("srun --cpu-freq=high true").fails("governor UserSpace, which keeps a frequency, is not one of CpuFreqGovernors=")
    c.run("sbatch --cpu-freq=low-high:powersavE --wrap=true -H").ok()
    c.run("sbatch --cpu-freq=low-high:schedutil --wrap=true").fails("is not one of CpuFreqGovernors=")
    done = c.run("srun --cpu-freq=powersave echo runs")
    assert done.ok() == "runs"
    assert done.stderr.strip() == (f"slurmstepd: error: n1: --cpu-freq=PowerSave has no effect: CPU {CPU} has no governor powersave; "
                                   "it has: ondemand performance userspace schedutil")


def test_a_range_without_a_governor_has_that_of_the_site(site):
    c = site("TaskPlugin=task/affinity\nCpuFreqDef=Performance")
    assert c.run(["srun", "--cpu-freq=low-medium", *c.kernel.show()]).ok().splitlines() == ["performance 800000 1800000", "Low-Medium"]
    back(c)
    for word in "", "UserSpace", "High":
        text = c.conf_file.read_text()
        c.conf_file.write_text(re.sub("CpuFreqDef=.*", f"CpuFreqDef={word}", text))
        c.run("scontrol reconfigure").ok()
        for command in "srun --cpu-freq=low-high true", "sbatch --cpu-freq=low-high --wrap=true", "salloc --cpu-freq=low-high true":
            c.run(command).fails("the range Low-High has no governor, and CpuFreqDef in slurm.conf names none for it")


@pytest.mark.parametrize("asked", ["fast", "high-low", "low-high:fast", "low-high:userspace", "high:ondemand", "0", "2-1", ""])
def test_a_bad_value_is_refused(site, asked):
    c = site()
    for command in ("srun", "sbatch --wrap=x", "salloc"):
        c.run([*command.split(), f"--cpu-freq={asked}", "true"]).fails("Invalid --cpu-freq specification: '", "it is P1[-P2][:P3]: P1 a number of kHz")


def test_node_without_frequency_scaling_is_reported(site):
    """Said once, and the step runs; nothing is said to users when only the site asks."""
    c = site("TaskPlugin=task/affinity\nCpuFreqDef=high", kernel=False)
    done = c.run("srun --cpu-freq=high echo runs")
    assert done.ok() == "runs"
    assert done.stderr.strip() == "slurmstepd: error: n1: --cpu-freq=High has no effect: the kernel has no cpufreq for its CPUs"
    for _ in range(2):
        assert "error" not in c.run("srun echo runs").stderr
    assert (c.dir / "slurmd-n1.log").read_text().count(f"CpuFreqDef=high has no effect: the kernel has no cpufreq in {c.dir}/none") == 1


def test_unconfined_tasks_change_no_frequency(site):
    c = site(conf="TaskPlugin=task/none")
    done = c.run(["srun", "--cpu-freq=high", *c.kernel.show()])
    assert done.ok().splitlines()[0] == BEFORE
    assert "--cpu-freq=High has no effect: its tasks are not confined to CPUs (TaskPlugin=task/affinity" in done.stderr


def begin(c, job, asked, name):
    step = c.popen(["srun", f"--jobid={job}", "--overlap", "--mem=0", f"--cpu-freq={asked}", "sh", "-c", f"touch {c.work}/{name}; sleep 1000"])
    eventually((c.work / name).exists, f"step {name}")
    return step


def test_last_step_on_a_cpu_decides_its_frequency(site):
    """The latest step decides; after its end the remaining one; after both the original setting is restored."""
    c = site()
    job = c.sbatch(wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "a start")
    first = begin(c, job, "performance", "a")
    second = begin(c, job, "low-medium:ondemand", "b")
    assert c.kernel.line() == "ondemand 800000 1800000"
    shown = {s["StepId"]: s["CPUFreqReq"] for s in map(fields_of, c.run("scontrol show step -o").ok().splitlines())}
    assert shown[f"{job}.0"] == "Performance" and shown[f"{job}.1"] == "Low-Medium:OnDemand"
    listed = dict(line.split() for line in c.run(f"squeue -h -s -j {job} -O StepID:20,CPUFreq:30").ok().splitlines())
    assert listed == {f"{job}.batch": "N/A", f"{job}.0": "Performance", f"{job}.1": "Low-Medium:OnDemand"}
    for fields, text in (("ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov", "Low|Medium|OnDemand"), ("ReqCPUFreq", "Medium")):
        assert c.run(f"sstat -n -P -j {job}.1 -o {fields}").ok() == text
    c.run(f"scancel {job}.1").ok()
    second.communicate(timeout=60)
    eventually(lambda: c.kernel.line() == "performance 800000 3000000", "the first one's wish")
    c.run(f"scancel {job}").ok()
    first.communicate(timeout=60)
    back(c)


def pid_of_shepherd(c, job):
    return next(pid for pid, line in processes_of(c.dir).items() if line.startswith(f"slurmstepd: [{job}.0]"))


def test_frequencies_are_restored_after_a_killed_daemon(site):
    """The frequency of the step does not change; after the step the original setting is restored."""
    c = site()
    job = c.sbatch(wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "a start")
    step = begin(c, job, "performance", "a")
    c.kill("n1")
    c.start_node("n1")
    eventually(lambda: (c.dir / "slurmd-n1.log").read_text().count("registered with the controller") == 2, "the daemon is back")
    assert c.kernel.line() == "performance 800000 3000000"
    c.run(f"scancel {job}.0").ok()
    step.communicate(timeout=60)
    back(c)


def test_frequencies_apply_to_the_cores_of_the_step():
    """If only task/cgroup confines tasks, the CPUs of the group are those of the step; other CPUs are not changed."""
    with cgroups.cluster(1, "ConstrainCores=yes\n", conf="ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\n", cpus=2, start=False) as c:
        c.kernel = Kernel(c.dir / "cpu")
        c.conf_file.write_text(c.conf_file.read_text().replace("SlurmdParameters=", f"SlurmdParameters=cpufreq_path={c.dir}/cpu,"))
        c.start()
        done = c.run(["srun", "-n1", "--cpu-freq=performance", *c.kernel.show()])
        assert done.ok().splitlines()[0] == "performance 800000 3000000", done.stderr
        back(c)
        asked = c.popen(["srun", "-n1", "--cpu-freq=performance", "sh", "-c", "echo up; sleep 1000"])
        assert asked.stdout.readline() == "up\n"
        assert sorted(c.kernel.line(cpu) for cpu in sorted(os.sched_getaffinity(0))[:2]) == ["performance 800000 3000000", BEFORE]
        asked.terminate()
        asked.communicate(timeout=60)
        back(c)


@pytest.mark.parametrize("daemon", [True, False], ids=["slurmd-runs", "slurmd-comes-back"])
def test_frequencies_are_restored_after_a_killed_step_daemon(site, daemon):
    c = site()
    job = c.sbatch(wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "a start")
    step = begin(c, job, "performance", "a")
    pid = pid_of_shepherd(c, job)
    if not daemon:
        c.kill("n1")
    os.kill(pid, signal.SIGKILL)
    assert c.kernel.line() == "performance 800000 3000000" or daemon
    if not daemon:
        c.start_node("n1")
    back(c)
    c.run(f"scancel {job}").ok()
    step.kill()
    step.communicate(timeout=60)
