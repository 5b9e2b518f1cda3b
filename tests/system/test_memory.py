# SPDX-License-Identifier: GPL-3.0-or-later
"""Node daemons end jobs that use more memory than allocated: GANG-15, GANG-16."""
import os
import re

import pytest

from harness import LOOK_PREFIX, eventually

CONF = ("JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\n"
        "JobAcctGatherParams=OverMemoryKill")
# Two processes: the shell, and its child, which holds so many MiB, says so in a file and waits.
HOG = "python3 -c 'import signal; b = bytearray({0} << 20); open(\"{1}\", \"w\").close(); signal.pause()'; echo $?"
OVER = re.compile(r"slurmstepd: error: Step (\S+) exceeded memory limit \((\d+) > (\d+)\), being killed\n"
                  r"slurmstepd: error: (\S+): limit (\d+)M, peak (\d+)M, most of it: ((?:\S+\[\d+\] \d+M(?:, )?)+)\n"
                  r"slurmstepd: error: \*\*\* (\S+ \S+) ON (\S+) CANCELLED AT \S+ \*\*\*\n")


@pytest.fixture(scope="module")
def look():
    from harness import Cluster
    c = Cluster(nodes=2, conf=CONF)
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


def hog(c, mib, name="up"):
    return HOG.format(mib, c.work / name)


def has(c, name="up"):
    eventually(lambda: (c.work / name).exists(), f"there is the file {name}")
    os.unlink(c.work / name)


def ended(c, job):
    """State, exit code, reason."""
    c.wait(job)
    fields = c.job(job)
    return fields["JobState"], fields["ExitCode"], fields["Reason"]


OOM = ("OUT_OF_MEMORY", "0:125", "OutOfMemory")


def test_invalid_memory_parameters_are_refused(make_cluster):
    c = make_cluster(nodes=1, start=False)
    conf, text = c.work / "other.conf", c.conf_file.read_text()
    conf.write_text(text + "JobAcctGatherParams=OverMemoryKil\n")
    c.run(f"slurmctld --check -f {conf}").fails("'OverMemoryKil' is not one of: ", f"{conf}:")
    conf.write_text(text.replace("CR_Core_Memory", "CR_Core") + "JobAcctGatherParams=OverMemoryKill\n")
    checked = c.run(f"slurmctld --check -f {conf}")
    assert checked.returncode == 0 and "no job is given memory that it could exceed" in checked.stdout + checked.stderr


def test_vsize_factor_limits_the_address_space(make_cluster):
    """VSizeFactor: a percentage of the memory of the step, or else of the job; without memory there is no limit."""
    c = make_cluster(nodes=1, conf="VSizeFactor=250", start=False)
    c.conf_file.write_text(c.conf_file.read_text().replace("DefMemPerCPU=100\n", ""))
    c.start()
    limits = "ulimit -Sv; ulimit -Hv"
    srun = LOOK_PREFIX / "bin/srun"  # the address sanitizer reserves more than any limit
    assert c.run(["srun", "--mem=200", "sh", "-c", limits]).ok().split() == [str(500 * 1024)] * 2
    job = c.sbatch("--mem=400", "-n2", "-o", "vsize.out", wrap=f"{limits}; {srun} -n1 --mem=100 sh -c '{limits}'")
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert (c.work / "vsize.out").read_text().split() == [str(1000 * 1024)] * 2 + [str(250 * 1024)] * 2
    assert c.run(["srun", "--propagate=AS", "--mem=200", "sh", "-c", "ulimit -Sv"]).ok() == str(500 * 1024)
    c.run(["srun", "--mem=200", "python3", "-c", "bytearray(600 << 20)"]).fails("MemoryError")


def test_script_over_its_memory_spares_other_jobs(look):
    """GANG-15, 16: the whole process tree counts: the shell is small, its child is not. Another job within its share continues."""
    c = look
    other = c.sbatch("-w", "n1", "--mem=400", wrap=hog(c, 64, "other"))
    has(c, "other")
    job = c.sbatch("-w", "n1", "--mem=100", wrap=hog(c, 300))
    assert ended(c, job) == OOM
    said = OVER.search(c.output(job))
    assert said, c.output(job)
    step, used, limit, node, limit_mib, peak, most, what, where = said.groups()
    assert step == f"{job}.batch" and node == where == "n1" and what == f"JOB {job}"
    assert int(limit) == 100 * 1024 < int(used) and int(limit_mib) == 100  # it may have been growing still
    assert int(peak) * 1024 >= int(used) and re.match(r"python3\S*\[\d+\] \d+M, ", most), said.group(0)
    assert c.run(["squeue", "-h", "-tall", f"-j{job}", "-o%t %T %r"]).ok().split() == ["OOM", "OUT_OF_MEMORY", "OutOfMemory"]
    assert c.state(other) == "RUNNING"
    c.run(f"scancel {other}").ok()
    c.wait(other)
    assert "exceeded" not in c.output(other)


