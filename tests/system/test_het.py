# SPDX-License-Identifier: GPL-3.0-or-later
"""Heterogeneous jobs through the commands, with real daemons: HET-01 to 10, 12 to 18, 21, 31 to 36, 42, 44 to 46, 79, 88, 56, 99, 115, 118."""
import re
import signal

import pytest

from harness import ROOT, Cluster, eventually, fields_of, many
from test_docs import TOP

PARTITIONS = ["PartitionName=p1 Nodes=ALL Default=YES MaxTime=60", "PartitionName=p2 Nodes=n[3-4] MaxTime=60"]
CONF = "SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100\nMinJobAge=300\n"


@pytest.fixture(scope="module")
def het():
    with many(Cluster) as make:
        yield make(nodes=4, cpus=4, conf=CONF, partitions=PARTITIONS)


def rows(c, *options, format="%i %T"):
    return c.run(["squeue", "-h", "-S", "i", "-o", format, *options]).ok().splitlines()


def parts(c, leader, *options, format="%T"):
    """The components in the queue, as "93+0 RUNNING"."""
    return [line for line in rows(c, *options, format=f"%i {format}") if line.startswith(f"{leader}+")]


def components(c, leader):
    """The fields of each component, by offset. Their ids follow one another."""
    found = {}
    for line in c.run(f"scontrol show job -o {leader}").ok().splitlines():
        fields = fields_of(line)
        assert (fields["HetJobId"], fields["HetJobOffset"], fields["JobId"]) == (str(leader), str(len(found)), str(leader + len(found)))
        found[len(found)] = fields
    assert found[0]["HetJobIdSet"] == f"{leader}-{leader + len(found) - 1}"
    return found


def submit(c, line, **more):
    """'line' contains the arguments of sbatch; each '|' stands for a blank within an argument."""
    words = [word.replace("|", " ") for word in line.split()]
    out = c.run(["sbatch", "--parsable", *words], **more).ok()
    assert re.fullmatch(r"\d+", out), out
    return int(out)


def script(c, name, text):
    path = c.work / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def gone(c, leader):
    eventually(lambda: parts(c, leader, "-t", "PD,R,CG,CF") == [], f"job {leader} is over")


def held(c, *lines, **more):
    """Returns the components of held jobs with these command lines; the jobs are cancelled at once."""
    found = []
    for line in lines:
        leader = submit(c, f"-H {line}", **more)
        found.append(components(c, leader))
        c.run(f"scancel {leader}").ok()
    return found


def test_components_differ(het):
    """HET-01, 02, 04, 05, 31 to 36, 44, 45."""
    leader = submit(het, "-H -p p1 -A a1 -n1 -c3 --mem=300 -t5 -J first : -p p2 -A a2 -N2 -n2 --mem-per-cpu=70 -t7 --wrap=true")
    assert parts(het, leader, format="%P %C %l %j") == [f"{leader}+0 p1 3 5:00 first", f"{leader}+1 p2 2 7:00 first"]
    shown = components(het, leader)
    assert [shown[i]["JobId"] for i in (0, 1)] == [str(leader), str(leader + 1)]
    assert {shown[i]["HetJobId"] for i in (0, 1)} == {str(leader)}
    assert {shown[i]["HetJobIdSet"] for i in (0, 1)} == {f"{leader}-{leader + 1}"}
    assert [shown[i]["Account"] for i in (0, 1)] == ["a1", "a2"]
    assert (shown[0]["MinMemoryNode"], shown[1]["MinMemoryCPU"]) == ("300M", "70M")
    # One component of a job that waits cannot be cancelled; the job can.
    het.run(f"scancel {leader + 1}").fails("whole heterogeneous job")
    assert len(parts(het, leader)) == 2
    het.run(f"scancel {leader}").ok()
    assert parts(het, leader) == []


def test_inheritance_is_shown(het):
    """HET-06 to 09."""
    plain, first, second, third = held(
        het,
        "-n1 : -N1 --wrap=true",
        "-n4 --mem-per-cpu=130 -J z -t5 --comment=c : -N1 --wrap=true",
        "-A a -d singleton -n1 : -n1 : -A b --wrap=true",
        "--mem=200 -n1 : -n1 : --mem-per-cpu=50 --wrap=true")
    assert (first[1]["JobName"], first[1]["TimeLimit"], first[1]["Comment"]) == ("z", "00:05:00", "c")
    assert first[0]["MinMemoryCPU"] == "130M" and first[0]["NumTasks"] == "4"
    assert first[1]["NumTasks"] == "1"
    memory = [[part.get(name) for name in ("MinMemoryCPU", "MinMemoryNode")] for part in (plain[1], first[1])]
    assert memory[0] == memory[1] != ["130M", None]
    assert [second[i]["Account"] for i in range(3)] == ["a", "a", "b"]
    assert [third[i].get("MinMemoryNode") for i in range(3)] == ["200M", "200M", None]
    assert third[2]["MinMemoryCPU"] == "50M"


