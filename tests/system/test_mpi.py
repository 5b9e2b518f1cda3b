# SPDX-License-Identifier: GPL-3.0-or-later
"""Unmodified MPICH programs under srun: CORE-109, X-16."""
import pathlib
import re
import subprocess

import pytest

from harness import eventually

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/mping.c"


@pytest.fixture(scope="module")
def mping(cluster):
    program = cluster.dir / "mping"
    subprocess.run(["mpicc.mpich", "-O2", "-o", program, EXAMPLE], check=True, capture_output=True)
    return program


def test_mpi_list_names_the_kinds(cluster):
    """Without a command and without a controller."""
    elsewhere = {"SLURM_CONF": "/nonexistent/slurm.conf"}
    said = cluster.run("srun --mpi=list", env=elsewhere).ok()
    assert re.fullmatch(r"MPI plugin types are\.\.\.\n\tnone\n\tpmi1\n\tpmi2"
                        r"(\n\tpmix\nspecific pmix plugin versions available: pmix_v[45])?", said), said
    assert "pmi2" in cluster.run("srun", env={"SLURM_MPI_TYPE": "list"}).ok()
    for kind in ("none", "pmi1", "pmi2"):
        cluster.run(f"srun --mpi={kind} true").ok()
    for kind in ("pmix_v3", "openmpi", ""):
        cluster.run(["srun", f"--mpi={kind}", "true"]).fails(f"Invalid MPI type '{kind}', --mpi=list for acceptable types")


def test_mpi_program_runs_on_two_nodes(cluster, mping):
    """CORE-109."""
    out = cluster.run(["srun", "--nodes", "2", "--nprocs", "2", mping, "1", "1024"]).ok().splitlines()
    assert len(out) == 11
    assert all(re.fullmatch(r"1 pinged 0: +\d+ bytes +[\d.]+ uSec +[\d.]+ MB/s", line) for line in out)


def test_more_tasks_than_nodes(cluster, mping):
    out = cluster.run(["srun", "-N4", "-n8", mping, "1", "1"]).ok().splitlines()
    assert [line.split()[0] for line in out] == [str(i) for i in range(1, 8)]


def test_mpi_batch_script_of_2002_runs(cluster, mping):
    done = cluster.run(["srun", "--batch", "--nodes", "2", "--nprocs", "2", mping, "1", "1048576"])
    job = int(re.search(r"Job (\d+) has been submitted", done.stdout + done.stderr).group(1))
    cluster.wait(job)
    assert "1 pinged 0:  1048576 bytes" in cluster.output(job)


def test_abort_ends_every_task(cluster, tmp_path):
    source = cluster.dir / "abort.c"
    source.write_text("#include <mpi.h>\n#include <unistd.h>\nint main(int c, char **v) { int r; MPI_Init(&c, &v);"
                      "MPI_Comm_rank(MPI_COMM_WORLD, &r); if (r == 1) MPI_Abort(MPI_COMM_WORLD, 9);"
                      "for (;;) pause(); }\n")
    program = cluster.dir / "abort"
    subprocess.run(["mpicc.mpich", "-o", program, source], check=True, capture_output=True)
    done = cluster.run(["srun", "-N2", "-n3", program])
    assert done.returncode != 0
    eventually(lambda: not cluster.run("squeue -h").ok(), "the job's end on its nodes")


def test_mpi_names_are_published(cluster):
    """MPICH's, by PMI-1, whose words hold no blanks."""
    program = cluster.dir / "names"
    subprocess.run(["mpicc.mpich", "-o", program, pathlib.Path(__file__).with_name("mpi.c")], check=True, capture_output=True)
    out = cluster.run(["srun", "-N2", "-n3", program, "names"]).ok().splitlines()
    assert sorted(out) == [f"{rank} found port, then nothing" for rank in range(3)]


def test_mpi_process_that_dies_ends_the_step(cluster):
    """An MPICH process that is killed, or exits while the others wait: no process waits forever."""
    program = cluster.dir / "wrong"
    subprocess.run(["mpicc.mpich", "-o", program, pathlib.Path(__file__).with_name("mpi.c")], check=True, capture_output=True)
    for how in ("kill", "exit"):
        cluster.run(["srun", "-N2", "-n3", program, how]).fails("mpi: task 1: it has ended without MPI_Finalize")
    leaves = PMI + "if os.environ['PMI_RANK'] == '0':\n    sys.exit(0)"
    cluster.run(["srun", "-n2", "python3", "-c", leaves]).fails("ended without MPI_Finalize")


