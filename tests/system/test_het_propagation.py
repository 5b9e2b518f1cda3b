# SPDX-License-Identifier: GPL-3.0-or-later
"""HET-09: the options that components have from the one before them, one by one, through the commands and with real daemons."""
import re

import pytest

from harness import Cluster, eventually, fields_of, many

CONF = ("SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100\nMinJobAge=300\nRebootProgram=/bin/true\n"
        "PropagateResourceLimits=NONE\n")

# The options of component 0, how --verbose shows them in every component, and what the record of every component has: nothing, if no command
# shows the value of a job (P08, P15, P18, P24, P30, P33, P35, P36, P45, P56 and P59, among others).
BATCH = [
    ("HET-P01", "-A acct", "account", "acct", {"Account": "acct"}),
    ("HET-P02", "--acctg-freq=task=7", "acctg-freq", "task=7", {}),
    ("HET-P03", "--begin=2035-01-01T00:00:00", "begin", "2035-01-01T00:00:00", {"EligibleTime": "2035-01-01T00:00:00"}),
    ("HET-P04", "--cluster-constraint=x", "cluster-constraint", "x", {}),
    ("HET-P05", "--clusters=test", "clusters", "test", {}),
    ("HET-P06", "--comment=c", "comment", "c", {"Comment": "c"}),
    ("HET-P07", "--deadline=2035-01-01T00:00:00", "deadline", "2035-01-01T00:00:00", {"Deadline": "2035-01-01T00:00:00"}),
    ("HET-P08", "--delay-boot=5", "delay-boot", "5", {}),
    ("HET-P09", "--dependency=singleton -J alone", "dependency", "singleton", {}),
    ("HET-P10", "-m cyclic", "distribution", "cyclic", {}),
    ("HET-P12", "-e /tmp/e", "error", "/tmp/e", {"StdErr": "/tmp/e"}),
    ("HET-P13", "--export=A=1", "export", "A=1", {}),
    ("HET-P14", "-x n2", "exclude", "n2", {"ExcNodeList": "n2"}),
    ("HET-P15", "--get-user-env", "get-user-env", "set", {}),
    ("HET-P16", "--gid=65534", "gid", "65534", {"GroupId": "nogroup(65534)"}),
    ("HET-P17", "--hold", "hold", "set", {"Reason": "JobHeldUser"}),
    ("HET-P18", "--ignore-pbs", "ignore-pbs", "set", {}),
    ("HET-P20", "-i /dev/zero", "input", "/dev/zero", {"StdIn": "/dev/zero"}),
    ("HET-P21", "-J name", "job-name", "name", {"JobName": "name"}),
    ("HET-P24", "--mcs-label=l", "mcs-label", "l", {}),
    ("HET-P25", "--mem=200", "mem", "200", {"MinMemoryNode": "200M"}),
    ("HET-P28", "--no-requeue", "no-requeue", "no-requeue", {"Requeue": "0"}),
    ("HET-P29", "--nice=7", "nice", "7", {"Nice": "7"}),
    ("HET-P30", "--no-kill", "no-kill", "set", {}),
    ("HET-P31", "--open-mode=append", "open-mode", "a", {}),
    ("HET-P32", "-o /tmp/o", "output", "/tmp/o", {"StdOut": "/tmp/o"}),
    ("HET-P33", "--parsable", "parsable", "set", {}),
    ("HET-P34", "--priority=77 --begin=2035-01-01T00:00:00", "priority", "77", {"Priority": "77"}),
    ("HET-P35", "--profile=none", "profile", "none", {}),
    ("HET-P36", "--propagate=NOFILE", "propagate", "NOFILE", {}),
    ("HET-P39", "-q qos", "qos", "qos", {"QOS": "qos"}),
    ("HET-P42", "--reboot", "reboot", "set", {"Reboot": "1"}),
    ("HET-P43", "--reservation=kept", "reservation", "kept", {"Reservation": "kept"}),
    ("HET-P44", "--requeue", "requeue", "requeue", {"Requeue": "1"}),
    ("HET-P45", "--signal=USR1@30", "signal", "USR1@30", {}),
    ("HET-P49", "-t 9", "time", "00:09:00", {"TimeLimit": "00:09:00"}),
    ("HET-P51", "-t 9 --time-min=5", "time-min", "00:05:00", {"TimeMin": "00:05:00"}),
    ("HET-P52", "--uid=65534", "uid", "65534", {"UserId": "nobody(65534)"}),
    ("HET-P54", "-vv", "verbose", "3", {}),
    ("HET-P56", "--wait-all-nodes=1", "wait-all-nodes", "1", {}),
    ("HET-P57", "--wckey=w", "wckey", "w", {"WCKey": "w"}),
    ("HET-P58", "-D /tmp", "chdir", "/tmp", {"WorkDir": "/tmp"}),
    ("HET-P58", "--workdir=/tmp", "chdir", "/tmp", {"WorkDir": "/tmp"}),
    ("HET-P59", "--export-file=/dev/null", "export-file", "/dev/null", {}),
]

