# SPDX-License-Identifier: GPL-3.0-or-later
"""Logins belong to jobs: pam_sluice_adopt and the extern step, X-39, CORE-078. The PAM stack is a real one, the login daemon is login.c."""
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

import pytest

import cgroups
from harness import PREFIX, ROOT, Cluster, alive, child_named, eventually, free_ports, is_connected, many, processes_of

MODULE = PREFIX / "lib/security/pam_slurm_adopt.so"
pytestmark = [pytest.mark.skipif(not ROOT or not MODULE.exists(), reason="needs root, and PAM to be built with"),
              pytest.mark.allocator]  # a module with sanitizers cannot be loaded into programs without
HERE = pathlib.Path(__file__).parent
USERS = ("nobody", "daemon")
CONTAIN = "PrologFlags=Contain\n"
DENIED = "Access denied by pam_slurm_adopt: "
# A daemon of its own session, whose number is in the file away when the login is over.
SLIP_AWAY = "mkfifo gone; setsid sh -c 'echo $$ >away; echo >gone; exec sleep 300000' >/dev/null 2>&1 </dev/null & read x <gone; rm gone"
NO_JOBS = DENIED + "you have no active jobs on this node"


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("login") / "login"
    subprocess.run(["gcc", "-Wall", "-o", path, HERE / "login.c", "-lpam"], check=True)
    return path


class Site:
    """A cluster with a login daemon on n1."""

    def __init__(self, cluster, program):
        self.c, self.program = cluster, program
        self.services = cluster.dir / "pam.d"
        self.services.mkdir()
        self.service()

    def service(self, options="", node="n1", lines=("account", "session")):
        conf = f"{MODULE} service=test nodename={node} conf={self.c.conf_file} {options}"
        wanted = [f"{kind} {'required ' + conf if kind in lines else 'required pam_permit.so'}" for kind in ("account", "session")]
        (self.services / "test").write_text("\n".join([*wanted, "auth required pam_permit.so", ""]))

    def login(self, user, command="true", job=None, **more):
        env = {"WANTED_JOB": str(job)} if job else {}
        return self.c.popen([self.program, self.services, "test", user, command], env=env, **more)

    def result(self, *args, **more):
        process = self.login(*args, **more)
        out, said = process.communicate(timeout=60)
        return process.returncode, out, said

    def shows(self, expected, *args, **more):
        status, out, said = self.result(*args, **more)
        assert (status, out) == (0, expected), print(self.c.tail("n1")) or (status, out, said)

    def refused(self, text, *args, **more):
        status, out, said = self.result(*args, **more)
        assert (status, out) == (1, "") and text in said.splitlines(), (status, out, said)

    def job(self, user=USERS[0], node="n1", wrap="exec sleep 100000", *options):
        job = self.c.sbatch("-w", node, "-n1", "-o", "/dev/null", *options, wrap=wrap, user=user)
        eventually(lambda: self.c.state(job) == "RUNNING" and self.batch(job, node), lambda: self.c.job(job))
        return job

    def listed(self, job, step, node="n1"):
        out = self.c.run(["scontrol", "listpids", f"{job}", node]).stdout.splitlines()[1:]
        return [int(line.split()[0]) for line in out if line.split()[2] == step]

    def batch(self, job, node="n1"):
        return self.listed(job, "batch", node)

    def inside(self, user, *args, **more):
        """A login that stays: the process, and the number of its command's."""
        login = self.login(user, "echo $$; exec sleep 200000", *args, **more)
        line = login.stdout.readline()
        assert line, login.communicate()
        return login, int(line)

    def of_extern(self, job):
        """Shepherds of its extern step on this host."""
        return [pid for pid, line in processes_of(self.c.dir).items() if line.startswith(f"slurmstepd: [{job}.extern]")]


@pytest.fixture
def make(program):
    with many(Cluster) as factory:
        yield lambda **options: Site(factory(**{"nodes": 1, **options}), program)


def gone(pid):
    return eventually(lambda: not alive(pid), f"the end of process {pid}")


def ends(login):
    login.wait(60)
    login.communicate()
    return True


