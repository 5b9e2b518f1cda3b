# SPDX-License-Identifier: GPL-3.0-or-later
"""The kept states: one for each format that was released. Each directory has

- state.sql     SQLite's file as text
- slurm.conf    the configuration it belongs to, and resources.yaml where it has hierarchical resources
- listing.txt   what the commands say of it

As root: state.py make DIRECTORY makes one of the present format, before it is released; state.py list DIRECTORY writes
listing.txt anew, when a command says otherwise what it said before. SLUICE_PREFIX is what was built. A state.sql that was
released is never made anew.
"""
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import sqlite3
import sys

TOP = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TOP.parent / "system"))

from harness import PREFIX, Cluster, eventually, fields_of, free_ports  # noqa: E402

# What moves with the clock, or is not known of nodes that have not registered.
MOVING = {"RunTime", "LastSchedEval", "Scheduler", "SubmitLine"}


def build(golden, path):
    """The file of a kept state."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    db = sqlite3.connect(path)
    db.executescript((golden / "state.sql").read_text())
    db.close()


def node_count(golden):
    return int(re.search(r"(?m)^NodeName=n\[1-(\d+)\]", (golden / "slurm.conf").read_text())[1])


def configure(c, golden):
    """The cluster gets the kept configuration in the place of its own."""
    ports = [c.port, *free_ports(node_count(golden))]
    text = (golden / "slurm.conf").read_text()
    text = text.replace("@PORTS@", ",".join(str(p) for p in ports[1:]))
    text = text.replace("@PORT@", str(ports[0])).replace("@DIR@", str(c.dir)).replace("@USER@", pwd.getpwuid(os.geteuid()).pw_name)
    c.conf_file.write_text(text)
    if (golden / "resources.yaml").exists():
        shutil.copy(golden / "resources.yaml", c.dir)
    return ports


def listing(c, ports):
    """What the commands say, a line per fact, without what is of this run."""
    out = []
    for line in ("scontrol show job -d -o", "scontrol show step -o", "scontrol show node -o", "scontrol show partition -o"):
        out.append(f"# {line}")
        for record in c.run(line).ok().splitlines():
            fields = fields_of(record)
            pending = fields.get("JobState") == "PENDING"
            out.append("")
            out += [f"{key}={value}" for key, value in fields.items()
                    if key not in MOVING and not (pending and key in ("StartTime", "EndTime", "SchedNodeList"))]
    for line in ("scontrol show reservation -o", "scontrol show license -o"):
        out += [f"# {line}", *c.run(line).stdout.splitlines()]
    for line in ("squeue -h -a -t all -S i -o %i|%j|%t|%u|%P|%D|%C|%r|%Q|%N", "sinfo -h -R -o %n|%E|%u|%H|%t"):
        out += [f"# {line}", *c.run(line.split(" ")).ok().splitlines()]
    for job in c.run("squeue -h -a -t all -S i -o %i").ok().split():
        script = c.run(f"scontrol write batch_script {job} -")
        out += [f"# script of {job}", *(script.stdout if script.returncode == 0 else "none\n").splitlines()]
    held = c.run("sbatch --parsable -H -o /dev/null --wrap true").ok()
    out.append(f"# the next job is {held}")
    text = "\n".join(out) + "\n"
    text = text.replace(str(c.dir), "@DIR@")
    for i, port in enumerate(ports):  # the number of a session may be that of a port
        text = re.sub(rf"(?<!Sid=host:){port}", f"@PORT{i or ''}@", text)
    return text


# --- making one ---------------------------------------------------------------------------------------------------------

def fill(c):
    """All that a real cluster brings about in a few seconds. Returns what adds to its lines what no test can bring about."""
    quiet = ["--chdir=/tmp", "-o", "/dev/null"]
    ended = c.sbatch(*quiet, "-J", "done", "-n2", "--comment=kept", script="#!/bin/sh\nsrun -n2 true\n")
    failed = c.sbatch(*quiet, "-J", "failed", wrap="exit 3")
    runs = c.sbatch(*quiet, "-J", "runs", "-N2", "-c2", "--mem=300", "--no-requeue", wrap="srun -N2 sleep 1000")
    again = c.sbatch(*quiet, "-J", "again", "--requeue", wrap="sleep 1000")
    c.wait(ended)
    c.wait(failed)
    eventually(lambda: c.state(again) == "RUNNING" and c.run(f"squeue -h -s -j {runs}").stdout.count("\n") > 1, "running jobs")
    c.run(f"scontrol requeuehold {again}")
    c.run(f"scontrol requeue {again}")
    eventually(lambda: "Restarts=1" in c.run(f"scontrol show job {again}").stdout and c.state(again) != "COMPLETING", "a restart")
    c.run(f"scontrol hold {again}")
    c.sbatch(*quiet, "-J", "held", "-H", "-t", "5", "--nice=7", wrap="true")
    admin = c.sbatch(*quiet, "-J", "adminheld", "--begin=2035-01-01", "--mail-type=END", "--exclude=n1", user="nobody", wrap="true")
    c.run(f"scontrol update JobId={admin} Priority=0").ok()
    c.sbatch(*quiet, "-J", "later", "--begin=2035-01-01", "--signal=USR1@60", "-t", "90", "--constraint=plain", wrap="echo \u00e9")
    gone = c.sbatch(*quiet, "-J", "gone", "-H", wrap="true")
    c.run(f"scancel {gone}").ok()
    c.sbatch(*quiet, "-J", "wide", "-N4", "--exclusive", wrap="true")
    for line in ("scontrol update NodeName=n3 State=DRAIN Reason=disk", "scontrol update NodeName=n4 State=DOWN Reason=fan Weight=7",
                 "scontrol update NodeName=n2 Comment=note Features=plain,fast", "scontrol create NodeName=d1 State=CLOUD CPUs=2",
                 "scontrol create PartitionName=made Nodes=n[1-2] MaxTime=5", "scontrol delete PartitionName=old",
                 "scontrol update PartitionName=main MaxNodes=4 State=UP"):
        c.run(line).ok()
    return lambda lines: add_states(lines, ended, runs)


def fill_sets(c):
    """Heterogeneous jobs and arrays of them, jobs that take turns, layers of hierarchical resources and reservations of them."""
    quiet = ["--chdir=/tmp", "-o", "/dev/null"]
    for line in ("scontrol update license=flat(n[1-2]) count=5", "scontrol update license=power(n[3-4]) count=7",
                 "scontrol create reservation=layers starttime=now duration=UNLIMITED users=root flags=license_only licenses=flat(n[3-4]):2",
                 "scontrol create reservation=later starttime=2035-01-01 duration=60 users=root nodes=n4 licenses=power(n4):1"):
        c.run(line).ok()
    runs = c.sbatch(*quiet, "-J", "set", "--component=main", "-n1", "-w", "n1", "-L", "flat:1|power:1", ":", "-n2", "-N2", "-w", "n[1-2]",
                    "--component=io", "-t", "UNLIMITED", wrap="srun --het-group=main,io sleep 1000")
    array = c.sbatch(*quiet, "-J", "sets", "-a", "3,5", "-n1", "-w", "n3", ":", "-n1", "-w", "n4", wrap="sleep 1000")
    ended = c.sbatch(*quiet, "-J", "endedset", "-n1", ":", "-n1", wrap="srun --het-group=0,1 true; exit 3")
    inside = c.sbatch(*quiet, "-J", "inside", "--reservation=layers", "-L", "flat:2", "-w", "n3", wrap="sleep 1000")
    for job in ended, ended + 1:
        c.wait(job)
    partly = c.sbatch(*quiet, "-J", "partly", "-n1", ":", "-n1", ":", "-n1", wrap="sleep 1000")
    turns = [c.sbatch(*quiet, "-p", "turns", "-J", "turn", "-n1", "-w", "n5", "--exclusive", wrap="sleep 1000"),
             c.sbatch(*quiet, "-p", "turns", "-J", "turns", "-n1", "-w", "n5", "--exclusive", ":", "-p", "turns", "-n1", "-w", "n6",
                      "--exclusive", wrap="sleep 1000")]
    stopped = c.sbatch(*quiet, "-J", "stopped", "-n1", ":", "-n1", wrap="sleep 1000")
    eventually(lambda: {c.state(job) for job in (runs, runs + 1, array, inside, partly, stopped, turns[0])} == {"RUNNING"}, "running jobs")
    eventually(lambda: c.run(f"squeue -h -s -j {runs}").stdout.count("\n") == 3, "a step of two components")
    eventually(lambda: c.state(turns[1]) == c.state(turns[1] + 1) == "SUSPENDED", "a set waits for its turn")
    c.run(f"scancel {partly + 1}").ok()
    c.wait(partly + 1)
    c.run(f"scontrol suspend {stopped}").ok()
    held = c.sbatch(*quiet, "-J", "held", "-H", "-a", "0-2", "-n1", "--mem=7", ":", "-n2", "--component=two", "-L", "flat:1|power:1", wrap="true")
    c.sbatch(*quiet, "-J", "waits", "-d", f"afterok:{held}_1+1,afterany:{runs}+io", "-n1", ":", "-N1", "--begin=2035-01-01", wrap="true")
    c.sbatch(*quiet, "-J", "wants", "-L", "flat:5", "-w", "n1", wrap="true")
    again = c.sbatch(*quiet, "-J", "again", "--requeue", "-n1", ":", "-n1", wrap="sleep 1000")
    eventually(lambda: c.state(again) == "RUNNING", "another set runs")
    c.run(f"scontrol requeuehold {again}").ok()
    eventually(lambda: c.state(again) == c.state(again + 1) == "PENDING", "a restart")
    return keep_ends


def keep_ends(lines):
    """An end in 2036 is not forgotten before."""
    for line in lines:
        if line.get("kind") == "job" and line["record"]["live"]["state"] not in ("PENDING", "RUNNING", "SUSPENDED"):
            line["record"]["live"]["end_at"] = "2100000000"
    return lines


def change(record, state, job_id, **live):
    """A copy of a record in another state and under another id."""
    made = json.loads(json.dumps(record).replace(f'"job_id": {record["number"]}', f'"job_id": {job_id}'))
    made["number"] = made["record"]["live"]["job_id"] = job_id
    made["record"]["live"].update(state=state, **live)
    made["record"]["spec"]["name"] = state.lower()
    made["record"]["spec"].pop("request_id", None)
    return made


def add_states(lines, ended, runs):
    """What no test can bring about now."""
    jobs = {line["number"]: line for line in lines if line.get("kind") == "job"}
    job_id = max(jobs) + 1
    more = []
    for state in ("TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"):
        more.append(change(jobs[ended], state, job_id + len(more), reason=state.title().replace("_", "")))
    more.append(change(jobs[runs], "SUSPENDED", job_id + len(more)))
    more.append(change(jobs[runs], "CANCELLED", job_id + len(more), completing=True, cancelled_by=0))
    for line in more[-2:]:  # on cores of their own
        cores = {"SUSPENDED": "BA==", "CANCELLED": "CA=="}[line["record"]["live"]["state"]]
        for node in line["record"]["live"]["alloc"]:
            node.update(node={"n1": "n3", "n2": "n4"}.get(node["node"], node["node"]), cores=cores, cpus=1, mem_mib="10")
        line["record"]["live"].update(nodes="n[3-4]", batch_host="n3")
        line["record"].pop("steps", None)
    keep_ends([*lines, *more])
    for line in lines:
        if line.get("kind") == "node" and line["name"] == "n3":
            line["record"]["lost"] = [{"job_id": 77, "restarts": 1}]
    at = max(i for i, line in enumerate(lines) if line.get("kind") == "job") + 1
    return lines[:at] + more + lines[at:]


def make(golden):
    fill_one = fill_sets if golden.name.endswith("-sets") else fill
    c = Cluster(nodes=node_count(golden), start=False)
    try:
        ports = configure(c, golden)
        c.start()
        edit = fill_one(c)
        for name in ["slurmctld", *c.names]:
            c.kill(name, signal.SIGKILL)
        c.run(f"sluice state export {c.dir}/one").ok()
        text = (c.dir / "one").read_text()
        for old, new in [(str(c.dir), "/tmp/golden"), (f'"{socket.gethostname()}"', '"host"'), (str(PREFIX), "/usr")]:
            text = text.replace(old, new)
        lines = edit([json.loads(line) for line in text.splitlines()])
        for line in lines:
            if line.get("kind") == "payload":
                line["record"]["env"] = ["PATH=/usr/bin:/bin", "HOME=/root"]
        (c.dir / "two").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
        (c.dir / "state").rename(c.dir / "was")
        c.run(f"sluice state import --edited {c.dir}/two").ok()
        db = sqlite3.connect(c.dir / "state/state.db")
        pragmas = [f"PRAGMA {name} = {db.execute(f'PRAGMA {name}').fetchone()[0]};" for name in ("application_id", "user_version")]
        (golden / "state.sql").write_text("\n".join([*pragmas, *db.iterdump()]) + "\n")
        db.close()
        c.start_controller()
        (golden / "listing.txt").write_text(listing(c, ports))
    finally:
        c.destroy()


def relist(golden):
    c = Cluster(nodes=node_count(golden), start=False)
    try:
        ports = configure(c, golden)
        build(golden, c.dir / "state/state.db")
        c.start_controller()
        (golden / "listing.txt").write_text(listing(c, ports))
    finally:
        c.destroy()


if __name__ == "__main__":
    {"make": make, "list": relist}[sys.argv[1]](pathlib.Path(sys.argv[2]).resolve())
