# SPDX-License-Identifier: GPL-3.0-or-later
"""Completions that shells offer for our commands, tested with real shells, and with a real cluster for its current objects."""
import pathlib
import re
import subprocess

import pytest

from harness import PREFIX, eventually

SHARE = PREFIX / "share"
BASH = SHARE / "bash-completion/completions"
TOP = pathlib.Path(__file__).parents[2]
COMMANDS = sorted([p.name for p in (PREFIX / "bin").iterdir()] + ["slurmctld", "slurmd"])
ASK = r"""
. "$1" || exit 1
line=$2
COMP_LINE=$line COMP_POINT=${#line} COMP_WORDBREAKS=${3-$COMP_WORDBREAKS}
set -- $(complete -p "${line%% *}")
while [[ $1 != -F ]]; do shift; done
"$2" "${line%% *}" || :
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
"""


def offered(line, cluster=None, *more, cwd=None):
    """The words that bash would offer at the end of the line."""
    argv = ["bash", "--norc", "-c", ASK, "bash", str(BASH / line.split()[0]), line, *more]
    done = cluster.run(argv, cwd=cwd) if cluster else subprocess.run(argv, capture_output=True, text=True, timeout=60, cwd=cwd)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_completions(command):
    for place in (BASH / command, SHARE / f"zsh/site-functions/_{command}", SHARE / f"fish/vendor_completions.d/{command}.fish"):
        assert place.is_file(), place
    options = offered(f"{command} -")
    said = subprocess.run([PREFIX / ("sbin" if command in ("slurmctld", "slurmd") else "bin") / command, "-h" if command == "slurmd" else "--help"],
                          capture_output=True, text=True, timeout=60).stdout.partition("\nAccepted for compatibility")[0]  # not offered
    known = set(re.findall(r"^ {1,6}(?:-\w, )?(--[\w-]+)", said, re.M))
    assert known and known == {o.rstrip("=") for o in options}, command


@pytest.mark.parametrize("line, words", [
    ("srun --cpu-b", ["--cpu-bind="]),
    ("srun --cpu-bind=soc", ["sockets"]),
    ("srun --cpu-bind soc", ["sockets"]),
    ("srun --cpu-bind=verbose,so", ["verbose,sockets"]),
    ("srun -m cyc", ["cyclic", "cyclic:block", "cyclic:cyclic", "cyclic:fcyclic"]),
    ("srun --distribution=cyclic:", ["block", "cyclic", "fcyclic"]),
    ("srun --hint=m", ["memory_bound", "multithread"]),
    ("srun --compress=", ["lz4", "none"]),
    ("srun -N2 --x", ["--x11"]),
    ("salloc -N2 : --x", ["--x11"]),
    ("srun -N2 true : printen", ["printenv"]),
    ("srun --no-such=", []),
    ("sbatch --open-mode=", ["append", "truncate"]),
    ("sbatch --mail-type=END,FA", ["END,FAIL"]),
    ("scontrol re", ["reboot", "reconfigure", "release", "requeue", "requeuehold", "resume"]),
    ("scontrol show p", ["partition"]),
    ("scontrol show ga", ["gang", "gates"]),
    ("scontrol show res", ["reservation", "resources"]),
    ("scontrol -d show hostn", ["hostnames"]),
    ("scontrol update Part", ["PartitionName="]),
    ("scontrol update partitionname=x CpuB", ["CpuBind="]),
    ("scontrol update nodename=n1 state=dr", []),
    ("scontrol update nodename=n1 State=DR", ["DRAIN"]),
    ("scontrol update nodename=n1 CpuBind=co", ["core"]),
    ("sinfo -t dra", ["drain", "drained", "draining"]),
    ("squeue -O JobID,Accou", ["JobID,Account"]),
    ("sluice sta", ["status", "state"]),
    ("sluice state ", ["export", "import"]),
    ("scancel --state=RUN", ["RUNNING"]),
])
def test_words_of_tables(line, words):
    assert offered(line) == words


def test_words_with_special_characters_are_completed():
    """Where = and : end no words for readline, all of the word is offered."""
    assert offered("srun --cpu-bind=soc", None, " \t\n") == ["--cpu-bind=sockets"]
    assert offered("srun --distribution=block:f", None, " \t\n") == ["--distribution=block:fcyclic"]
    assert offered("scontrol update nodename=n1 State=DRAI", None, " \t\n") == ["State=DRAIN"]