def test_login_needs_a_job(make):
    """CORE-078: of two users only the one with a job is admitted. The login belongs to the job: environment, listpids, sstat, squeue; the end of the
    job kills its processes."""
    site = make(conf=CONTAIN)
    c = site.c
    site.refused(NO_JOBS, USERS[0])
    job = site.job()
    site.refused(NO_JOBS, USERS[1])
    site.shows(f"{job} n1\nnobody\n", USERS[0], "echo $SLURM_JOB_ID $SLURMD_NODENAME; id -un")
    login, pid = site.inside(USERS[0])
    eventually(lambda: pid in site.listed(job, "extern"), lambda: site.listed(job, "extern"))
    assert login.pid in site.listed(job, "extern")
    assert c.run(["scontrol", "pidinfo", str(pid)]).ok().startswith(f"Slurm JobId={job} ")
    steps = c.run(f"squeue -s -h -j {job} -o %i|%j|%N").ok().split()
    assert sorted(steps) == [f"{job}.batch|batch|n1", f"{job}.extern|extern|n1"]
    assert c.run(f"sstat -n -P -o JobID,NTasks,Pids -j {job}.extern").ok().split("|")[:2] == [f"{job}.extern", "1"]
    assert str(pid) in c.run(f"sstat -n -P -i -j {job}.extern").ok()
    assert c.run(f"sstat -n -P -o MaxRSS --noconvert -j {job}.extern").ok() not in ("", "0")
    c.run(f"scancel {job}").ok()
    assert ends(login) and gone(pid)
    assert c.wait(job)["JobState"] == "CANCELLED"
    site.refused(NO_JOBS, USERS[0])
    c.stop()


def test_without_contain_the_extern_step_begins_with_the_first_login(make):
    site = make()
    c = site.c
    job = site.job()
    assert not site.of_extern(job)
    login, pid = site.inside(USERS[0])
    assert len(site.of_extern(job)) == 1
    second, other = site.inside(USERS[0])
    assert len(site.of_extern(job)) == 1 and {pid, other} <= set(eventually(lambda: site.listed(job, "extern"), "listed"))
    c.run(f"scancel {job}").ok()
    assert ends(login) and ends(second) and gone(pid) and gone(other)
    c.wait(job)
    c.stop()


def test_contain_starts_extern_steps_on_every_node(make):
    """Of an allocation in which nothing was started, too."""
    site = make(nodes=2, conf=CONTAIN)
    c = site.c
    alloc = c.popen(["salloc", "-K", "-N2", "sleep", "100000"], user=USERS[0])
    eventually(lambda: c.run("squeue -h -t r -o %i").ok(), "it runs")
    job = int(c.run("squeue -h -t r -o %i").ok())
    eventually(lambda: len(site.of_extern(job)) == 2, lambda: site.of_extern(job))
    site.service(node="n2")
    site.shows(f"{job}\n", USERS[0], "echo $SLURM_JOB_ID")
    assert c.run(f"squeue -s -h -j {job} -o %i|%N").ok() == f"{job}.extern|n[1-2]"
    c.run(f"scancel {job}").ok()
    alloc.communicate(timeout=60)
    c.wait(job)
    eventually(lambda: not site.of_extern(job), "gone")
    c.stop()


@pytest.mark.parametrize("lines", (("account",), ("session",)))
def test_one_pam_stack_is_enough(make, lines):
    """Where accounts are looked at in another process the session is adopted."""
    site = make(conf=CONTAIN)
    site.service(lines=lines)
    site.refused(NO_JOBS, USERS[0])
    job = site.job()
    site.shows(f"{job}\n", USERS[0], "echo $SLURM_JOB_ID")
    _, pid = site.inside(USERS[0])
    eventually(lambda: pid in site.listed(job, "extern"), lambda: site.listed(job, "extern"))


def test_root_and_other_services_pass(make):
    site = make()
    stack = site.services / "test"
    for text in (stack.read_text(), stack.read_text().replace("service=test", "service=sshd")):
        # What a module ignores another one decides.
        stack.write_text("account required pam_permit.so\nsession required pam_permit.so\n" + text)
        site.shows("0\n", "root", "id -u")
    site.shows("nobody\n", USERS[0], "id -un")


@pytest.mark.parametrize("option", ("action_no_job=deny", "action_unknown=sometimes", "join_container=perhaps", "debug", "conf=slurm.conf"))
def test_unknown_options_refuse_the_login(make, option):
    site = make(conf=CONTAIN, start=False)
    site.service(option)
    site.refused(DENIED + "its options are wrong", USERS[0])


