# SPDX-License-Identifier: GPL-3.0-or-later
"""Batch jobs from submission to purge: X-01, CORE-081 to 092, 096, 097, 099 to 102."""
import os
import pwd
import re
import subprocess

import pytest

from harness import PREFIX, ROOT, eventually


def test_submit_message_and_output(cluster):
    out = cluster.run(["sbatch", "--wrap", "echo hello; echo oops >&2"]).ok()
    job = int(re.fullmatch(r"Submitted batch job (\d+)", out).group(1))
    assert cluster.wait(job)["JobState"] == "COMPLETED"
    assert cluster.output(job) == "hello\noops\n"  # CORE-096: sbatch joins the two


def test_parsable_and_cluster_name(cluster):
    assert re.fullmatch(r"\d+", cluster.run(["sbatch", "--parsable", "--wrap=true"]).ok())
    assert re.fullmatch(r"\d+;test", cluster.run(["sbatch", "--parsable", "-M", "test", "--wrap=true"]).ok())
    assert re.fullmatch(r"\d+;test", cluster.run(["sbatch", "--parsable", "--wrap=true"], env={"SLURM_CLUSTERS": "test"}).ok())


def test_wrap_takes_no_script(cluster):
    (cluster.work / "job.sh").write_text("#!/bin/sh\n")
    for words in (["job.sh"], ["job.sh", "x"], ["--", "job.sh"]):
        cluster.run(["sbatch", "--wrap", "true", *words]).fails("Script arguments not permitted with --wrap option")


def test_pbs_lines_are_applied(cluster):
    """They are read where they mean something, below #SBATCH lines, unless --ignore-pbs says not to."""
    text = "#!/bin/sh\n#PBS -N theirs -l nodes=2:ppn=2,walltime=90\n#PBS -o pbs.out -p 5\n{}echo $SLURM_JOB_NAME $SLURM_NNODES\n"
    def submitted(line="", options=(), env=None):
        done = cluster.run(["sbatch", "--parsable", *options], stdin=text.format(line), env=env)
        fields = cluster.wait(int(done.ok()))
        return fields["JobName"], fields["NumNodes"], fields["TimeLimit"], done.stderr
    told = "sbatch: warning: #PBS -p 5 has no effect (standard input, line 3)\n"
    assert submitted() == ("theirs", "2", "00:01:30", told)
    assert (cluster.work / "pbs.out").read_text() == "theirs 2\n"
    assert submitted("#SBATCH -J ours -o /dev/null\n") == ("ours", "2", "00:01:30", told)
    assert submitted(options=["-J", "said", "-t2"]) == ("said", "2", "00:02:00", told)
    for how in ({"line": "#SBATCH --ignore-pbs -o /dev/null\n"}, {"options": ["--ignore-pbs", "-o", "/dev/null"]},
                {"options": ["-o", "/dev/null"], "env": {"SBATCH_IGNORE_PBS": "1"}}):
        name, nodes, _, said = submitted(**how)
        assert (name, nodes, said) == ("sbatch", "1", "")


def test_ids_are_unique_and_rise(cluster):
    """CORE-087."""
    jobs = [cluster.sbatch("-o", "/dev/null", wrap="true") for _ in range(20)]
    assert len(set(jobs)) == 20 and jobs == sorted(jobs)
    for job in jobs:
        cluster.wait(job)


def test_script_file_arguments_and_directives(cluster):
    script = cluster.work / "job.sh"
    script.write_text("#!/bin/sh\n# a comment\n#SBATCH --job-name=named -n 2\n#SBATCH -o out-%x-%j.txt\n\n"
                      "echo \"$# $1 $2 $SLURM_JOB_NAME $SLURM_NTASKS\"\n#SBATCH --job-name=toolate\n")
    job = int(cluster.run(["sbatch", "--parsable", script, "-a", "--wrap"]).ok())
    cluster.wait(job)
    assert cluster.output(job, "out-named-{}.txt") == "2 -a --wrap named 2\n"


def test_command_line_wins_over_directive(cluster):
    job = cluster.sbatch("-J", "cli", "-o", "/dev/null", script="#!/bin/sh\n#SBATCH -J directive\nexit 0\n")
    assert cluster.wait(job)["JobName"] == "cli"


