# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of a heterogeneous job's script, of its salloc, of the site's scripts, and mail: HET-16, 17, 47, 83 to 85, 87, 89."""
import pytest

from harness import Cluster, eventually, many

PARTITIONS = ["PartitionName=p1 Nodes=ALL Default=YES MaxTime=60", "PartitionName=p2 Nodes=n[3-4] MaxTime=60"]
CONF = "SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100\nMinJobAge=300\n"
# Three components that differ in all that HET-89 names.
THREE = ["-p", "p1", "-w", "n2", "-n1", "-c3", "--mem=300", "-t5", "-A", "a1", ":", "-p", "p2", "-N2", "-n3", "--mem-per-cpu=70", "-t7", "-A", "a2",
         ":", "-w", "n1", "-n2", "-t9"]
# What says where a program runs, and not what its job has.
OF_HERE = {"SLURM_CLUSTER_NAME", "SLURM_CONF", "SLURM_CPUS_ON_NODE", "SLURM_GTIDS", "SLURM_HET_SIZE", "SLURM_LOCALID", "SLURM_NODEID",
           "SLURM_PACK_SIZE", "SLURM_PRIO_PROCESS", "SLURM_PROCID", "SLURM_TASK_PID", "SLURM_TOPOLOGY_ADDR", "SLURM_TOPOLOGY_ADDR_PATTERN",
           "SLURM_WORKING_CLUSTER"}


@pytest.fixture(scope="module")
def het():
    with many(Cluster) as make:
        yield make(nodes=4, cpus=4, conf=CONF, partitions=PARTITIONS)


def read_lines(text):
    return dict(line.partition("=")[::2] for line in text.splitlines() if line.partition("=")[1])


def read_env(path):
    return read_lines(path.read_text())


def run_script(c, options, commands, **more):
    """The id of a job whose script has ended."""
    job = int(c.run(["sbatch", "--parsable", "-o", "out", *options, "--wrap", commands], **more).ok())
    assert c.wait(job)["JobState"] == "COMPLETED", c.output(job, "out")
    return job


def group(env, offset, spelling="HET"):
    """The variables of one component under their usual names."""
    suffix = f"_{spelling}_GROUP_{offset}"
    return {name.removesuffix(suffix): value for name, value in env.items() if name.endswith(suffix)}


def of_components(env):
    return [name for name in env if "_GROUP_" in name or name in ("SLURM_HET_SIZE", "SLURM_PACK_SIZE")]


def own_variables(env):
    """Those of the job itself, which are its first component's."""
    return {name: value for name, value in env.items() if name.startswith("SLURM_") and name not in OF_HERE and name not in of_components(env)}


def test_script_has_the_variables_of_each_component(het):
    """HET-16, 17, 83 to 85, 87, 89."""
    job = run_script(het, THREE, "env >env")
    env = read_env(het.work / "env")
    assert env["SLURM_JOB_ID"] == str(job) and env["SLURM_HET_SIZE"] == "3"
    first, second, third = (group(env, i) for i in range(3))
    for name, values in {
        "SLURM_JOB_ID": (str(job), str(job + 1), str(job + 2)),
        "SLURM_JOBID": (str(job), str(job + 1), str(job + 2)),
        "SLURM_JOB_NODELIST": ("n2", "n[3-4]", "n1"),
        "SLURM_NODELIST": ("n2", "n[3-4]", "n1"),
        "SLURM_JOB_NUM_NODES": ("1", "2", "1"),
        "SLURM_JOB_NODES": ("1", "2", "1"),
        "SLURM_NNODES": ("1", "2", "1"),
        "SLURM_JOB_PARTITION": ("p1", "p2", "p1"),
        "SLURM_CPUS_PER_TASK": ("3", None, None),
        "SLURM_MEM_PER_NODE": ("300", None, "300"),
        "SLURM_MEM_PER_CPU": (None, "70", None),
        "SLURM_NTASKS": ("1", "3", "2"),
        "SLURM_NPROCS": ("1", "3", "2"),
        "SLURM_TASKS_PER_NODE": ("1", "2,1", "2"),
        "SLURM_JOB_CPUS_PER_NODE": ("3", "2,1", "2"),
        "SLURM_JOB_ACCOUNT": ("a1", "a2", "a2"),
        "SLURM_JOB_NAME": ("wrap", "wrap", "wrap"),
    }.items():
        assert (first.get(name), second.get(name), third.get(name)) == values, name
    limits = [int(g["SLURM_JOB_END_TIME"]) - int(g["SLURM_JOB_START_TIME"]) for g in (first, second, third)]
    assert limits == [300, 420, 540]
    # The script runs on the first node of the first component, whose variables are its own, too.
    assert env["SLURMD_NODENAME"] == "n2"
    assert first == own_variables(env)
    # Names of Slurm before 20.02.
    assert env["SLURM_PACK_SIZE"] == "3"
    assert [group(env, i, "PACK") for i in range(3)] == [first, second, third]


