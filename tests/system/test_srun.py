# SPDX-License-Identifier: GPL-3.0-or-later
"""Interactive runs, steps and allocations: CORE-022, 036 to 041, 064, 067, 068, 103, 105, 106, 108, 206 to 208, 214, 216 to 218, 220 to 222."""
import contextlib
import os
import pathlib
import pty
import re
import signal
import subprocess

import pytest

from harness import PREFIX, ROOT, child_named, eventually


def lines(text):
    return sorted(text.split("\n"))


def test_srun_prints_output_and_errors(cluster):
    """CORE-103."""
    done = cluster.run(["srun", "sh", "-c", "echo out; echo err >&2"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "err\n")


@pytest.mark.parametrize("label, prefix", [([], ""), (["-l"], "0: "), (["-l", "-o", "unbuffered-%j-%t"], "0: ")])
def test_unbuffered_output_is_written_to_a_terminal(cluster, label, prefix):
    """--unbuffered: only the standard output of programs is a terminal, and no byte is changed."""
    program = "for i in 0 1 2; do test ! -t $i || echo tty $i; done; seq 30000; printf 'last\tline'"
    out = cluster.run(["srun", "-u", *label, "sh", "-c", program]).ok()
    if "-o" in label:
        (file,) = cluster.work.glob("unbuffered-*-0")
        out = file.read_text()
    assert out.replace("\r", "CR").splitlines() == [prefix + row for row in ["tty 1", *map(str, range(1, 30001)), "last\tline"]]
    assert cluster.run("srun tty").stdout == "not a tty\n"


def tcp_connections(port):
    """Established TCP connections that use this port; both ends are on this host, so each counts twice."""
    rows = [row.split() for kind in ("tcp", "tcp6") for row in pathlib.Path(f"/proc/net/{kind}").read_text().splitlines()[1:]]
    return sum(row[3] == "01" and f"{port:04X}" in (row[1][-4:], row[2][-4:]) for row in rows)


@pytest.mark.parametrize("conf, least, most", [("", 50, 60), ("CommunicationParameters=keepalivetime=4000,keepaliveinterval=3000", 3900, 4000),
                                               ("KeepAliveTime=5000", 4900, 5000)])
def test_streams_are_probed_after_the_configured_keepalive_time(make_cluster, conf, least, most):
    """slurm.conf(5), CommunicationParameters: both ends of a connection between srun and slurmstepd are probed after that time."""
    c = make_cluster(nodes=1, conf=conf)
    step = c.popen(["srun", "sh", "-c", "echo $SLURM_SRUN_COMM_PORT; read x"], env={"SLUICE_NO_LOCAL_SOCKET": "1"}, stdin=subprocess.PIPE)
    port = f"{int(step.stdout.buffer.readline()):04X}"

    def left():
        """Seconds until established connections are probed."""
        rows = [row.split() for row in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        timers = [row[5].split(":") for row in rows if row[3] == "01" and port in (row[1][-4:], row[2][-4:])]
        return [int(when, 16) / os.sysconf("SC_CLK_TCK") if kind == "02" else None for kind, when in timers]

    eventually(lambda: len(left()) == 2 and all(sec and least <= sec <= most for sec in left()), left)
    step.stdin.write("go\n")
    step.stdin.flush()
    assert step.wait() == 0


ENDS = {"exit": 3, "srun killed": -signal.SIGKILL, "slurmstepd killed": 137, "stopped": 3}


@pytest.mark.parametrize("way, nodes, end", [*((way, 1, end) for way in ("local", "TCP") for end in ENDS), ("local", 2, "exit")])
def test_streams_of_a_step_on_one_host(cluster, way, nodes, end):
    """ADR 0053: a node that srun asks by its local socket connects to srun by one, too; any other over TCP. Nothing else differs."""
    size = 100_000_000
    env = {"SLUICE_NO_LOCAL_SOCKET": str(int(way == "TCP"))}
    program = (f"[ $SLURM_PROCID = 0 ] || exec head -n2 >/dev/null; echo $SLURM_SRUN_COMM_PORT; read x; yes | head -c {size}; "
               "echo end >&2; read x; exit 3")
    step = cluster.popen(["srun", f"-N{nodes}", f"-n{nodes}", "sh", "-c", program], env=env, stdin=subprocess.PIPE)
    pipe = step.stdout.buffer
    port = int(pipe.readline())
    expected = 0 if way == "local" and nodes == 1 else 2 * nodes
    eventually(lambda: tcp_connections(port) == expected, f"{expected} ends of connections, as each node comes by its own")
    step.stdin.write("go\n")
    step.stdin.flush()
    if end == "stopped":
        step.send_signal(signal.SIGSTOP)
        cluster.kill("n1")
        cluster.start_node("n1")
        cluster.wait_ready()
        step.send_signal(signal.SIGCONT)
    left = size
    while left:
        chunk = pipe.read1(min(left, 1 << 20))
        assert chunk and not chunk.strip(b"y\n")
        left -= len(chunk)
    assert step.stderr.readline() == "end\n"
    if end == "srun killed":
        step.kill()
    elif end == "slurmstepd killed":
        os.kill(child_named(cluster.daemons["n1"].pid, "slurmstepd"), signal.SIGKILL)
    else:
        step.stdin.write("go\n")
        step.stdin.flush()
    assert step.wait() == ENDS[end]
    eventually(lambda: not cluster.run("squeue -h").ok(), "its job has ended")
    assert pipe.read() == b"" and tcp_connections(port) == 0
    for stream in step.stdin, step.stdout, step.stderr:
        stream.close()


@pytest.mark.parametrize("way", ["local", "TCP"])
def test_verbose_srun_tells_how_the_node_is_connected(cluster, way):
    """-vv: by a socket of this host, with its user, or by an address."""
    done = cluster.run("srun -vv -N1 -n1 true", env={"SLUICE_NO_LOCAL_SOCKET": str(int(way == "TCP"))})
    assert done.returncode == 0 and ("(local uid" in done.stderr) == (way == "local"), done


def test_tasks_and_nodes(cluster):
    out = cluster.run(["srun", "-N2", "-n4", "sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_LOCALID "
                       "$SLURM_NODEID $SLURM_NTASKS $SLURM_STEP_NUM_NODES"]).ok()
    assert lines(out) == ["0 n1 0 0 4 2", "1 n1 1 0 4 2", "2 n1 2 0 4 2", "3 n2 0 1 4 2"]


@pytest.mark.parametrize("job", [[], ["salloc", "-Q", "-N4"]], ids=["own job", "step"])
def test_a_range_of_nodes_without_a_number_of_tasks_has_a_task_on_each_node(cluster, job):
    show = ["sh", "-c", "echo $SLURM_NTASKS $SLURM_TASKS_PER_NODE"]
    assert lines(cluster.run([*job, "srun", "-N2-3", *show]).ok()) == ["3 1(x3)"] * 3
    assert lines(cluster.run([*job, "srun", "-N2-3", "-n2", *show]).ok()) == ["2 1(x2)"] * 2


def test_node_range_leaves_out_nodes_of_another_exact_step(cluster):
    script = "srun -w n1 -n4 --mem=0 sleep 1000 & until squeue -hs -o %i | grep -q '\\.0$'; do :; done; " \
             "srun -N2-4 --overlap --mem=0 sh -c 'echo $SLURM_NTASKS'; srun -N2-4 --exact --mem=0 sh -c 'echo $SLURM_NTASKS'; kill %1"
    job = cluster.sbatch("-N4", "--exclusive", wrap=script)
    cluster.wait(job)
    assert [line for line in cluster.output(job).splitlines() if line.isdigit()] == ["4"] * 4 + ["3"] * 3


def test_srun_keeps_its_variables_and_sbatch_takes_the_values(cluster):
    """--export=ALL,NAME=value: in srun its own variable precedes the value, as the manual says; in sbatch the value does, as scripts expect."""
    program = ["sh", "-c", "echo $A $B"]
    assert cluster.run(["srun", "--export=ALL,A=5,B=6", *program], env={"A": "mine"}).ok() == "mine 6"
    job = cluster.sbatch("--export=ALL,A=5,B=6", wrap='echo "$A $B"', env={"A": "mine"})
    cluster.wait(job)
    assert cluster.output(job) == "5 6\n"


def test_test_exec_searches_the_program_first(cluster):
    """SLURM_TEST_EXEC."""
    said = cluster.run("srun no-such-program", env={"SLURM_TEST_EXEC": "1"}).fails("no such program here, or it may not be executed")
    assert "nothing was launched" in said
    assert "nothing was launched" not in cluster.run("srun no-such-program").fails("no-such-program")


def test_the_start_of_a_pending_job_is_estimated(cluster):
    """--test-only with --jobid; inside an allocation --test-only is of a new job."""
    blocker = cluster.sbatch("-N4", "--exclusive", "-t10", "-o", "/dev/null", wrap="sleep 1000")
    cluster.wait_state(blocker, "RUNNING")
    pending = cluster.sbatch("-N2", "-n6", "-t1", "-o", "/dev/null", wrap="true")
    end = cluster.job(blocker)["EndTime"]
    said = cluster.run(f"srun --test-only --jobid={pending} true")
    assert (said.returncode, said.stderr) == (0, f"srun: Job {pending} to start at {end} using 6 processors on nodes n[1-2] in partition main\n")
    cluster.run(f"scontrol hold {pending}").ok()
    held = cluster.run(f"srun --test-only --jobid={pending} true")
    assert (held.returncode, held.stderr) == (0, f"srun: Job {pending}: no start can be foreseen: JobHeldAdmin\n")
    inside = cluster.run("srun --test-only -n1 true", env={"SLURM_JOB_ID": str(blocker)})
    assert inside.returncode == 0 and f"to start at {end} using 1 processors" in inside.stderr and f"Job {pending} " not in inside.stderr
    cluster.cancel_all()


def test_msg_timeout_replaces_message_timeout(cluster):
    """--msg-timeout replaces MessageTimeout: srun gives up an unresponsive controller after this time."""
    assert cluster.run("srun --msg-timeout=30 echo x").ok() == "x"
    cluster.run("srun --msg-timeout=0 true").fails('Invalid numeric value "0" for --msg-timeout.')


def test_cyclic_distribution_orders_tasks(cluster):
    """CORE-161, 208."""
    out = cluster.run(["srun", "-N2", "-n4", "-m", "cyclic", "sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME"]).ok()
    assert lines(out) == ["0 n1", "1 n2", "2 n1", "3 n1"]  # the order of the tasks changes, not how many a node has


def test_nodes_of_an_arbitrary_distribution_are_repeated_by_a_count(cluster):
    """--nodelist: n2*2 is n2,n2."""
    line = ["-m", "arbitrary", "-n3", "sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME"]
    assert lines(cluster.run(["srun", "-w", "n2*2,n1", *line]).ok()) == ["0 n2", "1 n2", "2 n1"]
    assert lines(cluster.run(["salloc", "-Q", "-w", "n1,n2", "-n4", "srun", "-w", "n2,n1*2", *line]).ok()) == ["0 n2", "1 n1", "2 n1"]
    cluster.run("srun -w n1*0 true").fails("Invalid --nodelist specification: 'n1*0'")


@pytest.mark.parametrize("size, expected", [
    (4, [[0, 1, 2, 3, 16, 17, 18, 19], [4, 5, 6, 7, 20], [8, 9, 10, 11], [12, 13, 14, 15]]),
    (2, [[0, 1, 8, 9, 16, 17], [2, 3, 10, 11, 18, 19], [4, 5, 12, 13, 20], [6, 7, 14, 15]]),
    (100, [list(range(18)), [18], [19], [20]])])
def test_plane_distribution_follows_the_guide(cluster, size, expected):
    """The layouts of the guide to plane distribution: 21 tasks on four nodes."""
    line = ["srun", "-O", "-n21", "sh", "-c", "echo $SLURMD_NODENAME $SLURM_PROCID $SLURM_DISTRIBUTION $SLURM_DIST_PLANESIZE"]
    for more, env in ((["-N4", "-m", f"plane={size}"], {}), (["-N4", "-m", "plane"], {"SLURM_DIST_PLANESIZE": str(size)})):
        rows = [row.split() for row in cluster.run([line[0], *more, *line[1:]], env=env).ok().splitlines()]
        assert {(row[2], row[3]) for row in rows} == {("plane", str(size))}
        got = [sorted(int(rank) for node, rank, *_ in rows if node == f"n{i}") for i in range(1, 5)]
        assert got == expected


def test_plane_of_the_job_applies_to_steps(cluster):
    """What the job was given its steps take from its environment."""
    script = "srun -O -n12 sh -c 'echo $SLURMD_NODENAME $SLURM_PROCID' | sort -k2n | cut -d' ' -f1 | uniq -c | tr -s ' \n' ' '"
    out = cluster.run(["salloc", "-Q", "-N2", "-n2", "-m", "plane=3", "sh", "-c", f"echo $SLURM_DISTRIBUTION; {script}"]).ok()
    assert out.split() == "plane 3 n1 3 n2 3 n1 3 n2".split()


def test_packed_distribution_fills_nodes(cluster, make_cluster):
    """CR_Pack_Nodes, and the last word of --distribution."""
    where = ["sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_JOB_NUM_NODES $SLURM_TASKS_PER_NODE"]
    packed, even = ["0 n1 2 3,1", "1 n1 2 3,1", "2 n1 2 3,1", "3 n2 2 3,1"], [f"{i} n{1 + i // 2} 2 2(x2)" for i in range(4)]
    run = ["srun", "--exclusive", "-w", "n1,n2", "-n4"]
    assert lines(cluster.run([*run, "-m", "*,pack", *where]).ok()) == packed
    assert lines(cluster.run([*run, "-m", "block,Pack", *where]).ok()) == packed
    assert lines(cluster.run([*run, *where]).ok()) == even
    other = make_cluster(nodes=2, conf="SelectTypeParameters=CR_Core,CR_Pack_Nodes")
    assert lines(other.run([*run, *where]).ok()) == packed
    assert lines(other.run([*run, "-m", "block,nopack", *where]).ok()) == even
    # the job's own cores, too
    assert set(other.run(["srun", "-N2", "-n4", "printenv", "SLURM_JOB_CPUS_PER_NODE"]).ok().split()) == {"3,1"}


def test_options_of_2002_are_accepted(cluster):
    """CORE-206, 207, 211: the long options of the report's table, in one request and where they refuse."""
    show = 'echo $SLURMD_NODENAME $SLURM_JOB_NUM_NODES $SLURM_CPUS_PER_TASK $PWD $(squeue -h -j $SLURM_JOB_ID -o "%P %l %m")'
    words = ["--nprocs=2", "--cpus-per-task=2", "--nodes=2", "--partition=main", "--timelimit=5", "--cddir=/tmp", "--immediate", "--label",
             "--mincpus=4", "--mem=50", "--tmp=0", "--nodelist=n2,n3"]
    out = cluster.run(["srun", *words, "sh", "-c", show]).ok()
    assert lines(out) == ["0: n2 2 2 /tmp main 5:00 50M", "1: n3 2 2 /tmp main 5:00 50M"]
    cluster.run("srun --nodes=1 --nodelist=n1 --nprocs=9 true").fails("Requested node configuration is not available")
    assert cluster.run("srun --nodes=1 --nodelist=n1 --nprocs=9 --overcommit echo x").ok().split() == ["x"] * 9
    for word, text in (("--partition=no", "Invalid partition name specified"), ("--constraint=no", "Invalid feature specification"),
                       ("--mincpus=5", "Requested node configuration is not available"),
                       ("--mem=999999", "Requested node configuration is not available"), ("--cddir=/no/such", "/no/such")):
        assert text in cluster.run(["srun", "--nodes=1", word, "true"]).stderr


def test_each_step_has_its_own_step_daemon(cluster):
    """CORE-216: on each node one process looks after the tasks of one request, and is the parent of each."""
    show = 'echo $SLURMD_NODENAME $SLURM_STEP_ID $PPID $(tr "\\0" " " </proc/$PPID/cmdline)'
    line = f"srun -n4 -N2 sh -c '{show}'; srun -n4 -N2 sh -c '{show}'; echo $SLURM_JOB_ID"
    rows = cluster.run(["salloc", "-Q", "-N2", "-n4", "sh", "-c", line]).ok().splitlines()
    job = rows.pop()
    assert len(rows) == 8
    seen = {tuple(row.split(" ", 3)) for row in rows}
    assert len({(node, step, pid) for node, step, pid, _ in seen}) == len({(node, step) for node, step, *_ in seen}) == 4
    assert len({pid for _, _, pid, _ in seen}) == 4
    assert {(step, title.strip()) for _, step, _, title in seen} == {(step, f"slurmstepd: [{job}.{step}]") for step in "01"}


def test_label_prefixes_lines_with_ranks(cluster):
    out = cluster.run("srun -n3 -l echo x").ok()
    assert lines(out) == ["0: x", "1: x", "2: x"]


def test_exit_status_is_the_highest(cluster):
    """CORE-106, 218."""
    done = cluster.run(["srun", "-n3", "sh", "-c", "exit $SLURM_PROCID"])
    assert done.returncode == 2
    assert re.search(r"srun: error: n\d: task 2: Exited with exit code 2", done.stderr)
    said = cluster.run(["srun", "-Q", "-n4", "-N1", "-w", "n1", "false"]).stderr
    assert re.fullmatch(r"(srun: error: n1: tasks? [0-3,-]+: Exited with exit code 1\n){1,4}", said)


def test_environment_contains_the_request(cluster):
    show = ["sh", "-c", "echo $SLURM_DISTRIBUTION,$SLURM_LABELIO,$SLURM_OVERCOMMIT,$SLURM_NTASKS_PER_NODE,$HOSTNAME"]
    home = {"HOSTNAME": "login.example"}
    asked = ["-N1", "-n1", "-m", "cyclic", "-l", "-O", "--ntasks-per-node=1"]
    assert cluster.run(["srun", *asked, *show], env=home).ok() == "0: cyclic,1,1,1,login.example"
    assert cluster.run(["salloc", "-Q", "-N1", "srun", *asked, *show], env=home).ok() == "0: cyclic,1,1,1,login.example"
    assert cluster.run(["srun", *show], env=home).ok() == "cyclic,,,,login.example"
    name = cluster.run("srun printenv SLURM_WORKING_CLUSTER").ok()
    assert name == f"test:127.0.0.1:{cluster.port}:1"
    job = cluster.sbatch("--export=NIL", wrap="echo $HOSTNAME $SLURMD_NODENAME $SLURM_WORKING_CLUSTER", env=home)
    cluster.wait(job)
    host, node, cluster_name = cluster.output(job).split()
    assert host == node and cluster_name == name


def test_tasks_know_the_default_distribution(cluster):
    """block if a node has several tasks, otherwise cyclic; an srun of the tasks does not take it for a request."""
    told = ["sh", "-c", "echo $SLURM_DISTRIBUTION $SLURM_DIST_PLANESIZE"]
    for options, word in ((["-N2", "-n2"], "cyclic"), (["-N2", "-n3"], "block"), (["-N1", "-n2", ":", "-N1", "-n1"], None)):
        out = lines(cluster.run(["srun", *options, *told]).ok())
        assert out == ([word] * len(out) if word else ["block", "block", "cyclic"])
    inner = "srun --overlap -N2 -n4 -c1 sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME'"
    out = cluster.run(["srun", "-N2", "-n2", "-c2", "-w", "n1,n2", "sh", "-c", f"[ $SLURM_PROCID = 1 ] || {inner}"]).ok()
    assert lines(out) == ["0 n1", "1 n1", "2 n2", "3 n2"]
    inner = f"SLURM_DISTRIBUTION=plane=1 {inner}"
    out = cluster.run(["srun", "-N2", "-n2", "-c2", "-w", "n1,n2", "sh", "-c", f"[ $SLURM_PROCID = 1 ] || {inner}"]).ok()
    assert lines(out) == ["0 n1", "1 n2", "2 n1", "3 n2"]


def test_verbose_srun_prints_launches_and_ends(cluster):
    """What tools read of srun -v: nodes and CPU counts, a line per node launched, starts and ends."""
    said = cluster.run("srun -v -N2 -n3 -w n1,n2 -J x true").stderr
    assert re.search(r"^srun: jobid \d+: nodes\(2\):`n\[1-2\]', cpu counts: 2\(x1\),1\(x1\)$", said, re.M), said
    assert re.search(r"^srun: launching StepId=\d+\.0 on host n1, 2 tasks: \[0-1\]$", said, re.M), said
    assert re.search(r"^srun: launching StepId=\d+\.0 on host n2, 1 tasks: 2$", said, re.M), said
    assert "srun: launch/slurm: _task_start: Node n1, 2 tasks started\n" in said
    assert "srun: launch/slurm: _task_finish: n2: task 2: Completed\n" in said
    cluster.settle()  # n1 has the CPUs of three tasks
    said = cluster.run("srun -v -N2 -n4 -w n1,n2 -m cyclic true").stderr
    assert "on host n1, 3 tasks: [0,2-3]\n" in said and "on host n2, 1 tasks: 1\n" in said
    said = cluster.run("salloc -Q -N2 -w n1,n2 srun -v -N1 true").stderr
    assert re.search(r"jobid \d+: nodes\(1\):`n1', cpu counts: 1\(x1\)$", said, re.M), said


def test_killed_by_signal(cluster):
    done = cluster.run(["srun", "sh", "-c", "kill -9 $$"])
    assert done.returncode == 137 and re.search(r"srun: error: n\d: task 0: Killed", done.stderr)


def test_program_not_found(cluster):
    done = cluster.run("srun /no/such/program")
    assert done.returncode == 2 and "/no/such/program: No such file or directory" in done.stderr


def test_standard_input_reaches_the_chosen_tasks(cluster):
    """CORE-038, 068: to all, to one, from a file, none."""
    assert cluster.run("srun -n3 cat", stdin="x\n").ok() == "x\nx\nx"
    assert cluster.run("srun -n3 --input=0 cat", stdin="x\n").ok() == "x"
    assert cluster.run("srun -n3 --input=none cat", stdin="x\n").ok() == ""
    (cluster.work / "in.txt").write_text("from file\n")
    assert cluster.run("srun -n2 --input=in.txt cat").ok() == "from file\nfrom file"


def test_large_input_and_output(cluster):
    """CORE-036: not a byte lost, both ways."""
    text = "".join(f"{i:07d}\n" for i in range(200000))
    assert cluster.run("srun cat", stdin=text).stdout == text


def test_output_to_files(cluster):
    """CORE-039."""
    cluster.run(["srun", "-n2", "-o", "one.txt", "echo", "x"]).ok()
    assert (cluster.work / "one.txt").read_text() == "x\nx\n"
    cluster.run(["srun", "-N2", "-n2", "-o", "t%t-%N.txt", "-e", "err.txt", "sh", "-c", "echo $SLURM_PROCID"]).ok()
    assert (cluster.work / "t0-n1.txt").read_text() == "0\n"
    assert (cluster.work / "t1-n2.txt").read_text() == "1\n"


def test_output_is_buffered_while_srun_is_stopped(cluster):
    """CORE-040: a task that writes 1 MB ends although srun reads nothing."""
    begun, mark = cluster.work / "begun", cluster.work / "written"
    p = cluster.popen(["srun", "sh", "-c", f"echo >{begun}; head -c 1000000 /dev/zero | tr '\\0' x; echo done >{mark}"],
                      stdout=open(cluster.work / "big.out", "wb"))
    eventually(begun.exists, "the task runs")
    p.send_signal(signal.SIGSTOP)
    try:
        eventually(mark.exists, "the task has written everything")
    finally:
        p.send_signal(signal.SIGCONT)
    assert p.wait(60) == 0
    assert (cluster.work / "big.out").stat().st_size == 1000000


def test_a_stopped_srun_does_not_hold_nodes(cluster):
    """Its allocation ends: the nodes are free, and srun prints the output when it continues."""
    begun, written, go, out = (cluster.work / f"{name}.stopped" for name in ("begun", "written", "go", "out"))
    step = f"head -c 1000000 /dev/zero; echo >{written}; exec sleep 100000"
    p = cluster.popen(["salloc", "-N1", "sh", "-c", f"srun sh -c '{step}' >{out} 2>/dev/null &\necho $SLURM_JOB_ID $! >{begun}.new; mv {begun}.new {begun}\n"
                       f"while [ ! -e {go} ]; do sleep 0.05; done"])
    eventually(begun.exists, "the allocation is there")
    job, srun = map(int, begun.read_text().split())
    eventually(lambda: out.exists() and out.stat().st_size, "the task runs")
    os.kill(srun, signal.SIGSTOP)
    try:
        eventually(written.exists, "the task has written everything")
        go.touch()
        p.communicate(timeout=60)
        eventually(lambda: cluster.job(job)["JobState"] == "COMPLETED", lambda: cluster.job(job))
    finally:
        os.kill(srun, signal.SIGCONT)
    eventually(lambda: out.stat().st_size == 1000000, "all output")


def test_step_daemon_uses_little_memory(cluster):
    """What srun does not take waits in the pipes: 4 MB are enough for a shepherd, whatever its tasks write."""
    script = "seq 150000; seq 150000 >&2; echo >written.$SLURM_PROCID; read x; seq 150000"
    p = cluster.popen(["srun", "-N1", "-n8", "-O", "sh", "-c", f"echo >begun.$SLURM_PROCID; {script}"], stdin=subprocess.PIPE,
                      stdout=open(cluster.work / "small.out", "wb"), stderr=open(cluster.work / "small.err", "wb"))
    eventually(lambda: all((cluster.work / f"begun.{i}").exists() for i in range(8)), "the tasks run")
    p.send_signal(signal.SIGSTOP)
    try:
        eventually(lambda: all((cluster.work / f"written.{i}").exists() for i in range(8)), "they have written")
        shepherd = pathlib.Path("/proc", str(child_named(cluster.daemons["n1"].pid, "slurmstepd")))
        resident = int(re.search(r"VmRSS:\s*(\d+) kB", (shepherd / "status").read_text())[1])
        assert resident < 4096 or b"__asan_init" in (PREFIX / "sbin/slurmstepd").read_bytes()
    finally:
        p.send_signal(signal.SIGCONT)
    p.communicate("go\n", timeout=60)
    assert p.returncode == 0
    for name, times in (("small.out", 2), ("small.err", 1)):
        lines = (cluster.work / name).read_text().splitlines()
        assert sorted(map(int, lines)) == sorted(list(range(1, 150001)) * 8 * times)


def test_late_reader_gets_all_output(cluster):
    """CORE-036: the job ends before its output is read."""
    p = cluster.popen(["srun", "-J", "early", "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x"])
    eventually(lambda: "COMPLETED" in cluster.run("squeue -h -n early -t all -o %T").stdout, "the job's end")
    out, err = p.communicate(timeout=60)
    assert (p.returncode, len(out), err) == (0, 3000000, "")


def test_working_directory_and_limits(cluster):
    """CORE-030, 033."""
    assert cluster.run("srun -D /usr pwd").ok() == "/usr"
    assert cluster.run(["sh", "-c", "ulimit -n 333; srun sh -c 'ulimit -n'"]).ok() == "333"


def test_only_standard_descriptors_are_open(cluster):
    out = cluster.run(["srun", "sh", "-c", "ls /proc/$$/fd"]).ok().split()
    assert set(out) <= {"0", "1", "2"} | {"10", "255"}  # a shell may hold its script there


def test_descendants_end_with_the_step(cluster):
    """CORE-037: also those that left the session and the process group."""
    out = cluster.run(["srun", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!; "
                       "(setsid sh -c 'sleep 1001 & echo $!' >two 2>/dev/null </dev/null &) ; sleep 0.2"]).ok()
    pids = [int(out.split()[0]), int((cluster.work / "two").read_text())]
    for pid in pids:
        eventually(lambda: not pathlib.Path(f"/proc/{pid}").exists(), f"end of process {pid}")


def test_srun_reports_that_it_waits_for_resources(cluster):
    """CORE-105."""
    blocker = cluster.sbatch("-N4", "--exclusive", "-o", "/dev/null", wrap="sleep 100")
    eventually(lambda: cluster.state(blocker) == "RUNNING", "the blocker runs")
    done = cluster.run("srun -I true")
    assert done.returncode != 0 and "Requested nodes are busy" in done.stderr
    p = cluster.popen("srun echo at last")
    eventually(lambda: "Resources" in cluster.run("squeue -h -t PD -o %r").stdout, "srun's job waits")
    cluster.run(f"scancel {blocker}")
    out, err = p.communicate(timeout=60)
    assert out == "at last\n" and p.returncode == 0
    job = re.search(r"srun: job (\d+) queued and waiting for resources\n", err).group(1)
    assert f"srun: job {job} has been allocated resources\n" in err


def test_killed_srun_leaves_no_pending_job(cluster):
    blocker = cluster.sbatch("-N4", "--exclusive", "-o", "/dev/null", wrap="sleep 100")
    eventually(lambda: cluster.state(blocker) == "RUNNING", "the blocker runs")
    p = cluster.popen("srun true")
    eventually(lambda: cluster.run("squeue -h -t PD -o %i").stdout.strip(), "srun's job waits")
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=60)
    eventually(lambda: not cluster.run("squeue -h -t PD -o %i").stdout.strip(), "the pending job is gone")
    cluster.run(f"scancel {blocker}")
    cluster.wait(blocker)


def test_steps_in_a_job(cluster):
    """CORE-022, 093, 220: recognised by SLURM_JOB_ID, on all nodes or some, several at the same time."""
    job = cluster.sbatch("-N2", "-n2", script="""#!/bin/sh
srun sh -c 'echo all $SLURM_STEP_ID $SLURM_PROCID $SLURMD_NODENAME' | sort
srun -N1 -n1 sh -c 'echo some $SLURM_STEP_ID $SLURM_JOB_ID'
srun -N1 -n1 -w n2 sh -c 'echo second $SLURMD_NODENAME'
srun --nodelist=[1] -n1 sh -c 'echo relative $SLURMD_NODENAME'
srun -N1 -n1 sleep 0.1 & srun -N1 -n1 sleep 0.1 & wait
srun -r1 -N2 -n2 -O sh -c 'echo rest $SLURM_STEP_NUM_NODES $SLURMD_NODENAME' 2>&1
env -u SLURM_JOB_ID -u SLURM_JOBID srun -n1 sh -c 'echo new $SLURM_JOB_ID'
""")
    cluster.wait(job)
    text = cluster.output(job).split("\n")
    assert text[:2] == ["all 0 0 n1", "all 0 1 n2"]
    assert text[2:5] == [f"some 1 {job}", "second n2", "relative n2"]
    assert text[5] == "srun: warning: --nodes=2: 1 nodes of the job follow --relative=1, the step gets these"
    assert text[6:8] == ["rest 1 n2"] * 2
    assert re.fullmatch(r"new \d+", text[8]) and text[8] != f"new {job}"


def test_steps_share_cpus_only_with_overlap(cluster):
    """CORE-160."""
    job = cluster.sbatch("-n1", "-o", "busy.txt", script="""#!/bin/sh
srun -n1 sleep 100 &
while [ -z "$(squeue -h -s -j $SLURM_JOB_ID -o %i | grep -v batch | grep -v extern)" ]; do :; done
srun -I -n1 true || echo refused
srun --overlap -n1 echo shared
scancel $SLURM_JOB_ID.0
wait
""")
    cluster.wait(job)
    text = (cluster.work / "busy.txt").read_text()
    assert "refused" in text and "shared" in text


def test_signal_to_a_step_and_to_a_job(cluster):
    """CORE-041, 061, 194: a signal to a step reaches only its tasks; one to a job reaches all its steps on all nodes, and with --full also the
    script."""
    for whole in False, True:
        job = cluster.sbatch("-N2", "-n2", script="""#!/bin/sh
trap 'echo script got it' USR1
srun sh -c 'trap "echo task $SLURM_PROCID got it; exit 0" USR1; echo ready; while :; do sleep 0.05; done' &
while kill -0 $! 2>/dev/null; do wait; done
""")
        eventually(lambda: (cluster.work / f"slurm-{job}.out").exists() and
                   cluster.output(job).count("ready") == 2, "tasks are ready")
        cluster.run(["scancel", "-s", "USR1", *(["--full", str(job)] if whole else [f"{job}.0"])]).ok()
        cluster.wait(job)
        assert "task 0 got it" in cluster.output(job) and "task 1 got it" in cluster.output(job)
        assert ("script got it" in cluster.output(job)) == whole


COUNT_SIGNALS = """import signal
seen = {signal.SIGUSR1, signal.SIGUSR2}
signal.pthread_sigmask(signal.SIG_BLOCK, seen)
print('ready', flush=True)
while True:
    got = signal.sigwait(seen)
    print('got', signal.Signals(got).name, flush=True)
    if got == signal.SIGUSR2:
        break
"""


@pytest.mark.parametrize("started", ["srun", "srun -n1 --overlap srun --overlap", "setsid srun"])
def test_a_task_gets_a_signal_of_the_whole_job_once(cluster, started):
    """CORE-194: the srun of a script is signalled with the script and forwards the signal, so that its step is not signalled as well. An srun
    with a process group of its own forwards nothing."""
    program = cluster.work / "count.py"
    program.write_text(COUNT_SIGNALS)
    job = cluster.sbatch("-n1", script=f"""#!/bin/sh
trap : USR1 USR2
{started} python3 {program} &
while kill -0 $! 2>/dev/null; do wait; done
""")

    def heard(what):
        return cluster.output(job).split("\n").count(what) if (cluster.work / f"slurm-{job}.out").exists() else 0
    eventually(lambda: heard("ready") == 1, "the task is ready")
    for number in range(1, 4):
        cluster.run(f"scancel -f -s USR1 {job}").ok()
        eventually(lambda: heard("got SIGUSR1") >= number, "it has the signal")
    cluster.run(f"scancel -f -s USR2 {job}").ok()
    cluster.wait(job)
    assert (heard("got SIGUSR1"), heard("got SIGUSR2")) == (3, 1), cluster.output(job)


def test_kill_on_bad_exit(cluster):
    """CORE-209, 217."""
    done = cluster.run(["srun", "-K", "-n2", "sh", "-c", "[ $SLURM_PROCID = 0 ] && exit 5; exec sleep 100"])
    assert done.returncode != 0 and "Job step aborted" in done.stderr


def test_wait_option_ends_the_rest(cluster):
    done = cluster.run(["srun", "-W1", "-n2", "sh", "-c", "[ $SLURM_PROCID = 0 ] && exit 0; exec sleep 100"])
    assert re.search(r"srun: First task exited 1s ago", done.stderr), done.stderr


def test_interrupt_twice_ends_the_step(cluster):
    """CORE-108, over a terminal."""
    master, slave = pty.openpty()
    p = subprocess.Popen(cluster.argv("srun sleep 1000", None), stdin=slave, stdout=slave, stderr=slave,
                         env=cluster.environment(), cwd=cluster.work, start_new_session=True)
    os.close(slave)
    eventually(lambda: "R" in cluster.run("squeue -h -o %t").stdout, "the job runs")
    p.send_signal(signal.SIGINT)
    text = ""
    while "one more within 1 sec to abort" not in text:
        text += os.read(master, 4096).decode()
    p.send_signal(signal.SIGINT)
    status = p.wait(60)
    os.close(master)
    assert status != 0
    eventually(lambda: not cluster.run("squeue -h").ok(), "an empty queue")


def test_allocation_with_a_shell(cluster):
    """CORE-067, 214, 221, 222."""
    done = cluster.run(["salloc", "-N2", "sh", "-c", "echo $SLURM_JOB_ID $SLURM_JOB_NODELIST; srun hostname | wc -l; "
                        "srun -N1 hostname | wc -l; exit 4"])
    assert done.returncode == 4
    job = done.stdout.split()[0]
    assert done.stdout == f"{job} n[1-2]\n2\n1\n"
    assert f"salloc: Granted job allocation {job}\n" in done.stderr
    assert f"salloc: Nodes n[1-2] are ready for job\n" in done.stderr
    assert f"salloc: Relinquishing job allocation {job}\n" in done.stderr
    assert cluster.wait(job)["JobState"] in ("COMPLETED", "FAILED")
    done = cluster.run(["srun", "--allocate", "-N2", "sh", "-c", "srun hostname | wc -l"])
    assert done.stdout == "2\n"
    # The names of 2002 are srun's alone; what a step would do with an option has no effect here.
    done = cluster.run(["srun", "--allocate", "--timelimit=5", "--cddir=/tmp", "--nprocs=2", "--label", "sh", "-c",
                        "squeue -h -j $SLURM_JOB_ID -o %l; pwd; echo $SLURM_NTASKS"])
    assert done.ok() == "5:00\n/tmp\n2"
    assert "srun: warning: option --label has no effect with --allocate\n" in done.stderr


def test_several_sruns_run_at_once(cluster):
    runs = [cluster.popen(["srun", "-n1", "echo", str(i)]) for i in range(8)]
    assert [p.communicate(timeout=60)[0] for p in runs] == [f"{i}\n" for i in range(8)]


def test_commands_print_their_version(cluster):
    """CORE-212, COMPATIBILITY: one line."""
    for tool in ("srun", "sbatch", "salloc", "squeue", "sinfo", "scancel", "scontrol", "slurmctld", "slurmd"):
        assert cluster.run([tool, "-V"]).ok() == "slurm 26.05.0"
        assert cluster.run([tool, "--version"]).ok() == "slurm 26.05.0"


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_runs_as_the_caller(cluster):
    """CORE-031: real, effective and saved ids, groups, and no more rights than that."""
    out = cluster.run(["srun", "grep", "-E", "^(Uid|Gid|Groups|CapEff)", "/proc/self/status"], user="nobody").ok()
    uid, gid = cluster.run("id -u", user="nobody").ok(), cluster.run("id -g", user="nobody").ok()
    assert f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}" in out and f"Gid:\t{gid}\t{gid}\t{gid}\t{gid}" in out
    assert "CapEff:\t0000000000000000" in out


