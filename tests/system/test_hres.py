# SPDX-License-Identifier: GPL-3.0-or-later
"""Hierarchical resources with real daemons: HRES-10, HRES-11, HRES-15, HRES-42 to HRES-48, HRES-51."""
import pathlib
import re
import shlex

import pytest

from harness import Cluster, eventually

TOP = pathlib.Path(__file__).parents[2]
# The guide's sample with a quarter of its nodes, and names of ours.
SAMPLE = (TOP / "tests/hres/sample.yaml").read_text()
FOR_8 = {"01-32": "1-8", "01-16": "1-4", "17-32": "5-8", "01-08": "1-2", "09-16": "3-4", "17-24": "5-6", "25-32": "7-8"}


def scaled():
    text = SAMPLE.replace("node[", "n<")
    for long, short in FOR_8.items():
        text = text.replace(f"n<{long}]", f"n[{short}]")
    return text


@pytest.fixture(scope="module")
def hres():
    c = Cluster(nodes=8, conf="Licenses=matlab:3\n", start=False)
    try:
        (c.dir / "resources.yaml").write_text(scaled())
        c.start()
        yield c
        c.stop()
    finally:
        c.destroy()


def job(c, *options, wrap="sleep 1000"):
    return c.sbatch("-o", "/dev/null", *options, wrap=wrap)


def layers(c, name):
    """{nodes: (total, used, free, reserved)}"""
    found = {}
    for line in c.run(["scontrol", "-o", "show", "license", name]).ok().splitlines():
        pair = dict(word.split("=", 1) for word in line.split())
        assert pair["LicenseName"] == name and pair["Remote"] == "no"
        found[pair["Nodes"]] = tuple(pair[key] for key in ("Total", "Used", "Free", "Reserved"))
    return found


def used(c, name):
    return {nodes: int(row[1]) for nodes, row in layers(c, name).items() if row[1] != "0"}


def end(c, *numbers):
    c.run(["scancel", *map(str, numbers)]).ok()
    for number in numbers:
        c.wait(number)


def test_layers_are_listed(hres):
    """HRES-42 and HRES-35: a record for each layer, with the amount that base amounts leave."""
    assert layers(hres, "flat")["n[1-4]"] == ("16", "0", "16", "0")
    power = layers(hres, "power")
    assert power["n[1-2]"] == ("40000", "0", "35000", "0") and power["n[1-4]"] == ("60000", "0", "52000", "0")
    assert power["n[5-8]"][2] == "78000" and power["n[1-8]"][2] == "102000" and len(power) == 7
    text = hres.run("scontrol show license power").ok()
    assert "LicenseName=power\n    Total=40000 Used=0 Free=35000 Reserved=0 Remote=no\n    Nodes=n[1-2] Mode=MODE_3 Base=5000\n" in text
    first = hres.json("scontrol --json show license flat")["licenses"][0]
    assert (first["Nodes"], first["Mode"], first["Total"], first["Base"]) == ("n[1-2]", "MODE_2", 12, 0)


@pytest.mark.parametrize("asked, says", [
    ("flat:25", "25 of flat requested on 1 node, its layers have it for 0: flat(n[1-8]) has 24\n"),  # HRES-30
    ("natural:101", "none of its layers has more than 100: natural(n[1-4]) has 100\n"),
    ("power:half_node", "expected a number, or a variable of power: full_node, full_gpu_node"),  # HRES-38
    ("flat(n[1-2]):1", "names a layer, which is for reservations"),
    ("flat:x", "is not NAME or NAME:COUNT"),
    ("natural,flat:0", '"flat:0" has a count outside 1 to 1000000000'),
    ("flat:4294967296", '"flat:4294967296" has a count outside 1 to 1000000000'),
])
def test_invalid_layer_requests_are_refused(hres, asked, says):
    """Each spelling of the option is refused alike."""
    for option in ("--resources", "--licenses"):
        hres.run(["sbatch", option, asked, "--wrap", "true"]).fails("Invalid license specification", says)


