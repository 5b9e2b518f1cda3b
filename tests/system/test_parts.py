# SPDX-License-Identifier: GPL-3.0-or-later
"""A job that may run in several partitions (--partition=a,b)."""
import json
import re

import pytest

from harness import ROOT, Cluster, eventually, many

PARTITIONS = ["PartitionName=a Nodes=n1 Default=YES MaxTime=60 DefaultTime=10 PriorityJobFactor=1",
              "PartitionName=b Nodes=n2 MaxTime=UNLIMITED DefaultTime=20 PriorityJobFactor=5",
              "PartitionName=c Nodes=n3 MaxTime=UNLIMITED PriorityTier=5 PriorityJobFactor=3",
              "PartitionName=drained Nodes=n3 State=DRAIN", "PartitionName=off Nodes=n3 State=DOWN"]
CONF = "PriorityType=priority/multifactor\nPriorityWeightPartition=1000\n"


@pytest.fixture()
def cluster():
    with many(Cluster) as make:
        yield make(nodes=3, conf=CONF, partitions=PARTITIONS)


def submit(c, *options, env=None):
    return c.sbatch("-o", "/dev/null", *options, wrap="sleep 1000", env=env)


def show(c, job, *keys):
    text = c.run(f"scontrol -o show job {job}").ok()
    words = dict(w.split("=", 1) for w in text.split() if "=" in w)
    return tuple(words[k] for k in keys)


def fill(c, part, nodes=1):
    job = submit(c, f"-p{part}", f"-N{nodes}", "--exclusive", "-t50")
    eventually(lambda: c.state(job) == "RUNNING", f"partition {part} is full")
    return job


def test_job_starts_in_the_partition_with_free_nodes(cluster):
    c = cluster
    fill(c, "a")
    job = c.sbatch("-p", "a,b", wrap='echo $SLURM_JOB_PARTITION; sleep 1000')
    eventually(lambda: c.state(job) == "RUNNING", "there is room in b")
    assert show(c, job, "Partition", "TimeLimit", "NodeList") == ("b", "00:20:00", "n2")
    eventually(lambda: (c.work / f"slurm-{job}.out").exists() and c.output(job) == "b\n", "its environment names the one where it runs")
    assert c.run(f"squeue -h -j {job} -o %P").ok() == "b"


def test_common_default_memory_is_part_of_the_request():
    with many(Cluster) as make:
        c = make(nodes=3, conf="DefMemPerCPU=50\n", partitions=[*PARTITIONS[:3], "PartitionName=own Nodes=n3 DefMemPerCPU=70"])
        asked = {parts: show(c, submit(c, "-H", "-n2", "-p", parts), "ReqTRES")[0] for parts in ("a", "a,b", "a,own")}
        assert asked["a"] == asked["a,b"] == "cpu=2,mem=100M,node=1,billing=2"
        assert ",mem=" not in asked["a,own"]  # it depends on where the job starts
        job = submit(c, "-n2", "-p", "a,b")
        eventually(lambda: c.state(job) == "RUNNING", "it runs")
        assert show(c, job, "ReqTRES", "AllocTRES") == (asked["a"], asked["a"])


def test_billing_is_weighted_by_the_partition():
    """TRESBillingWeights; with PriorityFlags=MAX_TRES the greatest resource of a node counts."""
    with many(Cluster) as make:
        c = make(nodes=1, conf="DefMemPerCPU=50\nPriorityFlags=MAX_TRES\n",
                 partitions=["PartitionName=a Nodes=ALL TRESBillingWeights=CPU=1.5,Mem=0.04", "PartitionName=b Nodes=ALL"])
        for part, mem, billing in ("a", 100, "4"), ("a", 40, "3"), ("b", 100, "2"):
            job = submit(c, "-n2", f"--mem={mem}", "-p", part)
            eventually(lambda: c.state(job) == "RUNNING", "it runs")
            asked, has = show(c, job, "ReqTRES", "AllocTRES")
            assert asked == has == f"cpu=2,mem={mem}M,node=1,billing={billing}"
            c.run(f"scancel {job}").ok()
        held = submit(c, "-H", "-n2", "-p", "b")
        c.run("scontrol update PartitionName=b TRESBillingWeights=CPU=5").ok()
        assert show(c, held, "ReqTRES")[0].endswith(",billing=10")
        job = submit(c, "-n2", "-p", "b")
        eventually(lambda: c.state(job) == "RUNNING", "it runs")
        c.run("scontrol update PartitionName=b TRESBillingWeights=CPU=7").ok()
        assert show(c, job, "AllocTRES")[0].endswith(",billing=14")


