# SPDX-License-Identifier: GPL-3.0-or-later
"""Communication ports of steps: srun --resv-ports out of MpiParams=ports=LOW-HIGH."""
import re
import signal

import pytest

from harness import eventually, fields_of

SAY = ["sh", "-c", "echo $SLURM_STEP_RESV_PORTS"]
HOLD = "echo $SLURM_STEP_RESV_PORTS >{0}.new; mv {0}.new {0}; while [ ! -e {0}.go ]; do sleep 0.05; done"


def hold(c, name, *options):
    """Runs a step that keeps its ports until it gets a signal; returns the srun and the ports."""
    file = c.work / name
    process = c.popen(["srun", *options, "sh", "-c", HOLD.format(file)])
    eventually(file.exists, lambda: f"{name} runs: {process.poll()}")
    return process, file.read_text().strip()


def let_go(c, name, process):
    (c.work / f"{name}.go").touch()
    assert process.wait(60) == 0


def step_of(c, job):
    return fields_of(c.run(f"scontrol show step -o {job}.0").ok())


def test_number_of_ports_follows_the_tasks(make_cluster):
    """One for each task of the node with most, or as many as it says."""
    c = make_cluster(nodes=2, conf="MpiParams=ports=12000-12003")
    assert c.run(["srun", "-N2", "-n3", "--resv-ports", *SAY]).ok().split() == ["12000-12001"] * 3
    c.settle()
    assert c.run(["srun", "-n1", "--resv-ports=3", *SAY]).ok() == "12000-12002"
    c.settle()
    assert c.run(["srun", "-n1", *SAY], env={"SLURM_RESV_PORTS": "1"}).ok() == "12000"
    inside = "srun --overlap -n1 sh -c 'echo =$SLURM_STEP_RESV_PORTS'"
    assert c.run(["srun", "-n1", "--resv-ports=2", "sh", "-c", inside]).ok() == "="  # another step's are not its own
    for none in ([], ["--resv-ports=0"]):
        assert c.run(["srun", "-n1", *none, *SAY]).ok() == ""


def test_impossible_port_requests_are_refused(make_cluster):
    c = make_cluster(nodes=1, conf="MpiParams=ports=12000-12003")
    c.run("srun -n1 --resv-ports=5 true").fails("--resv-ports=5 asks for more ports than MpiParams=ports=12000-12003 has, which is 4")
    c.run("srun -n1 --resv-ports=many true").fails("Invalid numeric value \"many\" for --resv-ports.")
    c.run("salloc -Q -n2 srun -O -n5 --resv-ports true").fails("more ports than MpiParams")
    c.run("srun -Z -w n1 --resv-ports true").fails("--resv-ports needs an allocation")
    bare = make_cluster(nodes=1)
    bare.run("srun -n1 --resv-ports true").fails("--resv-ports needs MpiParams=ports=LOW-HIGH in slurm.conf")


@pytest.mark.parametrize("value", ["ports=", "ports=12000", "ports=12003-12000", "ports=0-10", "ports=1-65536", "ports=a-b"])
def test_invalid_port_ranges_are_refused(make_cluster, value):
    c = make_cluster(nodes=1, start=False)
    c.conf_file.write_text(f"MpiParams={value}\n" + c.conf_file.read_text())
    c.run("scontrol check").fails(f"MpiParams={value}: expected ports=LOW-HIGH")


