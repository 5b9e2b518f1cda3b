# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of srun, sbatch and salloc as their users see them: one row per observation."""
import os
import pwd
import re
import signal

import pytest

USER = pwd.getpwuid(os.geteuid()).pw_name


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


LABELLED = [  # options, program, {file: text}
    ("-n2 -l -o lab.%t", "echo out; echo err >&2; printf half", {"lab.0": "0: out\n0: err\n0: half\n", "lab.1": "1: out\n1: err\n1: half\n"}),
    ("-n2 -l -o lab.o%t -e lab.e%t", "echo out; echo err >&2", {"lab.o0": "0: out\n", "lab.e0": "0: err\n", "lab.o1": "1: out\n", "lab.e1": "1: err\n"}),
    ("-n2 -o lab.%t", "echo out; printf half", {"lab.0": "out\nhalf", "lab.1": "out\nhalf"}),
    ("-n2 -l -o /dev/null -e lab.%t", "echo out; echo err >&2", {"lab.0": "0: err\n", "lab.1": "1: err\n"}),
]


@pytest.mark.parametrize("options, program, files", LABELLED)
def test_labels_are_written_to_files_of_single_tasks(cluster, options, program, files):
    assert cluster.run(["srun", *options.split(), "sh", "-c", program]).ok() == ""
    written = {path.name: path.read_text() for path in cluster.work.glob("lab.*")}
    # Two pipes of a task end in one file: their lines have no order.
    assert {name: sorted(text.splitlines(True)) for name, text in written.items()} == {
        name: sorted(text.splitlines(True)) for name, text in files.items()}
    for path in cluster.work.glob("lab.*"):
        path.unlink()


def test_tasks_that_share_a_file_of_their_node_do_not_mix_lines(cluster):
    program = "for i in 1 2 3 4 5 6 7 8 9; do printf a; printf 'b\\n'; done"
    cluster.run(["srun", "-N2", "-n12", "-O", "-l", "-o", "node.%N", "sh", "-c", program]).ok()
    lines = [line for name in ("n1", "n2") for line in (cluster.work / f"node.{name}").read_text().splitlines()]
    assert sorted(lines) == sorted(f"{task:2}: ab" for task in range(12) for _ in range(9))


def test_overcommit_takes_the_cpus_of_one_task_of_each_node(cluster):
    """sbatch(1): CPUs per task are allocated per node, rather than multiplied by the number of tasks."""
    show = ["sh", "-c", "echo $SLURM_JOB_CPUS_PER_NODE $SLURM_NTASKS"]
    assert cluster.run(["salloc", "-Q", "-O", "-n8", "-c2", "-N2", *show]).ok() == "2(x2) 8"
    job = cluster.sbatch("-H", "-O", "-n8", "-c2", "-N2", wrap="true")
    fields = cluster.job(job)
    assert fields["NumCPUs"] == "4" and fields["ReqTRES"].startswith("cpu=4,mem=400M,node=2,"), fields
    cluster.run(f"scancel {job}").ok()


def test_a_labelled_file_may_be_a_pipe_that_is_read_late(cluster):
    os.mkfifo(cluster.work / "fifo.0")
    srun = cluster.popen("srun -l -o fifo.%t seq 100000")
    reader = cluster.popen("cat fifo.0")
    assert reader.communicate()[0] == "".join(f"0: {i}\n" for i in range(1, 100001))
    assert srun.wait() == 0


def test_the_user_is_in_the_name_of_a_file(cluster):
    cluster.run(["srun", "-o", "out.%u", "-e", "err.%u", "sh", "-c", "echo a; echo b >&2"]).ok()
    assert (cluster.work / f"out.{USER}").read_text() == "a\n" and (cluster.work / f"err.{USER}").read_text() == "b\n"
    assert cluster.run(["srun", "-i", "out.%u", "cat"]).ok() == "a"