def test_pending_job_is_in_all_its_partitions(cluster):
    c = cluster
    running = {p: fill(c, p) for p in "abc"}
    job = submit(c, env={"SBATCH_PARTITION": "a,b"})
    eventually(lambda: show(c, job, "Reason")[0] in ("Resources", "Priority"), "it was looked at")
    assert show(c, job, "Partition", "TimeLimit") == ("a,b", "00:10:00")
    assert c.run(f"squeue -h -j {job} -o %P|%Q").ok() == "a,b|200"
    assert c.run(f"squeue -h -P -S P -j {job} -o %P|%Q").ok() == "a|200\nb|1000"
    assert c.run(f"squeue -h -P -p b -j {job} -o %P|%Q").ok() == "b|1000"
    assert c.run("sprio -h -o %i|%r|%Y").ok().splitlines() == [f"{job}|a|200", f"{job}|b|1000"]
    assert c.run(f"sprio -h -p b -o %i|%r|%Y").ok() == f"{job}|b|1000"
    for part, found in (("a", True), ("b", True), ("c", False), ("b,c", True)):
        assert (str(job) in c.run(f"squeue -h -p {part} -o %i").ok().split()) == found
    c.run(f"scontrol update JobId={job} Partition=c,b").ok()
    assert show(c, job, "Partition") == ("c,b",)
    c.run(f"scontrol update JobId={job} Partition=a,nowhere").fails("Invalid partition name specified")
    assert show(c, job, "Partition") == ("c,b",)
    c.run(f"scancel {running['b']}").ok()
    eventually(lambda: c.state(job) == "RUNNING", "b is free")
    assert show(c, job, "Partition") == ("b",)
    c.run("scontrol update PartitionName=b State=DOWN").ok()
    c.run(f"scontrol requeue {job}").ok()
    eventually(lambda: c.state(job) == "PENDING", "it is queued again")
    assert show(c, job, "Partition") == ("c,b",)
    c.run(f"scancel {running['c']}").ok()
    eventually(lambda: c.state(job) == "RUNNING", "it takes the other one")
    assert show(c, job, "Partition") == ("c",)
    second = submit(c, "-pc,b", "--hold")
    c.run(f"scancel {second}").ok()
    assert show(c, second, "Partition", "JobState") == ("c,b", "CANCELLED")


def test_partitions_in_order_of_precedence(cluster):
    c = cluster
    for part in "abc":
        fill(c, part)
    jobs = [submit(c, "-pa,c"), submit(c, "-pb")]
    assert c.run("squeue -h -P --sort=-p,i --states=PD -o %i|%P").ok().splitlines() == \
        [f"{jobs[0]}|c", f"{jobs[1]}|b", f"{jobs[0]}|a"]


def test_limits_apply_for_each_partition(cluster):
    c = cluster
    job = submit(c, "-pa,b", "-t100")
    eventually(lambda: c.state(job) == "RUNNING", "b has no limit")
    assert show(c, job, "Partition") == ("b",)
    many_hours = submit(c, "-pa", "-t100")
    eventually(lambda: show(c, many_hours, "Reason") == ("PartitionTimeLimit",), "a has one")
    wide = submit(c, "-pc,a", "-wn1")
    eventually(lambda: c.state(wide) == "RUNNING", "n1 is of a")
    assert show(c, wide, "Partition") == ("a",)
    c.run(["sbatch", "--test-only", "-p", "a,b", "-N2", "--wrap=true"]).fails("Node count specification invalid")
    c.run(["sbatch", "-p", "a,nowhere", "--wrap=true"]).fails("Invalid partition name specified")
    c.run(["sbatch", "-p", ",", "--wrap=true"]).fails("Invalid partition name specified")
    c.run(["sbatch", "-p", "drained", "--wrap=true"]).fails("inactive or drain")


def test_drained_partition_is_left_out(cluster):
    c = cluster
    done = c.run(["sbatch", "-p", "drained,b", "-o", "/dev/null", "--wrap=sleep 1000"])
    assert "Without partition drained" in done.stderr
    job = int(done.ok().split()[-1])
    eventually(lambda: c.state(job) == "RUNNING", "b takes it")
    waits = submit(c, "-poff,a", "-wn1")
    eventually(lambda: c.state(waits) == "RUNNING", "a partition that is down delays nobody")


@pytest.mark.parametrize("word,limits,access", [("NO", True, True), ("ANY", True, True), ("ALL", False, False)])
def test_enforced_limits_refuse_jobs(word, limits, access):
    with many(Cluster) as make:
        c = make(nodes=3, conf=f"EnforcePartLimits={word}", partitions=PARTITIONS)
        for options, taken in ((["-pa,b", "-t100"], limits), (["-pdrained,b"], access), (["-pa", "-t100"], word == "NO")):
            done = c.run(["sbatch", *options, "-o", "/dev/null", "--hold", "--wrap=true"])
            assert (done.returncode == 0) == taken, options