def test_components_of_a_batch_job_are_batch_jobs(het):
    """With paths of their own for their streams, although the script runs in the first. Those of salloc are none."""
    (found,) = held(het, "-n1 -o out-%j : -n2 : -n1 -o other-%j --wrap=true")
    assert [found[i]["BatchFlag"] for i in range(3)] == ["1"] * 3
    ids = [found[i]["JobId"] for i in range(3)]
    assert [found[i]["StdOut"] for i in range(3)] == [found[i]["StdErr"] for i in range(3)] == [
        f"{het.work}/out-{ids[0]}", f"{het.work}/out-{ids[1]}", f"{het.work}/other-{ids[2]}"]
    shown = het.run(["salloc", "-Q", "-n1", ":", "-n1", "scontrol", "show", "job"]).ok().split("\n\n")[-2:]
    assert all("BatchFlag=0" in text and "StdOut=" not in text for text in shown)


def test_the_environment_is_for_every_component(het):
    """HET-13."""
    (found,) = held(het, "-n1 : -n1 : -A b --wrap=true", env={"SBATCH_ACCOUNT": "a", "SBATCH_PARTITION": "p2"})
    assert [(found[i]["Account"], found[i]["Partition"]) for i in range(3)] == [("a", "p2"), ("a", "p2"), ("b", "p2")]
    show = "printenv SLURM_JOB_ACCOUNT"
    assert het.run(f"srun -n1 {show} : -n1 {show}", env={"SLURM_ACCOUNT": "a"}).ok().split() == ["a", "a"]
    groups = [f"SLURM_JOB_ACCOUNT_HET_GROUP_{i}" for i in range(3)]
    assert het.run(["salloc", "-Q", *"-n1 : -n1 : -A b -n1 printenv".split(), *groups], env={"SALLOC_ACCOUNT": "a"}).ok().split() == ["a", "a", "b"]


def comparable(fields):
    changing = {"JobId", "HetJobId", "HetJobIdSet", "SubmitTime", "EligibleTime", "AccrueTime", "LastSchedEval", "Command", "SubmitLine",
                "StdErr", "StdIn", "StdOut", "JobName", "EndTime", "Priority"}
    return {k: v for k, v in fields.items() if k not in changing}


@pytest.mark.parametrize("word", ["hetjob", "packjob"])
def test_script_lines_are_as_a_command_line(het, word):
    """HET-14 to 16, 18."""
    new = script(het, "new.bash", "#!/bin/sh\n#SBATCH --cpus-per-task=4 --mem-per-cpu=160 --ntasks=1 -t5\n"
                                  f"#SBATCH {word}\n#SBATCH --cpus-per-task=2 --mem-per-cpu=10  --ntasks=3\ntrue\n")
    my = script(het, "my.bash", "#!/bin/sh\ntrue\n")
    one, other = held(het, new, f"--cpus-per-task=4 --mem-per-cpu=160 --ntasks=1 -t5 : --cpus-per-task=2 --mem-per-cpu=10 --ntasks=3 {my}")
    assert sorted(one) == sorted(other) == [0, 1]
    for i in (0, 1):
        assert comparable(one[i]) == comparable(other[i])
    assert one[0]["MinMemoryCPU"] == "160M" and one[0]["CPUs/Task"] == "4" and ",mem=640M," in one[0]["ReqTRES"]
    # The command line's value of a component wins.
    (won,) = held(het, f"-t6 : -t7 --ntasks=2 {new}")
    assert [(won[i]["TimeLimit"], won[i]["NumTasks"]) for i in (0, 1)] == [("00:06:00", "1"), ("00:07:00", "2")]


def test_the_script_runs_once_in_the_first_component(het):
    """HET-03, 12, 17."""
    run = script(het, "run.bash", "#!/bin/sh\necho $SLURM_JOB_ID $SLURMD_NODENAME\nwait_file=$PWD/go-$SLURM_JOB_ID\n"
                                  "while [ ! -e $wait_file ]; do sleep 0.1; done\n")
    leader = submit(het, f"-N1 -w n2 : -N2 -p p2 -o second.out {run}")
    eventually(lambda: parts(het, leader) == [f"{leader}+0 RUNNING", f"{leader}+1 RUNNING"], "both run")
    nodes = components(het, leader)
    assert (nodes[0]["NodeList"], nodes[1]["NodeList"]) == ("n2", "n[3-4]")
    assert nodes[0]["BatchHost"] == "n2"
    assert het.run(f"squeue -h -j {leader} -o %i|%B").ok().splitlines() == [f"{leader}+0|n2", f"{leader}+1|n2"]
    (het.work / f"go-{leader}").touch()
    gone(het, leader)
    assert het.output(leader) == f"{leader} n2\n"
    assert not (het.work / "second.out").exists()


def test_running_components_are_cancelled_one_by_one(het):
    """HET-42, 46."""
    leader = submit(het, "-n1 : -n1 : -n1 --wrap=sleep|1000")
    eventually(lambda: parts(het, leader) == [f"{leader}+{i} RUNNING" for i in range(3)], "all run")
    het.run(f"scancel {leader + 1}").ok()
    eventually(lambda: parts(het, leader) == [f"{leader}+0 RUNNING", f"{leader}+2 RUNNING"], "the others go on")
    het.run(f"scancel {leader}").ok()
    gone(het, leader)


