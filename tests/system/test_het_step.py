# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of several parts, with real daemons: HET-11, 37, 58 to 60, 68, 69, 71, 72, 74 to 78, 80 to 82, 84 to 87, 90 to 93, 106, 107, 109 to 111."""
import contextlib
import pathlib
import re
import signal
import subprocess

import pytest

from harness import Cluster, eventually, make_directory, many
from openmpi import needs_pmix
from terminal import Terminal

PARTITIONS = ["PartitionName=p1 Nodes=ALL Default=YES MaxTime=60", "PartitionName=p2 Nodes=n[3-4] MaxTime=60"]
CONF = "GresTypes=gpu\nSelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100\nMinJobAge=300\n"


@pytest.fixture(scope="module")
def het():
    with many(Cluster) as make:
        yield make(nodes=4, cpus=4, conf=CONF, partitions=PARTITIONS, node_conf="Gres=gpu:6")


def in_job(c, request, commands, status=0):
    """What a shell prints that runs these commands in an allocation of these components."""
    done = c.run(["salloc", "-Q", *request.split(), "sh", "-c", commands], timeout=60)
    assert done.returncode == status, done
    return done


@contextlib.contextmanager
def allocation(c, request):
    """The id of a heterogeneous job without a command."""
    said = c.run(["salloc", "--no-shell", *request.split()]).stderr
    job = int(re.search(r"Granted job allocation (\d+)", said).group(1))
    try:
        yield job
    finally:
        c.run(f"scancel {job}").ok()
        eventually(lambda: c.run("squeue -h").ok() == "", "the job has ended")


@contextlib.contextmanager
def step(c, job, *options, tasks):
    """An srun whose tasks have all begun, and end with its standard input."""
    command = ["srun", f"--jobid={job}", *options, "sh", "-c", "echo $SLURM_STEP_ID; read line; exit 0"]
    with c.popen(command, stdin=subprocess.PIPE) as p:
        numbers = {p.stdout.readline().strip() for _ in range(tasks)}
        assert len(numbers) == 1
        yield numbers.pop()
        p.communicate("\n" * tasks)
        assert p.returncode == 0


def lines(done):
    return sorted(done.stdout.splitlines())


def test_het_groups_select_components(het):
    """HET-16, 68, 69, 71, 91, 92: the first component by default; of several one space of ranks; --pack-group as before 20.02."""
    ask = "-N1 -w n1 : -N2 -w n[2-3] : -N1 -w n4"
    show = "sh -c 'echo $SLURM_PROCID/$SLURM_NTASKS/$SLURM_NPROCS $SLURMD_NODENAME'"
    out = in_job(het, ask, f"srun {show}; echo; srun --het-group=1 {show}; echo; srun --het-group=0,2 {show}; echo; srun -O --het-group=0-2 -n2 {show}")
    steps = [sorted(part.split("\n")) for part in out.stdout.strip().split("\n\n")]
    assert steps == [["0/1/1 n1"],
                     ["0/2/2 n2", "1/2/2 n3"],
                     ["0/2/2 n1", "1/2/2 n4"],
                     ["0/6/6 n1", "1/6/6 n1", "2/6/6 n2", "3/6/6 n3", "4/6/6 n4", "5/6/6 n4"]]
    six = " : ".join(f"-n1 -w n{i % 4 + 1}" for i in range(6))
    out = in_job(het, six, f"for groups in 2 0,4 1,3-5; do srun --het-group=$groups {show}; echo; done; srun --pack-group=1,3 {show}")
    steps = [sorted(part.split("\n")) for part in out.stdout.strip().split("\n\n")]
    assert steps == [["0/1/1 n3"], ["0/2/2 n1", "1/2/2 n1"], ["0/4/4 n2", "1/4/4 n4", "2/4/4 n1", "3/4/4 n2"],
                     ["0/2/2 n2", "1/2/2 n4"]]