def test_refusals_name_layers(hres):
    """HRES-30, HRES-51: the resource, the insufficient layer, and its count, from the file and set by an operator."""
    for options, says in {
        "-w n1 -L flat:14": "14 of flat requested on 1 node, its layers have it for 0: flat(n[1-2]) has 12\n",
        "-L flat:13": "its layers have it for 0: flat(n[1-2]) has 12, flat(n[3-4]) has 12, flat(n[5-6]) has 12 and 1 more\n",
        "-N6 -L power:20000": "20000 of power requested on 6 nodes, its layers have it for 5: power(n[1-4]) has 52000 (count 60000, base 8000), power(n[5-8]) has 78000 (count 80000, base 2000)\n",
        "-w n[1-2] -N2 -L power:20000": "its layers do not have it for all of the requested nodes: power(n[1-2]) has 35000 (count 40000, base 5000)\n",
    }.items():
        hres.run(["sbatch", *options.split(), "--wrap", "true"]).fails(says)
    hres.run("scontrol update license=flat(n[3-4]) count=2").ok()
    hres.run("scontrol update license=power(n[3-4]) count=900").ok()
    hres.run("sbatch -w n3 -L flat:5 --wrap true").fails("flat(n[3-4]) has 2 (12 in resources.yaml)\n")
    hres.run("sbatch -w n3 -L power:full_node --wrap true").fails("power(n[3-4]) has 900 (40000 in resources.yaml)\n")
    hres.run("scontrol update license=flat(n[3-4]) count=file").ok()
    hres.run("scontrol update license=power(n[3-4]) count=file").ok()


def test_layers_are_used_and_returned(hres):
    """HRES-46, HRES-47, HRES-48, HRES-51: all spellings; jobs that end, are requeued, shrink or survive a restart."""
    a = job(hres, "--license=flat:2,natural:1", "-w", "n1")
    b = job(hres, "-L", "power:full_node", "-w", "n[1,3]", "-N2")
    d = job(hres, "--resources=flat,matlab:2", "-w", "n8")
    for number in (a, b, d):
        hres.wait_state(number, "RUNNING")
    assert used(hres, "flat") == {"n[1-2]": 2, "n[7-8]": 1, "n[1-4]": 2, "n[5-8]": 1, "n[1-8]": 3}
    assert used(hres, "natural") == {"n[1-4]": 1}
    assert used(hres, "power") == {"n[1-2]": 1000, "n[3-4]": 1000, "n[1-4]": 2000, "n[1-8]": 2000}
    assert hres.job(a)["LicensesAlloc"].split(",")[0] in ("flat(n[1-2]):2", "natural(n[1-4]):1")
    big = job(hres, "-L", "flat:12", "-w", "n2")
    eventually(lambda: hres.run(["squeue", "-h", "-o", "%r", "-j", str(big)]).ok().strip() == "Licenses", "it waits for a layer")
    assert "flat(n[1-2])" in hres.run(["sluice", "why", str(big)]).ok()
    hres.kill("slurmctld")
    hres.start_controller()
    assert used(hres, "flat") == {"n[1-2]": 2, "n[7-8]": 1, "n[1-4]": 2, "n[5-8]": 1, "n[1-8]": 3}
    assert used(hres, "natural") == {"n[1-4]": 1}
    hres.run(f"scontrol update JobId={b} NumNodes=1").ok()
    assert used(hres, "power") == {"n[1-2]": 1000, "n[1-4]": 1000, "n[1-8]": 1000}
    hres.run(f"scontrol requeuehold {a}").ok()
    hres.wait_state(big, "RUNNING")
    hres.wait_state(a, "PENDING")
    hres.run(f"scontrol release {a}").ok()
    assert hres.job(a)["Licenses"] == "flat:2,natural:1"
    end(hres, big)
    hres.wait_state(a, "RUNNING")
    end(hres, a, b, d)
    assert used(hres, "flat") == used(hres, "natural") == used(hres, "power") == {}


