# SPDX-License-Identifier: GPL-3.0-or-later
"""Binding of tasks to CPUs and memory, as task/affinity has it, with real daemons on the machine's own CPUs."""
import os
import re

import pytest

from harness import Cluster

SHOW = "grep Cpus_allowed_list: /proc/self/status | cut -f2"

HERE = len(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(HERE < 2, reason="one CPU here: nothing to tell apart")


@pytest.fixture(scope="module")
def bound():
    c = Cluster(nodes=2, cpus=min(2, HERE), conf="TaskPlugin=task/affinity")
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


def cpus():
    """The two CPUs that a node of two has: the first ones of the machine, as the kernel counts them."""
    return [str(c) for c in sorted(os.sched_getaffinity(0))[:2]]


def shown(c, *line, **more):
    done = c.run(["srun", "-l", *line, "sh", "-c", SHOW], **more)
    assert done.returncode == 0, done.stderr
    return dict(row.split(": ") for row in done.stdout.splitlines())


@two_cpus
def test_counted_cpus_are_bound_by_the_affinity_plugin_alone(make_cluster):
    """GANG-58: with CR_CPU the kernel may move tasks to any CPU, unless TaskPlugin has task/affinity."""
    all_cpus = ",".join(str(c) for c in sorted(os.sched_getaffinity(0)))
    for plugin, expected in ("none", all_cpus), ("affinity", cpus()[0]):
        c = make_cluster(nodes=1, cpus=2, conf=f"SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nTaskPlugin=task/{plugin}\n")
        show = "python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)), sep=\",\")'"
        assert c.run(["srun", "-n1", "sh", "-c", show]).ok() == expected, plugin


@two_cpus
def test_as_many_tasks_as_cpus_are_bound_by_default(bound):
    """CORE-160, GANG-58: as many tasks as CPUs are bound without being asked to."""
    one, two = cpus()
    assert shown(bound, "-N1", "-n2") == {"0": one, "1": two}
    assert shown(bound, "-N2", "-n4") == {"0": one, "1": two, "2": one, "3": two}
    assert shown(bound, "-N1", "-n1", "-c2") == {"0": f"{one}-{two}" if int(two) == int(one) + 1 else f"{one},{two}"}
    assert shown(bound, "-N1", "-n2", "--cpu-bind=sockets") == {"0": one, "1": two}  # of a CPU each, as configured


@two_cpus
@pytest.mark.parametrize("bind, expected", [
    ("rank", "one two"), ("map_cpu:{two},{one}", "two one"), ("map_cpu:{two}*2", "two two"), ("threads", "one two"),
    ("mask_cpu:{first:x}", "one one"), ("q,mask_cpu:0x{second:x},0x{first:x}", "two one"), ("none", None)])
def test_tasks_are_bound_as_requested(bound, bind, expected):
    one, two = cpus()
    asked = bind.format(one=one, two=two, first=1 << int(one), second=1 << int(two))
    got = shown(bound, "-N1", "-n2", f"--cpu-bind={asked}")
    if expected:
        assert got == dict(zip("01", [{"one": one, "two": two}[word] for word in expected.split()]))
    else:
        assert all(len(os.sched_getaffinity(0)) == len(expand(v)) for v in got.values())
    assert shown(bound, "-N1", "-n2", env={"SLURM_CPU_BIND": asked}) == got


def expand(text):
    return [n for part in text.split(",") for n in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)]


@two_cpus
def test_task_environment_describes_the_binding(bound):
    """X-02; and a srun in it does not take that for a wish."""
    one, two = (1 << int(c) for c in cpus())
    line = "echo $SLURM_CPU_BIND $SLURM_CPU_BIND_TYPE $SLURM_CPU_BIND_LIST $SLURM_CPU_BIND_VERBOSE"
    masks = f"0x{one:x},0x{two:x}"
    out = bound.run(["srun", "-N1", "-n2", "sh", "-c", line]).ok()
    assert out.splitlines() == [f"quiet,mask_cpu:{masks} mask_cpu: {masks} quiet"] * 2
    inner = bound.run(["srun", "-N1", "-n1", "-c2", "sh", "-c", f"srun --overlap -c1 -n2 --mem=0 sh -c '{line}'"])
    assert inner.ok().splitlines() == [f"quiet,mask_cpu:{masks} mask_cpu: {masks} quiet"] * 2, inner.stderr


def test_verbose_binding_is_printed(bound):
    one = 1 << int(cpus()[0])
    done = bound.run(["srun", "-N1", "-n1", "--cpu-bind=verbose", "--mem-bind=v,local", "true"])
    assert re.fullmatch(rf"cpu-bind=MASK - n1, task  0  0 \[\d+\]: mask 0x{one:x} set\n"
                        r"mem-bind=MASK - n1, task  0  0 \[\d+\]: mask 0x[0-9a-f]+ set\n", done.stderr), done.stderr
    done = bound.run(["srun", "-N1", "-n1", "--cpu-bind=v,none", "true"])
    assert re.fullmatch(r"cpu-bind=NULL - n1, task  0  0 \[\d+\]: mask 0x[0-9a-f]+\n", done.stderr), done.stderr
    help_text = bound.run("srun --cpu-bind=help").ok()
    assert help_text.startswith("CPU bind options:") and "map_cpu:<list>" in help_text
    assert "map_mem:<list>" in bound.run("srun --mem-bind=help").ok()