def test_job_within_its_memory_continues(look):
    """It was looked at, more than once, and let be."""
    c = look
    job = c.sbatch("--mem=400", wrap=hog(c, 200))
    has(c)
    looked = lambda: int((c.run(f"sstat -nP --noconvert -j {job}.batch -o MaxRSS").stdout.strip() or "0"))
    eventually(lambda: looked() > 200 << 20, "it was seen")
    assert c.state(job) == "RUNNING"
    c.run(f"scancel {job}").ok()
    assert ended(c, job)[0] == "CANCELLED"


def test_step_over_its_memory_spares_its_script(look):
    """A step that exceeds its own share ends, and the script continues, with srun's exit code."""
    c = look
    job = c.sbatch("-n2", "--mem=600", wrap=f"srun -n1 --mem=100 sh -c {sh(hog(c, 300))}; echo srun $?; exit 3")
    assert ended(c, job) == ("FAILED", "3:0", "NonZeroExitCode")
    text = c.output(job)
    said = OVER.search(text)
    assert said and said.group(1) == f"{job}.0" and said.group(8) == f"STEP {job}.0", text
    assert "srun: error: n1: task 0: Out Of Memory\n" in text and "srun 253\n" in text


def sh(text):
    """One word for a shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def test_srun_over_its_memory_ends_on_all_nodes(look):
    """A job of srun; with two nodes, the processes on the other node end too."""
    c = look
    program = f"if [ $SLURM_PROCID = 1 ]; then {hog(c, 300)}; else exec sleep 1000; fi"
    got = c.run(["srun", "-N2", "-n2", "--mem=100", "sh", "-c", program])
    assert got.returncode == 253
    assert re.search(r"Step (\d+)\.0 exceeded memory limit", got.stderr)
    assert "srun: error: n2: task 1: Out Of Memory\n" in got.stderr
    assert "srun: error: n1: task 0: Terminated\n" in got.stderr
    job = re.search(r"Step (\d+)\.0", got.stderr).group(1)
    assert ended(c, job) == OOM


def test_job_is_ended_for_its_total_memory(look):
    """Its script and its step share the job's memory; none is over, both together are."""
    c = look
    job = c.sbatch("-n2", "-w", "n1", "--mem=300",
                   wrap=f"srun -n1 sh -c {sh(hog(c, 180, 'step'))} & {hog(c, 180, 'script')}")
    assert ended(c, job) == OOM
    text = c.output(job)
    assert re.search(rf"slurmstepd: error: Job {job} exceeded memory limit \(\d+ > 307200\), being killed\n", text), text


def test_array_element_over_its_memory_is_ended(look):
    c = look
    job = c.sbatch("--array=1-2", "--mem=100", "-o", "/dev/null",
                   wrap=f"[ $SLURM_ARRAY_TASK_ID = 1 ] || {{ {hog(c, 300)}; }}")
    rows = lambda: sorted(c.run(["squeue", "-h", "-r", "-tall", f"-j{job}", "-o%K %T"]).ok().splitlines())
    eventually(lambda: rows() == ["1 COMPLETED", "2 OUT_OF_MEMORY"], "one is out of memory")


def test_memory_limits_survive_killed_daemons(make_cluster):
    """A process grows while no daemon runs: the next daemon ends it, and the one after that reports the note of the step daemon; the controller does
    not run meanwhile."""
    c = make_cluster(nodes=1, conf=CONF)
    job = c.sbatch("--mem=100", wrap=f"touch begun; while [ ! -e go ]; do sleep 0.05; done; {hog(c, 300)}")
    has(c, "begun")
    c.kill("n1")
    (c.work / "go").touch()
    has(c)
    c.kill("slurmctld")
    c.start_node("n1")
    eventually(lambda: "exceeded memory limit" in c.output(job), "it is ended")
    c.kill("n1")
    c.start_controller()
    c.start_node("n1")
    assert ended(c, job) == OOM
    assert c.output(job).count("exceeded memory limit") == 1


def test_reconfiguration_applies_memory_limits(make_cluster):
    """What runs is held to its share from then on."""
    c = make_cluster(nodes=1, conf=CONF.replace("OverMemoryKill", "NoOverMemoryKill"))
    job = c.sbatch("--mem=100", wrap=hog(c, 300))
    has(c)
    looked = lambda: int((c.run(f"sstat -nP --noconvert -j {job}.batch -o MaxRSS").stdout.strip() or "0"))
    eventually(lambda: looked() > 300 << 20, "it was seen")
    assert c.state(job) == "RUNNING"
    c.conf_file.write_text(c.conf_file.read_text().replace("NoOverMemoryKill", "OverMemoryKill"))
    c.run("scontrol reconfigure").ok()
    assert ended(c, job) == OOM