def test_each_component_runs_its_program(het):
    """HET-72, 74, 80 to 82, 106: a program for each component; one that has none runs the next one's."""
    ask = "-n2 -w n1 : -n1 -w n2 : -n1 -w n3"
    out = in_job(het, ask, "srun --label -n2 : -n1 printenv SLURMD_NODENAME")
    assert lines(out) == ["0: n1", "1: n1", "2: n2"]
    out = in_job(het, ask, "srun -l -n2 echo a : echo b : sh -c 'echo c:d $SLURMD_NODENAME'")
    assert lines(out) == ["0: a", "1: a", "2: b", "3: c:d n3"]
    out = in_job(het, ask, "srun -l --het-group=1 echo a : --het-group=0 -n1 sh -c 'echo $SLURMD_NODENAME'")
    assert lines(out) == ["0: a", "1: n1"]
    out = in_job(het, ask, "srun --het-group=0 true : --het-group=0 true", status=1)
    assert "Duplicate het groups in single srun not supported" in out.stderr
    out = in_job(het, ask, "srun -n1 hostname : date : id : true", status=1)
    assert "het group value of 3, but the job allocation has maximum value of 2" in out.stderr
    out = in_job(het, ask, "srun --mpi=none true : --mpi=pmi2 true", status=1)
    assert "--mpi is of the whole step" in out.stderr
    (het.work / "ranks").write_text("0-1 echo a %t\n* echo b %o\n")
    out = in_job(het, ask, "srun -l --het-group=0,2 --multi-prog ranks")
    assert lines(out) == ["0: a 0", "1: a 1", "2: b 2"]
    out = in_job(het, ask, "srun --het-group=0,1 --multi-prog /dev/null", status=1)
    assert "task 0" in out.stderr
    out = in_job(het, ask, "srun --multi-prog ranks : true", status=1)
    assert "--multi-prog is for all parts of a step" in out.stderr


def test_cyclic_distribution_applies_in_each_component(het):
    """HET-11: the distribution works within each component."""
    out = in_job(het, "-N2 --ntasks-per-node=2 -w n[1-2] : -N2 --ntasks-per-node=2 -w n[3-4]",
                 "srun -m cyclic --het-group=0,1 sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME'")
    where = dict(line.split() for line in out.stdout.splitlines())
    assert where == {"0": "n1", "2": "n1", "1": "n2", "3": "n2", "4": "n3", "6": "n3", "5": "n4", "7": "n4"}


def test_parts_of_a_step_have_one_number(het):
    """HET-77, 78: the transcript of the guide. Parts of a step have one number, and there are gaps."""
    shown = []
    with allocation(het, "-n1 : -n2") as job:
        for groups, tasks in ("0,1", 3), ("0", 1), ("0,1", 3):
            with step(het, job, f"--het-group={groups}", tasks=tasks) as number:
                rows = [line for line in het.run("squeue -hs -o %i").ok().split() if not line.endswith(".extern")]
                shown.append((number, sorted(rows)))
    assert shown == [("0", [f"{job}+0.0", f"{job}+1.0"]), ("1", [f"{job}+0.1"]), ("2", [f"{job}+0.2", f"{job}+1.2"])]


def test_step_variables_describe_one_job(het):
    """HET-84 to 87, 90: one job, as MPI programs read it."""
    out = in_job(het, "-N1 -w n1 : -N2 -w n[2-3]",
                 "echo $SLURM_JOB_ID $SLURM_HET_SIZE; "
                 "srun --het-group=1 printenv SLURM_JOB_ID SLURM_JOB_ID_HET_GROUP_1 SLURM_JOB_NODELIST; "
                 "srun --het-group=0,1 -l sh -c 'echo $SLURM_JOB_ID $SLURM_JOB_NODELIST $SLURM_JOB_NUM_NODES $SLURM_NNODES $SLURM_NODEID "
                 "$SLURM_TASKS_PER_NODE $SLURM_STEP_NODELIST $SLURM_LOCALID'").stdout.splitlines()
    leader, size = out[0].split()
    assert size == "2"
    assert sorted(out[1:7]) == sorted([leader, str(int(leader) + 1), "n[2-3]"] * 2)
    assert sorted(out[7:]) == [f"{i}: {leader} n[1-3] 3 3 {i} 1(x3) n[1-3] 0" for i in range(3)]


