# SPDX-License-Identifier: GPL-3.0-or-later
"""Priorities: their parts, as sprio shows them, the right to change them, and the order in which jobs start: CORE-049, 050, 052."""
import pytest

from harness import ROOT, Cluster, eventually, many

MULTI = """PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityMaxAge=365-00:00:00
PriorityWeightJobSize=1000
PriorityWeightPartition=1000
PriorityWeightTRES=CPU=1000,Mem=500
PriorityWeightQOS=100
SchedulerParameters=enable_user_top
"""
PARTITIONS = ["PartitionName=main Nodes=ALL Default=YES PriorityJobFactor=5 MaxTime=UNLIMITED",
              "PartitionName=b Nodes=n1 PriorityJobFactor=10 MaxTime=UNLIMITED", "PartitionName=down Nodes=n1 State=DOWN"]
HEAD = "          JOBID PARTITION   PRIORITY       SITE        AGE    JOBSIZE  PARTITION        QOS                 TRES\n"


def submit(c, *options, user=None):
    return c.sbatch("-o", "/dev/null", *options, wrap="sleep 1000", user=user)


def order(c):
    """Pending jobs, the first one first."""
    return [int(line) for line in c.run("sprio -h -S -Y,i -o %i").ok().split()]


@pytest.fixture(scope="module")
def full():
    """Two nodes, full for good."""
    with many(Cluster) as make:
        c = make(nodes=2, memory=8000, conf=MULTI, partitions=PARTITIONS)
        job = submit(c, "-n8", "--mem-per-cpu=2000")
        eventually(lambda: c.state(job) == "RUNNING", "the nodes are full")
        yield c


def test_priorities_equal_those_of_slurm(full):
    """Each job has the priority that Slurm 22.05 prints for the same submissions to the same cluster."""
    c = full
    ids = [submit(c, "-n8", "-t5"), submit(c, "-N2", "-n3", "--nice=7"), submit(c, "-n2", "-t10", "--mem-per-cpu=1000"),
           submit(c, "-n1", "-pb", "-t100"), submit(c, "-n1", "-pb", "--hold"), submit(c, "-n1", "-pb", "--begin=now+1hour"),
           submit(c, "-n1", "-pb", "--priority=123", "--nice=5"), submit(c, "-n1", "-pdown")]
    i = [f"{job:15}" for job in ids]
    assert c.run("sprio").ok() + "\n" == HEAD + \
        f"{i[0]} main            2275          0          0        750        500          0      cpu=1000,mem=25\n" + \
        f"{i[1]} main            1564          0          0        688        500          0        cpu=375,mem=9\n" + \
        f"{i[2]} main            1187          0          0        375        500          0       cpu=250,mem=62\n" + \
        f"{i[3]} b               1568          0          0        312       1000          0        cpu=250,mem=6\n" + \
        f"{i[6]} b                123          0          0          0          0          0                     \n" + \
        f"{i[7]} down             668          0          0        312        100          0        cpu=250,mem=6\n"
    assert c.run(f"sprio -h -n -j {ids[2]}").ok() == \
        f"{i[2]} main      0.00000027 0.0000000  0.3750000  0.5000000  0.0000000  cpu=0.25,mem=0.12   "
    assert c.run("sprio -w").ok() + "\n" == HEAD + \
        "        Weights                               1       1000       1000       1000        100     CPU=1000,Mem=500\n"
    assert c.run("sprio -h -S r,-y -o %i").ok().split() == [str(ids[k]) for k in (3, 6, 7, 0, 1, 2)]
    assert c.run("sprio -h -p b,down -o %i|%u").ok().split() == [f"{ids[k]}|root" for k in (3, 6, 7)] if ROOT else True
    assert c.run(["sprio", "-h", f"-j{ids[1]}", "-o", "%N|%Q|%y|%c"]).ok() == "7|0|0.00000036435085|test"
    assert c.run(["squeue", "-h", "-j", str(ids[0]), "-o", "%Q"]).ok() == "2275"
    assert order(c)[:3] == [ids[0], ids[3], ids[1]]
    # What is given, and what operators alone may give.
    c.run(f"scontrol update JobId={ids[2]} SiteFactor=77").ok()
    assert c.run(f"sprio -h -j {ids[2]} -o %Y|%S").ok() == "1264|77"
    c.run(f"scontrol update JobId={ids[1]} Priority=5000").ok()
    assert (c.job(ids[1])["Priority"], c.job(ids[1])["Nice"]) == ("5000", "0")
    assert order(c)[0] == ids[1]
    c.run(f"scontrol hold {ids[1]}").ok()
    c.run(f"scontrol release {ids[1]}").ok()
    assert c.job(ids[1])["Priority"] == "1571"  # of its factors again
    before = c.run("sprio -h -o %i:%Y").ok()
    c.kill("slurmctld")
    c.start_controller()
    assert c.run("sprio -h -o %i:%Y").ok() == before
    c.run("scancel -t PD --me").ok()