def test_script_on_standard_input(cluster):
    job = cluster.sbatch(script="#!/bin/sh\necho from stdin; readlink /proc/self/fd/0\n")
    cluster.wait(job)
    assert cluster.output(job) == "from stdin\n/dev/null\n"  # CORE-083


def test_environment_directory_and_options_arrive(cluster):
    """CORE-082."""
    place = cluster.work / "sub dir"
    place.mkdir()
    job = cluster.sbatch("-D", str(place), "-o", "env.txt", env={"GREETING": "hi there"},
                         wrap='pwd; echo "$GREETING"; echo $SLURM_JOB_ID $SLURM_JOBID; hostname >/dev/null')
    cluster.wait(job)
    assert (place / "env.txt").read_text() == f"{place}\nhi there\n{job} {job}\n"


def test_export_file_sets_the_environment(cluster):
    """The job's variables come from the file, with bytes that --export cannot have; --export chooses among them."""
    (cluster.work / "vars").write_bytes(b"GREETING=two\nlines, and=more\0OTHER=o\0")
    show = 'echo "[$GREETING][$OTHER][$OWN][$SLURM_OWN]"'
    own = {"OWN": "mine", "SLURM_OWN": "kept", "GREETING": "not this"}
    job = cluster.sbatch("--export-file=vars", env=own, wrap=show)
    cluster.wait(job)
    assert cluster.output(job) == "[two\nlines, and=more][o][][kept]\n"
    job = cluster.sbatch("--export-file=vars", "--export=OTHER,OWN=said", env=own, wrap=show)
    cluster.wait(job)
    assert cluster.output(job) == "[][o][said][kept]\n"
    line = f"sbatch --parsable --export-file=7 --wrap '{show}' 7<vars"
    job = int(cluster.run(["bash", "-c", line]).ok())
    cluster.wait(job)
    assert cluster.output(job) == "[two\nlines, and=more][o][][]\n"


def test_invalid_export_file_is_refused(cluster, nobody):
    before = cluster.run("squeue -h -t all -o %i").ok()
    (cluster.work / "lines").write_text("A=1\0not a variable\n")
    for where, *said in (("lines", "entry 2 of lines is not NAME=VALUE"), ("/etc", "/etc: Is a directory"),
                         ("missing", "cannot open missing: No such file"), ("9", "file descriptor 9: Bad file descriptor"),
                         ("/dev/zero", "/dev/zero has more than 4194304 bytes")):
        cluster.run(["sbatch", f"--export-file={where}", "--wrap", "true"]).fails("sbatch: error: --export-file: ", *said)
    cluster.run([*nobody, "sbatch", "--export-file=/etc/shadow", "--wrap", "true"]).fails("/etc/shadow: Permission denied")
    assert cluster.run("squeue -h -t all -o %i").ok() == before


def test_environment_of_a_login_shell(cluster):
    """--get-user-env: the variables of a login shell on the node; variables of the job take precedence."""
    me = pwd.getpwuid(os.geteuid())
    clean = {"HOME": me.pw_dir, "SHELL": me.pw_shell, "USER": me.pw_name, "LOGNAME": me.pw_name, "PATH": "/usr/local/bin:/usr/bin:/bin"}
    shell = subprocess.run(["-" + os.path.basename(me.pw_shell), "-c", "/usr/bin/env -0"], executable=me.pw_shell, env=clean,
                           cwd=me.pw_dir, capture_output=True, check=True).stdout.decode().split("\0")
    want = {v for v in shell if v.partition("=")[0] not in ("", "_", "PWD", "OLDPWD", "SHLVL")}
    for option in ("--get-user-env", "--get-user-env=60L"):
        job = cluster.sbatch("--export=OWN=x", option, env={"LEFT": "behind"}, wrap="exec /usr/bin/env -0")
        cluster.wait(job)
        has = set(cluster.output(job).split("\0"))
        assert want <= has and "OWN=x" in has and "LEFT=behind" not in has
    assert str(PREFIX) not in "".join(v for v in want if v.startswith("PATH="))  # so it is not the submission's
    job = cluster.sbatch("--get-user-env", env={"LEFT": "taken", "HOME": "/mine"}, wrap='echo "$LEFT $HOME"')
    cluster.wait(job)
    assert cluster.output(job) == "taken /mine\n"
    for bad in ("x", "0", "10X", "LL", "-1", "70000"):
        cluster.run(["sbatch", f"--get-user-env={bad}", "--wrap", "true"]).fails(f"Invalid --get-user-env specification: {bad}")