def test_all_parts_start_or_none(het):
    """HET-75, 76: while one part lacks its CPUs, no part starts; two such steps do not block each other."""
    with allocation(het, "-n4 -w n1 : -n4 -w n2") as job:
        with step(het, job, "--het-group=1", "--exact", "-n4", tasks=4):
            waiting = [het.popen(["srun", f"--jobid={job}", "--exact", "--het-group=0,1", "-n4", "echo", word]) for word in ("a", "b")]
            for p in waiting:
                assert "step creation temporarily disabled, retrying" in p.stderr.readline()
            assert {line.split(".")[1] for line in het.run("squeue -hs -o %i").ok().split()} == {"0"}
        for p, word in zip(waiting, "ab"):
            assert p.communicate()[0].split() == [word] * 8 and p.returncode == 0


def test_components_on_one_node_have_their_own_cpus(het):
    """Two components on one node: each has its own CPUs there, and the ranks are still one space."""
    out = in_job(het, "-n2 -w n1 : -n2 -w n1", "srun -l --het-group=0,1 sh -c 'echo $SLURMD_NODENAME $SLURM_NODEID $SLURM_NTASKS'")
    assert lines(out) == ["0: n1 0 4", "1: n1 0 4", "2: n1 0 4", "3: n1 0 4"]


def test_variables_name_a_shared_node_once(het):
    """HET-90: tasks of all components on a node are counted together; each component keeps its own share of the node."""
    out = in_job(het, "-n2 -N2 -w n[1-2] : -n3 -N2 -w n[2-3] : -n1 -w n1",
                 "srun -l --het-group=0-2 sh -c 'echo $SLURM_STEP_NODELIST $SLURM_NODELIST $SLURM_JOB_NODELIST $SLURM_STEP_NUM_NODES $SLURM_NNODES "
                 "$SLURM_STEP_TASKS_PER_NODE $SLURM_TASKS_PER_NODE $SLURM_JOB_CPUS_PER_NODE / $SLURM_NODEID $SLURM_LOCALID $SLURM_GTIDS $SLURM_CPUS_ON_NODE'")
    said = [line.split(" / ") for line in lines(out)]
    assert {common.split(" ", 1)[1] for common, _ in said} == {"n[1-3] n[1-3] n[1-3] 3 3 2,3,1 2,3,1 2,3,1"}
    assert [own for _, own in said] == ["0 0 0 1", "1 0 1 1", "1 0 2,3 2", "1 1 2,3 2", "2 0 4 1", "0 0 5 1"]


def test_srun_creates_a_heterogeneous_job(het):
    """srun makes a heterogeneous job of its own, which ends with the step."""
    done = het.run(["srun", "-l", "-n1", "-w", "n1", "sh", "-c", "echo a $SLURM_JOB_ID", ":", "-n2", "-w", "n2", "sh", "-c", "echo b $SLURM_JOB_ID"])
    assert done.returncode == 0, done
    said = [line.split() for line in lines(done)]
    assert [w[:2] for w in said] == [["0:", "a"], ["1:", "b"], ["2:", "b"]]
    leader = said[0][2]
    assert {w[2] for w in said} == {leader}
    eventually(lambda: het.run(["squeue", "-h"]).ok() == "", "it is over")
    states = [line.split() for line in het.run(["squeue", "-h", "-t", "all", "-o", "%i %T"]).ok().splitlines()]
    assert sorted(s for s in states if s[0].startswith(f"{leader}+")) == [[f"{leader}+{i}", "COMPLETED"] for i in range(2)]
    done = het.run(["srun", "-n1", "-w", "n1", "true", ":", "-n1", "-w", "n2", "sh", "-c", "exit 7"])
    assert done.returncode == 7, done


def test_step_files_are_appended_to(het):
    """HET-107: in a step of several parts, unless it is said otherwise."""
    out = in_job(het, "-n1 : -n1", "for mode in '' '' --open-mode=truncate; do srun $mode -o parts.txt echo a : echo b; wc -l < parts.txt; done; "
                 "for i in 1 2; do srun -o part.txt echo a; wc -l < part.txt; done")
    assert out.stdout.split() == ["2", "4", "2", "1", "1"]


