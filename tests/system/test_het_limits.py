# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of heterogeneous jobs that are lifted, and that HetLimits restores: HET-102, 103, 111."""
import pytest

from harness import Cluster, many


@pytest.fixture(scope="module")
def het():
    with many(Cluster) as make:
        yield make(nodes=4, cpus=4, conf="SchedulerType=sched/builtin\nLicenses=a:4\n")


def keep(c, words):
    """Sets HetLimits."""
    text = "".join(line for line in c.conf_file.read_text().splitlines(True) if not line.startswith("HetLimits="))
    c.conf_file.write_text(text + f"HetLimits={words}\n")
    c.run("scontrol reconfigure").ok()


def salloc(components, commands):
    return ["salloc", "-Q", *components.split(), "sh", "-c", commands]


@pytest.mark.parametrize("word, line, said", [
    ("builtin", ["sbatch", "-W", "-n1", ":", "-n1", "--wrap=true"], "SchedulerType=sched/builtin refuses heterogeneous jobs (HetLimits=builtin)"),
    ("het_steps", salloc("-n1 : -N2", "srun --jobid=$SLURM_JOB_ID+1 -N1 true : -N1 true"),
     "Allocation failure: a step has one part in each component of a heterogeneous job (HetLimits=het_steps)"),
    ("licenses", ["sbatch", "-W", "-L", "a:1", "-n1", ":", "-n1", "-L", "a:2", "--wrap=true"],
     "Invalid license specification: only component 0 may request licenses (HetLimits=licenses) (component 1)"),
])
def test_limit(het, word, line, said):
    """HET-102, 103, 111: what Slurm refuses works, unless HetLimits names the limit."""
    keep(het, word)
    het.run(line).fails(said)
    keep(het, "none")
    het.run(line).ok()
