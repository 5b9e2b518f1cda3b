# SPDX-License-Identifier: GPL-3.0-or-later
"""What processes use: by step in sstat, by user and job in 'sluice usage'; nothing ever falls."""
import os
import pathlib
import pwd
import re
import signal

import pytest

from harness import ROOT, eventually

MIB = 1 << 20
# Short-lived children that work, so that no look sees them all; and 64 MiB of memory.
BURN = "while :; do sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'; done"
HOLD = "exec python3 -c 'import time; b = bytearray(64 << 20); time.sleep(1000)'"


@pytest.fixture(scope="module")
def busy():
    from harness import Cluster
    c = Cluster(nodes=2, conf="JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1")
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


def seconds(text):
    days, _, clock = text.rpartition("-")
    h, m, s = clock.split(":")
    return int(days or 0) * 86400 + int(h) * 3600 + int(m) * 60 + int(s)


def sstat(c, job, fields, *more, user=None):
    """A dictionary for each line."""
    out = c.run(["sstat", "-P", "--noconvert", "-j", str(job), "-o", fields, *more], user=user).ok().splitlines()
    return [dict(zip(out[0].split("|"), line.split("|"))) for line in out[1:]]


def usage(c, node):
    """{(user, job or None): [processes, CPU seconds, RSS, MaxRSS, MaxVM, MiB-hours]} and the line about time."""
    rows, time = {}, ""
    for line in c.run(f"sluice usage {node}").ok().splitlines()[1:]:
        word = line.split()
        if " CPUs since " in line:
            time = line
        else:
            rows[word[1], None if word[2] == "-" else int(word[2])] = [
                int(word[3]), seconds(word[4]), int(word[5]), int(word[6]), int(word[7]), float(word[8])]
    return rows, time


def not_below(now, then):
    """Compares sums and high-water marks: all figures except current usage."""
    return all(now[i] >= then[i] for i in (1, 3, 4, 5))


def writes_count(directory):
    """Whether the kernel counts writes to this file system as writes to storage."""
    def written():
        return int(re.search(r"^write_bytes: (\d+)", pathlib.Path("/proc/self/io").read_text(), re.M).group(1))
    before = written()
    with open(directory / "probe", "wb") as f:
        f.write(b"x" * MIB)
        f.flush()
        os.fsync(f.fileno())
    return written() - before >= MIB


def environment(pid):
    """Of a process; of one that has ended meanwhile, anything will do."""
    class Anything(str):
        def __contains__(self, what):
            return True
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_text() or Anything()
    except OSError:
        return Anything()


def test_invalid_requests_are_refused(busy):
    busy.run("sstat").fails("You didn't give me any jobs to stat.")
    busy.run("sstat -j 99999").fails("sstat: error: couldn't get steps for job 99999: Invalid job id specified")
    busy.run("sstat -j 99999.0").fails("sstat: error: StepId=99999.0 not found running: Invalid job id specified")
    busy.run("sstat -j x").fails("Bad job/step specified: x")
    busy.run("sstat -j 1.").fails("Bad job/step specified: 1.")
    busy.run("sstat -j 1 -o JobID,bogus").fails('Invalid field requested: "bogus"')
    job = busy.sbatch("-H", wrap="true")
    gone = busy.run(f"sstat -n -j {job} -o JobID")
    assert gone.returncode == 0 and gone.stdout == "" and f"couldn't get steps for job {job}\n" in gone.stderr
    gone = busy.run(f"sstat -n -j {job}.3 -o JobID")
    assert gone.returncode == 0 and f"StepId={job}.3 not found running." in gone.stderr
    busy.run(f"scancel {job}").ok()
    busy.run("sluice usage n9").fails("n9")
    busy.run("sluice usage n1 n2").fails("unexpected argument 'n2'")