def test_jobid_selects_components(het):
    """HET-37: --jobid names a component, from outside the job, too; parts are in the components one after the other."""
    where = ["printenv", "SLURMD_NODENAME"]
    with allocation(het, "-n1 -w n1 : -n2 -w n2") as job:
        assert het.run(["srun", f"--jobid={job}", *where]).ok().split() == ["n1"]
        assert het.run(["srun", f"--jobid={job}+1", *where]).ok().split() == ["n2", "n2"]
        assert sorted(het.run(["srun", f"--jobid={job}", "--het-group=0,1", *where]).ok().split()) == ["n1", "n2", "n2"]
        assert sorted(het.run(["srun", f"--jobid={job}", "-n1", *where, ":", "-n2", *where]).ok().split()) == ["n1", "n2", "n2"]
        het.run(f"srun --jobid={job}+2 true").fails("het group value of 2, but the job allocation has maximum value of 1")
        het.run(f"srun --jobid={job} true : true : true").fails("error: Attempt to run a job step with het group value of 2, but")
    het.run("srun --het-group=0 true").fails("--het-group=0 names a component of a heterogeneous job")


def test_worst_status_of_all_parts_counts(het):
    """The worst status counts; with --kill-on-bad-exit the end of a task in one component ends all; so does a signal to srun."""
    out = in_job(het, "-n1 : -n2", "srun false : true; echo $?; srun true : false; echo $?; srun true : true; echo $?; "
                 "srun sh -c 'exit 3' : sh -c 'exit 7'; echo $?; srun sh -c 'exit 7' : sh -c 'exit 3'; echo $?; srun -K -n1 sleep 1000 : -n2 sh -c 'exit 3'; [ $? != 0 ]; echo $?")
    assert out.stdout.split() == ["1", "1", "0", "7", "7", "0"]
    with allocation(het, "-n1 : -n1") as job:
        with het.popen(["srun", f"--jobid={job}", "sh", "-c", "echo up; exec sleep 1000", ":", "sh", "-c", "echo up; exec sleep 1000"]) as p:
            assert [p.stdout.readline(), p.stdout.readline()] == ["up\n", "up\n"]
            p.terminate()
            p.communicate()
            assert p.returncode != 0
        eventually(lambda: re.findall(r"\.\d+$", het.run("squeue -hs -o %i").ok(), re.M) == [], "the step has ended in both components")


def test_ended_component_is_named(het):
    """HET-37: as the component that was asked for, and not by the id of its record or of the leader."""
    with allocation(het, "-n1 : -n1") as job:
        het.run(f"scancel {job}+1").ok()
        eventually(lambda: het.state(job + 1) == "CANCELLED", "the component has ended")
        done = het.run(f"srun --jobid={job}+1 true")
        assert f"srun: error: Unable to create step for job {job}+1: Job/step already completing or completed: job {job}+1\n" in done.stderr, done
        assert f"job {job + 1}" not in done.stderr and done.returncode == 1
        assert f"completed: job {job}+1\n" in het.run(f"srun --jobid={job} --het-group=0,1 true").stderr
        assert het.run(f"srun --jobid={job} true").returncode == 0


def test_no_part_begins_before_all_are_launched(het):
    """HET-76: while the launch on one node is not answered, the tasks of the other node do not begin."""
    began = het.work / "began"
    daemon = het.daemons["n2"]
    with allocation(het, "-n1 -w n1 : -n1 -w n2") as job:
        daemon.send_signal(signal.SIGSTOP)
        try:
            with het.popen(["srun", f"--jobid={job}", "-v", "touch", began, ":", "true"]) as p:
                eventually(lambda: f"step {job}.0" in het.tail("n1", 1000), "the part on n1 is prepared")
                assert het.run(["srun", "-w", "n1", "hostname"]).returncode == 0
                assert not began.exists()
                daemon.send_signal(signal.SIGCONT)
                p.communicate()
                assert p.returncode == 0 and began.exists()
        finally:
            daemon.send_signal(signal.SIGCONT)