def test_job_without_its_user_environment_is_held(cluster, nobody):
    shell = pwd.getpwnam("nobody").pw_shell  # one that lets nobody in
    job = cluster.sbatch("--uid=nobody", "--get-user-env", "-o", "/dev/null", wrap="true")
    def held():
        fields = cluster.job(job)
        return fields if fields["JobState"] == "PENDING" and fields["Restarts"] == "1" else None
    said = eventually(held, "the job back in the queue")["Reason"].replace("_", " ")
    assert said == f"launch failed requeued held: --get-user-env, or --export with names or NONE: {shell} on n1 exited with status 1"
    assert cluster.node("n1")["State"] == "IDLE"
    cluster.run(["scancel", str(job)]).ok()


def test_export_nil_keeps_path_and_configuration(cluster):
    job = cluster.sbatch("--export=NIL", env={"HOME": "/h", "LOGNAME": "l", "SHELL": "/s", "USER": "u", "OTHER": "o"},
                         wrap='echo "$HOME $LOGNAME $SHELL $USER [$OTHER]"')
    cluster.wait(job)
    assert cluster.output(job) == "/h l /s u []\n"


@pytest.mark.parametrize("export, given", [("NONE", "  "), ("A=5,KEEP", "5 k ")])
def test_export_of_names_or_none_adds_the_login_environment(make_cluster, export, given):
    """The job gets the environment of the user's login shell; the exported variables take precedence."""
    c = make_cluster(nodes=1)
    job = c.sbatch(f"--export={export}", env={"HOME": "/h", "KEEP": "k", "DROP": "d"}, wrap='echo "$A $KEEP $DROP" "$HOME"; echo $PATH')
    c.wait(job)
    said, path = c.output(job).splitlines()
    assert said == f"{given} {pwd.getpwuid(os.geteuid()).pw_dir}" and str(PREFIX) not in path


def test_exports_that_run_a_login_shell(make_cluster):
    """GetEnvTimeout=0 permits no login shell: jobs that need one are held, the others run."""
    c = make_cluster(nodes=1, conf="GetEnvTimeout=0")
    held, run = ([c.sbatch(f"--export={export}", wrap="true") for export in exports] for exports in (("NONE", "A=5"), ("ALL", "ALL,A=5", "NIL")))
    for job in run:
        assert c.wait(job)["JobState"] == "COMPLETED"
    for job in held:
        eventually(lambda: "GetEnvTimeout=0_of_slurm.conf_lets_no_shell_run;_with_--export=ALL_or_NIL_no_shell_runs" in
                   c.run(f"scontrol show job {job}").ok(), "the reason of a held job")


def test_node_list_variables(cluster):
    job = cluster.sbatch("-N", "2", "-w", "n[2-3]", wrap='echo "$SLURM_JOB_NODELIST $SLURM_NODELIST $SLURM_NNODES '
                         '$SLURM_JOB_NUM_NODES $SLURMD_NODENAME $SLURM_JOB_CPUS_PER_NODE"')
    cluster.wait(job)
    assert cluster.output(job) == "n[2-3] n[2-3] 2 2 n2 1(x2)\n"  # CORE-089, 091