@pytest.mark.parametrize("line, said", [
    ("-n1 : --wrap=true -p none", "Invalid partition name specified"),
    ("-n1 : --wrap=true --mem=1T", "(component 1)"),
    ("-n1 : -x", "option requires an argument -- 'x' (component 1)"),
    (": -n1 --wrap=true", "component 0 is empty: the command line begins with ':'"),
    ("--wrap=true :", "component 1 is empty: the command line ends with ':' (word 2)"),
    ("-n1 : : --wrap=true", "component 1 is empty: words 2 and 3 of the command line are ':'"),
    pytest.param(" : ".join(["-n1"] * 128) + " : --wrap=true",
                 "a heterogeneous job has at most 128 components: ':' (word 256 of the command line) begins one more", id="129"),
    ("-N1 : -a 0-1 -N1 --wrap=true", "Invalid job array"),
    ("--label -n1 : -n1 --wrap=true", "unrecognized option '--label'"),
])
def test_refused_and_nothing_is_queued(het, line, said):
    """HET-10, 21, 99."""
    het.run(["sbatch", *line.split()], env={"SBATCH_JOB_NAME": "refused"}).fails(said)
    assert rows(het, "-t", "all", "-n", "refused") == []


ELSEWHERE = "No cluster 'elsewhere' known: this configuration describes cluster 'test' only"
OF_SCRIPT = "option --{} has no effect here: use it in component 0 (component 1)"
OF_STEP = "--{} of component 1 has no effect: it is of the whole step, use it in component 0"
SHARED = "parts 0 and 1 of the step have nodes in common, and need the same --"
# Options that all components have in common, or that only one of them may have: the command line, and the whole message. A line that begins with '['
# runs in an allocation of these components.
WHOLE = [
    *[(f"{command} -M test -n1 {one} : -M elsewhere -n1 {other}", f"error: {ELSEWHERE} (component 1)")
      for command, one, other in (("sbatch", "", "--wrap=true"), ("salloc", "", "true"), ("srun", "true", "true"))],
    ("sbatch -M elsewhere -n1 : -M test -n1 --wrap=true", f"error: {ELSEWHERE} (component 0)"),
    ("sbatch -n1 : -n1 : -M elsewhere -n1 --wrap=true", f"error: {ELSEWHERE} (component 2)"),
    ("sbatch -n1 --wrap=true : --wrap=false", "error: option --wrap is given again in component 1: a job has one script"),
    ("sbatch -a 1 -n1 : -a 1-2 -n1 --wrap=true",
     "error: Batch job submission failed: Invalid job array specification: --array is of the whole job: use it in component 0 (component 1)"),
    ("sbatch --component=a -n1 : -n1 : --component=A --wrap=true",
     "error: Batch job submission failed: Duplicate component name 'A': components 0 and 2 have it"),
    ("sbatch -n1 : --uid=65534 -n1 --wrap=true",
     "error: Batch job submission failed: a heterogeneous job has one user, but component 1 is of uid 65534 and component 0 of uid 0"),
    ("sbatch -n1 : -n1 --gid=65534 --wrap=true",
     "error: Batch job submission failed: a heterogeneous job has one group, but component 1 is of gid 65534 and component 0 of gid 0"),
    ("salloc -n1 : --gid=65534 -n1 true", "error: Job submit/allocate failed: a heterogeneous job has one group, but component 1 is of gid 65534 "
     "and component 0 of gid 0"),
    *[(f"sbatch -H -n1 : -n1 {option} --wrap=true", f"warning: {OF_SCRIPT.format(name)}") for name, option in (
        ("output", "-o x"), ("error", "-e x"), ("input", "-i x"), ("open-mode", "--open-mode=append"), ("export", "--export=A"),
        ("export-file", "--export-file=/dev/null"), ("propagate", "--propagate=NONE"), ("get-user-env", "--get-user-env"), ("chdir", "-D /"))],
    *[(f"salloc {one} -n1 : {other} -n1 true", f"warning: {OF_SCRIPT.format(name)}") for name, one, other in (
        ("chdir", "", "-D /"), ("kill-command", "-KINT", "-KTERM"), ("immediate", "-I5", "-I9"))],
    ("[-n1 : -n1] srun --mpi=none true : --mpi=pmi2 true", "error: --mpi is of the whole step: give it in the first component"),
    ("[-n1 : -n1] srun true : --pty true", "error: --pty gives the terminal to task 0, which is in component 0: use it there"),
    ("[-n1 : -n1] srun true : --multi-prog true", "error: --multi-prog is for all parts of a step, whose ranks are in its file, or for none"),
    ("[-n1 : -n1] srun --het-group=0 true : --het-group=0 true", "error: Duplicate het groups in single srun not supported: 0 (component 1)"),
    *[(f"[-n1 : -n1] srun true : {option} true", f"warning: {OF_STEP.format(name)}") for name, option in (
        ("label", "-l"), ("unbuffered", "-u"), ("wait", "-W9"), ("kill-on-bad-exit", "-K"), ("quit-on-interrupt", "--quit-on-interrupt"),
        ("disable-status", "-X"), ("prolog", "--prolog=/bin/true"), ("epilog", "--epilog=/bin/true"), ("x11", "--x11"), ("immediate", "-I9"),
        ("jobid", "--jobid=99"), ("msg-timeout", "--msg-timeout=9"), ("treewidth", "--treewidth=9"), ("debugger-test", "--debugger-test"),
        ("no-kill", "-k"), ("time", "-t5"))],
    *[(f"[-N1 -n2] srun -n1 {one} true : -n1 {other} true", f"error: {SHARED}{name}") for name, one, other in (
        ("export", "--export=PATH", "--export=ALL"), ("export", "", "--export=PATH"), ("propagate", "", "--propagate=NONE"),
        ("task-prolog", "", "--task-prolog=/bin/true"), ("task-epilog", "--task-epilog=/bin/true", "--task-epilog=/bin/false"),
        ("output with %t, %n or %N", "-o o-%t", "-o p-%t"), ("error with %t, %n or %N", "-e o-%t", "-e p-%t"),
        ("input with %t, %n or %N", "-i o-%t", "-i p-%t"))],
]