def test_reservations_keep_layers(hres):
    """HRES-43, HRES-44, HRES-45: the guide's command, with its odd width; a layer is named, or nodes that determine it."""
    make = "scontrol create reservation starttime=now duration=60 users=root flags=license_only licenses="
    hres.run(make + "flat:4").fails("flat has layers, and a reservation names one: flat(n[1-2]), flat(n[3-4])")
    hres.run(make + "flat(n[2-3]):4").fails("is no layer, nor within one lowest layer")
    hres.run(make + "matlab(n1):1").fails("matlab is a license of the cluster, without layers")
    hres.run(make + "flat(n1):13").fails("13 of flat(n[1-2]) asked, the cluster has 12")
    hres.run(make + "flat(n1):0").fails('"flat(n1):0" has a count outside 1 to 1000000000')
    name = hres.run(make + "natural(n[1-04]):30,flat(n3):4,flat(n[8]):2").ok().split()[-1]
    assert layers(hres, "natural")["n[1-4]"] == ("100", "0", "100", "30")
    assert layers(hres, "flat")["n[3-4]"][3] == "4" and layers(hres, "flat")["n[7-8]"][3] == "2"
    assert "Licenses=natural(n[1-04]):30,flat(n3):4,flat(n[8]):2" in hres.run(f"scontrol show reservation {name}").ok()
    hres.run(make + "flat(n4):9").fails(f"overlaps with another one: {name}, and only 12 of flat(n[3-4]) exist")
    outside = job(hres, "-L", "flat:9", "-w", "n4")
    eventually(lambda: hres.run(["squeue", "-h", "-o", "%r", "-j", str(outside)]).ok().strip() == "Licenses", "the reservation keeps 4 of 12")
    inside = job(hres, "-L", "flat:9", "-w", "n4", f"--reservation={name}")
    hres.wait_state(inside, "RUNNING")
    end(hres, inside)
    hres.run(f"scontrol delete reservation={name}").ok()
    hres.wait_state(outside, "RUNNING")
    end(hres, outside)


def test_reservation_of_layers_alone(hres):
    """HRES-43, HRES-15: the guide's command needs neither times nor flags; the loss of a layer in a reservation is reported; the reservation
    survives a restart."""
    name = hres.run("scontrol create reservation account=root licenses=natural(n[1-04]):30,flat(n3):4,flat(n[8]):2").ok().split()[-1]
    shown = hres.run(f"scontrol -o show reservation {name}").ok()
    assert "Flags=ANY_NODES" in shown and "Duration=UNLIMITED" in shown and "State=ACTIVE" in shown
    assert layers(hres, "flat")["n[3-4]"][3] == "4" and layers(hres, "natural")["n[1-4]"][3] == "30"
    hres.kill("slurmctld")
    hres.start_controller()
    assert hres.run(f"scontrol -o show reservation {name}").ok() == shown
    assert layers(hres, "flat")["n[3-4]"][3] == "4" and layers(hres, "natural")["n[1-4]"][3] == "30"
    hres.run("scontrol create reservation account=root licenses=matlab:1").fails("needs Flags=LICENSE_ONLY")
    hres.run("scontrol create reservation account=root nodes=n1 licenses=flat(n3):4").fails("it needs StartTime")
    (hres.dir / "resources.yaml").write_text(scaled().replace("resource: natural", "resource: wild"))
    said = f"reservation {name} keeps less: Invalid license specification: the cluster has none of natural"
    assert said in hres.run("scontrol reconfigure").ok()
    assert said in (hres.dir / "slurmctld.log").read_text()
    assert said not in hres.run("scontrol reconfigure").ok()
    assert layers(hres, "flat")["n[3-4]"][3] == "4"
    (hres.dir / "resources.yaml").write_text(scaled())
    hres.run("scontrol reconfigure").ok()
    assert layers(hres, "natural")["n[1-4]"][3] == "30"
    hres.run(f"scontrol delete reservation={name}").ok()