@pytest.mark.parametrize("options, told", [
    ("-N2 --exclusive", "4(x2) -"),  # as many tasks as the CPUs take: mpirun starts them
    ("-N2 --exclusive -c2", "2(x2) -"),
    ("-N2-3", "1(x3) -"),
    ("-N2-3 --ntasks-per-node=2", "2(x3) 6"),
    ("-w n[2-3] --ntasks-per-node=2", "2(x2) 4"),
    ("-N2 --exclusive -n3", "2,1 3"),
])
def test_ntasks_per_node_alone_sets_the_number_of_tasks(cluster, options, told):
    show = "echo $SLURM_TASKS_PER_NODE ${SLURM_NTASKS:--}"
    job = cluster.sbatch(*options.split(), wrap=show)
    cluster.wait(job)
    assert cluster.output(job) == f"{told}\n"
    assert cluster.run(["salloc", "-Q", *options.split(), "sh", "-c", show]).ok() == told


@pytest.mark.parametrize("options, told", [
    ("-N2 -n4 --exclusive", "2(x2)"),  # spare CPUs: in turns
    ("-N2 -n4", "3,1"),
    ("-N2 -n4 --exclusive -m pack", "3,1"),
    ("-N2 -n4 --exclusive -m plane=3", "3,1"),
    ("-N2 -n3 --exclusive -c2", "2,1"),
    ("-N2 -n12 --exclusive -O", "6(x2)"),
])
def test_tasks_per_node_variable_matches_the_steps(cluster, options, told):
    show = "echo $SLURM_TASKS_PER_NODE"
    job = cluster.sbatch(*options.split(), wrap=f"{show}; srun sh -c '{show}' | sort -u")
    assert cluster.wait(job)["JobState"] == "COMPLETED"
    assert cluster.output(job) == f"{told}\n{told}\n"
    assert cluster.run(["salloc", "-Q", *options.split(), "sh", "-c", show]).ok() == told


def test_tasks_that_follow_from_gpus_are_in_the_environment(make_cluster):
    c = make_cluster(nodes=1, conf="GresTypes=gpu", node_conf="Gres=gpu:2")
    for options, told in ("--gpus=2 --gpus-per-task=1", "2 2 2"), ("--gpus=2 --ntasks-per-gpu=1", "2 2 2"):
        show = "echo $SLURM_TASKS_PER_NODE $SLURM_NTASKS $SLURM_NPROCS"
        job = c.sbatch(*options.split(), wrap=show)
        c.wait(job)
        assert c.output(job) == f"{told}\n"
        assert c.run(["salloc", "-Q", *options.split(), "sh", "-c", show]).ok() == told


def test_exit_status_reaches_the_record(cluster):
    """CORE-099, 101."""
    job = cluster.sbatch("-o", "/dev/null", wrap="exit 3")
    fields = cluster.wait(job)
    assert (fields["JobState"], fields["ExitCode"], fields["Reason"]) == ("FAILED", "3:0", "NonZeroExitCode")
    job = cluster.sbatch("-o", "/dev/null", wrap="kill -9 $$")
    assert cluster.wait(job)["ExitCode"] == "0:9"


def test_wait_option_gives_the_jobs_status(cluster):
    assert cluster.run(["sbatch", "--wait", "-o", "/dev/null", "--wrap", "exit 7"]).returncode == 7
    assert cluster.run(["sbatch", "--wait", "-o", "/dev/null", "--wrap", "true"]).returncode == 0
    assert cluster.run(["sbatch", "--wait", "-o", "/dev/null", "--wrap", "kill -9 $$"]).returncode == 1
    with cluster.popen(["sbatch", "--wait", "--parsable", "-H", "-o", "/dev/null", "--wrap", "true"]) as p:
        job = int(p.stdout.readline())
        cluster.run(["scancel", str(job)]).ok()
        assert p.wait() == 1


def test_output_file_patterns_are_expanded(cluster):
    job = cluster.sbatch("-J", "pat", "-o", "%x.%j.%N.%n.%t.%u.out", "-e", "%A-%%.err", wrap="echo o; echo e >&2")
    cluster.wait(job)
    user = cluster.run("id -un").ok()
    assert (cluster.work / f"pat.{job}.n1.0.0.{user}.out").read_text() == "o\n"
    assert (cluster.work / f"{job}-%.err").read_text() == "e\n"