def test_what_components_have_in_common(het):
    """HET-07, 19, 81: a value that the job or the step cannot have beside that of component 0 is refused or has a warning, and is not dropped
    silently."""
    if not ROOT:
        WHOLE[:] = [row for row in WHOLE if "id=65534" not in row[0]]
    wrong = []
    for line, said in WHOLE:
        ask, _, inside = line[1:].partition("] ") if line[0] == "[" else ("", "", line)
        done = het.run(f"salloc -Q -J common {ask} {inside}" if ask else inside, env={"SBATCH_JOB_NAME": "common", "SLURM_JOB_NAME": "common"})
        progress = r"^salloc: (Granted job allocation|Nodes .* are ready|Relinquishing job allocation).*\n"
        if (re.sub(progress, "", done.stderr, flags=re.M) != f"{inside.split()[0]}: {said}\n"
                or (done.returncode != 0) != said.startswith("error")):
            wrong.append((line, done.returncode, done.stderr))
        het.run("scancel -n common -t PD").ok()
    assert wrong == []
    # Other words with the same meaning are the same value.
    het.run("salloc -Q -N1 -n2 srun -n1 true : -n1 --export=ALL true").ok()
    het.run("srun -M test -n1 true : -M all -n1 true").ok()
    assert rows(het, "-n", "common") == []


def test_a_colon_after_the_script_is_its_argument(het):
    """HET-04: as the manual of sbatch has it; components are separated before the script."""
    (het.work / "colon.sh").write_text("#!/bin/sh\n#SBATCH -n1\n#SBATCH hetjob name=io\n#SBATCH -n1\necho $SLURM_HET_SIZE \"$@\"\n")
    job = het.run("sbatch --parsable -W -o colon.out colon.sh a : -n2").ok()
    assert (het.work / "colon.out").read_text() == "2 a : -n2\n"
    assert rows(het, "-t", "all", "-j", job, format="%i") == [f"{job}+0", f"{job}+1"]


def test_the_name_of_a_component_on_the_command_line(het):
    """Takes precedence over that of the script, as each option does."""
    script = "#!/bin/sh\n#SBATCH -n1\n#SBATCH hetjob name=io\n#SBATCH -n1\n"
    for line, names in (("--component=main", ["main", "io"]), ("-n1 : --component=disk", ["N/A", "disk"])):
        job = het.run(f"sbatch --parsable -H {line}", stdin=script).ok()
        assert het.run(["squeue", "-h", "-S", "i", "-j", job, "-O", "HetComponent"]).ok().split() == names
        het.run(f"scancel {job}").ok()
    het.run("sbatch -H --component=io", stdin=script).fails("Duplicate component name 'io': components 0 and 1 have it")


def test_test_only_checks_every_component(het):
    asked = het.run(["sbatch", "-Jasked", "-n1", ":", "-n2", "-p", "p2", "--test-only", "--wrap=true"])
    assert asked.ok() == "" and "to start at" in asked.stderr and asked.stderr.endswith(" in partition p1,p2\n"), asked.stderr
    for part in "p1", "p2":
        asked = het.run(["sbatch", "-Jasked", "-p", part, "-n1", ":", "-n2", "-p", part, "--test-only", "--wrap=true"])
        assert asked.stderr.endswith(f" in partition {part}\n"), asked.stderr
    het.run(["sbatch", "-Jasked", "--test-only", "-n1", ":", "-p", "none", "--wrap=true"]).fails(
        "allocation failure: ", "Invalid partition name specified")
    het.run(["sbatch", "-Jasked", "--test-only", "-n1", ":", "-N4", "-n16", "--wrap=true"]).fails(
        "allocation failure: ", "component 1 never fits beside component 0")
    assert rows(het, "-t", "all", "-n", "asked") == []


def test_no_start_is_foreseen_without_nodes(het):
    """What keeps the components is a drained node: no job without a time limit is blamed."""
    het.run("scontrol update nodename=n4 state=drain reason=test").ok()
    try:
        leader = submit(het, "-t5 -N2 --exclusive : -N2 --exclusive --wrap=true")
        eventually(lambda: parts(het, leader, format="%r") == [f"{leader}+{i} Resources" for i in range(2)], "it is looked at")
        said = het.run(f"sluice why {leader}").ok() + "\n"
        assert "drained: n4 (test)\n" in said and "Expected start: not foreseeable\n" in said
        het.run(f"scancel {leader}").ok()
        gone(het, leader)
    finally:
        het.run("scontrol update nodename=n4 state=resume").ok()