def test_configured_actions_apply_without_a_job(make):
    site = make(conf=CONTAIN)
    permit = "account required pam_permit.so\nsession required pam_permit.so\n"
    site.service("action_no_jobs=ignore disable_x11=1 log_level=debug")
    stack = site.services / "test"
    stack.write_text(permit + stack.read_text())
    site.shows("in\n", USERS[0], "echo in")
    site.c.kill("n1")
    site.service()
    site.refused(DENIED + "slurmd of this node could not be asked", USERS[0])
    site.service("action_generic_failure=allow")
    site.shows("in\n", USERS[0], "echo in")
    site.service("action_generic_failure=ignore")
    stack.write_text(permit + stack.read_text())
    site.shows("in\n", USERS[0], "echo in")
    site.c.start_node("n1")
    site.c.wait_ready()


def test_login_joins_the_requested_or_the_newest_job(make):
    """The one asked for when it is theirs, else the newest; never another user's, whatever is sent."""
    site = make(conf=CONTAIN)
    other = site.job(USERS[1])
    first, second = site.job(), site.job()
    show = "echo $SLURM_JOB_ID"
    site.shows(f"{second}\n", USERS[0], show)
    site.shows(f"{first}\n", USERS[0], show, job=first)
    for forged in (other, 4711, "4294967296", "-1", f"{first}x", "99999999999999999999"):
        site.shows(f"{second}\n", USERS[0], show, job=forged)
    site.service("action_unknown=deny")
    site.refused(DENIED + "unable to determine source job", USERS[0])
    site.shows(f"{first}\n", USERS[0], show, job=first)
    site.service("action_unknown=allow")
    site.shows("\nnobody\n", USERS[0], show + "; id -un")
    site.c.run(f"scancel {first}").ok()
    site.c.wait(first)
    site.service("action_unknown=deny")
    site.shows(f"{second}\n", USERS[0], show)
    # Another user's number opens nothing to who has no job, either.
    site.c.run(f"scancel {second}").ok()
    site.c.wait(second)
    site.refused(NO_JOBS, USERS[0], job=other)


CONNECT = """import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
    s.recv(1)
"""


def from_job(site, listener, user, node, *options):
    """A job that has a connection to the listener: its number, and our end."""
    job = site.job(user, node, f"exec python3 -c '{CONNECT}' {listener.getsockname()[1]}", *options)
    return job, listener.accept()[0]


def test_login_from_a_job_joins_this_job(make):
    """Of a process of this node, and of another node of the job; a stranger's connection says nothing."""
    site = make(nodes=2, conf=CONTAIN)
    site.service("action_unknown=deny")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        here, end = from_job(site, listener, USERS[0], "n1")
        site.job()  # a newer one
        with end:
            site.shows(f"{here}\n", USERS[0], "echo $SLURM_JOB_ID", pass_fds=[end.fileno()])
        both = site.c.sbatch("-N2", "-n2", "-o", "/dev/null", user=USERS[0], script=f"""#!/bin/sh
            srun -N1 -n1 -w n2 python3 -c '{CONNECT}' {listener.getsockname()[1]}
            exec sleep 100000
            """)
        with listener.accept()[0] as end:
            site.shows(f"{both}\n", USERS[0], "echo $SLURM_JOB_ID", pass_fds=[end.fileno()])
        _, end = from_job(site, listener, USERS[1], "n1")
        with end:
            site.refused(DENIED + "unable to determine source job", USERS[0], pass_fds=[end.fileno()])


def test_adopted_processes_survive_a_restart_of_the_daemon(make):
    """slurmd is killed and restarted: adopted processes still belong to the job, more are adopted, and all end with the job."""
    site = make()
    c = site.c
    job = site.job()
    login, pid = site.inside(USERS[0])
    c.kill("n1")
    c.start_node("n1")
    c.wait_ready()
    eventually(lambda: pid in site.listed(job, "extern"), lambda: site.listed(job, "extern"))
    second, other = site.inside(USERS[0])
    assert len(site.of_extern(job)) == 1
    c.run(f"scancel {job}").ok()
    assert ends(login) and ends(second) and gone(pid) and gone(other)
    c.wait(job)
    c.stop()