def test_usage_of_a_running_step_is_shown(busy):
    """CORE-057, 174."""
    name = busy.work / "written"
    program = (f"[ $SLURM_PROCID = 2 ] && {{ {HOLD}; }}; "
               f"[ $SLURM_PROCID = 1 ] && dd if=/dev/zero of={name} bs=1M count=8 conv=fsync 2>/dev/null; {BURN}")
    job = busy.sbatch("-N2", "-n3", "--mem=400", wrap=f"srun -n3 sh -c '{program}'".replace("'import", "\"import")
                      .replace("(1000)'", "(1000)\"").replace("-c 'i=0", "-c \"i=0").replace("done'; done", "done\"; done"))

    def seen():
        lines = sstat(busy, job, "JobID,MaxRSS,MaxRSSTask,MaxRSSNode,MaxVMSize,AveCPU,MinCPU,MinCPUTask,NTasks,AveRSS,"
                                 "MaxDiskWrite,MaxDiskWriteTask,Nodelist")
        # The task that holds memory waits from then on: each of the others comes to have used more CPU time.
        enough = lines and int(lines[0]["MaxRSS"]) >= 64 * MIB and seconds(lines[0]["AveCPU"]) >= 1 and lines[0]["MinCPUTask"] == "2"
        return lines[0] if enough else None
    line = eventually(seen, "memory and CPU time in sstat")
    assert line["JobID"] == f"{job}.0" and line["NTasks"] == "3" and line["Nodelist"] == "n[1-2]"
    assert line["MaxRSSTask"] == "2" and line["MinCPUTask"] == "2" and int(line["MaxVMSize"]) >= 64 * MIB
    assert line["MaxRSSNode"] in ("n1", "n2") and 64 * MIB // 3 <= int(line["AveRSS"]) < int(line["MaxRSS"])
    assert seconds(line["MinCPU"]) < seconds(line["AveCPU"])
    if writes_count(busy.work):
        eventually(lambda: int(sstat(busy, job, "MaxDiskWrite")[0]["MaxDiskWrite"]) >= 8 * MIB, "what it wrote")
        assert sstat(busy, job, "MaxDiskWriteTask")[0]["MaxDiskWriteTask"] == "1"
    everything = [line["JobID"] for line in sstat(busy, job, "JobID", "-a")]
    assert everything == [f"{job}.batch", f"{job}.0"]
    assert [line["JobID"] for line in sstat(busy, f"{job}.batch,{job}.0,{job}.batch", "JobID")] == everything
    assert sstat(busy, f"{job}.7", "JobID") == []
    pids = [line.split("|") for line in busy.run(f"sstat -nP -i -j {job}").ok().splitlines()]
    assert [(p[0], p[1]) for p in pids] == [(f"{job}.0", "n1"), (f"{job}.0", "n2")]
    for _, _, list_of in pids:
        for pid in list_of.split(","):
            assert f"SLURM_JOB_ID={job}" in environment(pid)
    busy.run(f"scancel {job}").ok()
    busy.wait(job)
    assert sstat(busy, job, "JobID") == []


@pytest.mark.skipif(not ROOT, reason="becomes other users")
def test_steps_are_shown_to_their_owner_only(busy):
    job = busy.sbatch("-D", "/", "-o", "/dev/null", wrap="sleep 1000", user="nobody")
    eventually(lambda: sstat(busy, f"{job}.batch", "JobID", user="nobody"), "its owner sees it")
    assert sstat(busy, f"{job}.batch", "JobID")
    other = busy.run(f"sstat -n -j {job}.batch -o JobID", user="daemon")
    assert (other.returncode, other.stdout) == (1, "") and "Access/permission denied" in other.stderr
    # a job without a step is no way around it, and its owner hears why there is nothing
    other = busy.run(f"sstat -n -j {job} -o JobID", user="daemon")
    assert (other.returncode, other.stdout) == (1, "") and "Access/permission denied" in other.stderr
    for who in ("nobody", None):
        own = busy.run(f"sstat -n -j {job} -o JobID", user=who)
        assert (own.returncode, own.stdout) == (0, "") and f"job {job} runs no step but StepId={job}.batch" in own.stderr
        assert busy.run(f"sstat -n -a -j {job} -o JobID", user=who).ok().strip() == f"{job}.batch"
    both = busy.run(f"sstat -n -j {job},77 -o JobID", user="daemon")
    assert both.returncode == 1 and "couldn't get steps for job 77" in both.stderr
    node = busy.job(job)["NodeList"]

    def processes(whose):  # the shell, and what it has started a moment later
        return usage(busy, node)[0]["nobody", whose][0]
    eventually(lambda: processes(job) >= 2 and processes(None) >= 2, "two processes")
    busy.run(f"scancel {job}").ok()
    busy.wait(job)