def test_changes_of_elements_name_the_element(het):
    """HET-37, 99: the command that sluice why proposes names a component of an element as squeue does."""
    array = submit(het, "-a 1-2 -n1 : -n2 --hold --wrap=true")
    said = het.run(f"sluice why {array}_2").ok()
    assert f"scontrol release {array}_2+1" in said
    het.run(f"scontrol release {array}_2+1").ok()
    gone(het, f"{array}_2")
    het.run(f"scancel {array}").ok()


def test_a_note_names_its_component(het):
    done = het.run(["sbatch", "-H", "-n1", ":", "-o", "second.out", "--wrap=true"])
    job = re.fullmatch(r"Submitted batch job (\d+)", done.ok())[1]
    assert done.stderr == "sbatch: warning: option --output has no effect here: use it in component 0 (component 1)\n"
    het.run(f"scancel {job}").ok()


EMPTY = ["component 0 has no #SBATCH options: it requests one task",
         "the component has no #SBATCH options: it requests one task and inherits the options of the first component (component 1)"]


@pytest.mark.parametrize("directives, options, empty", [
    ("hetjob|-n2", "", [0]), ("hetjob|-n2", "-H --parsable -J name", [0]), ("hetjob|-n2", "-H -n1", []),
    ("-n2|hetjob", "-H --parsable", [1]), ("hetjob", "-H --parsable", [0, 1]), ("hetjob", "-H -n1 : -n2", []),
])
def test_an_empty_component_of_a_script_has_a_warning(het, directives, options, empty):
    """Once for each. Options of the command line that all components inherit do not make component 0 another one."""
    lines = "".join(f"#SBATCH {words}\n" for words in directives.split("|"))
    done = het.run(f"sbatch -o /dev/null {options}", stdin=f"#!/bin/sh\n{lines}true\n")
    assert done.returncode == 0 and done.stderr == "".join(f"sbatch: warning: {EMPTY[offset]}\n" for offset in empty)
    het.run(f"scancel {re.search('[0-9]+', done.stdout)[0]}")


def test_the_status_is_that_of_the_script(het):
    done = het.run(["sbatch", "--wait", "-n1"], stdin="#!/bin/sh\n#SBATCH -p p1\n#SBATCH hetjob\n#SBATCH -p p2 -n2\nexit 3\n")
    assert done.returncode == 3
    leader = int(done.stdout.split()[-1])
    gone(het, leader)
    assert parts(het, leader, "-t", "all", format="%P %C %T") == [f"{leader}+0 p1 1 FAILED", f"{leader}+1 p2 2 FAILED"]


def test_verbose_tells_the_options_of_each_component(het):
    done = het.run(["sbatch", "-H", "-v", "-n1", ":", "-n2", "--wrap=true"])
    het.run(f"scancel {done.ok().split()[-1]}").ok()
    said = done.stderr.replace("sbatch: ", "")
    first, second = said.split("component 0:\n")[1].split("component 1:\n")
    assert re.search(r"^ntasks +: 1$", first, re.M) and re.search(r"^ntasks +: 2$", second, re.M)


def test_an_ordinary_word_is_no_separator(het):
    """HET-04."""
    run = script(het, "words.bash", "#!/bin/sh\necho \"$@\"\n")
    leader = submit(het, f"-n1 {run} a : b:c")
    het.wait(leader)
    assert het.output(leader) == "a : b:c\n"


def test_the_planned_start_and_nodes_of_a_set(het):
    """HET-118: every component shows the common start and its own nodes, in squeue --start and scontrol show job."""
    blocker = het.sbatch("-N4", "--exclusive", "-t10", wrap="sleep 1000")
    eventually(lambda: het.state(blocker) == "RUNNING", "it runs")
    leader = submit(het, "-n1 -t5 : -N2 -p p2 --wrap=true")

    def planned():
        shown = components(het, leader)
        return [(shown[i]["StartTime"], shown[i].get("SchedNodeList")) for i in (0, 1)]

    at = het.job(blocker)["EndTime"]
    eventually(lambda: planned() == [(at, "n3"), (at, "n[3-4]")], planned)
    assert rows(het, "--start", "-j", str(leader), format="%i %S %Y") == [f"{leader}+0 {at} n3", f"{leader}+1 {at} n[3-4]"]
    # A component that begins later has all begin later.
    het.run(f"scontrol update jobid={leader}+1 StartTime=now+1hour").ok()
    eventually(lambda: planned()[0][0] > at, planned)
    begin = planned()[0][0]
    assert planned() == [(begin, "n3"), (begin, "n[3-4]")]
    het.run(f"scancel {leader} {blocker}").ok()
    gone(het, leader)