def test_het_step_in_ordinary_job(het):
    """HET-109 to 111: parts of one job have different nodes, or share one: then one slurmstepd starts the tasks of both."""
    out = in_job(het, "-N2 --exclusive -w n[1-2]", "srun -l -N1 -n4 printenv SLURMD_NODENAME : -N1 -n1 printenv SLURMD_NODENAME")
    assert lines(out) == ["0: n1", "1: n1", "2: n1", "3: n1", "4: n2"]
    out = in_job(het, "-N2 --exclusive -w n[1-2]", "srun -l -w n1 -n2 sh -c 'echo a $SLURM_PROCID $SLURM_NTASKS $SLURMD_NODENAME' : -w n1 -c2 "
                 "sh -c 'echo \"$1\" $SLURM_PROCID $SLURM_CPUS_PER_TASK' x \"it's b\" : -N1 printenv SLURMD_NODENAME")
    assert lines(out) == ["0: a 0 4 n1", "1: a 1 4 n1", "2: it's b 2 2", "3: n2"]
    out = in_job(het, "-N1 -n2 -w n1", "srun -n1 true : -n1 false; echo $?; srun -l --mpi=pmi2 -n1 printenv PMI_RANK : -n1 printenv PMI_RANK")
    assert lines(out) == ["0: 0", "1", "1: 1"]
    out = in_job(het, "-N1 -n4 -w n1", "srun -n4 true : -n1 true", status=1)
    assert "no node is left" in out.stderr
    out = in_job(het, "-N1", "srun --het-group=1 true", status=1)
    assert "het group value of 1, but the job allocation has maximum value of 0" in out.stderr


def test_gpus_of_parts(het):
    """HET-112: the guide's example, each part with its own GPUs."""
    out = in_job(het, "-N2 --exclusive --gpus=10 -w n[1-2]",
                 "srun -l -N1 -n4 --gpus=4 sh -c 'echo $SLURM_GPUS_ON_NODE' : -N1 -n1 --gpus=6 sh -c 'echo $SLURM_GPUS_ON_NODE'")
    assert lines(out) == ["0: 4", "1: 4", "2: 4", "3: 4", "4: 6"]


SHAPES = "-N1 --mem=300 -C haswell : -N2 -n8 --ntasks-per-core=1 -C knl"


def give_features(c):
    c.run("scontrol update NodeName=n1 AvailableFeatures=haswell ActiveFeatures=haswell").ok()
    c.run("scontrol update NodeName=n[2-3] AvailableFeatures=knl ActiveFeatures=knl").ok()


def test_shapes_of_the_guide(het):
    """HET-94: memory and features of one kind of node, tasks for each core of the other, scaled down; test_mpi_worlds_span_components() has its two variants."""
    give_features(het)
    show = "sh -c 'echo $SLURMD_NODENAME'"
    assert lines(in_job(het, SHAPES, f"srun -l {show} : {show}")) == ["0: n1", "1: n2", "2: n2", "3: n2", "4: n2", "5: n3", "6: n3", "7: n3", "8: n3"]
    assert lines(in_job(het, SHAPES, f"srun --het-group=0,1 {show}")) == ["n1"] + ["n2"] * 4 + ["n3"] * 4


def test_separators_and_no_allocation(het):
    """HET-73, 100: a program is never given a ':'; srun -Z makes no heterogeneous step."""
    assert lines(in_job(het, "-n1 : -n1", "srun -l echo a : echo b")) == ["0: a", "1: b"]
    done = het.run(["srun", "-Z", "-w", "n1", "true", ":", "-w", "n2", "true"])
    assert done.returncode != 0 and "--no-allocate is not supported for heterogeneous jobs" in done.stderr


def test_srun_reads_the_options_of_its_component(het):
    """HET-11, 89: srun reads the options of the component, and its tasks see them."""
    where = "printenv SLURMD_NODENAME"
    cyclic = ["0: n3", "1: n4", "2: n3", "3: n4"]
    assert lines(in_job(het, "-m cyclic --ntasks-per-node=2 -N2 -w n[3-4] : -n1", f"srun -l {where}")) == cyclic
    assert lines(in_job(het, "-n1 -w n2 : -m cyclic --ntasks-per-node=2 -N2 -w n[3-4]", f"srun -l --het-group=1 {where}")) == cyclic
    show = "sh -c 'echo $SLURM_PROCID $SLURM_CPUS_PER_TASK'"
    assert lines(in_job(het, "-n1 -w n2 : -n2 -c2 -N2 -w n[3-4]", f"srun --het-group=0,1 {show}")) == ["0", "1 2", "2 2"]
    assert lines(in_job(het, "-n1 -c4 -w n2 : -n1 -w n3 : -n1 -c2 -w n4", f"srun {show} : {show} : {show}")) == ["0 4", "1", "2 2"]
    assert lines(in_job(het, "-n1 -w n2 : -n2 -c2 -N2 -w n[3-4]", f"srun --het-group=1 -c1 {show}")) == ["0 1", "1 1"]


