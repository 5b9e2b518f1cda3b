# SPDX-License-Identifier: GPL-3.0-or-later
"""Alternative names of options, and options that request the default: the output equals that of the option, or of no option."""
import re

import pytest

from harness import eventually
from terminal import Terminal

USAGE = ("sattach", "sbcast", "scancel", "sdiag", "sinfo", "sprio", "squeue", "sstat", "strigger")
SAME = (
    ("squeue --cluster=test", "squeue -M test"),
    ("squeue --accounts=none,other", "squeue --account=none,other"),
    ("squeue --users=nobody", "squeue --user=nobody"),
    ("squeue --partitions=none", "squeue --partition=none"),
    ("squeue --hide", "squeue"),
    ("squeue --only-job-state", "squeue"),
    ("squeue --array-unique", "squeue"),
    ("sinfo --cluster=test", "sinfo -M test"),
    ("sinfo --hide", "sinfo"),
    ("sprio --cluster=test", "sprio --clusters=test"),
    ("sprio --users=nobody", "sprio --user=nobody"),
    ("sprio --partitions=none", "sprio --partition=none"),
    ("sdiag --all", "sdiag"),
    ("sdiag --no-trunc", "sdiag"),
    ("sdiag --verbose", "sdiag"),
    ("sdiag --cluster=test", "sdiag --clusters=test"),
    ("sdiag --version", "sinfo --version"),
)


@pytest.fixture(scope="module")
def waiting(cluster):
    """A cluster with a job that is held."""
    job = cluster.run("sbatch --parsable -H -J held -o /dev/null --wrap true").ok()
    yield cluster
    cluster.run(f"scancel {job}").ok()


def labels(text):
    """Returns the labels of the statistics that do not depend on earlier events."""
    return re.findall(r"(?m)^(\w[\w ]+):", text.partition("Main schedule")[0]) or [text]


@pytest.mark.parametrize("line, other", SAME)
def test_a_further_name_prints_the_same(waiting, line, other):
    said, expected = waiting.run(line).ok(), waiting.run(other).ok()
    command = line.split()[0]
    if command == "sdiag":
        said, expected = labels(said), labels(expected)
    assert said == expected and said


@pytest.mark.parametrize("command", USAGE)
def test_usage_names_the_command(cluster, command):
    assert cluster.run([command, "--usage"]).ok().startswith(f"Usage: {command}")


def test_notme_leaves_out_the_callers_jobs(waiting):
    assert waiting.run("squeue -h --me").ok() and waiting.run("squeue -h --notme").ok() == ""


def test_statistics_as_yaml_have_the_members_of_json(cluster):
    said = cluster.run("sdiag --yaml").ok()
    assert all(f"\n  {name}:" in said for name in cluster.json("sdiag")["statistics"])


def test_jobname_cancels_as_name_does(cluster):
    job = cluster.sbatch("-H", "-J", "further", "-o", "/dev/null", wrap="true")
    cluster.run("scancel --jobname=further").ok()
    assert cluster.state(job) == "CANCELLED"


def test_fields_option_of_sstat_equals_format(cluster):
    step = 'srun -n1 sh -c "sstat --noheader --parsable2 --fields=JobID,NTasks $SLURM_JOB_ID.0"'
    assert cluster.run(["salloc", "-Q", "-n1", "sh", "-c", step]).ok() == \
        cluster.run("squeue -h -t all -o %i -S -i").ok().split()[0] + ".0|1"


def test_workdir_is_chdir(cluster):
    assert cluster.run("srun --workdir=/usr pwd").ok() == cluster.run("srun --chdir=/usr pwd").ok() == "/usr"


@pytest.mark.parametrize("option, rings", [("--bell", True), ("--no-bell", False)])
def test_salloc_rings_the_bell_on_a_terminal(cluster, option, rings):
    terminal = Terminal(cluster, ["salloc", option, "-n1", "sh", "-c", "echo the end"])
    assert ("\a" in terminal.until("the end")) == rings
    assert terminal.close() == 0


def test_sattach_reports_an_interrupt_and_stays(cluster):
    job = cluster.sbatch("-n1", "-o", "/dev/null", wrap="exec srun sh -c 'echo ready; exec sleep 1000'")
    eventually(lambda: cluster.run(f"squeue -h -s -j {job} -o %i").ok().split().count(f"{job}.0"), "the step runs")
    terminal = Terminal(cluster, ["sattach", "--as-srun", f"{job}.0"])
    terminal.until("ready")
    terminal.type("\x03")
    terminal.until("interrupt (one more within 1 sec to send it to the tasks)")
    cluster.run(f"scancel {job}").ok()
    assert terminal.close() != 0
