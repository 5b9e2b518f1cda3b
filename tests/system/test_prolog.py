# SPDX-License-Identifier: GPL-3.0-or-later
"""The site's programs around jobs: CORE-029, 100, 156, 181, 188, 223; X-20; RELIABILITY G7."""
import json
import os
import pwd
import re
import signal

import pytest

from harness import ROOT, eventually, forget_number

USER = "nobody" if ROOT else pwd.getpwuid(os.geteuid()).pw_name

SCRIPT = """#!/usr/bin/python3
import json, os, sys
name = os.environ["SLURM_SCRIPT_CONTEXT"] + "." + os.environ["SLURMD_NODENAME"] + "." + os.environ["SLURM_JOB_ID"]
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
facts = {"env": dict(os.environ), "uid": os.getuid(), "cwd": os.getcwd(), "sid": os.getsid(0) == os.getpid(),
         "fds": sorted(int(n) for n in os.listdir("/proc/self/fd"))}
with open(path + ".tmp", "w") as f:
    json.dump(facts, f)
os.rename(path + ".tmp", path)
"""


def program(c, name, text):
    path = c.dir / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def told(c, context, node, job):
    path = c.dir / f"{context}_slurmd.{node}.{job}"
    eventually(path.exists, f"{path.name}")
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def watched(request):
    """A cluster whose prolog and epilog write down what they see."""
    from harness import Cluster
    c = Cluster(start=False)
    try:
        path = program(c, "script.py", SCRIPT)
        with c.conf_file.open("a") as f:
            f.write(f"Prolog={path}\nEpilog={path}\n")
        c.start()
        yield c
        c.stop()
    finally:
        c.destroy()


HOSTILE = {"LD_PRELOAD": "/evil.so", "LD_LIBRARY_PATH": "/evil", "BASH_ENV": "/evil.sh", "ENV": "/evil.sh",
           "PYTHONPATH": "/evil", "IFS": "x", "SLURM_JOB_PARTITION": "evil", "SLURM_JOB_NAME": "evil", "SLURM_EVIL": "1",
           "SLURM_JOB_UID": "0", "PERL5LIB": "/evil", "HUGE": "x" * 100000}


@pytest.mark.parametrize("how", ("sbatch", "srun"))
def test_scripts_see_the_job_and_nothing_of_its_environment(watched, how):
    """CORE-029, 156, 181, 188, RELIABILITY G7: the job's name and partition are not taken from the environment of an srun."""
    c = watched
    options = ["-N2", "-n3", "-J", "a name", "--comment", "LD_PRELOAD=x"]
    env = {**HOSTILE, "PATH": "/evil:" + c.environment()["PATH"]}
    if how == "sbatch":
        wrapped = "export LD_PRELOAD=/evil.so PATH=/evil:$PATH; SLURM_JOB_NAME=evil srun -J evil -p evil true"
        job = c.sbatch(*options, "-o", "out-%j", "-e", "/dev/null", "--export=ALL", wrap=wrapped, user=USER, env=env)
        c.wait(job)
    else:
        done = c.run(["srun", *options, "/bin/sh", "-c", "echo $SLURM_JOB_ID"], user=USER,
                     env={**env, "SLURM_EXPORT_ENV": "ALL", "LD_PRELOAD": ""})
        job = int(done.ok().split()[0])
    owner = pwd.getpwnam(USER)
    nodes = c.job(job)["NodeList"]
    for context in ("prolog", "epilog"):
        for node in c.run(["scontrol", "show", "hostnames", nodes]).ok().split():
            seen = told(c, context, node, job)
            e = seen["env"]
            foreign = {k for k in e if not k.startswith("SLURM") and k not in ("PATH", "LC_CTYPE", "PWD", "_", "SHLVL")}
            assert not foreign and "SLURM_EVIL" not in e, e
            assert e["PATH"] == "/usr/sbin:/usr/bin:/sbin:/bin"
            assert (seen["uid"], seen["cwd"], seen["sid"]) == (os.geteuid(), "/", True)
            assert seen["fds"] == [0, 1, 2, 3]  # 3: the directory it lists
            want = {"SLURM_SCRIPT_CONTEXT": f"{context}_slurmd", "SLURMD_NODENAME": node, "SLURM_JOB_ID": str(job),
                    "SLURM_JOBID": str(job), "SLURM_JOB_PARTITION": "main", "SLURM_JOB_NAME": "a name",
                    "SLURM_JOB_USER": USER, "SLURM_JOB_UID": str(owner.pw_uid), "SLURM_JOB_GID": str(owner.pw_gid),
                    "SLURM_JOB_WORK_DIR": str(c.work), "SLURM_JOB_NODELIST": nodes, "SLURM_NODELIST": nodes,
                    "SLURM_JOB_COMMENT": "LD_PRELOAD=x", "SLURM_CLUSTER_NAME": "test", "SLURM_CONF": str(c.conf_file),
                    "SLURM_JOB_NUM_NODES": "2", "SLURM_NTASKS": "3", "SLURM_JOB_RESTART_COUNT": "0"}
            streams = {"SLURM_JOB_STDIN": "/dev/null", "SLURM_JOB_STDOUT": f"{c.work}/out-{job}", "SLURM_JOB_STDERR": "/dev/null"}
            want.update(streams if how == "sbatch" else {"SLURM_JOB_STDIN": "/dev/null"})
            assert {k: e.get(k) for k in want} == want
            assert e["SLURM_JOB_CPUS_PER_NODE"] in ("2,1", "1,2", "2(x2)", "1(x2)", "2", "3,1"), e
    assert told(c, "epilog", node, job)["env"]["SLURM_JOB_EXIT_CODE"] in ("0", "256")
    assert "SLURM_JOB_EXIT_CODE" not in told(c, "prolog", node, job)["env"]