def test_streams_are_named_by_variables(cluster):
    (cluster.work / "v.in").write_text("typed\n")
    names = {"SRUN_INPUT": "v.in", "SRUN_OUTPUT": "v.out", "SRUN_ERROR": "v.err", "SLURM_STDOUTMODE": "v.never"}
    assert cluster.run(["srun", "sh", "-c", "cat; echo late >&2"], env=names).ok() == ""
    assert [(cluster.work / f"v.{name}").read_text() for name in ("out", "err")] == ["typed\n", "late\n"]
    assert not (cluster.work / "v.never").exists()
    assert cluster.run(["srun", "-i", "none", "-o", "all", "echo", "here"], env=names).ok() == "here"


LEVELS = [  # command, environment, level that is told of; None: nothing is told
    ("srun true", {"SLURM_DEBUG": "2"}, 2), ("srun -v true", {"SLURM_DEBUG": "2"}, 3), ("srun true", {"SLURM_DEBUG": "0"}, None),
    ("srun true", {"SLURM_DEBUG": ""}, None), ("sbatch --wrap true", {"SBATCH_DEBUG": "4"}, 4), ("salloc true", {"SALLOC_DEBUG": "3"}, 3),
    ("sbatch -vv --wrap true", {"SLURM_DEBUG": "3"}, 2),
]


@pytest.mark.parametrize("line, env, level", LEVELS)
def test_variables_hold_levels_of_verbosity(cluster, line, env, level):
    done = cluster.run(line, env=env)
    done.ok()
    found = re.search(r"verbose +: (\d+)", done.stderr)
    assert (int(found[1]) if found else None) == level


@pytest.mark.parametrize("line", ["srun -p nosuch true", "sbatch -p nosuch --wrap true", "salloc -p nosuch true", "srun -t x true", "sattach 4711.0",
                                  "srun --accel-bind=x true"])
def test_exit_status_of_errors_follows_slurm_exit_error(cluster, line):
    """An error cannot exit with 0: Slurm refuses that value."""
    usual = cluster.run(line).returncode
    assert usual in (1, 255)
    for value, status in (("77", 77), ("0", usual), ("x", usual), ("", usual), ("256", usual)):
        assert cluster.run(line, env={"SLURM_EXIT_ERROR": value}).returncode == status, value


def test_submit_directory_is_that_of_the_command(cluster):
    """srun(1); salloc(1) has that of --chdir."""
    show = ["sh", "-c", "echo $SLURM_SUBMIT_DIR; pwd"]
    for line in (["srun", "-D", "/tmp", *show], ["env", "SLURM_REMOTE_CWD=/tmp", "srun", *show], ["sbatch", "-W", "-o", cluster.work / "where", "-D", "/tmp",
                                                                                            "--wrap", show[-1]]):
        told = cluster.run(line).ok() if line[0] != "sbatch" else cluster.run(line).ok() and (cluster.work / "where").read_text().rstrip()
        assert told.splitlines() == [str(cluster.work), "/tmp"], line
    assert cluster.run(["salloc", "-Q", "-D", "/tmp", *show]).ok().splitlines() == ["/tmp", "/tmp"]


def test_invalid_levels_are_refused(cluster):
    done = cluster.run("srun true", env={"SLURM_DEBUG": "yes"})
    done.fails('srun: error: Invalid numeric value "yes" for --verbose.')
    assert done.returncode == 1


def test_a_program_of_the_working_directory_is_found(cluster):
    """Without ./, but those in PATH come first."""
    for name in ("here", "uname"):
        script(cluster.work / name, "echo of the directory $1\n")
    (cluster.work / "sub").mkdir()
    script(cluster.work / "sub/below", "echo below\n")
    (cluster.work / "multi").write_text("0 here %t\n1 uname -s\n")
    for line, want in (("srun here 1", "of the directory 1"), ("salloc -Q here 2", "of the directory 2"), ("srun -D sub below", "below"),
                       ("srun uname -s", "Linux"), ("salloc -Q uname -s", "Linux"), ("srun --bcast=/tmp/sluice-here-%j here 3", "of the directory 3")):
        assert cluster.run(line.replace("%j", str(cluster.port))).ok() == want, line
    os.unlink(f"/tmp/sluice-here-{cluster.port}")
    assert cluster.run("srun -n2 -l --multi-prog multi").ok().split("\n") in (["0: of the directory 0", "1: Linux"], ["1: Linux", "0: of the directory 0"])
    done = cluster.run("srun -D / here")
    done.fails("execve(): here: No such file or directory")
    assert done.returncode == 2
    cluster.run("srun sub").fails("execve(): sub: ")


