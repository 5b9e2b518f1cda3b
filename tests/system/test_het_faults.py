# SPDX-License-Identifier: GPL-3.0-or-later
"""Heterogeneous jobs while the controller dies: all components begin and wait together, and none that was acknowledged is lost."""
import collections
import random
import threading

from harness import DEADLINE, amount, eventually

SCRIPT = """#!/bin/sh
#SBATCH -n1 --mem=10 --requeue -o /dev/null
#SBATCH hetjob
#SBATCH -n1 --mem=10
#SBATCH hetjob
#SBATCH -n2 --mem=10
for job in $SLURM_JOB_ID $((SLURM_JOB_ID + 1)) $((SLURM_JOB_ID + 2)); do
    [ -e ready-$job-${SLURM_RESTART_COUNT:-0} ] || echo early $job ${SLURM_RESTART_COUNT:-0} >>ledger
done
echo start $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} >>ledger
srun --het-group=0-2 -o /dev/null true && echo end $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} >>ledger
sleep 0.3
"""
ORDERS = ("requeue {}", "hold {}", "release {}", "requeue {}", "update jobid={} whole=1 nice=5")


def sets(c):
    """{het job id: the states of its components}, of one listing."""
    found = collections.defaultdict(list)
    for job in c.json("squeue --states=all")["jobs"]:
        if job["het_job_id"]["number"]:
            found[job["het_job_id"]["number"]].append(job["job_state"][0])
    return found


def check_sets(c):
    """No component is pending while another one runs, or waits for its nodes to be ready: the first state of both is RUNNING. (While a
    requeued set ends on its nodes, a part of it may be in the queue already.)"""
    for job, states in sets(c).items():
        assert len(states) == 3 and not {"PENDING", "RUNNING"} <= set(states), f"job {job}: {states}"


def kill_and_order(c, accepted, thread):
    chance = random.Random(7)
    for _ in range(amount(6, 200)):
        want = len(accepted) + 3
        eventually(lambda: len(accepted) >= want or not thread.is_alive(), "three more jobs")
        last = accepted[-4:]
        orders = [c.popen(f"scontrol {order.format(chance.choice(last))}") for order in chance.sample(ORDERS, 3)]
        check_sets(c)
        c.kill("slurmctld")
        c.start_controller()
        for order in orders:
            order.communicate()
        check_sets(c)


def test_sets_survive_killed_daemons(make_cluster):
    """Submission, requeue, hold and release of sets, and the controller killed in the midst of them. HET-115: no script begins before the nodes of
    all components are ready."""
    c = make_cluster(nodes=3, cpus=8, conf="MinJobAge=86400\nMaxJobCount=1000000\nSchedulerParameters=requeue_delay=0\n")
    prolog = c.dir / "prolog"
    prolog.write_text(f"#!/bin/sh\ntouch {c.work}/ready-$SLURM_JOB_ID-${{SLURM_JOB_RESTART_COUNT:-0}}\n")
    prolog.chmod(0o755)
    c.conf_file.write_text(c.conf_file.read_text() + f"PrologSlurmctld={prolog}\n")
    c.run("scontrol reconfigure").ok()
    over, accepted = threading.Event(), []

    def submit():
        while not over.is_set():
            done = c.run("sbatch --parsable", stdin=SCRIPT)
            accepted.extend([int(done.stdout)] if done.returncode == 0 else [])
    thread = threading.Thread(target=submit)
    thread.start()
    try:
        kill_and_order(c, accepted, thread)
    finally:
        over.set()
        thread.join(DEADLINE)

    def ended():
        for job, states in sets(c).items():
            if "PENDING" in states:
                c.run(f"scontrol release {job}")
        check_sets(c)
        return all(set(states) == {"COMPLETED"} for states in sets(c).values())
    eventually(ended, "all have ended", 4 * DEADLINE)
    assert set(sets(c)) >= set(accepted)
    began, done = collections.Counter(), set()
    for word, job, restart in map(str.split, (c.work / "ledger").read_text().splitlines()):
        assert word != "early", f"the script began before component {job} was ready"
        began[job, restart] += word == "start"
        done.update([int(job)] if word == "end" else [])
    assert set(began.values()) == {1} and done == set(sets(c))  # no attempt began twice


def test_component_cancelled_during_a_controller_crash_stays_cancelled(make_cluster):
    """HET-53: of a set that runs, only the component that was named ends, and its end is not forgotten."""
    c = make_cluster(nodes=3, conf="MinJobAge=86400\n")
    job = c.sbatch("-n1", "--mem=10", ":", "-n1", "--mem=10", ":", "-n1", "--mem=10", wrap="sleep 1000")
    c.wait_script(job)
    order = c.popen(f"scancel {job}+1")
    c.kill("slurmctld")
    c.start_controller()
    order.communicate()
    if order.returncode:  # it was not acknowledged
        c.run(f"scancel {job}+1").ok()
    eventually(lambda: sorted(sets(c)[job]) == ["CANCELLED", "RUNNING", "RUNNING"], "one has ended")
    c.kill("slurmctld")
    c.start_controller()
    assert sorted(sets(c)[job]) == ["CANCELLED", "RUNNING", "RUNNING"]
