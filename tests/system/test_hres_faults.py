# SPDX-License-Identifier: GPL-3.0-or-later
"""Hierarchical resources while controllers die, counts change, and nodes and jobs come and go: no unit is used twice, none is lost, and all
listings agree: HRES-11, HRES-12, HRES-32, HRES-48, HRES-51."""
import collections
import random
import re
import signal
import threading

from harness import DEADLINE, PREFIX, amount, eventually, free_ports
from test_takeover import Pair

LAYERS = {"flat": ("MODE_2", {"n[1-4]": 5, "n[1-2]": 3, "n[3-4]": 3}),
          "natural": ("MODE_1", {"n[1-4]": 2, "n[1-2]": 2, "n[3-4]": 1}),
          "power": ("MODE_3", {"n[1-4]": 500, "n[1-2]": 300, "n[3-4]": 300})}
REQUESTS = ("flat:1", "flat:2", "natural", "natural:2,flat", "power:100", "power:120,flat:2", "natural:2|flat:2|power:50", "site:2")
# What a job holds when it begins and ends, in one file: what the file has at once was held at once.
NOTE = "n=\"$SLURM_JOB_ID ${{SLURM_RESTART_COUNT:-0}}\"; h=$(squeue -h -j $SLURM_JOB_ID -O LicensesAlloc:500); " \
       "echo start $n $h >>ledger; sleep 0.{}; echo end $n >>ledger"


def resources(layers):
    text = "---\n"
    for name, (mode, pools) in layers.items():
        text += f"- resource: {name}\n  mode: {mode}\n  layers:\n"
        text += "".join(f"  - nodes: {nodes}\n    count: {count}\n" for nodes, count in pools.items())
    return text


def parts(text):
    """What "flat(n[1-2]):2,site" names, by pool."""
    held = collections.Counter()
    for pool, count in re.findall(r"([a-z]+(?:\([^)]*\))?)(?::(\d+))?(?:,|$)", text):
        held[pool] += int(count or 1)
    return held


def pools_of(c):
    """{pool: its record}"""
    records = c.json("scontrol show licenses")["licenses"]
    return {r["LicenseName"] + (f"({r['Nodes']})" if "Nodes" in r else ""): r for r in records}


def sums(c):
    """What is in use, by pool, as all listings have it."""
    def look():
        jobs = c.json("squeue -t R,S")["jobs"]
        held = sum((parts(job["licenses_allocated"]) for job in jobs), collections.Counter())
        licenses = collections.Counter({pool: r["Used"] for pool, r in pools_of(c).items()})
        trees = collections.Counter({f"{h['name']}({layer['Nodes']})": layer["Used"] for h in c.json("sluice hres")["hres"] for layer in h["layers"]})
        layered = collections.Counter({pool: n for pool, n in licenses.items() if "(" in pool})
        return (+held,) if +held == +licenses and +trees == +layered else None  # a job may begin or end between two commands
    return dict(eventually(look, "squeue, scontrol show licenses and sluice hres agree")[0])


class Load:
    """Short jobs with layers, from several loops."""

    def __init__(self, c):
        self.c, self.over, self.accepted = c, threading.Event(), []
        self.threads = [threading.Thread(target=self.loop, args=(seed,)) for seed in range(3)]
        for thread in self.threads:
            thread.start()

    def loop(self, seed):
        chance = random.Random(seed)
        while not self.over.is_set():
            asked, nodes = chance.choice(REQUESTS), chance.choice((1, 1, 2))
            self.accepted.append(self.c.sbatch("-o", "/dev/null", "--mem=10", f"-N{nodes}", "-L", asked, wrap=NOTE.format(chance.randint(0, 3))))

    def more(self, count):
        want = len(self.accepted) + count
        eventually(lambda: len(self.accepted) >= want or not all(t.is_alive() for t in self.threads), f"{count} more jobs")

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join(DEADLINE)
        return self.accepted


THERE = {f"{name}({nodes})": count for name, (_, pools) in LAYERS.items() for nodes, count in pools.items()} | {"site": 2}


def pools_in_ledger(c):
    return {pool for line in (c.work / "ledger").read_text().splitlines() for pool in parts("".join(line.split()[3:]))}


def check_ledger(c, accepted):
    """All ran, and at no time held more than there is."""
    now, most, held = collections.Counter(), collections.Counter(), {}
    lines = (c.work / "ledger").read_text().splitlines()
    for word, job, restart, *licenses in map(str.split, lines):
        if word == "start":
            assert (job, restart) not in held, f"job {job} started twice"
            held[job, restart] = parts("".join(licenses))
            now += held[job, restart]
            most |= now
        else:
            now -= held[job, restart]
    assert not now and sorted(int(job) for job, _ in held) == sorted(accepted)
    assert set(most) == set(THERE) and all(most[pool] <= count for pool, count in THERE.items()), most


