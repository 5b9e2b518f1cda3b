# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of several parts, with real daemons: HET-11, 37, 58 to 60, 68, 69, 71, 72, 74 to 78, 80 to 82, 84 to 87, 90 to 93, 106, 107, 109 to 111."""
import pathlib
import re
import shutil
import subprocess

import pytest

from harness import PREFIX, Cluster, eventually, many

PARTITIONS = ["PartitionName=p1 Nodes=ALL Default=YES MaxTime=60", "PartitionName=p2 Nodes=n[3-4] MaxTime=60"]
CONF = "SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100\nMinJobAge=300\n"


@pytest.fixture(scope="module")
def het():
    with many(Cluster) as make:
        yield make(nodes=4, cpus=4, conf=CONF, partitions=PARTITIONS)


def in_job(c, request, commands, status=0):
    """What a shell prints that runs these commands in an allocation of these components."""
    done = c.run(["salloc", "-Q", *request.split(), "sh", "-c", commands], timeout=60)
    assert done.returncode == status, done
    return done


def lines(done):
    return sorted(done.stdout.splitlines())


def test_groups(het):
    """HET-68, 69, 71, 91, 92: the first component by default; of several one space of ranks."""
    ask = "-N1 -w n1 : -N2 -w n[2-3] : -N1 -w n4"
    show = "sh -c 'echo $SLURM_PROCID/$SLURM_NTASKS/$SLURM_NPROCS $SLURMD_NODENAME'"
    out = in_job(het, ask, f"srun {show}; echo; srun --het-group=1 {show}; echo; srun --het-group=0,2 {show}; echo; srun -O --het-group=0-2 -n2 {show}")
    steps = [sorted(part.split("\n")) for part in out.stdout.strip().split("\n\n")]
    assert steps == [["0/1/1 n1"],
                     ["0/2/2 n2", "1/2/2 n3"],
                     ["0/2/2 n1", "1/2/2 n4"],
                     ["0/6/6 n1", "1/6/6 n1", "2/6/6 n2", "3/6/6 n3", "4/6/6 n4", "5/6/6 n4"]]


def test_programs(het):
    """HET-72, 74, 80 to 82, 106: a program for each component; one that has none runs the next one's."""
    ask = "-n2 -w n1 : -n1 -w n2 : -n1 -w n3"
    out = in_job(het, ask, "srun --label -n2 : -n1 hostname")
    assert [line.split(":")[0] for line in lines(out)] == ["0", "1", "2"]
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
    out = in_job(het, ask, "srun --het-group=0,1 --multi-prog /dev/null", status=1)
    assert "--multi-prog cannot span several components" in out.stderr


def test_cyclic_in_each_component(het):
    """HET-11: the distribution works within each component."""
    out = in_job(het, "-N2 -n4 -w n[1-2] : -N2 -n4 -w n[3-4]",
                 "srun -m cyclic --het-group=0,1 sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME'")
    where = dict(line.split() for line in out.stdout.splitlines())
    assert where == {"0": "n1", "2": "n1", "1": "n2", "3": "n2", "4": "n3", "6": "n3", "5": "n4", "7": "n4"}


def test_numbers(het):
    """HET-77, 78: the transcript of the guide. Parts of a step have one number, and there are gaps."""
    out = in_job(het, "-n1 : -n2", """
        for g in 0,1 0 0,1; do
            srun --het-group=$g sh -c 'echo $SLURM_STEP_ID $SLURM_PROCID; until [ -e go.$SLURM_STEP_ID ]; do sleep 0.05; done' &
            for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -n "$(squeue -hs)" ] && break; sleep 0.1; done
            squeue -hs -o "step %i" | grep -v ext | sort
            touch go.0 go.1 go.2; wait; rm -f go.*
        done""")
    jobs = [re.search(r"step (\\S+?)\\.", line) for line in out.stdout.splitlines()]
    assert sorted(out.stdout.split("\n")).count("0 0") == 1
    steps = [line.split()[1] for line in out.stdout.splitlines() if line.startswith("step ")]
    assert [s.split(".")[1] for s in steps if "." in s] == ["0", "0", "1", "2", "2"], (jobs, out.stdout)


