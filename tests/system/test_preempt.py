# SPDX-License-Identifier: GPL-3.0-or-later
"""Preemption by PriorityTier: X-12, GANG-02, GANG-18."""
import json
import time

import pytest

from harness import eventually


@pytest.fixture
def tiers(make_cluster):
    """Two partitions over the same nodes; victims are preempted in this mode."""
    def make(mode, low="", high="", conf="", nodes=1, cpus=4):
        names = ",".join(f"n{i}" for i in range(1, nodes + 1))
        return make_cluster(nodes=nodes, cpus=cpus, conf=f"PreemptType=preempt/partition_prio\nPreemptMode={mode}\n{conf}", partitions=[
            f"PartitionName=low Nodes={names} Default=YES {low}",
            f"PartitionName=high Nodes={names} PriorityTier=10 {high}"])
    return make


def running(c, *options, wrap="sleep 300"):
    job = c.sbatch("-o", "slurm-%j.out", *options, wrap=wrap)
    eventually(lambda: c.state(job) == "RUNNING", "it runs")
    eventually((c.work / f"slurm-{job}.out").exists, "its script has begun")
    return job


def test_cancel_mode_ends_the_victim(tiers):
    c = tiers("CANCEL")
    victim = running(c, "-n4")
    urgent = c.sbatch("-p", "high", "-n1", "-o", "/dev/null", wrap="true")
    assert c.wait(victim)["JobState"] == "PREEMPTED"
    assert "DUE TO PREEMPTION" in c.output(victim)
    assert c.wait(urgent)["JobState"] == "COMPLETED"
    assert c.run(f"squeue -h -j {victim} -t all -o %t").ok() == "PR"
    assert f"job {victim} is ended to make room for job {urgent}" in c.tail("slurmctld", 300)


def test_only_lower_tiers_are_preempted(tiers):
    c = tiers("CANCEL")
    low, more = running(c, "-n2"), running(c, "-n2")
    waits = c.sbatch("-n1", wrap="true")
    assert c.state(waits) == "PENDING"
    high = running(c, "-p", "high", "-n2")
    assert sorted([c.state(low), c.state(more)]) in (["PREEMPTED", "RUNNING"], ["COMPLETING", "RUNNING"])
    other = c.sbatch("-p", "high", "-n4", wrap="true")  # high's own job stays
    eventually(lambda: c.job(other)["Reason"] == "Resources", "it waits")
    assert c.state(high) == "RUNNING"


def test_the_youngest_and_no_more_than_needed(tiers):
    c = tiers("CANCEL")
    first = running(c, "-n1")
    older = running(c, "-n1")
    rest = [running(c, "-n1") for _ in range(2)]
    urgent = running(c, "-p", "high", "-n1")
    states = {job: c.state(job) for job in [first, older, *rest]}
    assert sorted(states.values()) == ["PREEMPTED", "RUNNING", "RUNNING", "RUNNING"], states
    assert states[rest[-1]] == "PREEMPTED", states
    c.run(f"scancel {urgent}").ok()


def test_requeue_mode_requeues_the_victim(tiers):
    c = tiers("REQUEUE")
    gate = c.work / "gate"
    victim = running(c, "-n4", wrap=f"echo run $SLURM_RESTART_COUNT; until [ -e {gate} ]; do sleep 0.05; done")
    final = running(c, "-p", "high", "-n4")
    eventually(lambda: c.state(victim) == "PENDING", "it is queued again")
    assert c.job(victim)["Restarts"] == "1"
    gate.touch()
    c.run(f"scancel {final}").ok()
    assert c.wait(victim)["JobState"] == "COMPLETED"
    stays = running(c, "-n4", "--no-requeue")
    running(c, "-p", "high", "-n1")
    assert c.wait(stays)["JobState"] == "PREEMPTED"


