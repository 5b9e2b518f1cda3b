# SPDX-License-Identifier: GPL-3.0-or-later
"""A trace of jobs as a machine of some size may see it, and its slurm.conf. The same arguments give the same bytes.

The mix is in the manner of Lublin and Feitelson: a quarter of the jobs are serial, sizes are uniform in their logarithm in
two stages and mostly powers of two, run times are spread over five decades and longer for larger jobs, arrivals follow the
hours of the day and the days of the week, users repeat themselves, and ask for round times, far too long.
"""
import math
import random

CPUS = 32
MONTH_JOBS, MONTH_SEC = 500_000, 30 * 86400
ASKED = [60 * m for m in (5, 10, 15, 30, 60, 120, 180, 240, 360, 480, 720, 1080, 1440, 2880)]
HOURS = [5, 4, 3, 3, 3, 4, 6, 9, 13, 17, 19, 19, 17, 18, 20, 20, 19, 17, 14, 12, 10, 9, 8, 6]


def draw_nodes(rng, nodes):
    """How many nodes a wide job takes: two stages in log2, of a machine of so many."""
    low, top = 0.0, math.log2(nodes) - 2
    middle = top * 0.45
    log = rng.uniform(low, middle) if rng.random() < 0.86 else rng.uniform(middle, top)
    if rng.random() < 0.75:
        log = round(log)
    return max(1, min(nodes // 4, round(2 ** log)))


def draw_run(rng, size):
    """Seconds: short ones, mostly of tests, and long ones; the larger the job the more of these."""
    long = 0.45 + 0.04 * math.log2(size + 1)
    mean, spread = (math.log(5400), 1.2) if rng.random() < long else (math.log(120), 1.6)
    return min(172800.0, max(1.0, rng.lognormvariate(mean, spread)))


def draw_asked(rng, run):
    """What the user asks for: a round time, at least as long as what it takes but for a few."""
    wanted = run * (1 / max(0.05, rng.random() ** 0.7)) if rng.random() < 0.97 else run * 0.9
    return next((t for t in ASKED if t >= wanted), ASKED[-1])


def arrivals(rng, count, span):
    """Moments of submission in so many seconds, rising, by the hour and the day."""
    times, at = [], 0.0
    for _ in range(count):
        hour, day = int(at // 3600) % 24, int(at // 86400) % 7
        rate = HOURS[hour] * (0.6 if day > 4 else 1.0)
        at += rng.gammavariate(0.45, 1.0) / rate * 3600
        times.append(at)
    scale = span / at
    return [int(t * scale) for t in times]


def make_jobs(nodes, count, load, seed):
    rng = random.Random(seed)
    users = [rng.paretovariate(1.1) for _ in range(200)]
    jobs, last = [], {}
    for user in rng.choices(range(1, 201), users, k=count):
        if user in last and rng.random() < 0.6:  # the same again
            procs, size, mem, run = last[user]
            run = max(1.0, min(172800.0, run * rng.uniform(0.8, 1.25)))
        elif rng.random() < 0.24:
            size, procs = 1, rng.choice((1, 1, 1, 2, 4, 8, 16))
            mem, run = rng.choice((500, 1000, 2000, 4000)), draw_run(rng, 1)
        else:
            size = draw_nodes(rng, nodes)
            procs, mem, run = size * CPUS, rng.choice((1000, 2000, 3000)), draw_run(rng, size)
        last[user] = (procs, size, mem, run)
        jobs.append([user, procs, mem, run])
    span = MONTH_SEC * count / MONTH_JOBS
    wanted = nodes * CPUS * span * load
    for _ in range(8):  # run times such that the load is as asked, none above two days
        scale = wanted / sum(j[1] * j[3] for j in jobs)
        for j in jobs:
            j[3] = max(1.0, min(172800.0, j[3] * scale))
    at = arrivals(rng, count, span)
    return [(at[i], j[0], j[1], j[2], int(j[3]), draw_asked(rng, j[3])) for i, j in enumerate(jobs)]


def write(path, nodes, count, load=0.85, seed=1):
    """Writes PATH.swf and PATH.conf; their names."""
    with open(f"{path}.swf", "w") as f:
        f.write(f"; Computer: generated, {nodes} nodes of {CPUS} CPUs, load {load}, seed {seed}\n; UnixStartTime: 1704067200\n")
        for i, (at, user, procs, mem, run, asked) in enumerate(make_jobs(nodes, count, load, seed), 1):
            f.write(f"{i} {at} -1 {run} {procs} -1 -1 {procs} {asked} {mem * 1024} 1 {user} 1 -1 -1 -1 -1 -1\n")
    with open(f"{path}.conf", "w") as f:
        f.write(f"ClusterName=month\nSlurmctldHost=ctl\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
                f"NodeName=n[1-{nodes}] CPUs={CPUS} RealMemory=128000\nPartitionName=batch Nodes=ALL Default=YES MaxTime=2-0\n")
    return f"{path}.swf", f"{path}.conf"
