# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests as large as the arguments and variables of a process can be: no part of Sluice has a lower limit than the kernel."""
import pytest


LINES = [["a"] * 100_000, [""] * 100_000, [str(i) for i in range(100_000, 200_000)], ["x" * 100_000] * 15]


def arguments(words):
    return f"{len(words)} {sum(map(len, words))}"


COUNT = ["sh", "-c", "echo $# $(printf %s \"$@\" | wc -c)", "sh"]


@pytest.mark.parametrize("words", LINES, ids=["short", "empty", "numbers", "long"])
def test_large_arguments_of_a_step(cluster, words):
    assert cluster.run(["srun", "-n1", *COUNT, *words]).ok() == arguments(words)


@pytest.mark.parametrize("words", LINES, ids=["short", "empty", "numbers", "long"])
def test_large_arguments_of_a_script(cluster, words):
    """They are kept as well: the controller is killed before it has run."""
    script = cluster.work / "count.sh"
    script.write_text("#!/bin/sh\necho $# $(printf %s \"$@\" | wc -c)\n")
    script.chmod(0o755)
    job = cluster.run(["sbatch", "--parsable", "--hold", "-n1", "-o", "large-%j", script, *words]).ok()
    cluster.kill("slurmctld")
    cluster.start_controller()
    cluster.run(["scontrol", "release", job]).ok()
    cluster.wait(job)
    assert (cluster.work / f"large-{job}").read_text().strip() == arguments(words)


@pytest.mark.slow
def test_many_variables_reach_the_task(cluster):
    many = {f"V{i}": "" if i % 3 else "y" * (i % 200) for i in range(20_000)}
    out = cluster.run(["srun", "-n1", "sh", "-c", "env | grep -c '^V[0-9]*='; env | grep '^V[0-9]*=' | wc -c"], env=many).ok()
    assert out.split() == [str(len(many)), str(sum(len(k) + len(v) + 2 for k, v in many.items()))]


def test_thousands_of_jobs_are_named_at_once(cluster):
    mine = str(cluster.sbatch("--hold", "-n1", wrap="true"))
    ids = [str(i) for i in range(100_000, 109_000)]
    assert cluster.run(["squeue", "-h", "-o", "%i", "-j", ",".join([*ids[:4_000], mine])]).ok() == mine
    done = cluster.run(["scancel", *ids, mine])
    assert done.returncode == 0 and done.stderr.count("Invalid job id specified") == len(ids), done.stderr[:2000]
    assert cluster.wait(mine)["JobState"] == "CANCELLED"
