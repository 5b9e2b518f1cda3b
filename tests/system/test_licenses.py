# SPDX-License-Identifier: GPL-3.0-or-later
"""Licences of the cluster: -L, scontrol show licenses (X-17)."""
import pytest

from harness import eventually


@pytest.fixture(scope="module")
def licensed():
    from harness import Cluster

    c = Cluster(conf="Licenses=matlab:3,ansys\n")
    try:
        yield c
        c.stop()
    finally:
        c.destroy()


def job(c, *options, wrap="sleep 1000"):
    return c.sbatch("-o", "/dev/null", *options, wrap=wrap)


def used(c, name):
    line = c.run(["scontrol", "-o", "show", "license", name]).ok()
    return int(line.split("Used=")[1].split()[0])


def test_licences_are_shown(licensed):
    text = licensed.run("scontrol show licenses").ok()
    assert text.rstrip("\n") == ("LicenseName=ansys\n    Total=1 Used=0 Free=1 Reserved=0 Remote=no\n"
                                 "LicenseName=matlab\n    Total=3 Used=0 Free=3 Reserved=0 Remote=no")
    assert licensed.run("scontrol -o show lic ansys").ok().strip() == "LicenseName=ansys Total=1 Used=0 Free=1 Reserved=0 Remote=no"
    licensed.run("scontrol show licenses other").finds_none("License other not found")
    last = licensed.json("scontrol --json show licenses")["licenses"][-1]
    assert last == {"LicenseName": "matlab", "Total": 3, "Used": 0, "Free": 3, "Remote": False, "Reserved": 0}


@pytest.mark.parametrize("asked", ["other", "matlab:4", "matlab:0", "matlab:x", "ansys,", "matlab|other", "matlab:9|ansys:2", "matlab|ansys,matlab",
                                   "matlab|"])
def test_invalid_licence_requests_are_refused(licensed, asked):
    for line in (["sbatch", "-L", asked, "--wrap", "true"], ["srun", "-L", asked, "true"], ["salloc", "-L", asked, "true"]):
        licensed.run(line).fails("Invalid license specification")


def test_licences_of_each_task(licensed):
    """--tres-per-task=license/NAME=N: as many as the tasks need."""
    number = job(licensed, "-n2", "-O", "-L", "ansys", "--tres-per-task=license/matlab=1")
    licensed.wait_state(number, "RUNNING")
    assert licensed.job(number)["Licenses"] == "ansys,matlab:2" and used(licensed, "matlab") == 2
    licensed.run(f"scancel {number}").ok()
    licensed.wait(number)
    licensed.run(["sbatch", "-n4", "-O", "--tres-per-task=license/matlab=1", "--wrap=true"]).fails("Invalid license specification")


def test_jobs_without_the_license_do_not_wait(licensed):
    a = job(licensed, "-L", "matlab:2,ansys")
    licensed.wait_state(a, "RUNNING")
    b, c = job(licensed, "--licenses=matlab:2"), job(licensed, wrap="true")
    assert licensed.wait(c)["JobState"] == "COMPLETED"
    fields = licensed.job(b)
    assert (fields["JobState"], fields["Reason"], fields["Licenses"]) == ("PENDING", "Licenses", "matlab:2")
    assert licensed.run(["squeue", "-h", "-j", str(b), "-o", "%r|%W|%R"]).ok().strip() == "Licenses|matlab:2|(Licenses)"
    assert (used(licensed, "matlab"), used(licensed, "ansys")) == (2, 1)
    licensed.run(f"scancel {a}").ok()
    licensed.wait_state(b, "RUNNING")
    assert (used(licensed, "matlab"), used(licensed, "ansys")) == (2, 0)
    licensed.kill("slurmctld")
    licensed.start_controller()
    licensed.wait_ready(("idle", "alloc", "mix"))
    assert used(licensed, "matlab") == 2
    waits = job(licensed, "-L", "matlab:3")
    assert licensed.job(waits)["Reason"] == "Licenses"
    licensed.run(f"scontrol update JobId={waits} Licenses=matlab:9").fails("Invalid license specification")
    licensed.run(f"scontrol update JobId={waits} Licenses=matlab:1").ok()
    licensed.wait_state(waits, "RUNNING")
    licensed.run(f"scancel {b} {waits}").ok()
    for number in (b, waits):
        licensed.wait(number)
    assert used(licensed, "matlab") == 0