def test_command_of_salloc_has_the_variables_of_each_component(het):
    """HET-16, 83 to 85, 87, 89."""
    env = read_lines(het.run(["salloc", "-Q", *THREE, "env"]).ok())
    first, second, third = (group(env, i) for i in range(3))
    job = int(env["SLURM_JOB_ID"])
    assert env["SLURM_HET_SIZE"] == env["SLURM_PACK_SIZE"] == "3"
    for name, values in {
        "SLURM_JOB_ID": (str(job), str(job + 1), str(job + 2)),
        "SLURM_JOB_NODES": ("1", "2", "1"),
        "SLURM_JOB_NODELIST": ("n2", "n[3-4]", "n1"),
        "SLURM_JOB_PARTITION": ("p1", "p2", "p1"),
        "SLURM_CPUS_PER_TASK": ("3", None, None),
        "SLURM_MEM_PER_CPU": (None, "70", None),
        "SLURM_NTASKS": ("1", "3", "2"),
        "SLURM_TASKS_PER_NODE": ("1", "2,1", "2"),
    }.items():
        assert (first.get(name), second.get(name), third.get(name)) == values, name
    assert first == own_variables(env)
    assert [group(env, i, "PACK") for i in range(3)] == [first, second, third]
    # In that allocation an ordinary one is made, whose command has none of them.
    inner = read_lines(het.run(["salloc", "-Q", *THREE, "salloc", "-Q", "-n1", "--mem=1", "env"]).ok())
    assert inner["SLURM_JOB_NUM_NODES"] == "1" and not of_components(inner)


def test_salloc_removes_variables_of_the_outer_job(het):
    """In the allocation of a heterogeneous job, salloc starts its command as elsewhere: only with the variables of the new job."""
    around = ["salloc", "-Q", "--component=first", "-n1", "-c3", "--mem=300", "-t5", "-A", "a1", "-m", "cyclic", "--ntasks-per-node=1", "--no-kill", ":",
              "--component=second", "-N2", "--qos=q", "--wckey=w", "-p", "p2", ":", "-n1"]
    for words in (["-n1"], ["-n1", ":", "-n1"]):
        inner, plain = (read_lines(het.run([*outer, "salloc", "-Q", *words, "env"]).ok()) for outer in (around, []))
        names = [{name for name in env if name.startswith("SLURM_")} for env in (inner, plain)]
        assert names[0] == names[1]
        assert inner["SLURM_JOB_ID"] != plain["SLURM_JOB_ID"] and inner["SLURM_JOB_NUM_NODES"] == "1"


def test_steps_in_the_script_find_the_components(het):
    """HET-84, 85, 87, and those that tell which job it is also where nothing was handed on."""
    names = "SLURM_JOB_ID SLURM_HET_SIZE SLURM_JOB_ID_HET_GROUP_0"
    job = run_script(het, THREE, f"srun -n1 printenv {names} SLURM_JOB_ID_HET_GROUP_2; srun -n1 --export=NONE printenv {names}")
    assert (het.work / "out").read_text().split() == [str(job), "3", str(job), str(job + 2), str(job), "3", str(job)]


def test_job_from_the_script_has_no_het_variables(het):
    run_script(het, THREE, "unset SLURM_JOB_ACCOUNT; sbatch -W -o inner -t1 --wrap env")
    env = read_env(het.work / "inner")
    assert env["SLURM_JOB_NUM_NODES"] == "1"
    assert not of_components(env)


def test_requeued_job_has_variables_of_its_new_nodes(het):
    """Also when the controller was killed between."""
    job = int(het.run(["sbatch", "--parsable", "--requeue", "-o", "/dev/null", "-w", "n1", "-n1", ":", "-n4", "-w", "n2",
                       "--wrap", "env >env.$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}.tmp; mv env.$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}.tmp "
                                 "env.$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}; sleep 1000"]).ok())
    before, after = (het.work / f"env.{job}.{i}" for i in range(2))
    eventually(before.exists, "the first attempt")
    het.run(f"scontrol requeuehold {job}").ok()
    eventually(lambda: het.state(job) == "PENDING" and het.state(job + 1) == "PENDING", "both wait")
    het.run(f"scontrol update jobid={job + 1} reqnodelist=n3").ok()
    het.kill("slurmctld")
    het.start_controller()
    het.wait_ready()
    het.run(f"scontrol release {job}").ok()
    eventually(after.exists, "the second attempt", deadline=60)
    het.run(f"scancel {job}").ok()
    first, second = (group(read_env(path), 1) for path in (before, after))
    assert first["SLURM_JOB_NODELIST"] == "n2" and "SLURM_RESTART_COUNT" not in first
    assert second["SLURM_JOB_NODELIST"] == "n3" and second["SLURM_RESTART_COUNT"] == "1"
    assert second["SLURM_JOB_ID"] == str(job + 1) and int(second["SLURM_JOB_START_TIME"]) >= int(first["SLURM_JOB_START_TIME"])