def test_exit_code_reaches_the_epilog(watched):
    job = watched.sbatch("-w", "n2", "-o", "/dev/null", wrap="exit 3")
    watched.wait(job)
    e = told(watched, "epilog", "n2", job)["env"]
    assert (e["SLURM_JOB_EXIT_CODE"], e["SLURM_JOB_EXIT_CODE2"]) == ("768", "3:0")


def test_failing_prolog_drains_and_holds(make_cluster):
    c = make_cluster(nodes=2, start=False)
    prolog = program(c, "prolog", "#!/bin/sh\n[ $SLURMD_NODENAME = n2 ] || exit 7\n")
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={prolog}\n")
    c.start()
    job = c.sbatch("-o", "/dev/null", wrap="touch ran")
    eventually(lambda: "Prolog error" in c.node("n1").get("Reason", ""), "n1 drained")
    assert f"{prolog} exited with status 7, job {job}" in c.node("n1")["Reason"]
    eventually(lambda: c.state(job) == "PENDING", "requeued")
    assert c.job(job)["Reason"].startswith("launch_failed_requeued_held") and not (c.work / "ran").exists()
    c.run(f"scontrol release {job}").ok()
    assert c.wait(job)["JobState"] == "COMPLETED"
    assert c.job(job)["BatchHost"] == "n2"
    c.run("srun -w n1 -I true").fails()


def test_failing_prolog_of_an_srun_drains(make_cluster):
    c = make_cluster(nodes=1, conf="Prolog=/bin/false")
    c.run("srun true").fails("Prolog /bin/false exited with status 1")
    eventually(lambda: c.node("n1")["State"] == "IDLE+DRAIN", "drained")
    assert c.node("n1")["Reason"].startswith("Prolog error: Prolog /bin/false")


def test_failing_epilog_drains_and_frees(make_cluster):
    """CORE-100."""
    c = make_cluster(nodes=2, conf="Epilog=/bin/false")
    job = c.sbatch("-w", "n1", "-o", "/dev/null", wrap="true")
    assert c.wait(job)["JobState"] == "COMPLETED"
    eventually(lambda: c.node("n1")["State"] == "IDLE+DRAIN", "drained")
    assert c.node("n1")["Reason"].startswith(f"Epilog error: Epilog /bin/false exited with status 1, job {job}")
    assert c.node("n2")["State"] == "IDLE"


def test_slow_scripts_end_at_their_limit(make_cluster):
    c = make_cluster(nodes=2, conf="PrologEpilogTimeout=1", start=False)
    slow = program(c, "slow", "#!/bin/sh\nexec sleep 1000\n")
    fast = program(c, "fast", "#!/bin/sh\n[ $SLURMD_NODENAME != n2 ] || exec sleep 1000\n")
    with c.conf_file.open("a") as f:
        f.write(f"Epilog={slow}\nProlog={fast}\n")
    c.start()
    c.wait(c.sbatch("-w", "n1", "-o", "/dev/null", wrap="true"))
    assert f"Epilog {slow} did not end within 1 s" in c.node("n1")["Reason"]
    job = c.sbatch("-w", "n2", "-o", "/dev/null", wrap="true")
    eventually(lambda: f"Prolog {fast} did not end within 1 s" in c.node("n2").get("Reason", ""), "drained")
    eventually(lambda: c.state(job) == "PENDING", "requeued")


