# SPDX-License-Identifier: GPL-3.0-or-later
"""sbatch --batch: the script runs on a node of the job that has these features."""
import pytest

from harness import Cluster, eventually

FEATURES = {"n1": "slow", "n2": "slow,big", "n3": "fast"}
WHERE = "echo $SLURMD_NODENAME; scontrol show hostnames | xargs; srun -l printenv SLURMD_NODENAME | sort"


@pytest.fixture(scope="module")
def mixed():
    c = Cluster(nodes=3)
    try:
        for node, features in FEATURES.items():
            c.run(f"scontrol update NodeName={node} AvailableFeatures={features} ActiveFeatures={features}").ok()
        yield c
        c.stop()
    finally:
        c.destroy()


def submit(c, batch, *more, wrap=WHERE):
    options = ["-N3", "--exclusive", "-C", "slow|fast|big", "-o", "out", *more]
    return c.sbatch(*options, *([f"--batch={batch}"] if batch else []), wrap=wrap)


def test_script_runs_on_the_first_node_with_the_features(mixed):
    c = mixed
    for batch, node in ((None, "n1"), ("fast", "n3"), ("slow&big", "n2"), ("fast&big", "n1")):
        job = submit(c, batch)
        fields = c.wait(job)
        assert fields["JobState"] == "COMPLETED" and fields["BatchHost"] == node and fields["NodeList"] == "n[1-3]"
        lines = (c.work / "out").read_text().splitlines()
        assert lines[:2] == [node, "n1 n2 n3"]
        assert sorted(lines[2:]) == ["0: n1", "1: n2", "2: n3"]  # steps are as without it
    shown = c.run(f"scontrol show job {submit(c, 'fast|big')}").ok()
    assert "   BatchFeatures=fast|big\n" in shown


def test_warning_signal_reaches_the_batch_host(mixed):
    """--signal=B: goes to the node of the script."""
    job = submit(mixed, "fast", "-t", "5", "--signal=B:USR1@300", wrap="exec sleep 300000")
    fields = mixed.wait(job)
    assert (fields["BatchHost"], fields["JobState"], fields["ExitCode"]) == ("n3", "FAILED", "0:10")


def test_batch_features_from_environment_and_script(mixed):
    c = mixed
    script = f"#!/bin/sh\n#SBATCH --batch=fast\n#SBATCH -C slow|fast -N3 -o out\n{WHERE}\n"
    script = script.replace("#SBATCH -C slow|fast -N3 -o out", "#SBATCH -C slow|fast\n#SBATCH -N3\n#SBATCH -o out")
    assert c.wait(c.sbatch(script=script))["BatchHost"] == "n3"
    job = c.sbatch("-N3", "-C", "slow|fast", "-o", "out", wrap="true", env={"SBATCH_BATCH": "fast"})
    assert c.wait(job)["BatchHost"] == "n3"


def test_batch_features_beyond_the_constraint_are_refused(mixed):
    c = mixed
    c.run(["sbatch", "-C", "slow", "--batch=fast", "--wrap", "true"]).fails("Invalid feature specification",
                                                                           "fast is not among the features of --constraint")
    c.run(["sbatch", "--batch=fast", "--wrap", "true"]).fails("Invalid feature specification")
    c.run(["sbatch", "-C", "fast", "--batch=fast*2", "--wrap", "true"]).fails("no counts")


def test_batch_host_is_kept_across_restarts(mixed):
    c = mixed
    job = submit(c, "fast", wrap="trap 'echo told >>marks' USR1; echo $SLURMD_NODENAME >>marks; sleep 300000 & while :; do wait; done")
    marks = c.work / "marks"
    eventually(lambda: marks.exists() and marks.read_text() == "n3\n", "it runs")
    c.run("scontrol update NodeName=n1 ActiveFeatures=").ok()
    c.kill("slurmctld")
    c.start_controller()
    c.wait_ready()
    assert c.job(job)["BatchHost"] == "n3"
    assert c.run(f"squeue -h -j {job} -o %B").ok() == "n3"
    c.run(f"scancel -b -s USR1 {job}").ok()
    eventually(lambda: "told" in marks.read_text(), "the script gets its signal")
    c.kill("n3")
    c.start_node("n3")
    c.run(f"scontrol requeue {job}").ok()
    c.run("scontrol update NodeName=n1 ActiveFeatures=slow").ok()
    eventually(lambda: marks.read_text().splitlines().count("n3") == 2, "it runs there again")
    c.run(f"scancel {job}").ok()
    c.wait(job)