def test_long_listing_has_the_columns_of_slurm(full):
    """The columns of the manual's --long, among them ACCOUNT and QOSNAME."""
    c = full
    job = submit(c, "-n1", "-A", "physics", "--qos=normal")
    titles, line = c.run(f"sprio -l -j {job}").ok().splitlines()
    assert titles == "          JOBID PARTITION     USER  ACCOUNT   PRIORITY       SITE        AGE      ASSOC  FAIRSHARE" \
                     "    JOBSIZE  PARTITION    QOSNAME        QOS        NICE                 TRES"
    assert line[34:43] == "  physics" and "     normal" in line
    assert c.run(f"sprio -h -j {job} -o %o|%n").ok() == "physics|normal"
    c.run(f"scancel {job}").ok()


def test_invalid_options_are_refused(full):
    c = full
    c.run("sprio -j x").fails("Invalid job id: x")
    c.run("sprio bad").fails("Unrecognized option: bad")
    c.run("sprio -S x").fails("Invalid sort specification: x")
    c.run(["sprio", "-o", "%x"]).fails("Invalid job format specification: x")
    assert c.run("sprio -j 9999").ok() == "Unable to find jobs matching user/id(s) specified"
    nobody = c.run("sprio -u no_such_user")
    assert nobody.returncode == 0 and "Invalid user: no_such_user" in nobody.stderr and "JOBID" in nobody.stdout
    c.run("scontrol top").fails("too few arguments for keyword:top")
    c.run("scontrol top x").fails("for job x")
    c.run("scontrol top 9999").fails("Invalid job id specified for job 9999")


def test_users_cannot_raise_priorities(full, nobody):
    c = full
    c.run(["sbatch", "--priority=5", "--wrap", "true"], user="nobody").fails("Access/permission denied: only operators may set a priority")
    c.run(["sbatch", "--nice=-5", "--wrap", "true"], user="nobody").fails("Access/permission denied: only operators may set a negative nice value")
    first, second = submit(c, user="nobody"), submit(c, user="nobody")
    other = submit(c)
    c.run(f"scontrol update JobId={first} SiteFactor=1", user="nobody").fails("SiteFactor")
    c.run(f"scontrol update JobId={first} Nice=-1", user="nobody").fails("Access/permission denied")
    c.run(f"scontrol update JobId={first} Priority=4000000000", user="nobody").fails("only operators may raise a priority")
    assert order(c) == [first, second, other]
    c.run(f"scontrol top {other}", user="nobody").fails("Access/permission denied")
    c.run(f"scontrol top {second}", user="nobody").ok()
    assert order(c) == [second, other, first] or order(c) == [second, first, other]
    c.run("scontrol update PartitionName=main PriorityJobFactor=10").ok()  # every priority is made anew
    assert eventually(lambda: c.run(f"sprio -h -j {other} -o %P").ok() == "1000", "the new factor")
    assert order(c)[0] == second
    c.run("scancel -t PD").ok()
    c.run("scontrol update PartitionName=main PriorityJobFactor=5").ok()


def test_priority_of_a_pending_job_is_changed(make_cluster):
    """CORE-052: of a pending job, across a restart, until it is changed again."""
    c = make_cluster(nodes=1, cpus=1)
    first = submit(c)
    eventually(lambda: c.state(first) == "RUNNING", "the node is full")
    ids = [c.sbatch("-o", "order", "--open-mode=append", wrap="echo $SLURM_JOB_ID") for _ in range(3)]
    c.run(f"scontrol update JobId={ids[2]} Priority=4294901760").ok()
    c.run(f"scontrol update JobId={ids[0]} Priority=10").ok()
    c.run(f"scontrol update JobId={ids[0]} Priority=ten").fails("Priority")
    c.kill("slurmctld")
    c.start_controller()
    assert [c.job(ids[k])["Priority"] for k in (0, 2)] == ["10", "4294901760"]
    assert c.run("squeue -h -t PD -S -p -o %i").ok().split() == [str(ids[k]) for k in (2, 0, 1)]
    c.run(f"scancel {first}").ok()
    for job in ids:
        c.wait(job)
    assert (c.work / "order").read_text().split() == [str(ids[k]) for k in (2, 0, 1)]


