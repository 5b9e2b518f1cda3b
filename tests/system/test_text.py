# SPDX-License-Identifier: GPL-3.0-or-later
"""What users write reaches no terminal and no log as anything that a terminal obeys."""
import json
import os
import re
import subprocess

from harness import eventually

NASTY = b"a\xe2\x80\xaetxt\xff\xc2\x9b31m\x1b[7mz"
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def raw(c, *argv, **env):
    done = subprocess.run(argv, capture_output=True, cwd=c.work, env=c.environment(**env), check=False)
    return done.returncode, done.stdout, done.stderr


def harmless(what, *texts):
    for text in texts:
        found = HARMFUL.search(text.decode())  # and it is UTF-8
        assert not found, f"{what}: {text[max(0, found.start() - 40):found.end() + 20]!r}"


def test_hostile_texts_of_users_are_escaped(make_cluster):
    c = make_cluster(nodes=1, cpus=2, conf="SlurmctldDebug=debug\nSlurmdDebug=debug\nPriorityType=priority/multifactor\n")
    log_options = ["-o", "/dev/null", "--comment", NASTY, "--wckey", NASTY, "--extra", NASTY, "-A", NASTY]
    code, out, err = raw(c, "sbatch", "-J", NASTY, *log_options, "--wrap", "exec sleep 1000")
    harmless("sbatch", out, err)
    assert code == 0, err
    job = out.split()[-1].decode()
    eventually(lambda: c.state(job) == "RUNNING", f"job {job} runs")
    code, out, err = raw(c, "sbatch", "-H", "-J", NASTY, *log_options, "--wrap", "true")
    held = out.split()[-1].decode()
    # A directory that is not there. The step tells its own user, on the step's standard error; the logs are looked at below.
    assert raw(c, "srun", "-J", NASTY, "-D", b"/" + NASTY, b"./" + NASTY)[0]
    raw(c, "sbatch", "-o", b"/nowhere/" + NASTY, "--wrap", "true")
    c.run(["scontrol", "update", "NodeName=n1", "Weight=1"]).ok()
    assert raw(c, "scontrol", "update", "NodeName=n1", "State=DRAIN", b"Reason=" + NASTY)[0] == 0
    assert raw(c, "scontrol", "update", "NodeName=n1", b"Comment=" + NASTY, b"Extra=" + NASTY)[0] == 0
    raw(c, "scontrol", "create", "reservation", b"ReservationName=" + NASTY, "Users=root", "StartTime=now", "Duration=1", "Nodes=n1")
    commands = ["squeue -a", "squeue -o %all", "squeue -O name:50,comment:50,username", "squeue --json", "squeue --yaml", "squeue -s",
                "scontrol show job", f"scontrol show job {held}", "scontrol -o show job", "scontrol show job --json", "scontrol show step",
                "scontrol show node", "scontrol show node --json", "scontrol show node --yaml", "scontrol show reservation", "sinfo -R", "sinfo -R -o %E",
                "sinfo -o %all", "sinfo --json", "sprio -l", f"sluice why {held}", "sluice usage", f"sstat -a -j {job}", f"scancel -v {held}"]
    shown = b""
    for line in commands:
        code, out, err = raw(c, *line.split())
        harmless(line, out, err)
        shown += out
        if code == 0 and line.endswith("--json"):
            json.loads(out)
    assert b"\\u202e" in shown and b"\\377" in shown and b"\\233" in shown
    for arguments in (["scontrol", "show", "job", NASTY], ["scancel", NASTY], ["squeue", "-j", NASTY], ["squeue", "-u", NASTY], ["sbatch", NASTY],
                      ["sbatch", "-p", NASTY, "--wrap", "x"], ["sbatch", "-C", NASTY, "--wrap", "x"], ["sbatch", "-d", NASTY, "--wrap", "x"],
                      ["salloc", "-w", NASTY, "true"], ["srun", b"--" + NASTY, "x"], ["scontrol", "update", b"JobId=1", NASTY + b"=x"]):
        code, out, err = raw(c, *arguments)
        assert err, arguments
        harmless(arguments, out, err)
    c.run(f"scancel {job}").ok()
    c.run("scontrol update NodeName=n1 State=RESUME").ok()
    for path in [*c.dir.rglob("*.log")]:
        harmless(os.fspath(path), path.read_bytes())