def test_escaped_login_process_ends_with_the_job(make):
    """Without control groups: a daemon in its own session, whose login has ended."""
    site = make()
    c = site.c
    job = site.job()
    assert site.result(USERS[0], SLIP_AWAY)[0] == 0
    pid = int((c.work / "away").read_text())
    assert alive(pid)
    c.run(f"scancel {job}").ok()
    assert gone(pid)
    c.wait(job)
    c.stop()


def test_killed_step_daemon_ends_adopted_processes(make):
    site = make()
    c = site.c
    job = site.job()
    login, pid = site.inside(USERS[0])
    os.kill(site.of_extern(job)[0], signal.SIGKILL)
    assert ends(login) and gone(pid)
    assert c.state(job) == "RUNNING"
    # It begins anew with the next one, as soon as its end is on record.
    eventually(lambda: site.result(USERS[0], "echo $SLURM_JOB_ID")[1] == f"{job}\n", lambda: site.result(USERS[0]))
    assert len(site.of_extern(job)) == 1
    c.run(f"scancel {job}").ok()
    c.wait(job)
    c.stop()


def test_adopted_processes_are_suspended_with_the_job(make):
    site = make(conf="PreemptParameters=suspend_grace_time=0\n")
    c = site.c
    job = site.job()
    login, pid = site.inside(USERS[0])

    def state(p):
        return pathlib.Path(f"/proc/{p}/stat").read_text().rpartition(")")[2].split()[0]
    c.run(f"scontrol suspend {job}").ok()
    eventually(lambda: state(pid) == "T", lambda: state(pid))
    site.refused(DENIED + f"your job {job} on this node is suspended", USERS[0])
    c.run(f"scontrol resume {job}").ok()
    eventually(lambda: state(pid) == "S", lambda: state(pid))
    c.run(f"scancel {job}").ok()
    assert ends(login)
    c.wait(job)


def test_login_during_the_end_of_its_job_leaves_no_process(make):
    """Logins while the job ends are refused or end with it; none is left."""
    site = make()
    c = site.c
    for _ in range(5):
        job = site.job()
        logins = [site.login(USERS[0], "exec sleep 400000") for _ in range(6)]
        c.run(f"scancel {job}").ok()
        for login in logins:
            _, said = login.communicate(timeout=60)
            assert login.returncode in (1, 2) or login.returncode < 0, said
        c.wait(job)
    c.stop()


def test_login_waits_for_a_long_prolog(make):
    site = make(start=False)
    c = site.c
    prolog = c.dir / "prolog"
    prolog.write_text(f"#!/bin/sh\ntouch {c.dir}/begun\nread x <{c.dir}/go\n")
    os.mkfifo(c.dir / "go")
    prolog.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={prolog}\n")
    c.start()
    job = c.sbatch("-w", "n1", "-o", "/dev/null", wrap="exec sleep 100000", user=USERS[0])
    eventually((c.dir / "begun").exists, "the prolog runs")
    login = site.login(USERS[0], "echo $SLURM_JOB_ID")
    helper = eventually(lambda: child_named(login.pid, "sluice-adopt"), "slurmd is asked")
    eventually(lambda: is_connected(helper), "slurmd is asked")
    (c.dir / "go").write_text("\n")
    assert login.communicate(timeout=60)[0] == f"{job}\n" and login.returncode == 0


def slow_prolog(c):
    """A prolog that waits until c.dir/go exists."""
    prolog = c.dir / "prolog"
    prolog.write_text(f"#!/bin/sh\ntouch {c.dir}/begun\nuntil [ -e {c.dir}/go ]; do sleep 0.05; done\n")
    prolog.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={prolog}\n")
    c.start()


def test_login_waits_for_a_prolog_beyond_message_timeout(make):
    """slurmd says that it has to be waited for, and is asked again."""
    site = make(start=False, conf="MessageTimeout=3\n")
    c = site.c
    slow_prolog(c)
    job = c.sbatch("-w", "n1", "-o", "/dev/null", wrap="exec sleep 100000", user=USERS[0])
    eventually((c.dir / "begun").exists, "the prolog runs")
    begun = time.monotonic()
    login = site.login(USERS[0], "echo $SLURM_JOB_ID")
    eventually(lambda: time.monotonic() - begun > 5 or login.poll() is not None, "longer than that")
    (c.dir / "go").touch()
    assert login.communicate(timeout=60)[0] == f"{job}\n" and login.returncode == 0
    assert "was not adopted" not in (c.dir / "slurmd-n1.log").read_text()