def test_quit_on_interrupt_kills_at_once(make_cluster):
    """Tasks that mind neither the interrupt nor SIGTERM do not keep the user waiting for KillWait."""
    c = make_cluster(nodes=1, conf="KillWait=300")
    srun = c.popen(["srun", "-n2", "--quit-on-interrupt", "sh", "-c", "trap '' INT TERM; echo up; while :; do sleep 0.1; done"])
    assert srun.stdout.readline() + srun.stdout.readline() == "up\nup\n"
    srun.send_signal(signal.SIGINT)
    _, told = srun.communicate()
    assert srun.returncode == 128 + signal.SIGKILL
    assert re.findall("srun: (sending|forcing|Job step aborted)", told) == ["sending", "forcing", "Job step aborted"]


def test_ignored_signals_reach_neither_srun_nor_tasks(cluster):
    script(cluster.work / "waits", "trap 'echo usr1' USR1; trap 'echo usr2' USR2; echo up; while [ ! -e go.$1 ]; do sleep 0.05; done; echo end\n")
    srun = cluster.popen("srun --ignore-signals=SIGINT,TERM,USR1 -u ./waits 1")
    assert srun.stdout.readline() == "up\n"
    for signo in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
        srun.send_signal(signo)
    assert srun.stdout.readline() == "usr2\n"
    (cluster.work / "go.1").touch()
    out, told = srun.communicate()  # the shell may say that the signal ended its sleep
    assert (out, srun.returncode) == ("end\n", 0) and "srun:" not in told


ACCEPTED = [  # options of sbatch, what the job's record says of them
    ("-N-3", {"NumNodes": "1-3"}), ("--begin=noon-tomorrow", {"JobState": "PENDING"}), ("-m Pack", {}), ("-m NoPack", {}), ("--requeue=expedite", {"Requeue": "1"}),
]


@pytest.mark.parametrize("options, shown", ACCEPTED)
def test_spellings_of_slurm_are_accepted(cluster, options, shown):
    job = cluster.sbatch("-H", *options.split(), wrap="true")
    fields = cluster.job(job)
    assert {key: fields[key] for key in shown} == shown
    cluster.run(f"scancel {job}").ok()


REFUSED = [  # command, message, status
    ("sbatch -N 0 --wrap true", "sbatch: error: Batch job submission failed: Node count specification invalid", 1),
    ("srun -N0 true", "srun: error: Unable to allocate resources: Node count specification invalid", 1),
    ("salloc -N0 true", "salloc: error: Job submit/allocate failed: Node count specification invalid", 1),
    ("srun -r1 true", "srun: fatal: --relative option invalid for job allocation request", 1),
    ("srun -r1 -wn1 true", "srun: error: --relative and --nodelist are mutually exclusive.", 1),
    ("srun -r1 -xn1 true", "srun: error: --relative and --exclude are mutually exclusive.", 1),
    ("srun --async true", "option --async is not available in this version: it needs a step manager", 1),
    ("sbatch --mem-update=20@5 --wrap true", "option --mem-update is not available in this version", 1),
    ("salloc --container-type=x true", "option --container-type is not available in this version, a later one is to have it", 1),
]


@pytest.mark.parametrize("line, text, status", REFUSED)
def test_invalid_options_are_refused(cluster, line, text, status):
    done = cluster.run(line.split(" ", 3) if "--wrap" not in line else line.split())
    assert text in done.fails() and done.returncode == status


def test_step_request_without_a_node_count(cluster):
    assert cluster.run(["salloc", "-Q", "-N2", "srun", "-N0", "echo", "x"]).ok() == "x\nx"