def test_suspend_mode_suspends_the_victim(tiers):
    """GANG-02: GANG-24: FORCE:1 separates jobs of one partition, and gives the CPUs to jobs of a higher one."""
    c = tiers("SUSPEND,GANG", low="OverSubscribe=FORCE:1", high="OverSubscribe=FORCE:1")
    count = c.work / "count"
    victim = running(c, "-n4", "--mem=10", "-t5", wrap=f"i=0; while :; do i=$((i+1)); echo $i > {count}; sleep 0.05; done")
    eventually(count.exists, "it counts")
    urgent = running(c, "-p", "high", "-n4", "--mem=10")
    assert c.state(victim) == "SUSPENDED"
    value = count.read_text()
    greedy = c.sbatch("-n1", "--mem=10", wrap="true")
    assert c.state(greedy) == "PENDING" and count.read_text() == value
    c.kill("slurmctld")
    c.start_controller()
    assert c.state(victim) == "SUSPENDED"
    c.run(f"scancel {urgent}").ok()
    eventually(lambda: c.state(victim) == "RUNNING", "it goes on by itself")
    eventually(lambda: count.read_text() not in ("", value), "it counts on")
    assert c.state(greedy) == "PENDING"


def test_components_are_preempted_together(tiers):
    """HET-57: one node is wanted, both components are suspended, and both go on."""
    c = tiers("SUSPEND,GANG", nodes=2)
    job = int(c.run(["sbatch", "--parsable", "-o", "/dev/null", "-n4", "-w", "n1", ":", "-n4", "-w", "n2", "--wrap=sleep 300"]).ok())
    eventually(lambda: c.state(job) == "RUNNING", "it runs")
    urgent = running(c, "-p", "high", "-n1", "-w", "n2")
    assert c.run(f"squeue -h -j {job} -o %t").ok().split() == ["S", "S"]
    c.run(f"scancel {urgent}").ok()
    eventually(lambda: c.run(f"squeue -h -j {job} -o %t").ok().split() == ["R", "R"], "both go on")
    c.run(f"scancel {job}").ok()


def test_components_of_different_modes_make_room_alike(tiers):
    """HET-57: one node is wanted; the partition of one component says CANCEL, that of the other one REQUEUE: both are requeued, and start again
    together. With strict_order the higher priority of a component protects both."""
    c = tiers("REQUEUE", low="PreemptMode=CANCEL", nodes=3, conf="PartitionName=again Nodes=ALL PreemptMode=REQUEUE\nPreemptParameters=strict_order\n")
    ask = ["sbatch", "--parsable", "--requeue", "-o", "/dev/null"]
    job = int(c.run([*ask, "-n4", "-w", "n1", "--priority=10", ":", "-p", "again", "-n4", "-w", "n2", "--priority=90", "--wrap=sleep 300"]).ok())
    other = int(c.run([*ask, "-n4", "-w", "n3", "--priority=50", "--wrap=sleep 300"]).ok())

    def states():
        return c.run(f"squeue -h -S i -t all -j {job} -o %t").ok().split()

    eventually(lambda: states() == ["R", "R"] and c.state(other) == "RUNNING", "all run")
    first = running(c, "-p", "high", "-n4")
    assert c.run(f"squeue -h -j {first} -o %N").ok() == "n3" and states() == ["R", "R"]
    second = running(c, "-p", "high", "-n4", "-w", "n2")
    eventually(lambda: states() == ["PD", "PD"], states)
    c.run(f"scancel {second}").ok()
    eventually(lambda: states() == ["R", "R"], states)
    assert [c.job(f"{job}+{i}")["Restarts"] for i in range(2)] == ["1", "1"]
    c.run(f"scancel {job}").ok()


def test_suspended_memory_stays(tiers):
    c = tiers("SUSPEND,GANG", nodes=1)
    victim = running(c, "-n4", "--mem=3000")
    urgent = c.sbatch("-p", "high", "-n4", "--mem=2000", wrap="true")  # its memory would not be free
    eventually(lambda: c.job(urgent)["Reason"] == "Resources", "it waits")
    assert c.state(victim) == "RUNNING"
    small = c.sbatch("-p", "high", "-n4", "--mem=500", "-o", "/dev/null", wrap="true")
    c.run(f"scancel {urgent}").ok()
    assert c.wait(small)["JobState"] == "COMPLETED"
    eventually(lambda: c.state(victim) == "RUNNING", "it goes on")


def test_mode_of_a_partition(tiers):
    c = tiers("CANCEL", low="PreemptMode=OFF")
    victim = running(c, "-n4")
    urgent = c.sbatch("-p", "high", "-n1", wrap="true")
    eventually(lambda: c.job(urgent)["Reason"] == "Resources", "it waits")
    assert c.state(victim) == "RUNNING"