def test_node_usage_covers_every_process(busy):
    """CORE-024, 177, 178: users', system daemons', the kernel's; and where all time went."""
    eventually(lambda: re.search("[1-9].* %", usage(busy, "n1")[1].partition(": ")[2]), "time has been counted")
    rows, time = usage(busy, "n1")
    assert "root" in {user for user, _ in rows} or not ROOT
    here = [e for e in os.listdir("/proc") if e.isdigit()]
    assert sum(row[0] for (_, job), row in rows.items() if job is None) > len(here) // 2
    parts = [float(p) for p in re.findall(r"([\d.]+) %", time)]
    assert len(parts) == 7 and abs(sum(parts) - 100) < 0.5, time
    node = busy.node("n1")
    assert re.fullmatch(r"\d+\.\d\d", node["CPULoad"]) and int(node["FreeMem"]) > 0
    assert busy.run("sinfo -h -n n1 -o %O|%e").ok() == f"{node['CPULoad']}|{node['FreeMem']}"


@pytest.mark.slow
def test_usage_never_decreases_across_restarts(busy):
    """CORE-175, 176: with short children, over an orderly stop, a kill and a damaged neighbour file."""
    job = busy.sbatch("-w", "n1", "--mem=300", wrap=f"{HOLD.replace('exec ', '')} & {BURN}")
    name = pwd.getpwuid(os.geteuid()).pw_name

    def row():
        found = usage(busy, "n1")[0].get((name, job))
        return found if found and found[1] >= 1 and found[3] >= 64 else None
    before = eventually(row, "the job in the node's rows")
    user_before = usage(busy, "n1")[0][name, None]
    step_before = eventually(lambda: sstat(busy, f"{job}.batch", "AveCPU,MaxRSS"), "the script in sstat")[0]
    for how in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        busy.kill("n1", how)
        busy.start_node("n1")
        busy.wait_ready()
        after = eventually(row, "the job's row again")
        assert not_below(after, before), (how, before, after)
        user = usage(busy, "n1")[0][name, None]
        assert not_below(user, user_before), (how, user_before, user)
        step = eventually(lambda: sstat(busy, f"{job}.batch", "AveCPU,MaxRSS"), "the script in sstat again")[0]
        assert seconds(step["AveCPU"]) >= seconds(step_before["AveCPU"]) >= 1
        assert int(step["MaxRSS"]) >= int(step_before["MaxRSS"]) >= 64 * MIB
        before, user_before, step_before = after, user, step
    eventually(lambda: (usage(busy, "n1")[0].get((name, job)) or before)[1] > before[1], "counting goes on")
    busy.run(f"scancel {job}").ok()
    busy.wait(job)
    eventually(lambda: (name, job) not in usage(busy, "n1")[0], "an ended job has no row of its own")
    assert not_below(usage(busy, "n1")[0][name, None], user_before)


def test_a_damaged_file_is_set_aside(busy):
    busy.kill("n2", signal.SIGTERM)
    file = busy.dir / "spool/n2/usage"
    file.write_bytes(b"\xff" + file.read_bytes())
    busy.start_node("n2")
    busy.wait_ready()
    assert usage(busy, "n2")[0] and (busy.dir / "spool/n2/damaged.usage").exists()
    assert "counting starts at zero" in busy.tail("n2", 1000)