def test_step_without_an_allocation_admits_no_login(make):
    """It is not a job, and an extern step for it would stay forever (docs/adr/0026)."""
    site = make()
    step = site.c.popen(["srun", "-Z", "-w", "n1", f"--uid={USERS[0]}", "sh", "-c", "id -un; exec sleep 300000"])
    assert step.stdout.readline() == f"{USERS[0]}\n"
    site.refused(NO_JOBS, USERS[0])
    step.kill()
    ends(step)
    eventually(lambda: not list((site.c.dir / "spool/n1/jobs").iterdir()), "its end on the node")


def test_login_fails_if_the_extern_step_does_not_answer(make):
    site = make(conf="MessageTimeout=3\n")
    job = site.job()
    site.shows(f"{job}\n", USERS[0], "echo $SLURM_JOB_ID")
    os.kill(site.of_extern(job)[0], signal.SIGSTOP)
    site.refused(DENIED + f"failed to adopt process into job {job}: step {job}.extern on node n1 does not answer", USERS[0])
    site.c.run(f"scancel {job}").ok()
    site.c.wait(job)


def test_login_fails_when_its_extern_step_has_ended(make):
    """A process that has ended has claimed the step: a login gets an error at once."""
    site = make(conf="MessageTimeout=60\n")
    c = site.c
    job = site.job()
    claim = socket.socket(socket.AF_UNIX)
    claim.bind(f"{c.dir}/spool/n1/steps/{job}.0.{0xfffffffc}.sock")
    claim.close()
    site.refused(DENIED + f"failed to adopt process into job {job}: its extern step has ended", USERS[0])
    c.run(f"scancel {job}").ok()
    c.wait(job)


def test_resources_of_the_job_are_known_after_a_restart(make):
    """The node has heard of the job by an order to stop it, and of its share by a step."""
    site = make(conf="PreemptParameters=suspend_grace_time=0\n")
    c = site.c
    before = c.work / "before"
    before.write_text(f"#!/bin/sh\necho $SLURM_JOB_ID >{c.work}/up\nuntil [ -e {c.work}/go ]; do sleep 0.05; done\n")
    before.chmod(0o755)
    srun = c.popen(["srun", f"--prolog={before}", "sleep", "200001"], user=USERS[0])
    job = int(eventually(lambda: (c.work / "up").exists() and (c.work / "up").read_text(), "it is about to be launched"))
    log = c.dir / "slurmd-n1.log"
    for word, said in (("suspend", "suspended"), ("resume", "resumed")):
        c.run(f"scontrol {word} {job}").ok()
        eventually(lambda: f"job {job}: {said}" in log.read_text(), said)
    (c.work / "go").touch()
    eventually(lambda: f"started step {job}.0" in log.read_text(), "its step runs")
    c.kill("n1")
    c.start_node("n1")
    c.wait_ready()
    site.shows(f"{job}\n", USERS[0], "echo $SLURM_JOB_ID")
    c.run(f"scancel {job}").ok()
    srun.communicate(timeout=60)
    c.wait(job)


def test_job_ending_in_its_prolog_reports_no_error(make):
    """That its extern step did not begin is no error."""
    site = make(start=False, conf=CONTAIN)
    c = site.c
    slow_prolog(c)
    job = c.sbatch("-w", "n1", "-o", "/dev/null", wrap="exec sleep 100000", user=USERS[0])
    eventually((c.dir / "begun").exists, "the prolog runs")
    c.run(f"scancel {job}").ok()
    (c.dir / "go").touch()
    c.wait(job)
    lines = [line for line in (c.dir / "slurmd-n1.log").read_text().splitlines() if f"launch of {job}.extern" in line]
    assert len(lines) == 1 and "error:" not in lines[0], lines