def test_names_of_the_cluster_are_completed(make_cluster):
    c = make_cluster(nodes=2, partitions=["PartitionName=main Nodes=ALL Default=YES State=UP", "PartitionName=maybe Nodes=n1 State=UP"])
    job = c.sbatch("-N1", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "RUNNING", "a start")
    c.run("scontrol create reservation reservationname=weekly starttime=now+10 duration=10 users=root nodes=n2").ok()
    for line in ("scancel ", "scontrol show job ", "scontrol hold ", "squeue --jobs=", "srun --jobid ", "sluice why ", "scontrol update jobid="):
        assert str(job) in offered(line, c), line
    assert offered("sbatch -p ma", c) == ["main", "maybe"]
    assert offered("sbatch --partition=main,may", c) == ["main,maybe"]
    assert sorted(offered("srun -w n", c)) == ["n1", "n2"]
    assert offered("srun --nodelist=n1,", c) == ["n1,n1", "n1,n2"]
    assert offered("srun --reservation=we", c) == ["weekly"]
    assert offered("scontrol show partition may", c) == ["maybe"]
    assert offered(f"sattach {job}", c) == [f"{job}.batch"]
    (c.work / "job script.sh").touch()
    assert offered("sbatch job", c, cwd=c.work) == ["job script.sh"]
    assert offered("srun cat job", c, cwd=c.work) == ["job script.sh"]
    assert "cat" in offered("srun -n1 ca", c)
    c.run(f"scancel {job}").ok()
    c.wait(job)
    c.kill("slurmctld")
    assert offered("sbatch -p ma", c) == []
    c.start_controller()


def test_completed_names_are_not_expanded(tmp_path):
    """Names are plain text, whatever characters they contain: names of files, and names in the output of commands."""
    (tmp_path / "$(touch gone)").touch()
    false_squeue = tmp_path / "squeue"
    false_squeue.write_text("#!/bin/sh\nprintf '%s\\n' '$(touch gone)' '*' '`touch gone`' 12\n")
    false_squeue.chmod(0o755)
    ask = f'PATH={tmp_path}:$PATH\n{ASK}'
    done = subprocess.run(["bash", "--norc", "-c", ask, "bash", str(BASH / "scancel"), "scancel "], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.splitlines()[:4] == ["$(touch gone)", "*", "`touch gone`", "12"] and not (tmp_path / "gone").exists()
    assert offered("sbatch $", cwd=tmp_path) == ["$(touch gone)"] and not (tmp_path / "gone").exists()


def table(command):
    """Options whose words are a closed set: name -> words."""
    found = {}
    for row in (BASH / command).read_text().splitlines():
        name, *rest = row.split()
        if name.startswith("--") and rest[3:] and not any(w.startswith("@") or w[-1] in ":=" for w in rest[3:]):
            found[name] = rest[3:]
    return found


@pytest.mark.slow
def test_chosen_words_are_completed(cluster):
    """The commands accept each offered word of a closed set, and each row of the table names an existing option."""
    checked = 0
    for command, line in (("sbatch", ["sbatch", "--hold", "--wrap=true"]), ("srun", ["srun", "--mpi=list"]), ("salloc", ["salloc", "--no-shell", "--immediate"])):
        for name, words in table(command).items():
            for word in words:
                done = cluster.run([*line, f"{name}={word}"])
                assert not re.search(r"Invalid|unrecognized|not valid|ambiguous", done.stderr), (command, name, word, done.stderr)
                checked += 1
    for command, name in (("squeue", "--states"), ("sinfo", "--states")):
        for word in table(command)[name]:
            cluster.run([command, f"{name}={word}"]).ok()
    assert checked > 60
    everything = {o.rstrip("=") for command in COMMANDS for o in offered(f"{command} -")}
    named = re.findall(r'^VALUE\("(?:\w+/)?(\w[\w-]*)"', (TOP / "completions/values.def").read_text(), re.M)
    assert named and {f"--{n}" for n in named} - everything == set()


@pytest.mark.parametrize("shell, place", [("zsh", "zsh/site-functions"), ("fish", "fish/vendor_completions.d")])
def test_completions_of_other_shells_are_valid(shell, place):
    for path in sorted((SHARE / place).iterdir()):
        subprocess.run([shell, "-n", path], check=True, timeout=60)


def test_fish_offers_words_of_options(tmp_path):
    asked = f"source {SHARE}/fish/vendor_completions.d/srun.fish; complete -C 'srun --hint=m'"
    out = subprocess.run(["fish", "--no-config", "-c", asked], capture_output=True, text=True, timeout=60, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert [row.split("\t")[0] for row in out.stdout.splitlines()] == ["--hint=memory_bound", "--hint=multithread"], out.stderr