def test_variables(het):
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


def test_all_or_none(het):
    """HET-75, 76: while a part cannot have its CPUs, none begins; two such steps do not stop each other."""
    out = in_job(het, "-n4 -w n1 : -n4 -w n2", """
        srun --het-group=1 --exact -n4 sh -c 'until [ -e free ]; do sleep 0.05; done; echo first' &
        for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -n "$(squeue -hs)" ] && break; sleep 0.1; done
        srun -Q --exact --het-group=0,1 -n4 sh -c 'echo second' & p=$!
        srun -Q --exact --het-group=0,1 -n4 sh -c 'echo third' & q=$!
        sleep 1; echo waits; touch free; wait; rm -f free""")
    said = out.stdout.split()
    assert said.count("first") == 4 and said.count("second") == said.count("third") == 8
    assert said.index("waits") < min(said.index("second"), said.index("third"))


def test_shared_node(het):
    """Two components on one node: each has its own CPUs there, and the ranks are still one space."""
    out = in_job(het, "-n2 -w n1 : -n2 -w n1", "srun -l --het-group=0,1 sh -c 'echo $SLURMD_NODENAME $SLURM_NODEID $SLURM_NTASKS'")
    assert lines(out) == ["0: n1 0 4", "1: n1 0 4", "2: n1 1 4", "3: n1 1 4"]


def test_own_job(het):
    """srun makes a heterogeneous job of its own, which ends with the step."""
    done = het.run(["srun", "-l", "-n1", "-w", "n1", "sh", "-c", "echo a $SLURM_JOB_ID", ":", "-n2", "-w", "n2", "sh", "-c", "echo b $SLURM_JOB_ID; sleep 1"])
    assert done.returncode == 0, done
    said = [line.split() for line in lines(done)]
    assert [w[:2] for w in said] == [["0:", "a"], ["1:", "b"], ["2:", "b"]]
    leader = said[0][2]
    assert {w[2] for w in said} == {leader}
    eventually(lambda: het.run(["squeue", "-h"]).stdout == "", "it is over")
    states = [line.split() for line in het.run(["squeue", "-h", "-t", "all", "-o", "%i %T"]).ok().splitlines()]
    assert sorted(s for s in states if s[0].startswith(f"{leader}+")) == [[f"{leader}+{i}", "COMPLETED"] for i in range(2)]
    done = het.run(["srun", "-n1", "-w", "n1", "true", ":", "-n1", "-w", "n2", "sh", "-c", "exit 7"])
    assert done.returncode == 7, done


def test_files_are_appended_to(het):
    """HET-107: in a step of several parts, unless it is said otherwise."""
    out = in_job(het, "-n1 : -n1", "for mode in '' '' --open-mode=truncate; do srun $mode -o parts.txt echo a : echo b; wc -l < parts.txt; done; "
                 "for i in 1 2; do srun -o part.txt echo a; wc -l < part.txt; done")
    assert out.stdout.split() == ["2", "4", "2", "1", "1"]


def test_by_id(het):
    """HET-37: --jobid names a component, from outside the job, too."""
    job = int(het.run(["salloc", "-Q", "--no-shell", "-n1", "-w", "n1", ":", "-n2", "-w", "n2"]).ok() or
              het.run(["squeue", "-h", "-t", "R", "-o", "%i"]).ok().split("+")[0])
    assert het.run(f"srun --jobid={job} printenv SLURMD_NODENAME").ok().split() == ["n1"]
    assert het.run(f"srun --jobid={job}+1 printenv SLURMD_NODENAME").ok().split() == ["n2", "n2"]
    assert sorted(het.run(f"srun --jobid={job} --het-group=0,1 printenv SLURMD_NODENAME").ok().split()) == ["n1", "n2", "n2"]
    het.run(f"srun --jobid={job}+2 true").fails("het group value of 2, but the job allocation has maximum value of 1")
    het.run(f"scancel {job}").ok()
    eventually(lambda: het.run("squeue -h").stdout == "", "it is over")