def test_pending_extern_step_begins_after_a_restart(make):
    """PrologFlags=Contain, and slurmd killed while the prolog runs."""
    site = make(start=False, conf=CONTAIN)
    c = site.c
    prolog = c.dir / "prolog"
    prolog.write_text(f"#!/bin/sh\ntouch {c.dir}/begun\nwhile [ ! -e {c.dir}/go ]; do sleep 0.05; done\n")
    prolog.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"Prolog={prolog}\n")
    c.start()
    alloc = c.popen(["salloc", "-K", "-w", "n1", "sleep", "100000"], user=USERS[0])
    eventually((c.dir / "begun").exists, "the prolog runs")
    c.kill("n1")
    (c.dir / "go").touch()
    c.start_node("n1")
    job = int(eventually(lambda: c.run("squeue -h -t r -o %i").ok(), "it runs"))
    eventually(lambda: site.of_extern(job), "it begins")
    c.run(f"scancel {job}").ok()
    alloc.communicate(timeout=60)
    c.wait(job)


def test_login_sees_the_private_directories_of_the_job(program, monkeypatch):
    """job_container/tmpfs: a login sees the job's /tmp; join_container=false leaves it where it is."""
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")
    with many(Cluster) as factory:
        c = factory(nodes=1, start=False, conf=CONTAIN + "NamespaceType=namespace/tmpfs\n")
        (c.dir / "job_container.conf").write_text(f"AutoBasePath=true BasePath={c.dir}/base/%n\n")
        try:
            c.start()
            site = Site(c, program)
            job = site.job(wrap="echo mine >/tmp/mark; exec sleep 100000")
            eventually(lambda: site.result(USERS[0], "cat /tmp/mark")[1] == "mine\n", "it was written")
            site.service("join_container=false")
            site.shows("1\n", USERS[0], "test -e /tmp/mark; echo $?")
            c.run(f"scancel {job}").ok()
            c.wait(job)
            c.stop()
        finally:
            for base in c.dir.glob("base*/*"):
                while subprocess.run(["umount", "-l", base], stderr=subprocess.DEVNULL).returncode == 0:
                    pass