@two_cpus
def test_concurrent_steps_have_different_cpus(bound):
    """CORE-160: with --exact each has CPUs of its own; without, all that the job has."""
    one, two = cpus()
    script = (f"srun -n1 --exact --mem=0 sh -c '{SHOW}; echo >a; until [ -e b ]; do :; done' & "
              f"srun -n1 --exact --mem=0 sh -c '{SHOW}; echo >b; until [ -e a ]; do :; done' & wait; srun -n1 --mem=0 sh -c '{SHOW}'")
    first, second, third = bound.run(["salloc", "-Q", "-N1", "-n2", "sh", "-c", script]).ok().splitlines()
    assert {first, second} == {one, two} and len(expand(third)) == 2


@two_cpus
def test_script_is_bound_to_the_cpus_of_its_job(bound):
    for options, count in ((["-n1"], 1), (["-n2"], 2)):
        job = bound.sbatch("-N1", "-o", "shown", *options, wrap=SHOW)
        assert bound.wait(job)["JobState"] == "COMPLETED"
        assert len(expand((bound.work / "shown").read_text().strip())) == count


def test_memory_binding_is_applied(bound):
    done = bound.run(["srun", "-N1", "--mem-bind=map_mem:0", "sh", "-c", "grep -c 'bind:0' /proc/self/numa_maps"])
    assert int(done.ok()) > 0
    assert int(bound.run(["srun", "-N1", "--mem-bind=local", "sh", "-c", "grep -c 'bind:' /proc/self/numa_maps"]).ok()) > 0
    ranks = bound.run(["srun", "-N1", "-n2", "-O", "--mem-bind=rank", "sh", "-c", "grep -c 'bind:' /proc/self/numa_maps"]).ok()
    assert len(ranks.split()) == 2 and "0" not in ranks.split()
    told = ["sh", "-c", "echo $SLURM_MEM_BIND_TYPE $SLURM_MEM_BIND_LIST $SLURM_MEM_BIND_VERBOSE $SLURM_MEM_BIND_PREFER $SLURM_MEM_BIND_SORT"]
    assert bound.run(["srun", "-N1", "--mem-bind=q,prefer,sort,map_mem:0*2", *told]).ok() == "map_mem: 0,0 quiet prefer sort"
    for job in (["salloc", "-Q", "--mem-bind=local"], ["env", "SALLOC_MEM_BIND=local", "salloc", "-Q"]):
        assert bound.run([*job, "-N1", "srun", *told]).ok() == "local quiet"
    done = bound.run("srun -N1 --mem-bind=map_mem:900 true")
    assert done.returncode == 0 and "mem-bind: cannot bind to 0x" in done.stderr


@pytest.mark.parametrize("option, status, words", [
    ("--cpu-bind=frob", 1, "Invalid --cpu-bind argument: frob: not a type; --cpu-bind=help lists what there is"),
    ("--cpu-bind=cores,threads", 1, "two types"),
    ("--cpu-bind=map_cpu", 1, "a list is missing"),
    ("--cpu-bind=map_cpu:1*99999999", 1, "a list is missing, or is none"),
    ("--mem-bind=cores", 255, "Invalid --mem-bind argument: cores: not a type"),
    ("--gpu-bind=frob", 255, "Invalid --gpu-bind argument: frob"),
    ("--cpu-bind=map_cpu:x", 1, "Invalid binding of tasks: invalid CPU number 'x'"),
    ("--cpu-bind=mask_cpu:0xq", 1, "Invalid binding of tasks: invalid CPU set '0xq'"),
])
def test_invalid_bindings_are_refused(bound, option, status, words):
    done = bound.run(["srun", "-N1", option, "true"])
    done.fails(words)
    assert done.returncode == status


def test_binding_beyond_the_step_is_limited_to_its_cpus(bound):
    one = 1 << int(cpus()[0])
    done = bound.run(["srun", "-N1", "-n1", "--cpu-bind=map_cpu:4000", "sh", "-c", SHOW])
    assert done.ok() == cpus()[0]
    assert f"CPU binding outside of job step allocation: 0x1{'0' * 1000} asked for, the step has 0x{one:x}" in done.stderr


def test_binding_is_skipped_for_configured_cpus_beyond_the_machine(make_cluster):
    c = make_cluster(nodes=1, cpus=4000, conf="TaskPlugin=task/affinity")
    assert c.run("srun -n2 true").ok() == ""
    done = c.run("srun -n2 --cpu-bind=cores true")
    assert done.returncode == 0 and "tasks are not bound: this node has fewer CPUs than are configured" in done.stderr
    assert "and 4000 are configured: no task is bound to any" in (c.dir / "slurmd-n1.log").read_text()


@pytest.mark.parametrize("command", ["srun", "sbatch", "salloc"])
@pytest.mark.parametrize("option, word", [("--mem-bind", "map_mem:<list>"), ("--gpu-bind", "per_task:<n>"), ("--hint", "memory_bound")])
def test_help_of_each_command(cluster, command, option, word):
    text = cluster.run([command, f"{option}=help"]).ok()
    assert f"    {option}=" in text and f"        {word}" in text
    assert text.endswith("        help            show this help message")