def test_ports_belong_to_one_step_on_its_nodes(make_cluster):
    """No two steps of any jobs share ports on a node; other nodes use the same numbers. A step without enough ports waits, with a message; a
    controller that was killed meanwhile still knows the owners of ports."""
    c = make_cluster(nodes=2, conf="MpiParams=ports=12000-12003\nInactiveLimit=0")
    first, ports = hold(c, "first", "-n1", "-w", "n1", "--resv-ports=3")
    assert ports == "12000-12002"
    job = c.run("squeue -h -o %A").ok()
    assert step_of(c, job)["ResvPorts"] == "12000-12002"
    second, ports = hold(c, "second", "-n1", "-w", "n1", "--resv-ports=1")
    assert ports == "12003"
    other, ports = hold(c, "other", "-n1", "-w", "n2", "--resv-ports=4")
    assert ports == "12000-12003"
    c.run("srun -I -n1 -w n1 --resv-ports=1 true").fails("Requested nodes are busy: 1 port is asked for, and 0 of "
                                                       "MpiParams=ports=12000-12003 are free on its nodes")
    c.kill("slurmctld")
    c.start_controller()
    c.wait_ready(("mix", "alloc"))
    assert step_of(c, job)["ResvPorts"] == "12000-12002"
    waits = c.popen(["srun", "-n1", "-w", "n1", "--resv-ports=2", *SAY])
    told = waits.stderr.readline()
    assert re.fullmatch(r"srun: Job \d+ step creation temporarily disabled, retrying \(Requested nodes are busy: 2 ports are asked "
                        r"for, and 0 of .*\)\n", told), told
    let_go(c, "second", second)  # one is not enough
    let_go(c, "first", first)
    assert waits.communicate(timeout=60)[0] == "12000-12001\n" and waits.returncode == 0
    let_go(c, "other", other)
    c.settle()
    assert c.run(["srun", "-n1", "-w", "n1", "--resv-ports=4", *SAY]).ok() == "12000-12003"


def test_steps_wait_for_free_ports(make_cluster):
    c = make_cluster(nodes=1, conf="MpiParams=ports=12000-12003")
    line = ("srun --overlap -n1 --resv-ports=3 sh -c 'mkdir {0}/only || echo both; echo $SLURM_STEP_RESV_PORTS; sleep 0.3; "
            "rmdir {0}/only'").format(c.work)
    job = c.sbatch("-n2", wrap=f"{line} & {line} & wait; echo done")
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert [l for l in c.output(job).splitlines() if "srun:" not in l] == ["12000-12002", "12000-12002", "done"]


def test_abandoned_wait_for_ports_ends_its_job(make_cluster):
    """The job that was created for the step ends with its srun."""
    c = make_cluster(nodes=1, conf="MpiParams=ports=12000-12000")
    first, _ = hold(c, "first", "-n1", "--resv-ports=1")
    waits = c.popen("srun -J waits -n1 --resv-ports=1 true")
    assert "temporarily disabled" in waits.stderr.readline()
    waits.send_signal(signal.SIGINT)
    assert "srun: Cancelled pending job step with signal 2\n" in waits.communicate(timeout=60)[1] and waits.returncode != 0
    eventually(lambda: c.run("squeue -h -n waits -t running -o %A").ok() == "", "the end of its job")
    let_go(c, "first", first)


def test_a_part_without_ports_fails_the_step(make_cluster):
    """HET-108: each part of a step has ports of its own; when one cannot have any, no part begins."""
    c = make_cluster(nodes=2, conf="MpiParams=ports=12000-12001")
    c.run(["salloc", "-Q", "--no-shell", "-n2", "-w", "n1", ":", "-n2", "-w", "n2"]).ok()
    job = c.run("squeue -h -t R -o %i").ok().split("+")[0]
    step = ["srun", f"--jobid={job}", "--exact", "-n1", "--het-group=0,1"]
    assert c.run([*step, "--resv-ports=2", *SAY]).ok().split() == ["12000-12001"] * 2
    shared = c.run(["salloc", "-Q", "-n1", "-w", "n1", ":", "-n1", "-w", "n1", "srun", "--het-group=0,1", "--resv-ports=1", *SAY]).ok()
    assert sorted(shared.split()) == ["12000", "12001"]
    c.run([*step, "--resv-ports=3", "true"]).fails("--resv-ports=3 asks for more ports than MpiParams=ports=12000-12001 has, which is 2")
    holder, _ = hold(c, "holder", f"--jobid={job}", "--exact", "-n1", "--het-group=1", "--resv-ports=2")
    began = c.work / "began"
    c.run([*step, "--immediate", "--resv-ports=1", "touch", began]).fails("1 port is asked for, and 0 of MpiParams=ports=12000-12001 are free")
    assert not began.exists()
    let_go(c, "holder", holder)
    c.run(f"scancel {job}").ok()