def test_a_set_that_never_fits_together_has_a_reason(het):
    """Each component could start, but never together with the others: the set has the reason BadConstraints and blocks no job, until a component is
    changed."""
    done = het.run("sbatch --parsable -o /dev/null -N4 --exclusive : -N1 --wrap=true".split())
    leader = int(done.ok())
    assert "not available now: component 1 never fits beside component 0" in done.stderr
    eventually(lambda: rows(het, "-j", str(leader), format="%r") == ["BadConstraints"] * 2, lambda: rows(het, "-j", str(leader), format="%i %r"))
    for asked in leader, f"{leader}+1":
        why = het.run(["sluice", "why", str(asked)]).ok()
        assert "PENDING, BadConstraints" in why and f"Component 1 of job {leader} " in why, why
        assert "could ever serve it beside the other components" in why and "It never fits beside component 0." in why, why
        assert het.json(f"sluice why --json {asked}")["why"][0]["component"]["beside"] == 0
    assert het.wait(het.sbatch("-N4", "-t10", wrap="true"))["JobState"] == "COMPLETED"
    het.run(f"scontrol update jobid={leader}+0 NumNodes=3").ok()
    assert het.wait(leader)["JobState"] == "COMPLETED"
    gone(het, leader)


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_node_daemon_is_lost_while_a_component_is_launched(het, comes_back):
    """HET-115: the daemon accepts the launch when it is back, in the same attempt; if its node goes down, the set is requeued as a whole."""
    def attempts():
        return [(one["JobState"], one["Restarts"]) for one in components(het, leader).values()]
    het.daemons["n2"].send_signal(signal.SIGSTOP)
    leader = submit(het, "--requeue -n1 -w n1 : -n1 -w n2 --wrap=srun|--het-group=0,1|true")
    eventually(lambda: attempts() == [("RUNNING", "0")] * 2, attempts)
    het.kill("n2")
    if not comes_back:
        het.run("scontrol update nodename=n2 state=down reason=lost").ok()
        eventually(lambda: attempts() == [("PENDING", "1")] * 2, attempts)
        het.run(f"scontrol update jobid={leader} StartTime=now").ok()
    het.start_node("n2")
    if not comes_back:
        het.run("scontrol update nodename=n2 state=resume").ok()
    het.wait_ready()
    het.wait(leader)
    gone(het, leader)
    assert attempts() == [("COMPLETED", "01"[not comes_back])] * 2


def test_a_removed_partition_of_a_component_is_named(het):
    """The set waits as a whole; sluice why names the component and says that its partition was removed, and not that it is down."""
    text = het.conf_file.read_text()
    leader = submit(het, "-H -n1 : -n1 -p p2 --wrap=true")
    try:
        het.conf_file.write_text("".join(line for line in text.splitlines(True) if not line.startswith("PartitionName=p2 ")))
        het.run("scontrol reconfigure").ok()
        het.run(f"scontrol release {leader}").ok()
        for asked in leader, f"{leader}+1":
            why = het.run(["sluice", "why", str(asked)]).ok()
            assert f"{leader}+1" in why and "Its partition was removed from the configuration." in why, why
        assert rows(het, "-j", str(leader), format="%T") == ["PENDING"] * 2
    finally:
        het.conf_file.write_text(text)
        het.run("scontrol reconfigure").ok()
    assert het.wait(leader)["JobState"] == "COMPLETED"
    gone(het, leader)


def test_a_held_component_is_shown_alike_everywhere(het):
    """HET-56: one reason for a component in squeue %r and %R, scontrol show job and sluice why; the others wait for it."""
    blocker = het.sbatch("-N4", "--exclusive", "-t10", wrap="sleep 1000")
    eventually(lambda: het.state(blocker) == "RUNNING", "it runs")
    leader = submit(het, "-n1 -t5 : -n1 : -n1 --wrap=true")

    def views():
        listed = [line.split() for line in rows(het, "-j", str(leader), format="%r %R")]
        shown = components(het, leader)
        why = [het.run(["sluice", "why", f"{leader}+{i}"]).ok().splitlines()[0].split("PENDING, ")[1] for i in range(3)]
        return [{a, b.strip("()"), shown[i]["Reason"], why[i]} for i, (a, b) in enumerate(listed)]

    for held_one in (0, 2):
        het.run(f"scontrol hold {leader}+{held_one}").ok()
        eventually(lambda: views() == [{"JobHeldAdmin"} if i == held_one else {"Dependency"} for i in range(3)], views)
        het.run(f"scontrol update jobid={leader}+1 timelimit={3 + held_one}").ok()
        eventually(lambda: views()[1] == {"Dependency"}, views)
        het.run(f"scontrol release {leader}").ok()
        eventually(lambda: views() == [{"Resources"}] * 3, views)
    het.run(f"scancel {leader} {blocker}").ok()
    gone(het, leader)


# --- salloc ---------------------------------------------------------------------------------------------------------------------

def leader_of(text):
    return int(re.search(r"job allocation (\d+)", text)[1])