def test_a_node_that_the_controller_gives_up_is_named(make_cluster):
    """The node daemon and the step daemon hang: their connections stay open and carry no data."""
    c = make_cluster(nodes=2, conf="SlurmdTimeout=3\nKillWait=2")
    p = c.popen(["srun", "-N2", "sleep", "1000"])
    eventually(lambda: len(c.run("scontrol listpids").stdout.splitlines()) == 3, "both tasks")
    task = c.run("scontrol listpids * n2").ok().splitlines()[1].split()[0]
    shepherd = int(pathlib.Path(f"/proc/{task}/stat").read_text().rpartition(")")[2].split()[1])
    stopped = [shepherd, c.daemons["n2"].pid]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        _, err = p.communicate(timeout=60)
        lines = err.splitlines()
        own = [line for line in lines if line.startswith("srun: ")]  # the other task's shepherd says its own at any time
        assert own[:2] == ["srun: error: Node failure on n2",
                           "srun: Job step aborted: Waiting up to 4 seconds for job step to finish."], err
        assert p.returncode not in (0, None) and "Force Terminated" not in err and "Timed out" not in err
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    eventually(lambda: c.node("n2")["State"] == "IDLE", "n2 is back")


def test_an_allocation_is_described(cluster):
    """CORE-214: its nodes, the CPUs on each, and its limit; steps run with the credential that comes with it."""
    said = cluster.run("salloc -v -N2 -n3 -t 5 --distribution=block srun -n3 true")
    assert said.returncode == 0
    assert "salloc: Node list n[1-2], CPUs per node 2,1, time limit 00:05:00, partition main\n" in said.stderr, said.stderr