def begun_anew(c, node):
    """Its daemon is killed and started again, and has registered."""
    log = c.dir / f"slurmd-{node}.log"
    before = len(log.read_text())
    c.kill(node)
    c.start_node(node)
    eventually(lambda: "registered with the controller" in log.read_text()[before:], "registered")


def test_limits_outlive_the_daemon(make_cluster):
    """PrologEpilogTimeout: the script is ended, whichever daemon has started it, and its node reports this."""
    c = make_cluster(nodes=2, conf="PrologEpilogTimeout=3", start=False)
    slow = program(c, "slow", f"#!/bin/sh\n[ $SLURMD_NODENAME$SLURM_SCRIPT_CONTEXT != n1prolog_slurmd ] || exit 0\n"
                              f"touch {c.dir}/runs.$SLURMD_NODENAME\nexec sleep 1000\n")
    with c.conf_file.open("a") as f:
        f.write(f"Epilog={slow}\nProlog={slow}\n")
    c.start()
    jobs = {n: c.sbatch("-w", n, "-o", "/dev/null", wrap="true") for n in c.names}
    for node in c.names:
        eventually((c.dir / f"runs.{node}").exists, "its script runs")
        begun_anew(c, node)
    for node, what in ("n1", "Epilog"), ("n2", "Prolog"):
        said = re.compile(rf"{what} \S*{slow} did not end within 3 s")  # before its name that of a program that starts it later
        eventually(lambda: said.search(c.node(node).get("Reason", "")), lambda: c.tail(node))
    assert c.wait(jobs["n1"])["JobState"] == "COMPLETED"
    eventually(lambda: c.state(jobs["n2"]) == "PENDING", "requeued")


def test_hanging_prolog_is_named(make_cluster):
    """CORE-223: without a limit it continues; commands that wait for it get a message, also with serial prologs that wait for another one."""
    c = make_cluster(nodes=1, conf="PrologFlags=Serial\nUnkillableStepTimeout=1", start=False)
    go = c.dir / "go"
    prolog = program(c, "prolog", f"#!/bin/sh\nwhile [ ! -e {go} ]; do sleep 0.1; done\n")
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={prolog}\n")
    c.start()
    first = c.popen("srun -n1 true")
    eventually(lambda: c.run("squeue -h -t R -o %i").ok().split() == ["1"], "the first one has its node")
    eventually(lambda: "(pid_" in c.job(1)["Reason"], "its prolog runs: the second one waits for it")
    second = c.popen("srun -n1 true")
    eventually(lambda: sorted(c.run("squeue -h -t R -o %i").ok().split()) == ["1", "2"], "the second one has its node")

    def held(job, text):
        return eventually(lambda: c.job(job)["Reason"].startswith(text.replace(" ", "_")) and c.job(job)["Reason"], lambda: c.job(job))
    try:
        runs = f"n1: Prolog {prolog} (pid "
        waits = f"n1: Prolog {prolog} waits since "
        pid = re.search(r"[(]pid_(\d+)[)]_runs_since_\S+,_and_has_no_time_limit", held(1, runs))[1]
        assert str(prolog) in open(f"/proc/{pid}/cmdline").read()
        assert f"_for_Prolog_of_job_1_(pid_{pid})" in held(2, waits)
        assert f"job 1: Prolog {prolog} (pid {pid}) runs since" in c.tail("n1", 200)
        assert f"job 1 is held up, {runs}{pid})" in c.tail("slurmctld", 200)
        c.run("scancel 1").ok()
        eventually(lambda: c.state(1) == "COMPLETING", "it ends when its prolog has")
        held(1, runs)
        assert f"  It is held up, {runs}{pid}) runs since" in c.run("sluice why 1").ok()
        c.kill("slurmctld")
        c.start_controller()
        held(1, runs)
    finally:
        go.touch()
    c.wait(1)
    assert "Prolog" not in c.job(1)["Reason"]
    assert f"srun: {runs}{pid})" in first.communicate(timeout=30)[1]
    said = second.communicate(timeout=30)[1]
    assert second.returncode == 0 and f"srun: {waits}" in said, said
    assert c.wait(2)["Reason"] == "None"


AT_ALLOCATION = pytest.mark.parametrize("flag", ("Alloc", "Contain"))