# Of srun, with what each of two tasks does, and what has to be on standard output (a set of lines; None: of no interest).
STEP = [
    ("HET-P11", "--epilog=/bin/true", "epilog", "/bin/true", "true", set()),
    ("HET-P13", "--export=A=1,PATH", "export", "A=1,PATH", "echo $SLURM_PROCID.$A", {"0.1", "1.1"}),
    ("HET-P19", "-I9", "immediate", "9", "true", set()),
    ("HET-P22", "-K1", "kill-on-bad-exit", "1", "[ $SLURM_PROCID = 0 ] && sleep 1000; exit 3", set()),
    ("HET-P23", "-l", "label", "set", "echo x", {"0: x", "1: x"}),
    ("HET-P26", "--msg-timeout=7", "msg-timeout", "7", "true", set()),
    ("HET-P31", "--open-mode=append", "open-mode", "a", "true", set()),
    ("HET-P36", "--propagate=NOFILE", "propagate", "NOFILE", "echo $SLURM_PROCID.$(ulimit -n)", {"0.222", "1.222"}),
    ("HET-P37", "--prolog=/bin/true", "prolog", "/bin/true", "true", set()),
    ("HET-P38", "--pty", "pty", "set", "true", set()),
    ("HET-P41", "--quit-on-interrupt", "quit-on-interrupt", "set", "true", set()),
    ("HET-P46", "--slurmd-debug=3", "slurmd-debug", "3", "true", None),
    ("HET-P47", "--task-epilog={work}/epilog", "task-epilog", "{work}/epilog", "true", set()),
    ("HET-P48", "--task-prolog={work}/prolog", "task-prolog", "{work}/prolog", "echo $SLURM_PROCID.$B", {"0.2", "1.2"}),
    ("HET-P53", "-u", "unbuffered", "set", "true", set()),
    ("HET-P55", "-W1", "wait", "1", "[ $SLURM_PROCID = 0 ] && sleep 1000", set()),
]
ELSEWHERE = {"HET-P27", "HET-P40", "HET-P50"}


@pytest.fixture(scope="module")
def het():
    with many(Cluster) as make:
        c = make(nodes=2, cpus=4, conf=CONF)
        c.run("scontrol create reservation=kept starttime=now duration=UNLIMITED nodes=n1 users=root,nobody").ok()
        for name, text in (("prolog", "echo export B=2"), ("epilog", f"echo $SLURM_PROCID >>{c.work}/ended")):
            (c.work / name).write_text(f"#!/bin/sh\n{text}\n")
            (c.work / name).chmod(0o755)
        yield c


def shown_options(said):
    """What --verbose says of each component: [{option: value}]."""
    found = []
    for text in re.split(r"^\w+: component \d+:$", said, flags=re.MULTILINE)[1:]:
        text = re.split(r"end of defined options", text)[0]
        found.append(dict(re.findall(r"^\w+: (\S+) +: (.*)$", text, re.MULTILINE)))
    return found


def check_shown(what, done, name, value):
    """Component 1 has the option; options that are not inherited belong to their component only."""
    first, second = shown_options(done.stderr)
    assert (first.get(name), second.get(name)) == (value, value), f"{what} --{name}: {done.stderr}"
    return first, second


def test_the_tables_are_complete():
    ids = [row[0] for row in BATCH + STEP]
    assert set(ids) | ELSEWHERE == {f"HET-P{number:02}" for number in range(1, 60)}


def test_options_of_batch_jobs(het):
    """HET-09, HET-P01 to HET-P59, as far as sbatch has them: component 1 has each one that component 0 has, and a job without has none. --ntasks and
    --mem-per-cpu are not handed on."""
    jobs = []
    for what, words, name, value, fields in BATCH:
        own = ["" if "--begin" in words else "-H", "" if "--mem=" in words else "--mem-per-cpu=7", "-n1"]
        done = het.run(f"sbatch -v {words} {' '.join(own)} : -n2 --wrap=true")
        assert done.returncode == 0, f"{what}: {done.stderr}"
        first, second = check_shown(what, done, name, value)
        assert (first["ntasks"], second["ntasks"]) == ("1", "2") and "mem-per-cpu" not in second, what
        jobs.append((what, int(re.search(r"\d+", done.stdout)[0]), fields))
    plain = het.run("sbatch -v -H -n1 : -n2 --wrap=true")
    for options in shown_options(plain.stderr):
        assert set(options) <= {"hold", "ntasks", "verbose", "wrap"}
    records = {int(fields["JobId"]): fields for fields in map(fields_of, het.run("scontrol show job -o").ok().splitlines())}
    without = records[int(re.search(r"\d+", plain.stdout)[0]) + 1]
    for what, leader, fields in jobs:
        for field, value in fields.items():
            assert [records[leader + i].get(field) for i in (0, 1)] == [value, value], f"{what} {field}"
            assert without.get(field) != value or field in ("Reason", "Requeue"), f"{what} {field}"
    for user in ("root", "nobody"):
        het.run(f"scancel -u {user}").ok()