def test_script_is_searched_in_the_working_directory(cluster):
    """sbatch(1), SCRIPT PATH RESOLUTION: --chdir, the working directory, PATH."""
    for place in ("one", "two"):
        (cluster.work / place).mkdir()
        for name in ("both.sh", f"{place}.sh"):
            (cluster.work / place / name).write_text(f"#!/bin/sh\necho from {place}\n")
    (cluster.work / "both.sh").write_text("#!/bin/sh\necho from here\n")
    path = {"PATH": f"{cluster.work}/two:{cluster.environment()['PATH']}"}
    for line, place in (("-D one one.sh", "one"), ("-D one both.sh", "one"), ("-D one ./both.sh", "one"), ("-D one two/two.sh", "two"),
                        ("-D one two.sh", "two"), ("both.sh", "here"), ("two.sh", "two")):
        options, name = line.rsplit(" ", 1) if " " in line else ("", line)
        done = cluster.run(f"sbatch -W -o {cluster.work}/from.txt {options} {name}", env=path)
        assert done.returncode == 0 and (cluster.work / "from.txt").read_text() == f"from {place}\n", (line, done.stderr)
    cluster.run("sbatch -D one ./two.sh", env=path).fails("Unable to open file ./two.sh")


@pytest.mark.parametrize("how", ("missing", "file", "closed")[:3 if ROOT else 2])  # root alone runs a job as another user
def test_inaccessible_working_directory_becomes_tmp(cluster, how):
    """The job runs in /tmp, and its error output says why."""
    place = cluster.work / f"place-{how}"
    why = {"missing": "No such file or directory", "file": "Not a directory", "closed": "Permission denied"}[how]
    if how == "file":
        place.write_text("")
    elif how == "closed":
        place.mkdir(mode=0o700)
    user = "nobody" if how == "closed" else None
    out, err = cluster.work / f"{how}.out", cluster.work / f"{how}.err"
    job = cluster.sbatch("-D", place, "-o", out, "-e", err, wrap="pwd; srun pwd", user=user)
    assert cluster.wait(job)["ExitCode"] == "0:0"
    said = f"couldn't chdir to `{place}': {why}: going to /tmp instead\n"
    assert out.read_text() == "/tmp\n/tmp\n"
    assert err.read_text() == "slurmstepd: error: " + said
    done = cluster.run(["srun", "-D", str(place), "pwd"], user=user)
    assert done.ok() == "/tmp" and done.stderr.endswith(said), done.stderr


def test_each_run_of_a_requeued_job_has_its_output_file(cluster):
    job = cluster.sbatch("--requeue", "-o", "run-%r.txt", script='#!/bin/sh\ntest "$SLURM_RESTART_COUNT" || sleep 60\n')
    eventually(lambda: (cluster.work / "run-0.txt").exists(), "the first run has its file")
    cluster.run(f"scontrol requeuehold {job}").ok()
    eventually(lambda: cluster.job(job)["JobState"] == "PENDING", "the job is held")
    assert cluster.job(job)["StdOut"] == str(cluster.work / "run-1.txt")
    cluster.run(f"scontrol release {job}").ok()
    assert cluster.wait(job)["JobState"] == "COMPLETED" and (cluster.work / "run-1.txt").exists()


def test_output_path_is_shown_unchanged(cluster):
    """Before, during and after: whatever letters are in it, the file is where scontrol and the hooks say."""
    pattern = "%x-%t-%n-%3s-%J-%b-%4A-%N-%q.txt"
    job = cluster.sbatch("-J", "told", "-w", "n2", "-o", pattern, "--hold", wrap="scontrol show job $SLURM_JOB_ID")
    name = f"{cluster.work}/told-0-0-batch-{job}-4-{job:04}-%N-%q.txt"
    assert cluster.job(job)["StdOut"] == name
    cluster.run(f"scontrol release {job}").ok()
    cluster.wait(job)
    name = name.replace("%N", "n2")
    assert cluster.job(job)["StdOut"] == name
    assert f"StdOut={name}\n" in (cluster.work / name).read_text()
    listed = f"squeue -h --states=all -j {job} -O stdout:400"
    assert cluster.run(listed).ok().strip() == f"{cluster.work}/{pattern}"
    assert cluster.run(f"{listed} --expand-patterns").ok().strip() == name