def rule(c, job):
    return json.loads(c.run(f"sluice why --json {job}").ok())["why"][0]["rule"]


def test_why_explains_preemption(tiers):
    c = tiers("CANCEL", low="GraceTime=600", conf="PreemptExemptTime=1:00\n")
    victim = running(c, "-n4")
    urgent = c.sbatch("-p", "high", "-n1", wrap="sleep 300")
    eventually(lambda: c.job(urgent)["Reason"] == "Resources", "it waits")
    assert rule(c, urgent) == "exempt"
    c.run(f"scancel {victim}").ok()
    eventually(lambda: c.state(urgent) == "RUNNING", "there is room")
    c = tiers("CANCEL", low="GraceTime=600")
    running(c, "-n4")
    urgent = c.sbatch("-p", "high", "-n1", wrap="sleep 300")
    eventually(lambda: rule(c, urgent) == "making_room", "the other one has its time of grace")
    assert "they are ending, or stop" in c.run(f"sluice why {urgent}").ok()
    other = c.sbatch("-n1", wrap="sleep 300")
    eventually(lambda: c.job(other)["Reason"] != "None", "it was looked at")
    assert rule(c, other) != "making_room"


def shown(c, part):
    text = c.run(f"scontrol -o show partition {part}").ok()
    words = dict(w.split("=", 1) for w in text.split() if "=" in w)
    return words["PreemptMode"], words["GraceTime"]


def test_mode_and_grace_time_change_live_and_stay(tiers):
    """GANG-18."""
    c = tiers("CANCEL", low="PreemptMode=OFF")
    assert shown(c, "low") == ("OFF", "0") and shown(c, "high") == ("CANCEL", "0")
    for change, text in (("PreemptMode=GANG", "GANG is of the whole cluster only"), ("PreemptMode=NO", "expected OFF, CANCEL, REQUEUE or SUSPEND"),
                         ("PreemptMode=SUSPEND", "SUSPEND needs GANG"), ("GraceTime=-1", "GraceTime"), ("GraceTime=soon", "GraceTime")):
        c.run(f"scontrol update PartitionName=low {change}").fails(text)
    assert shown(c, "low") == ("OFF", "0")
    victim = running(c, "-n4")
    urgent = c.sbatch("-p", "high", "-n1", wrap="sleep 300")
    eventually(lambda: c.job(urgent)["Reason"] == "Resources", "it waits")
    c.run("scontrol update PartitionName=low PreemptMode=requeue GraceTime=600").ok()
    eventually(lambda: c.state(victim) == "PENDING" and c.job(victim)["Restarts"] == "1", "it is queued again")
    eventually(lambda: c.state(urgent) == "RUNNING", "the other one runs")
    assert shown(c, "low") == ("REQUEUE", "600") and c.run("sinfo -h -p low -O PreemptMode").ok().strip() == "REQUEUE"
    c.kill("slurmctld")
    c.start_controller()
    assert shown(c, "low") == ("REQUEUE", "600")
    c.run("scontrol update PartitionName=low PreemptMode=").ok()
    assert shown(c, "low") == ("CANCEL", "600")
    c.run(f"scancel {urgent} {victim}").ok()
    graced = running(c, "-n4")
    c.sbatch("-p", "high", "-n1", "-o", "/dev/null", wrap="true")
    eventually(lambda: c.job(graced).get("PreemptTime", "None") != "None", "it is told to make room")
    assert c.state(graced) == "RUNNING"


def test_victim_gets_its_grace_time(tiers):
    c = tiers("CANCEL", low="GraceTime=2")
    wrap = "srun -n1 sh -c \"trap 'echo warned; exit 0' TERM; echo up; while :; do sleep 0.05; done\"; echo went on; sleep 300"
    victim = running(c, "-n4", wrap=wrap)
    eventually(lambda: "up" in c.output(victim), "its step runs")
    urgent = c.sbatch("-p", "high", "-n4", "-o", "/dev/null", wrap="true")
    eventually(lambda: "warned" in c.output(victim) and "went on" in c.output(victim), "its tasks are told")
    third = c.sbatch("-n1", "-o", "/dev/null", wrap="true")
    assert c.wait(victim)["JobState"] == "PREEMPTED"
    assert c.wait(urgent)["JobState"] == "COMPLETED" and c.wait(third)["JobState"] == "COMPLETED"


