# SPDX-License-Identifier: GPL-3.0-or-later
"""Gang scheduling while daemons die and the configuration changes: the rotation continues, and a job without its turn stays stopped."""
import pathlib

from harness import eventually
from test_gang import GANG, shared, submit

COUNT = "echo $$ >pid-$SLURM_JOB_ID; i=0; while :; do i=$((i+1)); echo $i >count-$SLURM_JOB_ID; sleep 0.05; done"


def stands(c, job):
    """Its script is stopped."""
    pid = (c.work / f"pid-{job}").read_text().strip()
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def wait_standing(c, job):
    eventually(lambda: c.state(job) == "SUSPENDED" and stands(c, job), f"job {job} stands")
    return (c.work / f"count-{job}").read_text()


def test_turns_continue_across_killed_daemons(make_cluster):
    """After a kill of the controller or of a node daemon the rotation is the same: the job that waits for its turn stays stopped, and continues in
    its turn."""
    c = make_cluster(nodes=1, conf=GANG, partitions=[shared("main", "ALL") + " Default=YES"])
    one, two = (submit(c, "main", "-n4", wrap=COUNT) for _ in range(2))
    eventually(lambda: (c.work / f"count-{one}").exists() and (c.work / f"count-{two}").exists(), "both have had a turn")
    for daemon, start in ("slurmctld", c.start_controller), ("n1", lambda: c.start_node("n1")):
        counted = wait_standing(c, one)
        eventually(lambda: not stands(c, two), "the other one goes on")  # it does when all of the first one stands
        c.kill(daemon)
        assert stands(c, one) and not stands(c, two)
        start()
        c.wait_ready()
        if c.state(one) == "SUSPENDED":  # its turn has not come yet
            assert (c.work / f"count-{one}").read_text() == counted
        eventually(lambda: c.state(one) == "RUNNING" and (c.work / f"count-{one}").read_text() not in ("", counted), "its turn comes")
        wait_standing(c, two)
    slots = c.json("scontrol show gang")["gang"][0]["slots"]
    assert sorted(job for slot in slots for job in slot) == [one, two]


def test_turns_follow_a_changed_configuration(make_cluster):
    """GANG-26, GANG-27: a reconfiguration lets more jobs take turns, and then none."""
    c = make_cluster(nodes=1, conf=GANG, partitions=[shared("main", "ALL", "FORCE:2") + " Default=YES"])
    jobs = [submit(c, "main", "-n4") for _ in range(4)]

    def begun():
        return [job for job in jobs if c.state(job) in ("RUNNING", "SUSPENDED")]
    eventually(lambda: begun() == jobs[:2], "two take turns")
    assert c.job(jobs[2])["Reason"] == "Resources"
    good = c.conf_file.read_text()
    c.conf_file.write_text(good.replace("FORCE:2", "FORCE:3"))
    c.run("scontrol reconfigure").ok()
    eventually(lambda: begun() == jobs[:3], "the third one, too")
    c.conf_file.write_text(good.replace("PreemptMode=GANG\n", ""))
    c.run("scontrol reconfigure").ok()
    eventually(lambda: [c.state(job) for job in jobs] == ["RUNNING"] * 3 + ["PENDING"], "those that have begun run, all at once")


def test_short_jobs_complete_behind_long_ones(make_cluster):
    """GANG-03, GANG-21: a short job behind jobs without an end completes soon; in a partition without FORCE it waits."""
    c = make_cluster(nodes=2, conf=GANG, partitions=[shared("main", "n1") + " Default=YES", "PartitionName=alone Nodes=n2"])
    for part in "main", "alone":
        submit(c, part, "-n4")
    short, waiting = submit(c, "main", "-n4", wrap="sleep 1"), submit(c, "alone", "-n4", wrap="sleep 1")
    c.wait(short)
    assert c.state(short) == "COMPLETED" and c.state(waiting) == "PENDING"
    assert c.job(waiting)["Reason"] == "Resources"


def test_heterogeneous_job_takes_turns(make_cluster):
    """With GangHet=yes all components of a heterogeneous job have the same turn."""
    c = make_cluster(nodes=2, conf=GANG + "GangHet=yes\n", partitions=[shared("main", "ALL") + " Default=YES"])
    leader = submit(c, "main", "-n4", ":", "-n4")
    single = submit(c, "main", "-N2", "-n8")
    seen = []

    def look():
        states = dict(line.split("|") for line in c.look("squeue -h -o %i|%t").ok().splitlines())
        text = " ".join(states.get(name, "-") for name in (f"{leader}+0", f"{leader}+1", str(single)))
        if not seen or seen[-1] != text:
            seen.append(text)
        return seen[-3:] in (["R R S", "S S R", "R R S"], ["S S R", "R R S", "S S R"])
    eventually(look, "two turns each")
    assert set(seen) <= {"PD PD -", "PD PD PD", "R R PD", "R R S", "S S R"}, seen