def test_output_can_be_read_while_the_job_runs(cluster):
    """CORE-097."""
    go = cluster.work / "go"
    job = cluster.sbatch(wrap=f"echo first; while [ ! -e {go} ]; do sleep 0.05; done; echo last")
    eventually(lambda: (cluster.work / f"slurm-{job}.out").exists() and cluster.output(job) == "first\n", "output")
    go.touch()
    cluster.wait(job)
    assert cluster.output(job) == "first\nlast\n"


def test_first_in_first_out(cluster):
    """CORE-050, 088: whole-cluster jobs start in the order of submission."""
    order = cluster.work / "order"
    jobs = [cluster.sbatch("-N", "4", "--exclusive", "-o", "/dev/null", wrap=f"echo $SLURM_JOB_ID >>{order}")
            for _ in range(5)]
    for job in jobs:
        cluster.wait(job)
    assert order.read_text().split() == [str(j) for j in jobs]


def test_legacy_batch_gives_two_files(cluster):
    """CORE-081, 084, 085, 086, 090, 096: the 2002 form."""
    done = cluster.run("srun --batch --nodes 2 hostname")
    assert done.returncode == 0
    job = int(re.fullmatch(r"srun: Job (\d+) has been submitted\n", done.stderr + done.stdout).group(1))
    cluster.wait(job)
    host = cluster.run("hostname").ok()
    assert cluster.output(job) == f"{host}\n{host}\n"
    assert cluster.output(job, "slurm-{}.err") == ""
    refused = cluster.run("srun --batch --partition nowhere hostname")
    assert refused.returncode != 0 and "srun: request will never run" in refused.stderr


def test_whole_nodes_count_all_their_cpus(make_cluster):
    """CORE-135: four CPUs on four nodes of two CPUs, whole nodes: eight CPUs."""
    c = make_cluster(cpus=2, conf="SelectType=select/linear\nSelectTypeParameters=CR_Memory")
    job = c.sbatch("-n4", "-N4", "-o", "/dev/null", wrap="true")
    fields = c.wait(job)
    assert (fields["NumNodes"], fields["NumCPUs"]) == ("4", "8")


def test_idle_node_keeps_no_files_of_jobs(make_cluster):
    """CORE-027: after the jobs the spool directory of a node is the same as before."""
    c = make_cluster(nodes=2)
    spool = c.dir / "spool"

    def files():
        return sorted(str(path.relative_to(spool)) for path in spool.rglob("*") if not is_spare(path))

    def is_spare(path):
        """A file that the next job uses, without content."""
        return path.parent.name == "spare" and path.name in "01234567" and path.stat().st_size == 0

    def of_jobs():
        return [name for name in files() if re.search(r"/job\d", name)]
    c.run("srun -N2 true").ok()
    eventually(lambda: not of_jobs(), of_jobs)
    before = files()
    running = c.sbatch("-N2", "-o", "/dev/null", wrap="srun sleep 1000")
    eventually(lambda: len(c.run(f"squeue -h -s -j {running}").ok().splitlines()) > 1, "its step")
    assert of_jobs()
    c.run(f"scancel {running}").ok()
    c.wait(running)
    c.wait(c.sbatch("-N2", "-o", "/dev/null", wrap="srun true; exit 3"))
    eventually(lambda: set(files()) <= set(before), lambda: f"what is left: {set(files()) - set(before)}")


def test_purged_after_min_job_age(make_cluster):
    """CORE-102."""
    c = make_cluster(nodes=1, conf="MinJobAge=2")
    job = c.sbatch("-o", "/dev/null", wrap="true")
    c.wait(job)
    eventually(lambda: "Invalid job id" in c.run(f"scontrol show job {job}").stderr, "purge of the job")