def test_no_layer_unit_is_used_twice(make_cluster):
    """HRES-32, HRES-48: hundreds of short jobs, while the lead changes and counts change."""
    def make(**options):
        c = make_cluster(cpus=8, **options)
        (c.dir / "resources.yaml").write_text(resources(LAYERS))
        return c
    p = Pair(make, conf="Licenses=site:2\nMinJobAge=86400\n")
    c, load, leads = p.c, Load(p.c), "localhost"
    chance = random.Random(1)
    for turn in range(amount(6, 200)):
        load.more(10)
        name = chance.choice(list(LAYERS))
        nodes, count = chance.choice(list(LAYERS[name][1].items()))
        c.run(["scontrol", "update", f"license={name}({nodes})", f"count={count * 2 // 3 if name != 'natural' else count}"]).ok()
        if turn % 3 == 0 and leads == "localhost":
            c.run("scontrol takeover").ok()
            leads = "backup"
        elif turn % 3 == 2:
            c.run("scontrol reconfigure").ok()
        else:
            dies, leads = leads, "backup" if leads == "localhost" else "localhost"
            c.kill("slurmctld" if dies == "localhost" else "backup")
            p.leads(leads)
            (p.start_primary if dies == "localhost" else p.start_backup)()
        c.run(["scontrol", "update", f"license={name}({nodes})", "count=file"]).ok()
    eventually(lambda: pools_in_ledger(c) == set(THERE), lambda: f"jobs hold units of every layer: {pools_in_ledger(c)}", 3 * DEADLINE)
    accepted = load.stop()
    eventually(lambda: not c.look("squeue -h").ok(), lambda: c.look("squeue").stdout, 3 * DEADLINE)
    check_ledger(c, accepted)
    assert sums(c) == {}


def test_listings_agree_after_each_change(make_cluster):
    """HRES-11, HRES-12, HRES-48, HRES-51: the amounts in use, from squeue, scontrol show license and sluice hres, after each change and a kill."""
    port, = free_ports(1)
    layers = {"flat": ("MODE_2", {"n[1-2],d[1-2]": 9, "n[1-2]": 6, "d[1-2]": 2}), "natural": ("MODE_1", {"n[1-2],d[1-2]": 2, "n[1-2]": 2}),
              "power": ("MODE_3", {"n[1-2],d[1-2]": 500})}
    c = make_cluster(nodes=2, start=False, conf=f"MaxNodeCount=4\nSlurmdPort={port}\nLicenses=site:3\n")
    (c.dir / "resources.yaml").write_text(resources(layers))
    c.start()
    c.spawn("d1", [PREFIX / "sbin/slurmd", "-D", "-N", "d1", "-Z", "--conf", "CPUs=4 RealMemory=4000"])
    eventually(lambda: c.run("sinfo -h -n d1 -o %t").stdout.split() == ["idle"], "d1 has joined")

    def job(*options):
        number = c.sbatch("-o", "/dev/null", "--mem=10", "--requeue", *options, wrap="sleep 1000")
        c.wait_state(number, "RUNNING")
        return number

    def expect(**used):
        wanted = {pool.replace("_all", "(d[1-2],n[1-2])").replace("_n", "(n[1-2])").replace("_d", "(d[1-2])"): n for pool, n in used.items()}
        assert sums(c) == wanted
        c.kill("slurmctld")
        c.start_controller()
        assert sums(c) == wanted

    def waits(number):
        eventually(lambda: c.look(f"squeue -h -j {number} -o %T|%r").ok() == "PENDING|Licenses", f"job {number} waits")

    def reconfigure(changed):
        (c.dir / "resources.yaml").write_text(resources(changed))
        c.run("scontrol reconfigure").ok()

    a, b = job("-w", "n1", "-L", "flat:2,natural,site:2"), job("-w", "n1,n2,d1", "-N3", "-L", "flat:1,power:100,natural")
    expect(flat_all=3, flat_n=3, flat_d=1, natural_n=2, power_all=300, site=2)
    c.run(f"scontrol suspend {a}").ok()
    expect(flat_all=3, flat_n=3, flat_d=1, natural_n=2, power_all=300, site=2)  # it holds what it has
    c.run(f"scontrol update license=flat(n[1-2]) count=1").ok()  # less than in use
    late = c.sbatch("-o", "/dev/null", "--mem=10", "-L", "flat", "-w", "n2", wrap="true")
    waits(late)
    expect(flat_all=3, flat_n=3, flat_d=1, natural_n=2, power_all=300, site=2)
    c.run("scontrol update license=flat(n[1-2]) count=file").ok()
    assert c.wait(late)["JobState"] == "COMPLETED"
    c.run(f"scontrol resume {a}").ok()
    reconfigure({name: (mode, {nodes: n for nodes, n in pools.items() if nodes != "n[1-2]"}) for name, (mode, pools) in layers.items()})
    expect(flat_all=3, flat_d=1, natural_all=2, power_all=300, site=2)  # layers in use are gone
    reconfigure({"power": layers["power"]})
    expect(power_all=300, site=2)
    reconfigure(layers)
    expect(flat_all=3, flat_n=3, flat_d=1, natural_n=2, power_all=300, site=2)
    c.run(f"scontrol requeuehold {a}").ok()
    c.wait_state(a, "PENDING")
    expect(flat_all=1, flat_n=1, flat_d=1, natural_n=1, power_all=300)
    c.run("scontrol delete NodeName=d1").fails("d1 has jobs")
    c.run(f"scontrol requeuehold {b}").ok()
    c.wait_state(b, "PENDING")
    eventually(lambda: c.run("scontrol delete NodeName=d1").returncode == 0, "the job has left d1")
    c.kill("d1", signal.SIGTERM)
    expect()
    c.run(f"scontrol release {a} {b}").ok()
    c.wait_state(a, "RUNNING")
    expect(flat_all=2, flat_n=2, natural_n=1, site=2)
    c.spawn("d2", [PREFIX / "sbin/slurmd", "-D", "-N", "d2", "-Z", "--conf", "CPUs=4 RealMemory=4000"])  # it may have the place of d1
    eventually(lambda: c.run("sinfo -h -n d2 -o %t").stdout.split() == ["idle"], "d2 has joined")
    job("-w", "d2", "-L", "flat:2,power:200")
    expect(flat_all=4, flat_n=2, flat_d=2, natural_n=1, power_all=200, site=2)
    c.cancel_all()
    c.settle()
    expect()
