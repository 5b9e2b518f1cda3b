# SPDX-License-Identifier: GPL-3.0-or-later
"""SLUIDs: commands that print them, and commands that accept them in place of a job id (the manuals of squeue, sprio, sstat, scancel, scontrol,
sattach, sbcast)."""
import re

from harness import eventually

WAIT = "echo ready; while [ ! -e go ]; do sleep 0.05; done"


def sluid_of(c, job):
    text = c.run(["squeue", "-h", "-t", "all", "-j", str(job), "-o", "%s"]).ok().strip()
    assert re.fullmatch("s[0-9A-HJKMNP-TV-Z]{13}", text), text
    return text


def test_a_sluid_names_a_job_for_every_command(cluster):
    c = cluster
    job = c.sbatch("-w", "n1", "-o", "out.%S", wrap=f"echo $SLURM_JOB_SLUID; srun -o step.%S sh -c '{WAIT}'")
    late = c.sbatch("-w", "n1", "--exclusive", "-o", "/dev/null", wrap="true")
    array = c.sbatch("-H", "--array=1-3", "-o", "/dev/null", wrap="true")
    sluid, of_late, of_array = sluid_of(c, job), sluid_of(c, late), sluid_of(c, f"{array}")
    assert sluid < of_late < of_array
    eventually(lambda: (c.work / f"step.{sluid}").exists() and (c.work / f"step.{sluid}").read_text() == "ready\n", "the step runs")
    assert (c.work / f"out.{sluid}").read_text() == f"{sluid}\n"
    assert c.run(f"squeue -h -j {sluid} -o %i").ok() == str(job)
    assert c.run(["squeue", "-h", "-j", f"{late},{sluid}", "-O", "JobId:.10,Sluid:.16", "-S", "i"]).ok().split() == [str(job), sluid, str(late), of_late]
    assert f"JobId={job} " in c.run(f"scontrol show job {sluid}").ok()
    assert c.run(f"scontrol show step {sluid}.0").ok().startswith(f"StepId={job}.0 ")
    assert c.run(["sstat", "-n", "-P", "-j", f"{sluid}.0", "-o", "JobID,SLUID"]).ok() == f"{job}.0|{sluid}"
    assert c.json(f"squeue --steps -s {sluid}.0")["steps"][0]["step"]["id"]["sluid"] == sluid
    assert c.run(["sprio", "-h", "-j", of_late, "-o", "%i %s"]).ok().split() == [str(late), of_late]
    assert c.run(f"srun --jobid={sluid} --overlap -n1 true").ok() == ""
    (c.work / "file").write_text("text")
    c.run(f"sbcast -j {sluid} file {c.work}/copy").ok()
    c.run(f"scontrol update jobid={of_late} Comment=by-sluid").ok()
    assert c.job(late)["Comment"] == "by-sluid"
    c.run(f"scontrol update jobid={of_array} Comment=array").ok()
    assert c.job(f"{array}_2")["Comment"] == "array"
    c.run(f"scancel {of_late}").ok()
    assert c.state(late) == "CANCELLED"
    c.run(f"scontrol requeue {sluid}").ok()
    eventually(lambda: c.job(job)["Restarts"] == "1", "it is queued again")
    assert sluid_of(c, job) == sluid
    c.run(f"scancel {sluid} {array}").ok()


def test_a_sluid_of_another_cluster_or_job_is_refused(cluster):
    c = cluster
    job = c.sbatch("-H", "-o", "/dev/null", wrap="true")
    sluid = sluid_of(c, job)
    other = sluid[:5] + ("0" if sluid[5] != "0" else "1") + sluid[6:]  # the number of the job, and another time
    for command in ("squeue -j", "scancel", "scontrol show job", "scontrol hold", "sprio -j"):
        c.run(f"{command} {other}").fails("Invalid job id specified")
    c.run(f"scancel {sluid[:-1]}").fails("nvalid job id")
    assert c.state(job) == "PENDING"
    c.run(f"scancel {job}").ok()