def test_node_is_free_after_its_epilog(make_cluster):
    """CORE-100, 107, 156, 219, 223: an epilog on every node, as the daemon's user, before the node is free."""
    c = make_cluster(nodes=2, start=False)
    gate, mark = c.dir / "gate", c.dir / "mark"
    epilog = c.dir / "epilog.sh"
    epilog.write_text(f"#!/bin/sh\necho $SLURM_JOB_ID $SLURMD_NODENAME $(id -u) >>{mark}\n"
                      f"[ $SLURMD_NODENAME = n2 ] && while [ ! -e {gate} ]; do sleep 0.05; done\nexit 0\n")
    epilog.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"Epilog={epilog}\n")
    c.start()
    job = c.sbatch("-N2", "-o", "/dev/null", wrap="true")
    eventually(lambda: c.job(job)["JobState"] == "COMPLETING", "completing")
    eventually(lambda: c.node("n1")["State"].startswith("IDLE"), "the first node free")
    assert "COMPLETING" in c.node("n2")["State"]
    gate.touch()
    assert c.wait(job)["JobState"] == "COMPLETED"
    uid = c.run("id -u").ok()
    assert sorted(mark.read_text().splitlines()) == [f"{job} n1 {uid}", f"{job} n2 {uid}"]


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_runs_as_the_submitting_user(cluster):
    """CORE-092."""
    job = cluster.sbatch(user="nobody", wrap="id -un; id -gn; id -G | wc -w; ulimit -n; umask")
    cluster.wait(job)
    limits = cluster.run(["sh", "-c", "ulimit -n; umask"], user="nobody").ok().split()
    lines = cluster.output(job).split()
    assert lines[0] == "nobody" and lines[3:] == limits


def test_tasks_have_the_groups_of_the_user_alone(cluster):
    """Neither a script nor a task of srun keeps a group of the daemons."""
    user = pwd.getpwnam("nobody") if ROOT else pwd.getpwuid(os.geteuid())
    groups = sorted({user.pw_gid, *os.getgrouplist(user.pw_name, user.pw_gid)})
    name = user.pw_name if ROOT else None
    job = cluster.sbatch(user=name, wrap="id -G")
    cluster.wait(job)
    for said in (cluster.output(job), cluster.run("srun id -G", user=name).ok()):
        assert sorted(map(int, said.split())) == groups


def test_umask_of_the_environment_is_applied(cluster):
    """SLURM_UMASK, of sbatch and srun: for the files of the output and for the tasks. What srun tells a task is no wish."""
    def mode(name):
        return oct((cluster.work / name).stat().st_mode & 0o777)
    script = "#!/bin/sh\numask\necho $SLURM_UMASK $SLUICE_UMASK\numask 022\nsrun sh -c umask\n"
    wish = {"SLURM_UMASK": "027"}
    job = cluster.sbatch("-o", "mask-%j", script=script, env=wish)
    cluster.wait(job)
    assert (cluster.output(job, "mask-{}").split(), mode(f"mask-{job}")) == (["0027", "027", "0027"], "0o640")
    assert cluster.run("srun sh -c umask", env=wish).ok() == "0027"
    for name in ("here", "there-%t"):
        cluster.run(f"srun -o {name} true", env=wish).ok()
        assert mode(name.replace("%t", "0")) == "0o640"
    job = cluster.run("srun --batch -o mask-batch sh -c umask", env=wish).stderr.split()[2]
    cluster.wait(job)
    assert mode("mask-batch") == "0o640"
    own = "umask 077; srun --overlap sh -c umask; sbatch --parsable -o mask-own --wrap 'umask; echo $SLURM_UMASK'"
    *mask, job = cluster.run(["srun", "sh", "-c", own]).ok().split()
    cluster.wait(job)
    assert (mask, mode("mask-own"), (cluster.work / "mask-own").read_text()) == (["0077"], "0o600", "0077\n\n")
    assert cluster.run(["srun", "sh", "-c", "SLURM_UMASK=027 srun --overlap sh -c umask"]).ok() == "0027"
    for bad in ("8", "x", "1000", "0x1", "-1", "00022"):
        for line in ("srun true", "sbatch --wrap true"):
            cluster.run(line, env={"SLURM_UMASK": bad}).fails(f"Invalid value for SLURM_UMASK: '{bad}' is not an octal number")