def test_each_step_has_its_srun_process(cluster):
    """CORE-064."""
    commands = {cluster.popen(["srun", "-n2", "-J", name, "sh", "-c", "echo up; exec sleep 1000"], stdout=-1): name for name in "abc"}
    for command in commands:
        assert [command.stdout.readline() for _ in range(2)] == ["up\n"] * 2
    jobs = dict(line.split()[::-1] for line in cluster.run(["squeue", "-h", "-o", "%i %j"]).ok().splitlines())
    for command, name in commands.items():
        assert pathlib.Path(f"/proc/{command.pid}/comm").read_text() == "srun\n"
        cluster.run(f"scancel {jobs[name]}").ok()
        command.communicate(timeout=60)  # this one ends, and with it no other
    eventually(lambda: not cluster.run("squeue -h").ok(), "the queue is empty")


def test_programs_of_tasks_in_a_long_file(cluster):
    """--multi-prog: ranges, %t and %o, and a file that is longer than the kernel permits for one argument."""
    say = "sh -c 'echo ${#1} $2 $3' sh"
    (cluster.work / "long").write_text(f"3 {say} {'x' * 90000} 3\n1-2 {say} {'y' * 80000} %t_%o\n* {say} z\\'\\$HOME %t_%o\n")
    done = cluster.run("srun -n5 -O -l --multi-prog long more").ok()
    assert sorted(done.splitlines()) == ["0: 7 0_0 more", "1: 80000 1_0 more", "2: 80000 2_1 more", "3: 90000 3 more", "4: 7 4_4 more"]
    (cluster.work / "long").write_text("* true" + f" {'x' * 90000}" * 12)
    cluster.run("srun -O --multi-prog long").fails("long", "1048576 bytes")


