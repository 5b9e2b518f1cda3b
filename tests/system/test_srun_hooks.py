# SPDX-License-Identifier: GPL-3.0-or-later
"""SrunProlog, SrunEpilog and PropagateResourceLimitsExcept: keys of slurm.conf for commands of users."""
import resource

import pytest

from harness import Cluster


@pytest.fixture(scope="module")
def cluster():
    c = Cluster(nodes=1, start=False)
    try:
        hook = c.work / "hook"
        hook.write_text('#!/bin/sh\necho "$HOOK_OF $SLURM_JOB_ID.$SLURM_STEP_ID: $*" >>hooks\n')
        hook.chmod(0o755)
        with c.conf_file.open("a") as f:
            f.write(f"SrunProlog={hook}\nSrunEpilog={hook}\nPropagateResourceLimitsExcept=core,RLIMIT_NOFILE\n")
        c.start()
        yield c
        c.stop()
    finally:
        c.destroy()


@pytest.mark.parametrize("options, calls", (
    ("", 2), ("--prolog=none", 1), ("--epilog=none", 1), ("--prolog=none --epilog=none", 0), ("--prolog=true", 1)))
def test_hooks_of_srun_get_the_command_of_the_step(cluster, options, calls):
    hooks = cluster.work / "hooks"
    hooks.unlink(missing_ok=True)
    cluster.run(f"srun -n1 {options} sh -c true", env={"HOOK_OF": "x"}).ok()
    lines = hooks.read_text().splitlines() if hooks.exists() else []
    assert len(lines) == calls and all(line.startswith("x ") and line.endswith(".0: sh -c true") for line in lines), lines


def test_a_failing_prolog_of_srun_cancels_the_step(cluster):
    """A failing epilog only causes a message."""
    for prolog, says in ("false", "false: exited with exit code 1"), ("/nonexistent", "/nonexistent: No such file or directory"):
        done = cluster.run(f"srun -n1 --prolog={prolog} --epilog=none echo ran")
        assert (done.returncode, done.stdout) == (1, "") and says in done.stderr.lower().replace("no such", "No such"), done
        assert ".0 is cancelled: its prolog failed" in done.stderr
    cluster.settle()
    assert cluster.run("squeue -h").ok() == ""
    done = cluster.run("srun -n1 --prolog=none --epilog=false echo ran")
    assert (done.returncode, done.stdout) == (0, "ran\n") and "false" in done.stderr


def test_hooks_of_srun_know_their_context_and_limits(cluster):
    """SLURM_SCRIPT_CONTEXT, SLURM_RLIMIT_ and SLURM_PRIO_PROCESS of the guide to prologs; tasks have none of the first two."""
    show = cluster.work / "show"
    show.write_text('#!/bin/sh\necho $SLURM_SCRIPT_CONTEXT $SLURM_RLIMIT_CORE $SLURM_RLIMIT_STACK $SLURM_PRIO_PROCESS\n')
    show.chmod(0o755)
    line = ["sh", "-c", 'ulimit -Sc 0; ulimit -Ss 4321; exec "$@"', "sh", "srun", "-n1", f"--prolog={show}", f"--epilog={show}",
            "sh", "-c", "echo task${SLURM_SCRIPT_CONTEXT-}${SLURM_RLIMIT_CORE-}"]
    nice = cluster.run("nice").ok()
    limits = f"0 {4321 * 1024} {nice}"
    assert cluster.run(line).ok().splitlines() == [f"prolog_srun {limits}", "task", f"epilog_srun {limits}"]


@pytest.mark.parametrize("command", ("srun -n1 {}sh -c", "sbatch -W -o limits {}--wrap"))
def test_excepted_limits_are_those_of_the_node(cluster, command):
    """The limits that Except names are the daemon's, the others those of the caller; --propagate overrides the key."""
    def limits(options=""):
        given = ["sh", "-c", "ulimit -Sn 77; ulimit -Sc 0; ulimit -Ss 4321; exec \"$@\"", "sh", *command.format(options).split(), "ulimit -Sn; ulimit -Ss"]
        text = cluster.run(given).ok()
        return (cluster.work / "limits").read_text().split() if "sbatch" in command else text.split()

    own = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert limits() == [str(own) if own != resource.RLIM_INFINITY else "unlimited", "4321"]
    assert limits("--propagate=NOFILE ")[0] == "77" and limits("--propagate=NOFILE ")[1] != "4321"