def test_sbcast_copies_to_components(het):
    """HET-58 to 60: to all components, to one, and the program of srun to those that run it."""
    name = het.work / "data"
    name.write_text("some data")
    places = [het.work / place for place in ("all", "one", "plus")]
    out = in_job(het, "-n1 -w n1 : -n1 -w n2 : -n1 -w n3",
                 f"sbcast {name} {places[0]}; sbcast -j $SLURM_JOB_ID.1 {name} {places[1]}; sbcast -j $SLURM_JOB_ID+2 {name} {places[2]}; "
                 f"mkdir {het.work}/programs; srun --bcast={het.work}/programs/ --het-group=1,2 /bin/true; ls {het.work}/programs")
    assert all(place.read_text() == "some data" for place in places)
    with allocation(het, "-n1 -w n1 : -n1 -w n2 --component=io") as job:
        for asked, shown in (f"{job}+1", f"{job}+1"), (f"{job}+io", f"{job}+1"), (f"{job}.1", f"{job}.1"):
            said = het.run(f"sbcast -v -f --jobid={asked} {name} {places[1]}").stderr
            assert f"jobid      = {shown}\n" in said and f"`{name}` is on all nodes of {shown} as {places[1]}\n" in said, said
        assert f"is on n2 of {job}+1 as" in het.run(f"sbcast -v -f -w n2 --jobid={job}+1 {name} {places[1]}").stderr
        assert f"`{name}` is on all nodes as" in het.run(f"sbcast -v -f --jobid={job} {name} {places[0]}").stderr
    assert sorted(line.rsplit("_", 1)[1] for line in out.stdout.split()) == ["n2", "n3"], out


def test_program_of_each_part_is_copied(het):
    """HET-60: --bcast applies to the parts that have it; each part runs its own copy, under its own name, also where parts share a node."""
    place = het.work / "copies"
    place.mkdir()
    for name in "ab":
        program = het.work / name
        program.write_text(f'#!/bin/sh\necho {name} ${{0##*/}} $SLURM_PROCID\n')
        program.chmod(0o755)
    copied = rf"{{0}} slurm_bcast_[\d.]+{{1}} {{2}}"

    def ran(request, command):
        return lines(in_job(het, request, f"srun {command}"))

    def check(request, command, *said):
        out = ran(request, command)
        assert len(out) == len(said) and all(map(re.fullmatch, said, out)), (request, command, out)

    for request in "-n1 -w n1 : -n1 -w n2", "-N2 --exclusive -w n[1-2]":
        check(request, f"-n1 -N1 --bcast={place}/ ./a : -n1 -N1 --bcast={place}/ ./b", copied.format("a", "_n1", 0), copied.format("b", "_n2", 1))
        check(request, f"-n1 -N1 --bcast={place}/e ./a : -n1 -N1 --bcast={place}/f ./a", "a e 0", "a f 1")
        check(request, f"-n1 -N1 ./a : -n1 -N1 --bcast={place}/g ./b", "a a 0", "b g 1")
        check(request, f"-n1 -N1 --bcast={place}/h ./a : -n1 -N1 ./b", "a h 0", "b b 1")
    for request in "-n1 -w n1 : -n1 -w n1", "-N1 -n2 -w n1":
        check(request, f"-n1 --bcast={place}/ ./a : -n1 --bcast={place}/ --send-libs ./b", copied.format("a", "_n1", 0), copied.format("b", "-1_n1", 1))
        out = in_job(het, request, f"srun -n1 --bcast={place}/i ./a : -n1 --bcast={place}/i ./b", status=1)
        assert f"--bcast={place}/i: parts 0 and 1 of the step copy" in out.stderr and "on node n1" in out.stderr
    check("-N1 -n2 -w n1", f"-n1 true : -n1 --bcast={place}/ --send-libs --bcast-exclude=none printenv LD_LIBRARY_PATH", rf"{place}/slurm_bcast_[\d.]+_n1_libs(:.*)?")
    check("-n1 -w n1 : -n1 -w n2", f"--het-group=0,1 --bcast={place}/ ./a", copied.format("a", "_n1", 0), copied.format("a", "_n2", 1))
    check("-n1 -w n1 : -n1 -w n2", f"--het-group=0,1 --bcast={place}/k ./a", "a k 0", "a k 1")
    done = het.run(f"srun -w n1 --bcast={place}/l ./a : -w n2 --bcast={place}/m ./b")
    assert lines(done) == ["a l 0", "b m 1"], done