def test_test_only_reports_the_first_partition(cluster):
    c = cluster
    fill(c, "a")
    done = c.run(["sbatch", "--test-only", "-p", "a,b", "--wrap=true"])
    assert "in partition b" in done.stderr and "n2" in done.stderr


def test_arrays_spread_over_partitions(cluster):
    c = cluster
    array = c.sbatch("-pa,b", "--array=0-3", "--exclusive", "-t5", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: sorted(c.run(f"squeue -h -j {array} -t R -o %i|%P").ok().splitlines()) ==
               [f"{array}_0|a", f"{array}_1|b"], "an element in each")
    assert c.run(f"squeue -h -j {array} -t PD -o %i|%P").ok() == f"{array}_[2-3]|a,b"
    c.run(f"scancel {array}_0").ok()
    eventually(lambda: f"{array}_2|a" in c.run(f"squeue -h -j {array} -t R -o %i|%P").ok(), "the next one")


def test_restart_keeps_the_partitions_of_a_job(cluster):
    c = cluster
    for part in "ab":
        fill(c, part)
    job = submit(c, "-pa,b")
    runs = submit(c, "-pc,a")
    eventually(lambda: c.state(runs) == "RUNNING", "c is free")
    c.kill("slurmctld")
    c.start_controller()
    eventually(lambda: show(c, job, "Partition", "JobState") == ("a,b", "PENDING"), "it waits for both")
    assert show(c, runs, "Partition") == ("c",)
    assert c.run(f"squeue -h -P -S P -j {job} -o %P|%Q").ok() == "a|200\nb|1000"
    c.run("scontrol delete PartitionName=b").fails("Partition is in use")


def test_allow_groups_ignores_the_gid_of_the_process(make_cluster):
    """The name service determines the members of a group; a process may have any gid that its parent chose."""
    c = make_cluster(nodes=1, partitions=["PartitionName=main Nodes=ALL Default=YES AllowGroups=root",
                                          "PartitionName=own Nodes=ALL AllowGroups=daemon"])
    submit_as_daemon = ["setpriv", "--reuid=daemon", "--regid=0", "--clear-groups", "sbatch", "-o", "/dev/null", "--wrap=true"]
    c.run(submit_as_daemon).fails("User's group not permitted to use this partition")
    c.run([*submit_as_daemon, "-p", "own"]).ok()


def test_accounts_of_partitions(make_cluster):
    """AllowAccounts and DenyAccounts: at the submission, of jobs that wait when a list or the account of the job changes, and across a restart."""
    c = make_cluster(nodes=1, partitions=["PartitionName=main Nodes=ALL Default=YES", "PartitionName=allow Nodes=ALL AllowAccounts=phys,chem DenyAccounts=phys",
                                          "PartitionName=deny Nodes=ALL DenyAccounts=phys"])
    bad = "Invalid account or account/partition combination specified: partition"
    submit_to = ["sbatch", "--parsable", "-o", "/dev/null", "-H", "--wrap=true"]
    c.run([*submit_to, "-p", "allow", "-A", "bio"]).fails(f"{bad} allow takes no jobs of account bio (AllowAccounts)")
    c.run([*submit_to, "-p", "allow"]).fails(f"{bad} allow takes jobs of some accounts only: --account")
    c.run([*submit_to, "-p", "deny", "-A", "Phys"]).fails(f"{bad} deny takes no jobs of account Phys (DenyAccounts)")
    c.run(["srun", "-p", "deny", "-A", "phys", "true"]).fails(f"{bad} deny")
    for part, account in ("allow", "phys"), ("allow", "CHEM"), ("deny", "bio"), ("deny", ""), ("main", "phys"):
        c.run([*submit_to, "-p", part, "-A", account]).ok()
    assert "Without partition allow" in c.run([*submit_to, "-p", "allow,deny", "-A", "bio"]).stderr
    assert " AllowAccounts=phys,chem " in c.run("scontrol show part allow").ok() and " DenyAccounts=phys " in c.run("scontrol show part deny").ok()
    holder = c.sbatch("--exclusive", wrap="sleep 1000")
    c.wait_state(holder, "RUNNING")
    job = c.sbatch("-o", "/dev/null", "-p", "allow", "-A", "chem", wrap="true")
    c.run("scontrol update PartitionName=allow AllowAccounts=phys").ok()
    eventually(lambda: c.job(job)["Reason"] == "AccountNotAllowed", lambda: c.job(job))
    assert "Its partition does not take jobs of its account." in c.run(f"sluice why {job}").ok()
    c.kill("slurmctld")
    c.start_controller()
    c.wait_ready()
    assert c.job(job)["Reason"] == "AccountNotAllowed" and " AllowAccounts=phys " in c.run("scontrol show part allow").ok()
    c.run(f"scontrol update JobId={job} Account=phys").ok()
    other = c.sbatch("-H", "-A", "phys", wrap="true")
    c.run(f"scontrol update JobId={other} Partition=deny").fails(f"{bad} deny takes no jobs of account phys (DenyAccounts)")
    c.run(f"scontrol update JobId={other} Partition=allow").ok()
    c.run(f"scontrol update JobId={other} Partition=deny Account=bio").ok()
    c.run(f"scancel {other}").ok()
    eventually(lambda: c.job(job)["Reason"] in ("Resources", "Priority"), lambda: c.job(job))
    c.run("scontrol update PartitionName=allow AllowAccounts=ALL").ok()
    assert " DenyAccounts=phys " in c.run("scontrol show part allow").ok()
    eventually(lambda: c.job(job)["Reason"] == "AccountNotAllowed", lambda: c.job(job))
    c.run("scontrol update PartitionName=allow DenyAccounts=none").ok()
    assert " DenyAccounts=none " in c.run("scontrol show part allow").ok()  # an account of that name, as in slurm.conf
    c.run("scontrol update PartitionName=allow DenyAccounts=").ok()
    c.run(f"scancel {holder}").ok()
    assert c.wait(job)["JobState"] == "COMPLETED"