def test_a_job_of_128_components_starts(make_cluster):
    """Its environment is of a size that programs can be started with."""
    c = make_cluster(nodes=4, cpus=32, conf="SelectTypeParameters=CR_Core")
    options = ["-n1", "-J", "x" * 200] + [":", "-n1"] * 127
    job = run_script(c, options, "env >env; wc -c <env; srun -n1 printenv SLURM_JOB_ID_HET_GROUP_127")
    env = read_env(c.work / "env")
    assert env["SLURM_HET_SIZE"] == "128"
    assert [env[f"SLURM_JOB_ID_HET_GROUP_{i}"] for i in range(128)] == [str(job + i) for i in range(128)]
    assert env["SLURM_JOB_NAME_HET_GROUP_127"] == "x" * 200
    size, last = (c.work / "out").read_text().split()
    assert int(size) < 600 * 1024 and last == str(job + 127)


SITE = ("PrologSlurmctld", "Prolog", "Epilog", "EpilogSlurmctld")


def test_site_scripts_get_the_variables_of_their_component(make_cluster):
    """As if it were a job of its own: Slurm's guide to prologs and epilogs names no variables of heterogeneous jobs."""
    c = make_cluster(nodes=4, cpus=4, conf=CONF + "PrologFlags=Alloc", partitions=PARTITIONS, start=False)
    for context in SITE:
        path = c.dir / context
        path.write_text(f"#!/bin/sh\nenv >{c.dir}/$$.tmp\nmv {c.dir}/$$.tmp {c.dir}/env.{context}.$SLURM_JOB_ID.$SLURMD_NODENAME\n")
        path.chmod(0o755)
        with c.conf_file.open("a") as f:
            f.write(f"{context}={path}\n")
    c.start()
    job = run_script(c, THREE, "true")
    want = [("n2", "p1", "a1", "3", ["n2"]), ("n[3-4]", "p2", "a2", "2,1", ["n3", "n4"]), ("n1", "p1", "a2", "2", ["n1"])]
    for offset, (nodes, partition, account, cpus, runs_on) in enumerate(want):
        for context in SITE:
            for node in [""] if context.endswith("Slurmctld") else runs_on:
                path = c.dir / f"env.{context}.{job + offset}.{node}"
                eventually(path.exists, f"{context} of component {offset}")
                env = read_env(path)
                found = tuple(env[f"SLURM_JOB_{word}"] for word in ("ID", "NODELIST", "PARTITION", "ACCOUNT", "CPUS_PER_NODE"))
                assert found == (str(job + offset), nodes, partition, account, cpus), context
                assert [name for name in env if "HET" in name or "PACK" in name] == [], context


def test_mail_is_sent_for_the_first_component_only(make_cluster):
    """HET-47: --mail-type of others is ignored without a word."""
    c = make_cluster(nodes=2, cpus=4)
    sent, program = c.dir / "sent", c.dir / "mail"
    program.write_text(f"#!/bin/sh\necho \"$3|$SLURM_JOB_ID|$SLURM_JOB_MAIL_TYPE|$2\" >>{sent}\n")
    program.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"MailProg={program}\n")
    c.run("scontrol reconfigure").ok()
    others = c.run(["sbatch", "--parsable", "-o", "/dev/null", "-n1", ":", "-n1", "--mail-type=ALL", "--mail-user=c@d", "--wrap", "true"])
    assert others.stderr == ""
    c.wait(int(others.ok()))
    both = int(c.run(["sbatch", "--parsable", "-o", "/dev/null", "-n1", "--mail-type=BEGIN,END", "--mail-user=a@b", ":",
                      "-n1", "--mail-type=ALL", "--mail-user=c@d", "--wrap", "true"]).ok())
    c.wait(both)
    last = c.sbatch("--mail-type=END", "--mail-user=e@f", "-o", "/dev/null", wrap="true")
    eventually(lambda: sent.exists() and f"e@f|{last}|END" in sent.read_text(), "the mail of a later job")
    lines = eventually(lambda: len(sent.read_text().splitlines()) >= 3 and sorted(sent.read_text().splitlines()), "three mails")
    assert [line.rpartition("|")[0] for line in lines] == [f"a@b|{both}|BEGIN", f"a@b|{both}|END", f"e@f|{last}|END"]
    assert all(f"Slurm Job_id={both} Name=wrap" in line for line in lines[:2])