def test_signal_of_component_0_reaches_the_steps_of_the_others(het):
    """HET-P45: before its time limit the step of component 1 gets the signal."""
    catch = "trap 'echo caught; exit 0' USR1; while :; do sleep 0.1; done"
    job = int(het.run(["sbatch", "--parsable", "-o", "signalled", "-t1", "--signal=USR1@30", "-n1", ":", "-n1", "--wrap",
                       f'srun --het-group=1 sh -c "{catch}"']).ok())
    assert het.wait(job)["JobState"] == "COMPLETED"
    assert "caught" in het.output(job, "signalled").splitlines()


def test_no_kill_of_component_0_keeps_the_others(make_cluster):
    """HET-P30: with it, a component whose node is down keeps its other node; without it, the set is requeued."""
    c = make_cluster(nodes=2, cpus=4)
    for word, states in ("-k", ["RUNNING"] * 2), ("", ["PENDING"] * 2):
        job = int(c.run(["sbatch", "--parsable", "-o", "/dev/null", "--requeue", *word.split(), "-w", "n1", ":", "-N2", "--wrap=sleep 1000"]).ok())
        c.wait_state(job + 1, "RUNNING")
        c.run("scontrol update nodename=n2 state=down reason=lost").ok()
        eventually(lambda: c.run(["squeue", "-h", "-j", str(job), "-o", "%T"]).ok().split() == states, f"'{word}': both are {states[0]}")
        c.run("scontrol update nodename=n2 state=resume").ok()
        c.run(f"scancel {job}").ok()


def test_options_of_steps(het):
    """HET-P11 to HET-P55, of srun: component 1 has each one that component 0 has, as its task shows."""
    het.run("scontrol delete reservation=kept")
    for what, words, name, value, task, lines in STEP:
        words, value = words.format(work=het.work), value.format(work=het.work)
        done = het.run(["sh", "-c", f"ulimit -n 222; exec srun -v {words} -n1 : -n1 sh -c '{task}'"])
        check_shown(what, done, name, value)
        assert lines is None or set(done.stdout.splitlines()) == lines, f"{what}: {done.stdout} {done.stderr}"
        assert done.returncode == 0 or name in ("kill-on-bad-exit", "wait"), f"{what}: {done.stderr}"
    assert sorted((het.work / "ended").read_text().split()) == ["0", "1"]


def test_options_that_end_or_silence_the_command(het):
    """HET-P27, HET-P40, HET-P50."""
    het.run("srun -Z -w n1 -n1 true : -n1 true").fails("--no-allocate is not supported for heterogeneous jobs")
    done = het.run("sbatch -Q -H -n1 : -n1 -o second --wrap=true")
    assert (done.ok(), done.stderr) == ("", "")  # --output of component 1 has no effect, which is silent
    asked = het.run("sbatch --test-only -J asked -n1 : -n1 --wrap=true")
    assert asked.ok() == "" and "to start at" in asked.stderr
    assert het.run("squeue -h -t all -n asked").ok() == ""
    het.run("scancel -u root").ok()


def test_options_that_are_not_handed_on(het):
    """HET-08: for options that are not in the list, the result is the same as without options of component 1."""
    words = "-n1 -N1 -c2 --mem-per-cpu=7 -p main -C '' --ntasks-per-node=1 --tmp=1 --gres=none -w n1 --exclusive"
    done = het.run(["sh", "-c", f"sbatch -v -H {words} : -n2 --wrap=true"])
    assert done.returncode == 0, done.stderr
    first, second = shown_options(done.stderr)
    assert set(second) == {"hold", "ntasks", "verbose", "wrap"}, second
    assert {"nodes", "cpus-per-task", "mem-per-cpu", "partition", "ntasks-per-node", "nodelist", "exclusive"} <= set(first)
    het.run("scancel -u root").ok()


@pytest.mark.parametrize("command", ["sbatch", "salloc"])
@pytest.mark.parametrize("word", ["--epilog=/bin/true", "--kill-on-bad-exit=1", "--label", "--msg-timeout=9", "--no-allocate", "--prolog=/bin/true", "--pty",
                                  "--quit-on-interrupt", "--slurmd-debug=info", "--task-epilog=/bin/true", "--task-prolog=/bin/true", "--unbuffered"])
def test_options_of_srun_alone(het, command, word):
    """HET-10: in any component sbatch and salloc refuse them, and nothing is queued."""
    before = het.run("squeue -h -t all -o %i").ok()
    for line in (f"{word} -n1 : -n1", f"-n1 : {word} -n1"):
        het.run([command, *line.split(), *(["--wrap=true"] if command == "sbatch" else ["true"])]).fails(f"unrecognized option '{word.split('=')[0]}'")
    assert het.run("squeue -h -t all -o %i").ok() == before


def test_srun_carries_its_own_options_over(het):
    """HET-10: --label of component 0 labels the ranks of all components."""
    out = het.run("srun --label -n1 : -n1 : -n1 echo x").ok()
    assert sorted(out.splitlines()) == ["0: x", "1: x", "2: x"]