def test_reservation_of_a_layer_of_each_node(hres):
    """HRES-43, HRES-45: of a layer in mode 3 a reservation keeps units, which its own jobs get."""
    name = hres.run("scontrol create reservation starttime=now duration=60 users=root flags=license_only licenses=power(n[1-2]):30000").ok().split()[-1]
    assert layers(hres, "power")["n[1-2]"] == ("40000", "0", "35000", "30000")
    outside = job(hres, "-L", "power:10000", "-w", "n1")
    eventually(lambda: hres.run(["squeue", "-h", "-o", "%r", "-j", str(outside)]).ok().strip() == "Licenses", "5000 are left")
    inside = job(hres, "-L", "power:10000", "-w", "n1", f"--reservation={name}")
    hres.wait_state(inside, "RUNNING")
    end(hres, inside, outside)
    hres.run(f"scontrol delete reservation={name}").ok()


def test_job_outlives_the_loss_of_its_resource(hres):
    """HRES-15: a held job whose resource is gone after a restart of the controller is not lost, and runs once the resource is back."""
    held = job(hres, "-H", "-L", "power:full_node", "-w", "n1")
    hres.kill("slurmctld")
    (hres.dir / "resources.yaml").write_text(scaled().replace("resource: power", "resource: energy"))
    hres.start_controller()
    hres.wait_ready()
    assert hres.state(held) == "PENDING"
    hres.run(f"scontrol release {held}").ok()
    eventually(lambda: hres.run(["squeue", "-h", "-o", "%T %r", "-j", str(held)]).ok().strip() == "PENDING Licenses", "it waits for the resource")
    (hres.dir / "resources.yaml").write_text(scaled())
    hres.run("scontrol reconfigure").ok()
    hres.wait_state(held, "RUNNING")
    end(hres, held)


def test_holders_of_a_layer_and_the_expected_start(hres):
    """HRES-51: sluice why names the job that holds a layer, and foresees the start at its end, as squeue --start does; sluice hres has the amounts."""
    name = hres.run("scontrol create reservation starttime=now duration=60 users=root flags=license_only licenses=flat(n1):3").ok().split()[-1]
    first = job(hres, "-L", "flat:5", "-w", "n1", "-t", "10")
    hres.wait_state(first, "RUNNING")
    tree = [line.split() for line in hres.run("sluice hres flat").ok().splitlines()]
    columns = {row[-6]: row[-5:] for row in tree[2:]}
    assert tree[1] == ["LAYER", "TOTAL", "BASE", "RESERVED", "USED", "FREE"] and columns["n[1-2]"] == ["12", "0", "3", "5", "7"], tree
    waiting = job(hres, "-L", "flat:6", "-w", "n1", "-t", "10")
    eventually(lambda: hres.run(["squeue", "-h", "-o", "%r", "-j", str(waiting)]).ok().strip() == "Licenses", "it waits for the layer")
    said = hres.json(f"sluice why --json {waiting}")["why"][0]
    assert (said["rule"], said["resource"], said["need"]) == ("licenses", "license:flat(n[1-2])", 6), said
    assert said["holders"][0]["job_id"] == first and said["start_at"] == said["holders"][0]["end_at"], said
    eventually(lambda: hres.run(["squeue", "-h", "--start", "-j", str(waiting), "-o", "%S"]).ok().strip() == hres.job(first)["EndTime"], "it starts then")
    end(hres, waiting, first)
    hres.run(f"scontrol delete reservation={name}").ok()


def test_impossible_alternative_is_reported(hres):
    """With '|' one alternative is enough: an alternative that no layer can satisfy changes nothing, in any order."""
    for asked in "flat:13|natural:1", "natural:1|flat:13", "matlab:999|natural:1", "flat:13|flat:14|natural:1":
        one = job(hres, "-L", asked, "-w", "n1", wrap="true")
        hres.wait(one)
        assert hres.state(one) == "COMPLETED", asked
    hres.run("sbatch -L flat:13|natural:101 -w n1 --wrap true").fails("Invalid license specification", "13 of flat requested")
    held = job(hres, "-H", "-L", "natural:1")
    hres.run(["scontrol", "update", f"jobid={held}", "licenses=flat:13|natural:2"]).ok()
    hres.run(f"scancel {held}").ok()