@AT_ALLOCATION
def test_prolog_at_allocation(make_cluster, flag):
    """PrologFlags=Alloc: on every node of an allocation in which nothing is started."""
    c = make_cluster(nodes=3, conf=f"PrologFlags={flag}", start=False)
    path = program(c, "script.py", SCRIPT)
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={path}\n")
    c.start()
    salloc = c.popen("salloc -N3 cat", stdin=-1)
    job = 1
    for node in c.names:
        assert told(c, "prolog", node, job)["env"]["SLURM_JOB_NODELIST"] == "n[1-3]"
    salloc.communicate()
    c.wait(job)
    eventually(lambda: all(c.node(n)["State"] == "IDLE" for n in c.names), "nodes are free")
    assert not list((c.dir / "spool/n2/jobs").iterdir())


@AT_ALLOCATION
def test_failing_prolog_at_allocation_ends_or_requeues(make_cluster, flag):
    c = make_cluster(nodes=3, conf=f"PrologFlags={flag}", start=False)
    path = program(c, "p", "#!/bin/sh\n[ $SLURMD_NODENAME != n2 ]\n")
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={path}\n")
    c.start()
    job = c.sbatch("-N2", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: c.state(job) == "PENDING", "requeued")
    eventually(lambda: c.node("n2")["State"] == "IDLE+DRAIN", "n2 is drained")
    c.run("scontrol update NodeName=n2 State=RESUME").ok()
    c.popen("salloc -K -N2 sleep 1000").communicate()
    assert c.wait(job + 1)["JobState"] == "FAILED"
    assert c.node("n2")["State"].startswith("IDLE+DRAIN")


@pytest.mark.parametrize("noted", [True, False])
def test_restart_of_the_daemon_waits_for_its_prolog(make_cluster, noted):
    """It runs again, but never twice at the same time; one that takes long is named, whichever daemon has started it."""
    c = make_cluster(nodes=1, start=False, conf="UnkillableStepTimeout=1")
    path = program(c, "p", "#!/bin/sh\ncd $(dirname $0)\nmkdir lock || touch twice\necho >>runs\n"
                           "while [ ! -e go ]; do sleep 0.01; done\nrmdir lock\n")
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={path}\n")
    c.start()
    job = c.sbatch("-o", "/dev/null", wrap="true")
    eventually(lambda: (c.dir / "runs").exists(), "the prolog runs")
    c.kill("n1", signal.SIGKILL)
    if not noted:
        forget_number(c, b"p")
    c.start_node("n1")
    eventually(lambda: "1 jobs of an earlier daemon" in c.tail("n1"), "adopted")
    eventually(lambda: "registered with the controller" in c.tail("n1").partition("1 jobs of an earlier daemon")[2], "registered")
    eventually(lambda: re.match(rf"n1:_Prolog_{path}_[(]pid_\d+[)]_runs_since_", c.job(job)["Reason"]), lambda: c.job(job))
    (c.dir / "go").touch()
    fields = c.wait(job)
    assert (fields["JobState"], fields["Reason"]) == ("COMPLETED", "None")
    assert (c.dir / "runs").read_text() == "\n\n" and not (c.dir / "twice").exists()


def test_prolog_without_a_stored_process_id_is_found(make_cluster):
    """The daemon was killed just after the start of the script: the next one finds the script by its initial data, and waits for it."""
    c = make_cluster(nodes=1, start=False)
    path = program(c, "script", f"#!/bin/sh\ntouch {c.dir}/runs\nuntil [ -e {c.dir}/go ]; do sleep 0.05; done\n")
    with c.conf_file.open("a") as f:
        f.write(f"Epilog={path}\n")
    c.start()
    c.sbatch("-o", "/dev/null", wrap="true")
    eventually((c.dir / "runs").exists, "the epilog runs")
    c.kill("n1")
    forget_number(c, b"E")
    c.start_node("n1")
    eventually(lambda: "registered with the controller" in c.tail("n1").partition("1 jobs of an earlier daemon")[2], "adopted")
    ended = "the epilog that was running when this daemon started has ended"
    c.run("srun true").ok()  # the node has gone through what it had to do
    assert "COMPLETING" in c.node("n1")["State"] and ended not in c.tail("n1", 1000)
    (c.dir / "go").touch()
    eventually(lambda: ended in c.tail("n1", 1000), "its end is seen")
    c.settle()