def test_first_in_first_out(make_cluster):
    """CORE-049, 050: priority/basic: five jobs start in order of submission, except those that are moved."""
    c = make_cluster(nodes=1, cpus=1, conf="PriorityType=priority/basic\n")
    said = c.run("sprio").fails("You are not running a supported priority plugin\n(priority/basic).\n")
    assert said.endswith("Only 'priority/multifactor' is supported.\n")
    first = submit(c)
    eventually(lambda: c.state(first) == "RUNNING", "the node is full")
    ids = [c.sbatch("-o", "order", "--open-mode=append", wrap="echo $SLURM_JOB_ID") for _ in range(5)]
    c.run(f"scontrol top {ids[3]},{ids[4]}").ok()
    c.run(f"scontrol update JobId={ids[0]} Nice=100").ok()
    c.run(f"scancel {first}").ok()
    for job in ids:
        c.wait(job)
    assert (c.work / "order").read_text().split() == [str(ids[k]) for k in (3, 4, 1, 2, 0)]


def test_top_takes_elements_and_components(make_cluster):
    """scontrol top of an element of a job array moves only that element; of a component, only the component."""
    c = make_cluster(nodes=1, cpus=1, conf="PriorityType=priority/basic\n")
    first = submit(c)
    eventually(lambda: c.state(first) == "RUNNING", "the node is full")
    single = c.sbatch("-o", "order", "--open-mode=append", wrap="echo single")
    array = c.sbatch("-o", "order", "--open-mode=append", "-a", "1-3", wrap="echo $SLURM_ARRAY_TASK_ID")
    c.run(f"scontrol top {array}_7").fails(f"Invalid job id specified for job {array}_7")
    c.run(f"scontrol top {array}_3", user="nobody").fails("Access/permission denied")
    assert c.run(f"squeue -h -j {array} -o %i").ok() == f"{array}_[1-3]"
    c.run(f"scontrol top {array}_3").ok()
    assert c.run(["squeue", "-h", "-t", "PD", "-o", "%i"]).ok().split() == [f"{array}_3", str(single), f"{array}_[1-2]"]
    c.run(f"scancel {first}").ok()
    eventually(lambda: c.run("squeue -h").stdout == "", "all jobs are over")
    assert (c.work / "order").read_text().split() == ["3", "single", "1", "2"]


def test_default_priority_type_is_multifactor_without_weights(make_cluster):
    """Multifactor without weights: every priority is 1, and jobs start in order of submission."""
    c = make_cluster(nodes=1, cpus=1)
    assert "PriorityType            = priority/multifactor" in c.run("scontrol show config").ok()
    first = submit(c)
    eventually(lambda: c.state(first) == "RUNNING", "the node is full")
    ids = [c.sbatch("-o", "order", "--open-mode=append", wrap="echo $SLURM_JOB_ID") for _ in range(4)]
    assert c.run("sprio -h -o %i:%Y").ok().split() == [f"{job}:1" for job in ids]
    c.run(f"scontrol top {ids[3]}").ok()
    c.run(f"scancel {first}").ok()
    for job in ids:
        c.wait(job)
    assert (c.work / "order").read_text().split() == [str(ids[k]) for k in (3, 0, 1, 2)]


def test_invalid_priority_configuration_is_refused(make_cluster):
    c = make_cluster(nodes=1, start=False)
    text = c.conf_file.read_text()
    for line, said in [("PriorityWeightTRES=cpu", "'cpu' is not NAME=WEIGHT"),
                       ("PriorityWeightTRES=cpu=many", "the weight is not a number"),
                       ("PriorityFlags=FOO", "'FOO' is not one of")]:
        c.conf_file.write_text(text + line + "\n")
        c.run("scontrol check").fails(said)
    c.conf_file.write_text(text + "PriorityFlags=NO_FAIR_TREE\nPriorityWeightTRES=license/x=5\n")
    warned = c.run("scontrol check").stderr
    assert "PriorityFlags: 'NO_FAIR_TREE' has no effect" in warned and "'license/x' has no effect" in warned