def test_arrays_sets_and_test_only(hres):
    """HRES-40, HRES-50: elements of an array take turns; an arbitrary distribution counts each node once; one component of a set may use layers; --test-only refuses nothing because of running jobs,
    and estimates a start after them."""
    array = job(hres, "-a", "0-3", "-L", "flat:6", "-w", "n1", "-t", "10")
    eventually(lambda: used(hres, "flat").get("n[1-2]") == 12, "two elements run")
    waiting = hres.run(["squeue", "-h", "-t", "PD", "-r", "-o", "%r", "-j", str(array)]).ok().split()
    assert len(waiting) == 2 and "Licenses" in waiting
    starts = [re.search(r"to start at (\S+)", hres.run(f"sbatch --test-only -t 5 {request} --wrap true").ok() + hres.run(f"sbatch --test-only -t 5 {request} --wrap true").stderr)
              for request in ("-L flat:12 -w n1", "-w n1")]
    assert starts[0].group(1) > starts[1].group(1)  # it waits for the elements
    hres.run("sbatch --test-only -L flat:13 -w n1 --wrap true").fails("its layers have it for 0")
    hres.run(["scancel", str(array)]).ok()
    hres.wait(array)
    hres.run(["salloc", "-Q", "-L", "flat", ":", "-L", "flat", "true"]).fails("components 0 and 1 request hierarchical resources: only one component of a heterogeneous job")
    told = hres.run(["salloc", "-Q", "-m", "arbitrary", "-w", "n3,n1,n3", "-L", "power:full_node", "scontrol", "-o", "show", "license", "power"]).ok()
    in_use = dict(re.search(r"Used=(\d+) .*Nodes=(\S+)", line).group(2, 1) for line in told.splitlines())
    assert {nodes: n for nodes, n in in_use.items() if n != "0"} == {"n[1-2]": "1000", "n[3-4]": "1000", "n[1-4]": "2000", "n[1-8]": "2000"}
    told = hres.run(["salloc", "-Q", "-w", "n8", ":", "-w", "n1", "-L", "flat:2", "scontrol", "-o", "show", "license", "flat"]).ok()
    assert "Used=2 Free=10 Reserved=0 Remote=no Nodes=n[1-2]" in told and "Used=0 Free=12 Reserved=0 Remote=no Nodes=n[7-8]" in told