def test_start_and_end_times_of_allocations(make_cluster):
    c = make_cluster(nodes=1)
    script = "echo $((SLURM_JOB_END_TIME - SLURM_JOB_START_TIME)) $((SLURM_JOB_START_TIME > 1700000000))"
    for words in (["srun", "-t5"], ["salloc", "-t5"], ["salloc", "-t5", "srun"]):
        assert c.run([*words, "sh", "-c", script]).ok() == "300 1", words


@pytest.mark.skipif(not ROOT, reason="needs several users")
def test_listings_leave_out_what_is_hidden_from_the_caller(make_cluster):
    """Hidden partitions, and those whose groups the caller is not in: only --all, a name and JSON show them, and operators see them."""
    c = make_cluster(nodes=2, partitions=["PartitionName=open Nodes=ALL Default=YES", "PartitionName=back Nodes=ALL Hidden=YES",
                                          "PartitionName=club Nodes=ALL AllowGroups=root,daemon"])
    jobs = {part: submit(c, "-J", part, "-p", part) for part in ("open", "back", "club", "back,open")}
    own = c.sbatch("-o", "/dev/null", "-D", "/tmp", "-p", "back", "-J", "own", wrap="sleep 1000", user="nobody")
    for job in (*jobs.values(), own):
        eventually(lambda job=job: c.state(job) == "RUNNING", "it runs")
    waits = submit(c, "-H", "-J", "waits", "-p", "club,open")
    hidden = submit(c, "-H", "-J", "hidden", "-p", "back,club")
    lines = {  # command: (words shown, words shown only to those who see all)
        "sinfo -h -o %R": ("open", "back club"), "squeue -h -o %j": ("open own waits", "back club hidden"),
        "scontrol -o show partitions": ("open", "back club"), "squeue -h -s -o %P": ("open", "club"),
        "scontrol -o show jobs": ("open own waits", "back club hidden"),
    }

    def show_names(line, **who):
        text = c.run(line, **who).ok()
        names = re.findall(r"(?:PartitionName|JobName)=(\S+)", text) or text.split()
        return set(names) & set("open back club own waits hidden".split())

    for line, (shown, more) in lines.items():
        assert show_names(line, user="nobody") >= set(shown.split()) and not show_names(line, user="nobody") & set(more.split()), line
        first, rest = line.split(" ", 1)
        assert show_names(f"{first} --all {rest}", user="nobody") >= {*shown.split(), *more.split()}, line
        assert show_names(line) >= {*shown.split(), *more.split()}, line
        assert show_names(line, user="daemon") >= set(more.split()) - {"back"}, line
    for line in ("sinfo -h -o %R -p back", "squeue -h -o %P -p back", f"squeue -h -o %j -j {jobs['back']}", "scontrol show partition back",
                 f"scontrol show job {jobs['back']}", f"scontrol show step {jobs['back']}.batch"):
        assert "back" in c.run(line, user="nobody").ok(), line
    assert c.run("squeue -h -o %R --hide", user="nobody", env={"SQUEUE_ALL": "1"}).ok() == c.run("squeue -h -o %R", user="nobody").ok()
    for line, key in (("squeue --json", "jobs"), ("scontrol show partitions --json", "partitions"), ("scontrol show jobs --json", "jobs")):
        assert {"back", "club"} <= {record["name"] for record in json.loads(c.run(line, user="nobody").ok())[key]}, line
    c.run(f"scancel {waits} {hidden} {own} {' '.join(map(str, jobs.values()))}").ok()