def test_salloc_has_all_components_until_its_command_ends(het):
    """HET-03, 79."""
    done = het.run(["salloc", "-N1", "-J", "inside", ":", "-N2", "-p", "p2", "squeue", "-h", "-n", "inside", "-S", "i", "-o", "%i %T %P %D"])
    leader = leader_of(done.stderr)
    assert done.ok().splitlines() == [f"{leader}+0 RUNNING p1 1", f"{leader}+1 RUNNING p2 2"]
    assert done.stderr == (f"salloc: Granted job allocation {leader}\nsalloc: Nodes n3 are ready for job\n"
                           f"salloc: Nodes n[3-4] are ready for job\nsalloc: Relinquishing job allocation {leader}\n")
    gone(het, leader)
    assert parts(het, leader, "-t", "all") == [f"{leader}+0 COMPLETED", f"{leader}+1 COMPLETED"]


def test_salloc_waits_for_the_last_component(het):
    """HET-79, 88."""
    blocker = het.sbatch("-N1", "-wn4", "--exclusive", wrap="sleep 1000")
    with het.popen(["salloc", "-N1", ":", "-N2", "-p", "p2", "true"]) as salloc:
        said = salloc.stderr.readline() + salloc.stderr.readline()
        leader = leader_of(said)
        assert said == f"salloc: Pending job allocation {leader}\nsalloc: job {leader} queued and waiting for resources\n"
        assert parts(het, leader) == [f"{leader}+0 PENDING", f"{leader}+1 PENDING"]
        het.run(f"scancel {blocker}").ok()
        out, rest = salloc.communicate()
    assert salloc.returncode == 0 and out == ""
    assert rest.startswith(f"salloc: job {leader} has been allocated resources\nsalloc: Granted job allocation {leader}\n")
    assert rest.count("Granted job allocation") == 1
    gone(het, leader)


def test_an_interrupt_ends_the_request_of_all_components(het):
    blocker = het.sbatch("-N1", "-wn4", "--exclusive", wrap="sleep 1000")
    with het.popen(["salloc", "-N1", ":", "-N2", "-p", "p2", "true"]) as salloc:
        leader = leader_of(salloc.stderr.readline())
        salloc.send_signal(signal.SIGINT)
        _, rest = salloc.communicate()
    assert salloc.returncode == 1 and f"salloc: Job allocation {leader} has been revoked.\n" in rest
    assert parts(het, leader) == []
    # At once or not at all: no component is left behind.
    het.run(["salloc", "-I", "-J", "hasty", "-N1", ":", "-N2", "-p", "p2", "true"]).fails("Requested nodes are busy")
    assert rows(het, "-t", "all", "-n", "hasty") == []
    het.run(f"scancel {blocker}").ok()
    het.wait(blocker)


def test_an_allocation_without_a_shell_stays(het):
    done = het.run(["salloc", "-N1", ":", "-N1", "--no-shell"])
    leader = leader_of(done.stderr)
    assert done.returncode == 0 and "Relinquishing" not in done.stderr
    assert parts(het, leader) == [f"{leader}+0 RUNNING", f"{leader}+1 RUNNING"]
    het.run(f"scancel {leader}").ok()
    gone(het, leader)


def test_a_wrong_component_refuses_the_allocation(het):
    het.run(["salloc", "-J", "refused", "-N1", ":", "-N1", "-p", "none", "true"]).fails(
        "salloc: error: Job submit/allocate failed: Invalid partition name specified: none (component 1)")
    assert rows(het, "-t", "all", "-n", "refused") == []


def test_a_script_waits_for_the_nodes_of_all_components(make_cluster):
    """HET-115: nothing of the job begins before PrologSlurmctld is done for all components, whichever is the last one."""
    c = make_cluster(nodes=2, cpus=4, conf=CONF + "PrologSlurmctld=/bin/false\n", start=False)
    prolog = script(c, "prolog", f"#!/bin/sh\ncd {c.work}\nwhile [ ! -e go-$SLURM_JOB_ID ]; do sleep 0.1; done\ntouch done-$SLURM_JOB_ID\n")
    c.conf_file.write_text(c.conf_file.read_text().replace("/bin/false", prolog))
    c.start()
    for last in (0, 1):
        leader = submit(c, f"-N1 -o {c.work}/out-%j : -N1 --wrap=ls|{c.work}")
        first, second = leader + 1 - last, leader + last
        eventually(lambda: parts(c, leader) == [f"{leader}+0 CONFIGURING", f"{leader}+1 CONFIGURING"], "both have their nodes")
        (c.work / f"go-{first}").touch()
        eventually((c.work / f"done-{first}").exists, "one prolog is done")
        if first != leader:
            eventually(lambda: parts(c, leader) == [f"{leader}+0 CONFIGURING", f"{leader}+1 RUNNING"], "a component is ready")
        assert parts(c, leader)[0] == f"{leader}+0 CONFIGURING" and not (c.work / f"out-{leader}").exists()
        (c.work / f"go-{second}").touch()
        gone(c, leader)
        assert parts(c, leader, "-t", "all") == [f"{leader}+0 COMPLETED", f"{leader}+1 COMPLETED"]
        assert {f"done-{leader}", f"done-{leader + 1}"} <= set((c.work / f"out-{leader}").read_text().split())
    c.stop()