@pytest.mark.skipif(not ROOT, reason="becomes other users")
def test_private_usage_is_hidden(make_cluster):
    c = make_cluster(nodes=1, conf="PrivateData=usage")
    everybody = {line.split()[1] for line in c.run("sluice usage").ok().splitlines()[1:-1]}
    assert "root" in everybody
    own = {line.split()[1] for line in c.run("sluice usage", user="nobody").ok().splitlines()[1:-1]}
    assert own <= {"nobody"}


@pytest.mark.slow
def test_usage_is_collected_once(make_cluster):
    """CORE-179: uploaded usage is not counted again, and usage that was not received is not lost."""
    c = make_cluster(nodes=1)
    job = c.sbatch("--mem=300", wrap=f"{HOLD.replace('exec ', '')} & {BURN}")
    name = pwd.getpwuid(os.geteuid()).pw_name

    def row(*more):
        out = c.run(["sluice", "usage", *more]).ok().splitlines()
        words = [line.split() for line in out[1:] if line.split()[1:3] == [name, str(job)]]
        return (seconds(words[0][4]) if words else 0), re.search(r", period (\d+):", out[-1])
    eventually(lambda: row()[0] >= 2, "CPU time of the job")
    if ROOT:
        c.run("sluice usage --clear", user="nobody").fails("Access/permission denied")
    lost = c.run(["sh", "-c", "sluice usage --clear >/dev/full"])
    assert lost.returncode == 1 and "No space left" in lost.stderr
    c.kill("n1", signal.SIGKILL)
    c.start_node("n1")
    c.wait_ready()
    first, period = row("--clear")
    assert first >= 2 and period.group(1) == "1"
    between = row()[0]
    eventually(lambda: row()[0] >= 1, "counting goes on")
    second, period = row("--clear")
    assert second >= max(1, between) and period.group(1) == "2"
    used = seconds(sstat(c, f"{job}.batch", "AveCPU")[0]["AveCPU"])
    assert first + second <= used + 1
    c.run(f"scancel {job}").ok()
    c.wait(job)


PEAK = ("import os, time\nb = b'x' * (200 << 20)\nopen('up', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.05)\n"
        "del b\nopen('freed', 'w').close()\nwhile not os.path.exists('over'): time.sleep(0.05)\n")


def test_acctg_freq_of_a_job_is_applied(make_cluster):
    """--acctg-freq: memory that a task has used and freed is in the figures, without queries and without a configured interval; a restarted daemon
    keeps the interval."""
    c = make_cluster(nodes=1, conf="JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=0\nSlurmdTimeout=3000")
    kept = c.dir / "spool/n1/usage"

    def looked():
        before = kept.stat().st_mtime_ns
        for _ in range(2):
            eventually(lambda: kept.exists() and kept.stat().st_mtime_ns != before, "a look", 30)
            before = kept.stat().st_mtime_ns

    script = f"srun -n1 python3 -c \"{PEAK}\""
    job = c.sbatch("--mem=300", "--acctg-freq=energy=30,task=1", wrap=script)
    eventually((c.work / "up").exists, lambda: "it has its memory: " + c.output(job))
    looked()
    (c.work / "go").touch()
    eventually((c.work / "freed").exists, "it has given it back")
    assert int(sstat(c, f"{job}.0", "MaxRSS")[0]["MaxRSS"]) >= 200 * MIB
    c.kill("n1")
    c.start_node("n1")
    c.wait_ready(("mix", "alloc"))
    looked()
    (c.work / "over").touch()
    assert c.wait(job)["JobState"] == "COMPLETED"
    c.run("srun --acctg-freq=task=often true").fails("Invalid --acctg-freq specification: 'task=often' is not a number of seconds")