PMI = """import os, socket, sys
s = socket.socket(fileno=os.dup(int(os.environ["PMI_FD"])))
def ask(line):
    s.sendall(line + b"\\n")
    return s.recv(70000)
ask(b"cmd=init pmi_version=1 pmi_subversion=1")
if os.environ["PMI_RANK"] != "0":
    ask(b"cmd=barrier_in")  # waits for the other
"""


@pytest.mark.parametrize("task,texts", (
    ('ask(b"cmd=evil")', ("task 0: PMI: unknown command",)),
    ('ask(b"a" * 10000)', ("task 0: PMI: a line of more than 4096 bytes",)),
    ('for i in range(20000): ask(b"cmd=put kvsname=k key=k%d value=" % i + b"v" * 1000)', ("task 0: PMI: more than 8388608 bytes",)),
    ('for i in range(100000): s.sendall(b"cmd=get kvsname=k key=PMI_process_mapping\\n" * 100)', ("task 0: PMI: it does not read the answers",)),
    ('ask(b"cmd=abort exitcode=1 error_msg=" + b"it is all over now " * 1000)', ("MPI_Abort with code 1: it is all over now it is",)),
))
def test_pmi_that_goes_wrong_ends_the_step(cluster, task, texts):
    """With a word, and no task waits for ever."""
    program = PMI + 'if os.environ["PMI_RANK"] == "0":\n    ' + task
    cluster.run(["srun", "-n2", "--mpi=pmi1", "python3", "-c", program]).fails(*texts)


def test_endless_output_of_children_is_survived(cluster):
    """The task has ended; data that its children still send to the PMI server delay nothing."""
    program = PMI + "for i in range(8):\n    if not os.fork():\n        try:\n            while True: s.sendall(b'cmd=get_maxes\\n' * 2000)\n" \
        "        finally: os._exit(0)\n" \
        "ask(b'cmd=finalize')"
    done = cluster.run(["srun", "-n1", "--mpi=pmi1", "python3", "-c", program])
    assert done.returncode == 0 or re.search("PMI: (it does not read the answers|get_maxes before init)", done.stderr), done.stderr
    eventually(lambda: not cluster.run("squeue -h").ok(), "the step and its children are gone")


@pytest.fixture(scope="module")
def pmi2(cluster):
    program = cluster.dir / "pmi2"
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", program, pathlib.Path(__file__).with_name("pmi2.c")], check=True)
    return program


def test_pmi2_program_runs(cluster, pmi2):
    """Pairs of every task, attributes of nodes and job, names, over four nodes and over one."""
    for options, mapping in ((["-N4", "-n7"], "(vector,(0,1,4),(1,3,1))"), (["-N1", "-n3"], "(vector,(0,1,3))")):
        count = int(options[1][2:])
        out = cluster.run(["srun", *options, "--mpi=pmi2", pmi2]).ok().splitlines()
        job = r"kvs_\d+_0"
        assert len(out) == count
        for rank, line in enumerate(sorted(out, key=lambda line: int(line.split()[0]))):
            assert re.fullmatch(rf"{rank} of {count}: job={job} universe={count} mapping={re.escape(mapping)} "
                                rf"pairs={count} node=ok name=a;port", line), line


def test_pmi2_abort_ends_the_step(cluster, pmi2):
    cluster.run(["srun", "-N2", "-n3", pmi2, "abort"]).fails("MPI_Abort with code 1: that was all")
    cluster.run(["srun", "-N2", "-n3", pmi2, "nonsense"]).fails("PMI-2: a command whose length is not 1 to 65536")


def test_mpi_default_is_applied(make_cluster):
    """MpiDefault applies when srun has no option; the variable and the option take precedence."""
    c = make_cluster(nodes=1, conf="MpiDefault=mpi/none")
    assert "MpiDefault              = none" in c.run("scontrol show config").ok()
    assert "PMI_FD=" not in c.run("srun env").ok()
    assert "PMI_FD=" in c.run("srun env", env={"SLURM_MPI_TYPE": "pmi2"}).ok()
    assert "PMI_FD=" not in c.run("srun --mpi=none env", env={"SLURM_MPI_TYPE": "pmi2"}).ok()