def test_warning_signal_is_sent_before_the_limit(make_cluster):
    """CORE-184, 185, 209. --signal: to the steps, or with B: only to the script, the requested number of seconds before the limit."""
    c = make_cluster(nodes=2)
    script = "#!/bin/sh\n#SBATCH -t 0:04 --signal=B:USR1@2\ntrap 'echo warned; exit 3' USR1\nwhile :; do sleep 0.05; done\n"
    job = c.sbatch(script=script)
    step = c.popen(["srun", "-t", "0:04", "--signal=USR2@3", "sh", "-c",
                    "trap 'echo told; exit 4' USR2; while :; do sleep 0.05; done"])
    c.wait(job)
    assert c.output(job) == "warned\n"
    assert c.job(job)["ExitCode"] == "3:0"
    out, _ = step.communicate(timeout=20)
    assert out.startswith("told")
    assert step.returncode == 4


def test_job_past_its_deadline_is_refused_or_ended(cluster):
    cluster.run(["sbatch", "--deadline=now+1minute", "-t5", "--wrap", "true"]).fails("Requested deadline can not be met")
    cluster.run(["sbatch", "--deadline=soon", "--wrap", "true"]).fails("Invalid --deadline specification: soon")
    cluster.run(["sbatch", "--deadline=1970-01-01", "--wrap", "true"]).fails("Invalid --deadline specification: 1970-01-01")
    cluster.run("srun --deadline=2020-01-02 true").fails("Requested deadline can not be met: 2020-01-02T00:00:00 is in the past")
    job = cluster.sbatch("-H", "--deadline=2030-01-02T03:04:05", wrap="true")
    assert cluster.job(job)["Deadline"] == "2030-01-02T03:04:05"
    assert cluster.run(f"squeue -h -O Deadline:30 -j {job}").ok().strip() == "2030-01-02T03:04:05"
    late = cluster.sbatch("-H", "--deadline=now+2seconds", wrap="true")
    assert cluster.wait(late)["JobState"] == "DEADLINE" and cluster.job(late)["Reason"] == "DeadLine"
    cluster.run(f"scancel {job}").ok()


def test_missing_interpreter_is_named(cluster):
    """The script exists, but the interpreter in its first line does not."""
    job = cluster.sbatch(script="#! /no/such/shell -x\ntrue\n")
    assert cluster.wait(job)["ExitCode"] == "2:0"
    assert "its interpreter /no/such/shell is not on this node" in cluster.output(job)


@pytest.mark.allocator  # sanitizers keep their programs from locking memory
@pytest.mark.parametrize("word", ["slurmstepd_memlock", "slurmstepd_memlock_all"])
def test_step_daemons_can_be_locked_in_memory(make_cluster, word):
    """LaunchParameters; tasks have no lock."""
    c = make_cluster(nodes=1, conf=f"LaunchParameters={word}")
    job = c.sbatch("-o", "out", wrap="grep VmLck /proc/$PPID/status /proc/self/status")
    assert c.wait(job)["JobState"] == "COMPLETED"
    shepherd, own = [int(line.split()[1]) for line in (c.work / "out").read_text().splitlines()]
    assert shepherd > 0 and own == 0


def test_launch_failure_names_the_file(cluster):
    """In the record of the job, and to sbatch --wait."""
    for options, text in ((["-o", "/nonexistent/out"], "Could not open standard output file /nonexistent/out: No such file or directory"),
                          (["-e", "/nonexistent/err"], "Could not open standard error file /nonexistent/err: No such file or directory"),
                          (["-i", "/nonexistent/in"], "Could not open standard input file /nonexistent/in: No such file or directory"),
                          (["-D", "/nonexistent"], "Could not open standard output file /nonexistent/slurm-%j.out: No such file or directory")):
        done = cluster.run(["sbatch", "--wait", *options, "--wrap", "true"])
        job = done.stdout.split()[-1]
        text = text.replace("%j", job)
        assert done.returncode == 1 and f"sbatch: error: job {job} could not be started: {text}\n" == done.stderr, done
        cluster.wait(int(job))  # sbatch --wait does not wait for the epilogs
        shown = cluster.run(f"scontrol show job {job}").ok()
        assert "JobState=FAILED Reason=JobLaunchFailure " in shown and f"   ReasonDetail={text}\n" in shown, shown
        assert cluster.json(f"scontrol show job {job}")["jobs"][0]["state_description"] == text