def test_one_licence_alternative_is_enough(licensed):
    """-L a|b: one is enough, and the first that is free in the order of the request is taken (sbatch(1))."""
    def shown(number):
        fields = licensed.job(number)
        return fields["Licenses"], fields.get("LicensesAlloc")

    first, second, third = (job(licensed, "-L", "ansys|matlab:2") for _ in range(3))
    licensed.wait_state(second, "RUNNING")
    assert shown(first) == ("ansys|matlab:2", "ansys:1") and shown(second) == ("ansys|matlab:2", "matlab:2")
    assert licensed.run(["squeue", "-h", "-j", f"{first},{second}", "-S", "i", "-O", "LicensesAlloc:10,Licenses:20"]).ok().split() == \
        ["ansys:1", "ansys|matlab:2", "matlab:2", "ansys|matlab:2"]
    fields = licensed.job(third)
    assert (fields["JobState"], fields["Reason"], "LicensesAlloc" in fields) == ("PENDING", "Licenses", False)
    assert "license:ansys" in licensed.run(f"sluice why {third}").ok()
    licensed.run(f"scancel {second}").ok()
    licensed.wait_state(third, "RUNNING")
    licensed.kill("slurmctld")
    licensed.start_controller()
    licensed.wait_ready(("idle", "alloc", "mix"))
    assert shown(third)[1] == "matlab:2" and (used(licensed, "matlab"), used(licensed, "ansys")) == (2, 1)
    licensed.run(f"scontrol update JobId={third} NumTasks=1 Licenses=matlab").fails("Job is no longer pending execution")
    licensed.run(f"scontrol update JobId={third} Licenses=matlab:4").fails("matlab, 3 are free")
    licensed.run(f"scontrol update JobId={third} Licenses=matlab:3").ok()
    assert shown(third) == ("matlab:3", None) and used(licensed, "matlab") == 3
    licensed.run(f"scancel {first} {third}").ok()
    for number in (first, second, third):
        licensed.wait(number)
    licensed.run(["sbatch", "-L", "ansys,matlab|ansys", "--wrap=true"]).fails(
        'Invalid license specification: "ansys,matlab|ansys" has both a comma, for licenses that are all needed, and a |, for alternatives')
    licensed.run(["scontrol", "create", "reservation=r", "starttime=now", "duration=5", "users=root", "flags=license_only",
                  "licenses=ansys|matlab"]).fails("has a |, which is for the requests of jobs")


def test_components_choose_licence_alternatives(licensed):
    """HET-115 and -L of sbatch(1): all components start with the first alternative that is free for all of them together, and a requeued set chooses
    again."""
    def submit(*options):
        number = job(licensed, *options)
        return number, number + 1

    def shown(ids):
        return [licensed.job(number).get("LicensesAlloc") for number in ids]

    either = ("-n1", "-L", "ansys|matlab", ":", "-n1", "-L", "ansys|matlab:2")
    blocker = job(licensed, "-n1", "-L", "ansys")
    licensed.wait_state(blocker, "RUNNING")
    first = submit("--requeue", *either)
    licensed.wait_state(first[1], "RUNNING")
    assert shown(first) == ["matlab:1", "matlab:2"] and used(licensed, "matlab") == 3
    assert [licensed.job(number)["Licenses"] for number in first] == ["ansys|matlab", "ansys|matlab:2"]
    waits = submit(*either)
    eventually(lambda: licensed.job(waits[0])["Reason"] == "Licenses", lambda: licensed.job(waits[0]))
    assert [licensed.job(number)["JobState"] for number in waits] == ["PENDING"] * 2
    assert "Licences that it needs are in use" in licensed.run(f"sluice why {waits[0]}").ok()
    licensed.kill("slurmctld")
    licensed.start_controller()
    licensed.wait_ready(("idle", "alloc", "mix"))
    assert shown(first) == ["matlab:1", "matlab:2"] and (used(licensed, "matlab"), used(licensed, "ansys")) == (3, 1)
    licensed.run(f"scancel {waits[0]} {blocker}").ok()
    licensed.wait(blocker)
    licensed.run(f"scontrol requeue {first[0]}").ok()
    for number in first:
        eventually(lambda: (licensed.job(number)["JobState"], licensed.job(number)["Restarts"]) == ("RUNNING", "1"), lambda: licensed.job(number))
    assert shown(first) == ["ansys:1", "matlab:2"] and used(licensed, "matlab") == 2
    licensed.run(f"scancel {first[0]}").ok()
    for number in first + waits:
        licensed.wait(number)
    licensed.run(["sbatch", "-L", "ansys|matlab", "--wrap=true", ":", "-L", "ansys|matlab:4"]).ok()
    licensed.run(["sbatch", "-L", "ansys", "--wrap=true", ":", "-L", "ansys|matlab:4"]).fails("Invalid license specification")
    licensed.run(["sbatch", "-L", "ansys|matlab", "--wrap=true", ":", "-L", "ansys|other"]).fails("Invalid license specification")
    eventually(lambda: licensed.run("squeue -h").ok() == "", lambda: licensed.run("squeue").ok())


def test_steps_of_an_allocation(licensed):
    assert licensed.run(["salloc", "-Q", "-L", "ansys", "scontrol", "-o", "show", "lic", "ansys"]).ok().count("Used=1") == 1
    eventually(lambda: used(licensed, "ansys") == 0, "it is given back")


def test_no_configured_licences_are_reported(cluster):
    assert cluster.run("scontrol show licenses").ok().strip() == "No licenses configured in Slurm."
    cluster.run("sbatch -L matlab --wrap true").fails("Invalid license specification")