def test_counts_are_changed_and_shown_as_a_tree(hres):
    """HRES-11, HRES-24: a count changes without the file, survives a restart, and is written as a file that reads the same."""
    hres.run("scontrol update license=flat count=3").fails("flat has layers with a count each: name one of flat(n[1-2]), flat(n[3-4])", "as in license='flat(n[1-2])'")
    hres.run("scontrol update license=matlab count=3").fails("matlab is a license of the cluster, without layers: change Licenses= in slurm.conf")
    hres.run("scontrol update license=other count=3").fails("the cluster has none of other")
    hres.run("scontrol update license=flat(n5 count=3").fails("expected NAME(NODES)")
    hres.run("scontrol update license=flat(n[5-6]) count=1000000000000001").fails("Count=1000000000000001: at most 1000000000000000")
    hres.run("scontrol update license=flat(n[2-3]) count=3").fails("is no layer")
    hres.run("scontrol update license=flat(n5) count=3").fails("flat(n5) is no layer: flat(n[1-2]), flat(n[3-4]), flat(n[5-6])")
    hres.run("scontrol update license=flat(n[5-6]) count=many").fails("expected a whole number")
    hres.run("scontrol update license=flat(n[5-6]) total=3").fails("total")
    hres.run(["scontrol", "update", "license", "flat(n[5-6])", "count=0"]).ok()
    hres.run("scontrol update LicenseName=power(n[1-4]) Count=-1").ok()
    hres.kill("slurmctld")
    hres.start_controller()
    assert layers(hres, "flat")["n[5-6]"][0] == "0" and layers(hres, "power")["n[1-4]"][0] == "INFINITE"
    assert "Nodes=n[5-6] Mode=MODE_2 FileTotal=12" in hres.run("scontrol show license flat").ok()
    assert "n[5-6]" not in hres.run(["salloc", "-Q", "-N6", "-L", "flat", "sh", "-c", "echo $SLURM_JOB_NODELIST"]).ok()
    hres.run("sbatch -L flat -w n5 --wrap true").fails("its layers do not have it for all of the requested nodes")
    tree = hres.run("sluice hres power").ok().splitlines()
    assert tree[0] == "power, MODE_3" and tree[1].split() == ["LAYER", "TOTAL", "BASE", "RESERVED", "USED", "FREE"]
    assert [line.split("n[")[0] for line in tree[2:]] == ["", "|- ", "|  |- ", "|  `- ", "`- ", "   |- ", "   `- "]
    assert tree[3].split()[1:] == ["n[1-4]", "INFINITE", "8000", "0", "0", "INFINITE", "(file:", "60000)"]
    hres.run("sluice hres other").fails("no hierarchical resource 'other'")
    assert [r["name"] for r in hres.json("sluice hres --json")["hres"]] == ["flat", "natural", "power"]
    written = hres.run("scontrol write resources").ok()
    assert hres.run("scontrol show resources").ok() == written
    flat = hres.run("scontrol show resources flat").ok()
    assert flat.startswith("---\n- resource: flat\n") and flat.count("resource:") == 1 and flat.removeprefix("---\n") in written
    hres.run("scontrol show resources other").fails("no hierarchical resource 'other'")
    hres.run("scontrol update license=flat(n[5-6]) count=file").ok()
    assert layers(hres, "flat")["n[5-6]"][0] == "12"
    before = [hres.run(f"scontrol show license {name}").ok() for name in ("flat", "natural", "power")]
    (hres.dir / "resources.yaml").write_text(written)
    assert "power(n[1-4]): its count was edited in resources.yaml" in hres.run("scontrol reconfigure").ok()
    after = [hres.run(f"scontrol show license {name}").ok() for name in ("flat", "natural", "power")]
    assert after[1] == before[1] and after[2] == before[2].replace(" FileTotal=60000", "")
    assert after[0] == before[0].replace("Total=12 Used=0 Free=12 Reserved=0 Remote=no\n    Nodes=n[5-6]", "Total=0 Used=0 Free=0 Reserved=0 Remote=no\n    Nodes=n[5-6]")
    hres.kill("slurmctld")
    (hres.dir / "resources.yaml").write_text(scaled())
    hres.start_controller()  # no count of an operator is left
    assert "FileTotal" not in hres.run("scontrol show license").ok()
    hres.run("scontrol update license=flat(n[5-6]) count=5").ok()
    hres.kill("slurmctld")
    (hres.dir / "resources.yaml").write_text(written)
    hres.start_controller()
    hres.run("scontrol update license=flat(n[7-8]) count=file").ok()  # all that was before is on disk
    hres.kill("slurmctld")
    (hres.dir / "resources.yaml").write_text(scaled())
    hres.start_controller()  # nor when the file had another count in between
    assert "FileTotal" not in hres.run("scontrol show license").ok()


