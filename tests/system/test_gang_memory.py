# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory as in the gang scheduling guide: consumable, with defaults and limits, enforced, never shared: GANG-10 to GANG-16."""
import re

import pytest

import cgroups
from harness import eventually

SHARED = ["PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:4"]


def submit(c, *options):
    return c.sbatch("-o", "/dev/null", *options, wrap="sleep 1000")


def runs(c, job):
    eventually(lambda: c.state(job) == "RUNNING", f"job {job} runs")


def memory(c, *options):
    """What a job with these options is given on its node, in MiB."""
    job = submit(c, *options)
    runs(c, job)
    mib = int(re.search(r" Mem=(\d+) ", c.run(f"scontrol show job -d {job}").ok()).group(1))
    fields = c.job(job)
    c.run(f"scancel {job}").ok()
    c.wait(job)
    return mib, fields


@pytest.mark.parametrize("select, word", [("linear", "CR_Memory"), ("cons_tres", "CR_Core_Memory"),
                                          ("cons_res", "CR_CPU_Memory")])
def test_singular_key_is_accepted_with_a_warning(make_cluster, select, word):
    """GANG-10: the guide's SelectTypeParameter is taken, with a warning, and memory is consumable."""
    c = make_cluster(nodes=1, start=False, conf=f"SelectType=select/{select}", partitions=SHARED)
    text = c.conf_file.read_text().replace("SelectTypeParameters=CR_Core_Memory", f"SelectTypeParameter={word}")
    c.conf_file.write_text(text)
    line = text.split("\n").index(f"SelectTypeParameter={word}") + 1
    for command in "slurmctld --check", "scontrol check":
        checked = c.run(command)
        said = [word for word in (checked.stdout + checked.stderr).splitlines() if "warning: " in word and f":{line}: " in word]
        assert checked.returncode == 0 and len(said) == 1, command
        assert said[0].endswith(": SelectTypeParameter is now called SelectTypeParameters")
    c.start()
    assert f"{line}: SelectTypeParameter is now called SelectTypeParameters" in c.tail("slurmctld", 1000)
    shown = re.search(r"^SelectTypeParameters\s*=\s*(\S+)", c.run("scontrol show config").ok(), re.M).group(1)
    assert shown == word.upper()
    assert memory(c, "--mem=300")[0] == 300
    c.run("sbatch --mem=4001 --wrap true").fails("Memory specification can not be satisfied")


@pytest.mark.parametrize("select, word", [("linear", "CR_Memory"), ("cons_tres", "CR_Core_Memory")])
def test_two_jobs_that_do_not_fit_in_memory(make_cluster, select, word):
    """GANG-11: of two jobs with 60 % of the memory each one runs, though they would share their CPUs."""
    c = make_cluster(nodes=1, conf=f"SelectType=select/{select}\nSelectTypeParameters={word}", partitions=SHARED)
    first, second = submit(c, "-n4", "--mem=2400"), submit(c, "-n4", "--mem=2400")
    third = submit(c, "-n4", "--mem=1600")  # fits beside the first, and delays nobody who waits for it
    runs(c, first)
    eventually(lambda: c.job(second)["Reason"] == "Resources", "the second one waits")
    assert c.state(second) == "PENDING"
    c.run(f"scancel {first}").ok()
    runs(c, second)
    runs(c, third)
    assert c.node("n1")["AllocMem"] == "4000"


def test_default_memory_applies(make_cluster):
    """GANG-12: DefMemPerCPU and DefMemPerNode, of the cluster and of a partition."""
    parts = ["PartitionName=main Nodes=ALL Default=YES", "PartitionName=node Nodes=ALL DefMemPerNode=700",
             "PartitionName=cpu Nodes=ALL DefMemPerCPU=300"]
    c = make_cluster(nodes=1, partitions=parts)
    for options, mib, shown in ((["-n2"], 200, "MinMemoryCPU=100M"), (["-n2", "-pnode"], 700, "MinMemoryNode=700M"),
                                (["-n3", "-pcpu"], 900, "MinMemoryCPU=300M"),
                                (["-n2", "-pnode", "--mem=50"], 50, "MinMemoryNode=50M")):
        got, fields = memory(c, *options)
        key, _, value = shown.partition("=")
        assert (got, fields[key]) == (mib, value), options
    c.stop()
    c.conf_file.write_text(c.conf_file.read_text().replace("DefMemPerCPU=100\n", "DefMemPerNode=600\n"))
    c.start()
    got, fields = memory(c, "-n2")
    assert (got, fields["MinMemoryNode"]) == (600, "600M")