@pytest.mark.parametrize("name, text, status", [
    ("nosuchprog", "No such file or directory", 2), ("/no/such", "No such file or directory", 2), ("./plain", "Permission denied", 13),
    ("plain", "Permission denied", 13), ("/etc", "Permission denied", 13), ("export", "No such file or directory", 2),
    ("''", "No such file or directory", 2)])
def test_missing_program_of_multi_prog_is_named(cluster, name, text, status):
    """--multi-prog: the words and the exit code of a plain program that slurmstepd cannot start."""
    (cluster.work / "plain").write_text("#!/bin/sh\n")
    (cluster.work / "kinds").write_text(f"0 {name} a\n1 sh -c 'echo $1 $PATH' sh %t\n")
    path = f"/usr/bin:/bin:{cluster.work}"
    done = cluster.run([PREFIX / "bin/srun", "-n2", "-l", "--multi-prog", "kinds"], env={"PATH": path})
    assert done.stdout == f"1: 1 {path}\n"
    shown = "" if name == "''" else name
    assert f"0: slurmstepd: error: execve(): {shown}: {text}\n" in done.stderr, done.stderr
    assert done.returncode == status and "exec" not in done.stderr.replace("execve", ""), done.stderr


@pytest.mark.parametrize("end", ["reads", "SIGTERM"])
def test_full_standard_error_does_not_delay_tasks(cluster, end):
    """The messages of srun are not read: input, output and signals still pass; the end of srun waits for a reader or a signal."""
    reader, writer = os.pipe()
    step = cluster.popen(["srun", "-n2", "sh", "-c", "trap 'echo usr1' USR1; echo up; read x; echo got $x; "
                          + ("exit 3" if end == "reads" else "while :; do sleep 0.05; done")],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=writer)
    assert [step.stdout.readline() for _ in range(2)] == ["up\n"] * 2
    os.set_blocking(writer, False)
    filled = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            filled += os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    os.close(writer)
    step.send_signal(signal.SIGINT)  # it says that another one would end the step
    step.stdin.write("it\n")
    step.stdin.flush()
    assert [step.stdout.readline() for _ in range(2)] == ["got it\n"] * 2
    if end == "reads":
        text = b""
        while chunk := os.read(reader, 65536):
            text += chunk
        assert step.wait() == 3
        assert b"interrupt (one more" in text[filled:] and b"Exited with exit code 3" in text[filled:], text[filled:]
    else:
        step.send_signal(signal.SIGUSR1)
        assert [step.stdout.readline() for _ in range(2)] == ["usr1\n"] * 2
        step.send_signal(signal.SIGTERM)
        assert step.wait() != 0
    os.close(reader)
    step.stdout.close()
    step.stdin.close()