def test_file_is_reported(make_cluster):
    """HRES-02, HRES-11: --check and the log report the contents of resources.yaml, a reconfiguration reports its changes."""
    c = make_cluster(nodes=8)
    assert c.run("sluice hres").ok().startswith("No hierarchical resources are configured: resources.yaml ")
    assert c.json("sluice hres --json")["hres"] == []
    path = c.dir / "resources.yaml"
    path.write_text(scaled())
    said = f"{path}: 3 resources, 17 layers\n"
    check = c.run(["slurmctld", "--check", "-f", str(c.conf_file)])
    assert check.ok() == "" and said in check.stderr
    assert said in c.run(["scontrol", "check", str(c.conf_file)]).ok()
    changes = ["resource flat: added, MODE_2, 7 layers", "resource natural: added, MODE_1, 3 layers", "resource power: added, MODE_3, 7 layers"]
    assert changes == [line for line in c.run("scontrol reconfigure").ok().splitlines() if line.startswith("resource ")]
    assert said in (c.dir / "slurmctld.log").read_text()
    path.write_text(scaled().replace("count: 24", "count: -1").replace("value: 2000", "value: 1800").replace("value: 3000", "value: 2000", 1).replace("resource: natural", "resource: wild"))
    changes = ["resource natural: removed", "resource flat(n[1-8]): count: 24 -> -1", "resource wild: added, MODE_1, 3 layers",
               "resource power: variables: full_node:1000,full_gpu_node:2000 -> full_node:1000,full_gpu_node:1800",
               "resource power(n[1-4]): base: network1:3000 -> network1:2000", "resource power(n[5-8]): base: network2:2000 -> network2:1800"]
    assert changes == [line for line in c.run("scontrol reconfigure").ok().splitlines() if line.startswith("resource ")]
    c.run("scontrol update license=flat(n[1-2]) count=3").ok()
    path.unlink()
    assert "flat(n[1-2]): the count that an operator has set is dropped with the layer" in c.run("scontrol reconfigure --dry-run").ok()
    changes = ["resource flat: removed", "resource wild: removed", "resource power: removed"]
    assert changes == [line for line in c.run("scontrol reconfigure").ok().splitlines() if line.startswith("resource ")]
    c.stop()


def test_why_a_count_or_a_variable_keeps_a_job(hres):
    """HRES-51: a count that is too low, set by an operator or in the file, and a removed variable: sluice why names the missing item and the remedy.
    """
    path = hres.dir / "resources.yaml"
    hres.wait_ready()  # after restarts of the controller

    def waits(*options):
        held = job(hres, "-H", *options)
        yield held
        hres.run(f"scontrol release {held}").ok()
        eventually(lambda: hres.run(["squeue", "-h", "-o", "%r", "-j", str(held)]).ok().strip() == "Licenses", "it waits for a layer")
        said = hres.json(f"sluice why --json {held}")["why"][0]
        text = hres.run(["sluice", "why", str(held)]).ok()
        assert said["sentence"] in text and said["lack"] in text and "in use, reserved" not in text and "Expected start: not foreseeable\n" in text + "\n"
        yield said

    def short(submission, command, lack, resource, have, need):
        held = next(submission)
        command()
        hres.run(f"scontrol update JobId={held} nice=5 comment=x").ok()  # it is no matter of licences
        said = next(submission)
        assert (said["rule"], said["lack"], said["resource"], said["have"], said["need"]) == ("too_few", lack, f"license:{resource}", have, need)
        change = said["changes"][0]
        assert change["kind"] == "count" and change["by_operator"] and not change["now"]
        hres.run(shlex.split(change["command"])).ok()
        hres.wait_state(held, "RUNNING")
        end(hres, held)
        return change["command"]

    assert short(waits("-w", "n1", "-L", "flat:5"), lambda: hres.run("scontrol update license=flat(n[1-2]) count=3").ok(),
                 "flat(n[1-2]) has 3 (12 in resources.yaml)", "flat(n[1-2])", 3, 5) == "scontrol update license='flat(n[1-2])' count=file"
    assert short(waits("-N2", "-w", "n[1-2]", "-L", "power:full_node"), lambda: hres.run("scontrol update license=power(n[1-2]) count=6500").ok(),
                 "power(n[1-2]) has 1500 (count 6500, base 5000; 40000 in resources.yaml)", "power(n[1-2])", 1500, 2000).endswith("count=file")

    def edit(old, new):
        path.write_text(scaled().replace(old, new))
        hres.run("scontrol reconfigure").ok()

    assert short(waits("-N8", "-L", "power:full_node"), lambda: edit("count: 130000", "count: 34000"),
                 "power(n[1-8]) has 6000 (count 34000, base 28000)", "power(n[1-8])", 6000, 8000) == "scontrol update license='power(n[1-8])' count=36000"
    assert short(waits("-w", "n1", "-L", "natural:60"), lambda: edit("count: 100", "count: 10"),
                 "natural(n[1-8]) has 50", "natural(n[1-8])", 50, 60) == "scontrol update license='natural(n[1-8])' count=60"
    edit("", "")
    submission = waits("-w", "n1", "-L", "power:full_node")
    held = next(submission)
    other = job(hres, "-H", "-L", "power:full_node|flat:1")
    pair = job(hres, "-H", "-n1", ":", "-n1", "-L", "power:full_node")
    path.write_text(scaled().replace("name: full_node", "name: half_node"))
    told = hres.run("scontrol reconfigure").ok()
    assert [line.split(":")[0] for line in told.splitlines() if "can no longer run" in line] == [f"JobId={held}", f"JobId={pair}+1"]
    hres.run(f"scancel {other} {pair}").ok()
    said = next(submission)
    assert (said["rule"], said["resource"], said["need"]) == ("license_gone", "license:power:full_node", None)
    assert said["lack"].startswith("Resource power has no variable full_node, it has half_node, full_gpu_node: define it in resources.yaml")
    assert [change["command"] for change in said["changes"]] == [f"scontrol update JobId={held} Licenses="]
    edit("", "")
    hres.wait_state(held, "RUNNING")
    end(hres, held)