@pytest.mark.parametrize("version", (1, 2))
def test_adopted_processes_are_confined_to_control_groups(program, version):
    """Adopted processes are tracked and confined to the job's resources; a process that escapes is accounted and killed, too."""
    why = cgroups.lacks(version, *(("freezer", "cpuset") if version == 1 else ()))
    if why:
        pytest.skip(why)
    cores = "ConstrainCores=yes\n" if not cgroups.lacks(version, "cpuset") else ""
    conf = CONTAIN + "ProctrackType=proctrack/cgroup\n" + ("TaskPlugin=task/cgroup\n" if cores else "")
    with cgroups.cluster(version, cores, conf) as c:
        site = Site(c, program)
        job = site.job()
        login, pid = site.inside(USERS[0])
        assert site.result(USERS[0], SLIP_AWAY)[0] == 0
        slipped = int((c.work / "away").read_text())
        assert "step_extern" in pathlib.Path(f"/proc/{pid}/cgroup").read_text()
        eventually(lambda: {pid, slipped} <= set(site.listed(job, "extern")), lambda: site.listed(job, "extern"))
        if cores:
            allowed = [line for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Cpus_allowed_list")]
            script = pathlib.Path(f"/proc/{site.batch(job)[0]}/status").read_text()
            assert allowed[0] in script and allowed[0].split()[1].isdigit()
        c.run(f"scontrol suspend {job}").ok()
        eventually(lambda: c.state(job) == "SUSPENDED", "suspended")
        c.run(f"scontrol resume {job}").ok()
        c.run(f"scancel {job}").ok()
        assert ends(login) and gone(pid) and gone(slipped)
        c.wait(job)


def test_only_root_adopts_processes(make):
    """Nobody else has a process adopted, by whatever way he asks."""
    site = make(conf=CONTAIN)
    site.job()
    ask = [PREFIX / "sbin/sluice-adopt", "65534", "2", "0", "newest", "n1", site.c.conf_file]
    out = subprocess.run(site.c.argv(ask, USERS[1]), capture_output=True, env={})
    assert b"USER" not in out.stdout and int.from_bytes(out.stdout[4:8], "little") == 4, out


SSHD = os.environ.get("SLUICE_TEST_SSHD", "/usr/sbin/sshd")
SSHD_CONF = """Port {port}
ListenAddress 127.0.0.1
HostKey {dir}/host
AuthorizedKeysFile {dir}/user.pub
PidFile none
StrictModes no
UsePAM yes
PasswordAuthentication no
KbdInteractiveAuthentication no
"""
# In a mount namespace of its own: where sshd wants an empty directory, a service file, a user of its own, and users with a shell.
SSHD_START = """mount -t tmpfs none /run && mkdir -m 755 /run/sshd && mount --bind {services} /etc/pam.d && mount --bind {dir}/passwd /etc/passwd &&
exec {sshd} -D -e -f {dir}/conf
"""


@pytest.mark.skipif(not pathlib.Path(SSHD).exists(), reason=f"no {SSHD}")
def test_sshd_session_lives_in_the_job(make):
    """A real one: its refusal is shown, a session is in the job, and the end of the job is its end."""
    site = make(conf=CONTAIN)
    c = site.c
    place = c.dir / "ssh"
    place.mkdir(mode=0o755)
    port = free_ports(1)[0]
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / name], check=True)
    (place / "conf").write_text(SSHD_CONF.format(dir=place, port=port))
    text = pathlib.Path("/etc/passwd").read_text().replace("/usr/sbin/nologin", "/bin/sh")
    (place / "passwd").write_text(text if "\nsshd:" in text else text + "sshd:x:64123:65534::/run/sshd:/bin/false\n")
    site.service("service=sshd")
    (site.services / "sshd").write_text((site.services / "test").read_text().replace("service=test", ""))
    c.spawn("sshd", ["unshare", "-m", "sh", "-c", SSHD_START.format(dir=place, services=site.services, sshd=SSHD)])

    def ssh(command, user=USERS[0], **more):
        return c.popen(["ssh", "-F", "none", "-p", str(port), "-i", place / "user", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
                        "-o", "BatchMode=yes", f"{user}@127.0.0.1", command], **more)

    def denied():
        said = ssh("echo in").communicate(timeout=60)
        assert said[0] == ""
        return NO_JOBS in said[1]
    try:
        eventually(denied, lambda: c.tail("sshd"))
        job = site.job()
        login = ssh("echo $SLURM_JOB_ID $$; exec sleep 200000")
        number, pid = login.stdout.readline().split()
        assert int(number) == job
        eventually(lambda: int(pid) in site.listed(job, "extern"), lambda: site.listed(job, "extern"))
        c.run(f"scancel {job}").ok()
        assert ends(login) and gone(int(pid))
        c.wait(job)
        eventually(denied, "again")
    finally:
        c.kill("sshd")


@pytest.mark.parametrize("contain", (True, False))
def test_login_is_confined_to_resources_of_the_job(program, contain):
    """Devices and memory of the job, whatever its steps have; also without Contain, where no credential was sent for this step."""
    why = cgroups.lacks(1, "freezer", "devices", "memory")
    if why:
        pytest.skip(why)
    conf = (CONTAIN if contain else "") + "ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup\nGresTypes=gpu\n"
    with cgroups.cluster(1, "ConstrainDevices=yes\nConstrainRAMSpace=yes\n", conf, start=False, node_conf="Gres=gpu:2") as c:
        cards = [c.dir / f"card{n}" for n in (0, 1)]
        for card, minor in zip(cards, (7, 5)):
            os.mknod(card, 0o666 | 0o020000, os.makedev(1, minor))
            card.chmod(0o666)
        (c.dir / "gres.conf").write_text(f"Name=gpu File={c.dir}/card[0-1]\n")
        c.start()
        site = Site(c, program)
        job = site.job(USERS[0], "n1", "exec sleep 100000", "--gres=gpu:1", "--mem=200")
        look = f"for f in {cards[0]} {cards[1]} /dev/null; do (exec <$f) 2>/dev/null && echo yes || echo no; done"
        site.shows("yes\nno\nyes\n", USERS[0], look)
        login, pid = site.inside(USERS[0])
        place = [line.split(":", 2)[2] for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines() if ":memory:" in line][0]
        assert place.endswith(f"/job_{job}/step_extern")
        assert int((cgroups.TOP / "memory" / place[1:] / "memory.limit_in_bytes").read_text()) == 200 << 20
        c.run(f"scancel {job}").ok()
        assert ends(login) and gone(pid)
        c.wait(job)