def test_all_components_are_for_one_cluster(het):
    """HET-19, HET-96: with every command, another cluster is refused for all components, and nothing is left; in this one all of them are its jobs.
    The choice among several clusters, and that a federation never moves or splits such a job, can be tested when several clusters are supported."""
    before = rows(het, "-t", "all")
    for names in ("elsewhere", "test,elsewhere", "elsewhere,test"):
        for command, program in ("sbatch", "--wrap=true"), ("salloc", "true"), ("srun", "true"):
            for line in f"{command} -M {names} -n1 : -n1 {program}", f"{command} -n1 {program * (command == 'srun')} : -M {names} -n1 {program}":
                het.run(line).fails(f"{command}: error: No cluster '{names}' known: this configuration describes cluster 'test' only (component ")
        script_lines = f"#!/bin/sh\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -M {names}\ntrue\n"
        het.run("sbatch", stdin=script_lines).fails(f"No cluster '{names}' known", "(component 1)")
        het.run("sbatch -n1 : -n1 --wrap=true", env={"SBATCH_CLUSTERS": names}).fails(f"No cluster '{names}' known")
    het.run("sbatch --cluster-constraint=x -n1 : -n1 --test-only --wrap=true").ok()  # there is one cluster, which is chosen
    assert rows(het, "-t", "all") == before
    for line in "-M test -n1 : -n1", "-n1 : -M test -n1":
        said = het.run(f"sbatch -H {line} --wrap=true").ok()
        job = int(re.fullmatch(r"Submitted batch job (\d+) on cluster test", said)[1])
        assert len(parts(het, job)) == 2
        assert [job["cluster"] for job in het.json(f"squeue -j {job}")["jobs"]] == ["test"] * 2
        het.run(f"scancel {job}").ok()


def test_external_components_are_refused(het):
    """HET-130: a component without resources cannot be requested, wherever --external is; the guide has the message."""
    before = rows(het, "-t", "all")
    for command, program in ("sbatch", "--wrap=true"), ("salloc", "true"):
        for line, where in (f"-n1 : -n1 : --external {program}", 2), (f"-n1 : --external -n1 {program}", 1):
            het.run(f"{command} {line}").fails(f"{command}: unrecognized option '--external' (component {where})\n")
        het.run(f"{command} --external : -n1 {program}").fails(f"{command}: unrecognized option '--external'\n")
    done = het.run("sbatch", stdin="#!/bin/sh\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH --external\ntrue\n")
    done.fails("unrecognized option '--external'", "(component 1)")
    assert rows(het, "-t", "all") == before
    guide = " ".join((TOP / "docs/heterogeneous-jobs.md").read_text().split())
    assert "`sbatch --external`, also in an `#SBATCH` line, is refused with `unrecognized option '--external'`, and nothing is queued." in guide


def test_limits_of_the_whole_job():
    """HET-22, HET-24, HET-124: the requirements of all components are tested together; a refusal names the limit and the remedy; CPUs are allocated
    by whole cores. Limits of associations and QOS, and the reasons that name them, can be tested when there is accounting; their gates are open:
    test_docs.py."""
    with many(Cluster) as make:
        c = make(nodes=1, cpus=8, memory=4000,
                 conf="SelectTypeParameters=CR_Core\nMaxJobCount=4\nLicenses=a:4\nMinJobAge=2\nEnforcePartLimits=ALL\n",
                 node_conf="Sockets=1 CoresPerSocket=4 ThreadsPerCore=2",
                 partitions=["PartitionName=p Nodes=ALL Default=YES", "PartitionName=one Nodes=ALL MaxCPUsPerNode=1"])
        refused = "sbatch: error: Batch job submission failed: {}\n"
        c.run("sbatch -n1 -L a:3 : -n1 -L a:2 --wrap=true").fails(refused.format("Invalid license specification: 5 of a asked, the cluster has 4"))
        count = "MaxJobCount limit reached: {} asked for, each element of an array and each component counts; MaxJobCount=4, of which {} are free: {}"
        few = refused.format(count.format(5, 4, "ask for fewer at a time"))
        c.run("sbatch -n1 : -n1 : -n1 : -n1 : -n1 --wrap=true").fails(few)
        assert rows(c, "-t", "all") == []
        waiting = submit(c, "-H -n1 : -n1 --wrap=true")
        later = refused.format(count.format(3, 2, "submit the job when other jobs have ended"))
        c.run("sbatch -n1 : -n1 : -n1 --wrap=true").fails(later)
        c.run(f"scancel {waiting}").ok()
        # A limit of a partition considers whole cores, so it refuses at once.
        c.run("sbatch -n1 : -p one -n1 --wrap=true").fails("Requested node configuration is not available", "partition one", "(component 1)")
        eventually(lambda: rows(c, "-t", "all") == [], "the cancelled job is purged")
        job = submit(c, "-n1 : -n3 -o /dev/null --wrap=sleep|1000")
        c.wait_state(job, "RUNNING")
        found = components(c, job)
        assert [(part["NumTasks"], part["NumCPUs"]) for part in found.values()] == [("1", "2"), ("3", "4")]
        other = submit(c, "-n1 : -n1 -o /dev/null --wrap=true")  # accepted, though each has a whole core and only one is free
        eventually(lambda: [row.split()[1:] for row in rows(c, format="%i %T %r") if row.startswith(f"{other}+")] == [["PENDING", "Resources"]] * 2,
                   "the second job waits for the core")
        c.run(f"scancel {job} {other}").ok()