def test_job_whose_request_became_invalid_can_be_updated(hres):
    """HRES-11, HRES-15: a count below the request of a job that waits for its begin time: all but its licences and nodes can be updated, and no
    start is foreseen."""
    hres.wait_ready()
    later = job(hres, "--begin=now+1hour", "-L", "flat:4", "-w", "n1")
    assert "Expected start: not foreseeable" not in hres.run(f"sluice why {later}").ok()
    hres.run("scontrol update license=flat(n[1-2]) count=2").ok()
    for change in "nice=5 comment=x", "JobName=other", "TimeLimit=30", "StartTime=now+2hours", "Requeue=0":
        hres.run(f"scontrol update JobId={later} {change}").ok()
    for change in "Licenses=flat:3", "ReqNodeList=n2", "NumNodes=1":
        hres.run(f"scontrol update JobId={later} {change}").fails("Invalid license specification", "flat(n[1-2]) has 2")
    why = hres.run(f"sluice why {later}").ok()
    assert "flat(n[1-2]) has 2 (12 in resources.yaml)" in why and "Expected start: not foreseeable\n" in why + "\n", why
    hres.run(f"scontrol update JobId={later} Licenses=flat:2").ok()
    assert "Expected start: not foreseeable" not in hres.run(f"sluice why {later}").ok()
    end(hres, later)
    hres.run("scontrol update license=flat(n[1-2]) count=file").ok()


def test_changed_layer_file_takes_effect(hres):
    """HRES-11, HRES-10: an invalid file changes nothing; a new count takes effect with a reconfiguration."""
    path = hres.dir / "resources.yaml"
    path.write_text(scaled().replace("count: 24", "count: many"))
    hres.run("scontrol reconfigure").fails("resources.yaml:7:14: count 'many': expected a whole number of 0 to")
    path.write_text(scaled().replace("resource: flat", "resource: matlab"))
    hres.run("scontrol reconfigure").fails("has Licenses=matlab:3; a resource and a license need different names")
    assert layers(hres, "flat")["n[1-8]"][0] == "24"
    path.write_text(scaled().replace("count: 24", "count: -1"))
    hres.run("scontrol reconfigure").ok()
    assert layers(hres, "flat")["n[1-8]"] == ("INFINITE", "0", "INFINITE", "0")
    path.write_text(scaled())
    hres.run("scontrol reconfigure").ok()
    assert layers(hres, "flat")["n[1-8]"][0] == "24"