def test_memory_limits_apply(make_cluster):
    """GANG-13: more than MaxMemPerNode is refused; more than MaxMemPerCPU is paid for in CPUs."""
    parts = ["PartitionName=main Nodes=ALL Default=YES", "PartitionName=node Nodes=ALL MaxMemPerNode=700",
             "PartitionName=cpu Nodes=ALL MaxMemPerCPU=300"]
    c = make_cluster(nodes=1, conf="MaxMemPerNode=2000\nEnforcePartLimits=ALL", partitions=parts)
    for options in ("--mem=2001", "-pnode --mem=701"):
        c.run(f"sbatch {options} --wrap true").fails("emory")
    assert memory(c, "--mem=2000")[0] == 2000
    assert memory(c, "-pnode", "--mem=700")[0] == 700
    got, fields = memory(c, "-pcpu", "-n1", "--mem=900")
    assert (got, fields["NumCPUs"]) == (900, "3")
    got, fields = memory(c, "-pcpu", "-n1", "--mem-per-cpu=600")
    assert (got, fields["NumCPUs"]) == (600, "2")
    c.run("sbatch -pcpu --mem=1201 --wrap true").fails("Requested node configuration is not available")  # five CPUs of a node of four


def test_memory_options_of_a_job_apply(make_cluster):
    """GANG-14: --mem and --mem-per-cpu, and all of a node."""
    c = make_cluster(nodes=1)
    for options, mib, key, value in ((["-n2", "--mem=1500"], 1500, "MinMemoryNode", "1500M"),
                                     (["-n2", "--mem=1G"], 1024, "MinMemoryNode", "1G"),
                                     (["-n3", "--mem-per-cpu=120"], 360, "MinMemoryCPU", "120M"),
                                     (["-n1", "--mem=0"], 4000, "MinMemoryNode", "0")):
        got, fields = memory(c, *options)
        assert (got, fields[key]) == (mib, value), options
    c.run("sbatch --mem=100 --mem-per-cpu=50 --wrap true").fails("mutually exclusive")
    c.run("sbatch --mem=lots --wrap true").fails("--mem")


SLICED = "PreemptMode=GANG\nSchedulerTimeSlice=5\nPreemptParameters=suspend_grace_time=0\n"
HOG = "python3 -c 'b = bytearray(300 << 20); import signal; signal.pause()'"


def check_hog_beside_another_job(c):
    """Both jobs have all CPUs of the node and take turns; only the job that exceeds its memory ends."""
    other = c.sbatch("-n2", "--mem=400", "-o", "/dev/null", wrap="while :; do sleep 0.1; done")
    hog = c.sbatch("-n2", "--mem=100", "-o", "/dev/null", wrap=f"{HOG}; exit 0")
    c.wait(hog)
    fields = c.job(hog)
    assert (fields["JobState"], fields["Reason"]) == ("OUT_OF_MEMORY", "OutOfMemory")
    runs(c, other)
    assert c.job(other)["SecsPreSuspend"] != "0"  # it has stood while the other one ran
    c.run(f"scancel {other}").ok()
    assert c.wait(other)["JobState"] == "CANCELLED"


def test_memory_by_accounting_of_jobs_that_take_turns(make_cluster):
    """GANG-15, GANG-16: memory limits enforced by node daemons."""
    accounting = "JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\nJobAcctGatherParams=OverMemoryKill\n"
    check_hog_beside_another_job(make_cluster(nodes=1, cpus=2, conf=SLICED + accounting, partitions=SHARED))


@pytest.mark.parametrize("version", [1, 2])
def test_memory_by_control_groups_of_jobs_that_take_turns(version):
    """GANG-15, GANG-16: memory limits enforced by the kernel."""
    if why := cgroups.lacks(version, "memory", *(["freezer"] if version == 1 else [])):
        pytest.skip(why)
    conf = f"{SLICED}ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\n"
    with cgroups.cluster(version, "ConstrainRAMSpace=yes\nConstrainSwapSpace=yes\n", nodes=1, cpus=2, conf=conf, partitions=SHARED) as c:
        check_hog_beside_another_job(c)