NOTICES = [  # what keeps the job waiting, its end, options, the notice
    ("PartitionName=main State=DOWN", "PartitionName=main State=UP", "", "Partition in DOWN state"),
    ("NodeName=n2 State=DRAIN Reason=x", "NodeName=n2 State=RESUME", "-w n2", "Required node not available (down, drained or reserved)"),
]


@pytest.mark.parametrize("before, after, options, notice", NOTICES)
def test_waiting_commands_say_what_is_not_available(cluster, before, after, options, notice):
    for tool in ("srun", "salloc"):
        cluster.run(f"scontrol update {before}").ok()
        waits = cluster.popen(f"{tool} {options} echo x")
        told = waits.stderr.readline()
        cluster.run(f"scontrol update {after}").ok()
        out, rest = waits.communicate()
        assert (told, out, waits.returncode) == (f"{tool}: {notice}\n", "x\n", 0), rest


MESSAGES = [  # commands of a user who has forgotten something, Slurm's words
    ("strigger", "You must use exactly one of the following options: --set, --get or --clear"),
    ("strigger --set -p /bin/true", "You must specify a trigger (--down, --up, --reconfig, --time, --fini, "),
    ("strigger --set --down", "You must specify a --program value"), ("strigger --set --down -p x", 'The --program value must start with "/"'),
    ("strigger --set --fini -p /bin/true", "You must specify a --jobid value"), ("strigger --clear", "You must specify a --id, --jobid, or --user to clear"),
    ("strigger --get --flags=x", "Invalid flags x"), ("strigger --get --user=nobody_at_all", "Invalid user nobody_at_all"),
    ("sbcast -Z /etc/passwd /tmp/x", "--no-allocation: no nodes are named: use --nodelist"),
    ("sattach 99999.0", "Could not get job step info: Invalid job id specified"), ("sattach 1.0 2.0", "too many parameters"),
    ("srun --jobid=99999 true", "Unable to confirm allocation for job 99999: Invalid job id specified\n"
     "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 99999\n"),
    ("sattach x", "Failed to parse stepid"), ("sattach --pty --input-filter=1 1.0", "don't specify both --pty and I/O filtering"),
    ("sattach --output-filter=x 1.0", 'Invalid numeric value "x" for output-filter.'),
]


@pytest.mark.parametrize("line, text", MESSAGES)
def test_errors_begin_with_words_of_slurm(cluster, line, text):
    assert cluster.run(line).fails().startswith(f"{line.split()[0]}: error: {text}")


@pytest.mark.parametrize("width", ["-F4", "--treewidth=off", "--fanout=1"])
def test_sbcast_takes_the_width_of_its_tree(cluster, width):
    dest = cluster.work / "copied"
    done = cluster.run(["salloc", "-Q", "-N2", "sbcast", "-v", "-f", width, "/etc/hostname", dest])
    done.ok()
    assert f"fanout     = {dict([('-F4', 4), ('--treewidth=off', 64), ('--fanout=1', 1)])[width]}\n" in done.stderr and dest.exists()


def test_debuggers_find_the_tasks(cluster):
    done = cluster.run("srun -N2 -n3 --debugger-test true")
    done.ok()
    lines = re.findall(r"srun: task:(\d), host:(n\d), pid:\d+, executable:\S*true", done.stderr)
    assert lines == [("0", "n1"), ("1", "n1"), ("2", "n2")]


def test_verbose_salloc_reports_its_progress(cluster):
    done = cluster.run(["salloc", "-vv", "sh", "-c", "exit 3"])
    assert done.returncode == 3
    assert re.findall(r"salloc: debug:  (\S+ \S+)", done.stderr) == ["asking the", "the controller", "running command", "command \"sh\"", "the controller"]
    assert "debug" not in cluster.run("salloc -v true").stderr


def test_generic_resources_are_listed(make_cluster):
    c = make_cluster(nodes=1, conf="GresTypes=gpu,tape", node_conf="Gres=gpu:1,tape:2")
    for line in ("srun --gres=help", "salloc --gres=help true", "sbatch --gres=help --wrap true"):
        assert c.run(line).ok() == "Valid gres options are:\ngpu[[:type]:count]\ntape[[:type]:count]", line