def test_serial_prologs_run_one_after_the_other(make_cluster):
    """PrologFlags=Serial: prologs and epilogs of a node; over a restart of its daemon, too."""
    c = make_cluster(nodes=1, start=False, conf="PrologFlags=Serial")
    path = program(c, "script", f"""#!/bin/sh
mkdir {c.dir}/alone || echo $SLURM_JOB_ID $SLURM_SCRIPT_CONTEXT >>{c.dir}/met
sleep 0.2
rmdir {c.dir}/alone
echo $SLURM_JOB_ID $SLURM_SCRIPT_CONTEXT >>{c.dir}/ended
""")
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={path}\nEpilog={path}\n")
    c.start()
    jobs = [c.sbatch("-n1", "-o", "/dev/null", wrap="true") for _ in range(4)]
    for job in jobs:
        assert c.wait(job)["JobState"] == "COMPLETED"
    jobs += [c.sbatch("-n1", "-o", "/dev/null", wrap="true") for _ in range(4)]
    eventually(lambda: (c.dir / "ended").read_text().count("prolog") > 4, "a prolog of them has ended")
    c.kill("n1")
    c.start_node("n1")
    for job in jobs:
        assert c.wait(job)["JobState"] == "COMPLETED"
    assert not (c.dir / "met").exists(), (c.dir / "met").read_text()
    told = (c.dir / "ended").read_text().splitlines()
    assert sorted(line for line in told if "epilog" in line) == sorted(f"{job} epilog_slurmd" for job in jobs)


def test_failed_prolog_requeues_jobs_that_have_not_begun(make_cluster):
    """PrologFlags=ForceRequeueOnFail: --no-requeue applies only to jobs that have begun."""
    c = make_cluster(nodes=2, start=False, conf="PrologFlags=ForceRequeueOnFail\nSchedulerParameters=nohold_on_prolog_fail")
    path = program(c, "script", "#!/bin/sh\n[ $SLURMD_NODENAME = n2 ]\n")
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={path}\n")
    c.start()
    job = c.sbatch("--no-requeue", "-o", "/dev/null", wrap="true")
    fields = c.wait(job)
    assert (fields["JobState"], fields["NodeList"]) == ("COMPLETED", "n2"), fields
    c.run("scontrol update nodename=n1 state=resume").ok()


def test_programs_of_several_lines_run(make_cluster):
    """slurm.conf(5): Prolog, Epilog, PrologSlurmctld and EpilogSlurmctld may stand on several lines."""
    keys = ("PrologSlurmctld", "Prolog", "Epilog", "EpilogSlurmctld")
    c = make_cluster(nodes=1, start=False)
    lines = []
    for key in keys:
        for name in "ab":
            path = program(c, f"{key}.{name}", f"#!/bin/sh\necho {key}.{name} $SLURM_JOB_ID >>{c.dir}/ran\n")
            lines.append(f"{key}={path}")
    with c.conf_file.open("a") as f:
        f.write("\n".join(lines) + "\n")
    (c.dir / "ran").touch()
    (c.dir / "ran").chmod(0o666)
    c.start()
    shown = re.sub(" +=", "=", c.run("scontrol show config").ok()).replace("= ", "=").splitlines()
    assert [line for line in shown if line in lines] == sorted(lines, key=lambda line: line.partition("=")[0])
    job = c.run("sbatch --parsable -o /dev/null --wrap true").ok().strip()
    ran = {key: [] for key in keys}

    def all_ran():
        for key in keys:
            ran[key] = [line for line in (c.dir / "ran").read_text().splitlines() if line.startswith(key + ".")]
        return all(len(names) == 2 for names in ran.values())
    eventually(all_ran, lambda: ran)
    for key in keys:  # those of nodes run in reverse alphabetical order
        assert ran[key] == [f"{key}.{name} {job}" for name in ("ab" if "Slurmctld" in key else "ba")], ran


@pytest.mark.parametrize("failing", ("", "20-b"))
def test_a_pattern_runs_all_programs_in_reverse_order_until_one_fails(make_cluster, failing):
    c = make_cluster(nodes=1, start=False)
    for hook in ("prolog.d", "epilog.d"):
        folder = c.conf_file.parent / hook
        folder.mkdir(mode=0o755)
        for name in ("10-a", "20-b", "30-c"):
            program = folder / name
            bad = name == failing and hook == "prolog.d"
            program.write_text(f"#!/bin/sh\necho {hook}/{name} $SLURM_JOB_ID >>{c.dir}/ran\n{'exit 3' if bad else ''}\n")
            program.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write("Prolog=prolog.d/*\nEpilog=epilog.d/*\n")
    (c.dir / "ran").touch()
    (c.dir / "ran").chmod(0o666)
    c.start()
    job = c.run("sbatch --parsable -o out --wrap true").ok().strip()
    expected = ["prolog.d/30-c", "prolog.d/20-b"] + ([] if failing else ["prolog.d/10-a"]) + ["epilog.d/30-c", "epilog.d/20-b", "epilog.d/10-a"]
    eventually(lambda: (c.dir / "ran").read_text().split() == [word for name in expected for word in (name, job)], "all programs")
    if failing:
        assert "20-b exited with status 3" in c.node("n1")["Reason"]