def test_victims_for_all_elements_are_selected_together(tiers):
    """All victims are selected while none of them has ended; the next element does not wait until the first has started."""
    c = tiers("CANCEL", nodes=3, low="GraceTime=60")
    wrap = "srun -n1 sh -c \"trap 'echo warned' TERM; echo up; while :; do sleep 0.05; done\""
    victims = [running(c, "-n4", wrap=wrap) for _ in range(3)]
    for victim in victims:
        eventually(lambda: "up" in c.output(victim), "its step runs")
    array = c.sbatch("-p", "high", "-n4", "--array=0-1", "-o", "/dev/null", wrap="true")
    eventually(lambda: sum("warned" in c.output(victim) for victim in victims) == 2, "two are told, for two elements")
    assert {c.state(victim) for victim in victims} == {"RUNNING"}
    for victim in victims:
        if "warned" in c.output(victim):
            c.run(f"scancel {victim}").ok()
    eventually(lambda: c.run(f"squeue -h -t all -j {array} -o %T").ok().split() == ["COMPLETED"] * 2, "both run")
    assert sum("warned" in c.output(victim) for victim in victims) == 2


def test_exempt_time_delays_preemption(tiers):
    c = tiers("CANCEL", conf="PreemptExemptTime=0:04\n")
    victim = running(c, "-n4")
    began = c.job(victim)["StartTime"]
    urgent = c.sbatch("-p", "high", "-n1", "-o", "/dev/null", wrap="true")
    eventually(lambda: c.job(urgent)["Reason"] == "Resources", "it waits")
    assert c.state(victim) == "RUNNING"
    fields = c.wait(victim)
    assert fields["JobState"] == "PREEMPTED"
    at = [time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")) for text in (began, fields["EndTime"])]
    assert at[1] - at[0] >= 4
    assert c.wait(urgent)["JobState"] == "COMPLETED"


def test_two_preemptors_select_only_necessary_victims(tiers):
    c = tiers("CANCEL", nodes=2, cpus=2)
    low = [running(c, "-n2") for _ in range(2)]
    first = c.sbatch("-p", "high", "-n1", "-c2", "-o", "/dev/null", wrap="sleep 300")
    eventually(lambda: c.state(first) == "RUNNING", "the first runs")
    assert sorted(c.state(job) for job in low) == ["PREEMPTED", "RUNNING"]
    second = c.sbatch("-p", "high", "-n1", "-c2", "-o", "/dev/null", wrap="sleep 300")
    eventually(lambda: c.state(second) == "RUNNING", "the second runs")
    assert [c.state(job) for job in low] == ["PREEMPTED"] * 2


def test_invalid_preemption_settings_are_reported(make_cluster):
    c = make_cluster(nodes=1)
    def check(*lines):
        file = c.dir / "other.conf"
        file.write_text(c.conf_file.read_text() + "\n".join(lines) + "\n")
        return c.run(f"scontrol check {file}")
    check("PreemptType=preempt/partition_prio").fails(
        "PreemptType=preempt/partition_prio needs PreemptMode=CANCEL, REQUEUE or SUSPEND,GANG; it is OFF")
    check("PreemptType=preempt/partition_prio", "PreemptMode=SUSPEND").fails("SUSPEND needs GANG")
    check("PreemptMode=CANCEL,REQUEUE").fails("one of CANCEL, REQUEUE and SUSPEND")
    check("PartitionName=x Nodes=n1 PreemptMode=GANG").fails("GANG is of the whole cluster only")
    check("PartitionName=x Nodes=n1 PreemptMode=NEVER").fails("expected OFF, CANCEL, REQUEUE or SUSPEND")
    check("PreemptParameters=min_exempt_priority=many").fails("a number is expected")
    for line, text in (("PreemptType=preempt/qos", "preempt/qos: this plugin is not built in; using preempt/none"),
                       ("PreemptMode=CANCEL,WITHIN", "'WITHIN' has no effect"),
                       ("PreemptParameters=reorder_count=2", "'reorder_count' has no effect")):
        done = check(line)
        done.ok()
        assert text in done.stderr, done.stderr