@pytest.mark.parametrize("request_, where", [("-n1 -w n1 : -n1 -w n2", ("n1", "n2")), ("-N2 --exclusive -w n[1-2]", ("n1", "n2")),
                                             ("-n1 -w n1 : -n1 -w n1", ("n1", "n1")), ("-N1 -n2 -w n1", ("n1", "n1"))])
def test_files_and_directory_of_each_part(het, request_, where):
    """HET-72, 107: --output, --error, --input and --chdir are handed on and may be reset; a part has its own, one file for all that name it."""
    own_launch = request_ != "-N1 -n2 -w n1"
    place = make_directory("parts.", het.work, 0o777)
    for name in "xy":
        (place / name).write_text(name + "\n")
    say = "sh -c 'echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2'"

    def ran(first, second, both=say, stdin=""):
        for old in place.glob("o-*"):
            old.unlink()
        part = "-n1 -N1" if own_launch else "-n1"
        done = het.run(["salloc", "-Q", *request_.split(), "sh", "-c", f"cd {place} && srun {part} {first} {both} : {part} {second} {both}"], stdin=stdin)
        assert done.returncode == 0, done
        files = {old.name: sorted(old.read_text().splitlines()) for old in place.glob("o-*")}
        return lines(done), sorted(done.stderr.splitlines()), files

    both = ["err {0}", "out {0}"]
    a, b = ([line.format(rank) for line in both] for rank in (0, 1))
    assert ran("-o o-1", "-o o-2") == ([], [], {"o-1": a, "o-2": b})
    assert ran("-l -o o-1", "") == ([], [], {"o-1": sorted("0: " + x for x in a) + sorted("1: " + x for x in b)})
    assert ran("", "-o o-2 -e o-3") == (["out 0"], ["err 0"], {"o-2": ["out 1"], "o-3": ["err 1"]})
    assert ran("-e o-1", "-o none") == (["out 0"], [], {"o-1": ["err 0", "err 1"]})
    assert ran("-o none", "-o all") == (["out 1"], ["err 1"], {})
    assert ran("-o o-1 --open-mode=truncate", f"-o {place}/o-1") == ([], [], {"o-1": sorted(a + b)})
    assert ran("-o o-%t-%N", "") == ([], [], {f"o-0-{where[0]}": a, f"o-1-{where[1]}": b})
    if own_launch:
        assert ran("-o o-%N-%t", "-o o-%t") == ([], [], {f"o-{where[0]}-0": a, "o-1": b})
        assert ran("", "-o o-%t-%n -e none") == (["out 0"], ["err 0"], {"o-1-1": ["out 1"]})
    else:
        done = in_job(het, request_, f"srun -n1 -o o-%t true : -n1 -o p-%t true", status=1)
        assert "have nodes in common, and need the same --output" in done.stderr
    cat = """sh -c 'echo "$SLURM_PROCID $(cat)"'"""
    for first, second, said in (("-i x", "-i y", ["0 x", "1 y"]), ("-i x", "", ["0 x", "1 x"]), ("", "-i y", ["0 typed", "1 y"]), ("-i none", "-i all", ["0 ", "1 typed"]),
                                ("-i 1", "", ["0 ", "1 typed"]), ("", "-i none", ["0 typed", "1 "])):
        assert ran(first, second, cat, "typed\n")[0] == said, (first, second)
    assert ran("-D /tmp", "-D /", "pwd")[0] == ["/", "/tmp"]
    assert ran("-D /tmp", "", "pwd")[0] == ["/tmp", "/tmp"]