def test_ends(het):
    """The worst status counts; with --kill-on-bad-exit the end of a task in one component ends all."""
    out = in_job(het, "-n1 : -n1", "srun false : true; echo $?; srun true : false; echo $?; srun true : true; echo $?")
    assert out.stdout.split() == ["1", "1", "0"]
    out = in_job(het, "-n1 : -n2", "srun -K -n1 sleep 1000 : -n2 sh -c 'exit 3'; echo status $?; srun sleep 1000 : sleep 1000 & p=$!; sleep 1; kill -TERM $p; wait $p; echo $?")
    assert out.stdout.split()[0] == "status" and out.stdout.split()[1] != "0", out
    assert het.run("squeue -hs").stdout == ""


def test_refused_launch_begins_nothing(het):
    """No task begins in any part when the program's launch is refused in one (it names no directory there)."""
    out = in_job(het, "-n1 -w n1 : -n1 -w n2", "srun touch began : ./no-such-program; echo $?; ls began")
    assert out.stdout.split()[0] != "0"


def test_het_step_in_ordinary_job(het):
    """HET-109 to 111: parts of one job have different nodes."""
    out = in_job(het, "-N2 --exclusive -w n[1-2]", "srun -l -N1 -n4 printenv SLURMD_NODENAME : -N1 -n1 printenv SLURMD_NODENAME")
    assert lines(out) == ["0: n1", "1: n1", "2: n1", "3: n1", "4: n2"]
    out = in_job(het, "-N2 -w n[1-2]", "srun -w n1 true : -w n1 true", status=1)
    assert "have different nodes" in out.stderr
    out = in_job(het, "-N1", "srun --het-group=1 true", status=1)
    assert "het group value of 1, but the job allocation has maximum value of 0" in out.stderr


def test_files(het):
    """HET-58 to 60: to all components, to one, and the program of srun to those that run it."""
    name = het.work / "data"
    name.write_text("some data")
    places = [het.work / place for place in ("all", "one", "plus")]
    out = in_job(het, "-n1 -w n1 : -n1 -w n2 : -n1 -w n3",
                 f"sbcast {name} {places[0]}; sbcast -j $SLURM_JOB_ID.1 {name} {places[1]}; sbcast -j $SLURM_JOB_ID+2 {name} {places[2]}; "
                 f"mkdir {het.work}/programs; srun --bcast={het.work}/programs/ --het-group=1,2 /bin/true; ls {het.work}/programs")
    assert all(place.read_text() == "some data" for place in places)
    assert sorted(line.rsplit("_", 1)[1] for line in out.stdout.split()) == ["n2", "n3"], out


@pytest.mark.parametrize("kind", ["mpich", "openmpi"])
def test_mpi(het, kind):
    """HET-71, 93: one world over three components, over two that share a node, and two worlds of two sruns."""
    mpi = {"mpich": "pmi2", "openmpi": "pmix"}[kind]
    if not shutil.which(f"mpicc.{kind}") or (mpi == "pmix" and not (PREFIX / "sbin/slurmstepd-pmix").exists()):
        pytest.skip(f"needs {kind}")
    program = het.dir / f"mpi-{kind}"
    subprocess.run([f"mpicc.{kind}", "-O2", "-o", program, pathlib.Path(__file__).with_name("mpi.c")], check=True, capture_output=True)
    srun = f"OMPI_MCA_mpi_yield_when_idle=1 srun -O --mpi={mpi}"
    out = in_job(het, "-n2 -w n1 : -n1 -w n2 : -n2 -w n3", f"{srun} --het-group=0-2 {program} sum")
    assert lines(out) == [f"{rank} of 5: sum 10 ring 10" for rank in range(5)]
    out = in_job(het, "-n2 -w n1 : -n1 -w n1", f"{srun} --het-group=0,1 {program} sum")
    assert lines(out) == [f"{rank} of 3: sum 3 ring 3" for rank in range(3)]
    out = in_job(het, "-n2 -w n1 : -n3 -w n2", f"{srun} {program} sum; {srun} --het-group=1 {program} sum; {srun} {program} sum : {program} sum")
    assert lines(out) == sorted([f"{r} of 2: sum 1 ring 1" for r in range(2)] + [f"{r} of 3: sum 3 ring 3" for r in range(3)]
                                + [f"{r} of 5: sum 10 ring 10" for r in range(5)])