def test_terminal_of_task_0(het):
    """HET-72: --pty in component 0 gives task 0 the terminal; in a later component it is refused; without a terminal input ends."""
    for request, command in ("-n1 : -n1", "srun --pty"), ("-n1 : -n1", "srun --pty --het-group=0,1"), ("-N1 -n2", "srun -n1 --pty"):
        second = ": -n1 cat" if "group" not in command else ""
        t = Terminal(het, ["salloc", "-Q", *request.split(), "sh", "-c", f"{command} sh -c '[ $SLURM_PROCID != 0 ] || {{ tty; read x; echo got $((40+x)); }}' {second}"])
        t.until("/dev/pts/")
        t.type("2\n")
        t.until("got 42")
        assert t.close() == 0
    done = het.run("srun -n2 -w n1 --pty sh -i", stdin="echo $((40+2))\n")
    assert (done.returncode, done.stdout) == (0, "42\n" * 2) and "srun: warning: --pty has no effect: standard input is no terminal" in done.stderr, done
    out = in_job(het, "-n1 : -n1", "srun true : --pty true", status=1)
    assert "--pty gives the terminal to task 0, which is in component 0: use it there" in out.stderr


def test_options_of_the_whole_step(het):
    """HET-72: an option of the whole step that differs in a later component causes a warning."""
    out = in_job(het, "-n1 : -n1", "srun -W9 -u true : -l -W8 -u true; srun -l true : -l -o none --epilog=/bin/true true; srun -W1 -t5 true : true")
    assert re.findall(r"--(\S+) of component 1 has no effect: it is of the whole step, use it in component 0", out.stderr) == ["label", "wait", "epilog"]
    done = het.run("srun -D /tmp -w n1 pwd : -D / -t1 -w n2 pwd")
    assert (lines(done), done.stderr) == (["/", "/tmp"], "")


@pytest.mark.parametrize("kind,mpi", [("mpich", "pmi1"), ("mpich", "pmi2"), pytest.param("openmpi", "pmix", marks=needs_pmix)])
def test_mpi_worlds_span_components(het, kind, mpi):
    """HET-71, 93, 94: one world over three components, over two that share a node, and two worlds of two sruns, one after the other or at once."""
    give_features(het)
    program = het.dir / f"mpi-{kind}"
    subprocess.run([f"mpicc.{kind}", "-O2", "-o", program, pathlib.Path(__file__).with_name("mpi.c")], check=True, capture_output=True)
    srun = f"OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_tcp_if_include=lo srun -O --mpi={mpi}"  # the host may have no network
    out = in_job(het, "-n2 -w n1 : -n1 -w n2 : -n2 -w n3", f"{srun} --het-group=0-2 {program} sum")
    assert lines(out) == [f"{rank} of 5: sum 10 ring 10" for rank in range(5)]
    out = in_job(het, "-n2 -w n1 : -n1 -w n1", f"{srun} --het-group=0,1 {program} sum")
    assert lines(out) == [f"{rank} of 3: sum 3 ring 3" for rank in range(3)]
    out = in_job(het, "-n2 -w n1 : -n3 -w n2", f"{srun} {program} sum; {srun} --het-group=1 {program} sum; {srun} {program} sum : {program} sum")
    assert lines(out) == sorted([f"{r} of 2: sum 1 ring 1" for r in range(2)] + [f"{r} of 3: sum 3 ring 3" for r in range(3)]
                                + [f"{r} of 5: sum 10 ring 10" for r in range(5)])
    # The guide's example: a server on one kind of node and its clients on the other, in a world each, which exist at the same time, or in one.
    out = in_job(het, SHAPES, f"cd {het.work} && mkfifo {kind}-{mpi} && ({srun} {program} write {kind}-{mpi} & "
                 f"{srun} --het-group=1 {program} read {kind}-{mpi}; wait); {srun} {program} sum : {program} sum")
    assert lines(out) == sorted(["server: 0 of 1"] + [f"client: {r} of 8" for r in range(8)] + [f"{r} of 9: sum 36 ring 36" for r in range(9)])
