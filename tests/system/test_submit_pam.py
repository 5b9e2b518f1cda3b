# SPDX-License-Identifier: GPL-3.0-or-later
"""JobSubmitPlugins=pam: the controller's PAM stack decides which users may submit: CORE-078, CORE-079."""
import contextlib
import pathlib

import pytest

from harness import ROOT, alive, eventually

HERE = pathlib.Path("/usr/include/security/pam_appl.h").exists()
pytestmark = pytest.mark.skipif(not ROOT or not HERE, reason="needs root, and PAM to be built with")
WELCOME, OTHER = "nobody", "daemon"
REFUSED = "PAM refuses user {}, service slurmctld (/etc/pam.d/slurmctld where slurmctld runs): "


@pytest.fixture
def site(make_cluster):
    """A cluster whose controller sees another /etc/pam.d, empty at first."""
    c = make_cluster(nodes=1, start=False, conf="JobSubmitPlugins=pam")
    c.services = c.dir / "pam.d"
    c.services.mkdir()
    c.service = lambda *lines: (c.services / "slurmctld").write_text("".join(line + "\n" for line in lines))
    spawn = c.spawn

    def inside(name, argv):
        if name != "slurmctld":
            return spawn(name, argv)
        return spawn(name, ["unshare", "-m", "sh", "-c", f'mount --bind {c.services} /etc/pam.d && exec "$@"', "sh", *argv])
    c.spawn = inside
    return c


def test_listed_users_may_submit(site):
    """CORE-078."""
    c = site
    users = c.dir / "users"
    users.write_text(WELCOME + "\n")
    only = f"required pam_listfile.so onerr=fail item=user sense=allow file={users}"
    c.service(f"auth {only}", "account required pam_permit.so")
    c.start()
    assert c.run("srun id -un", user=WELCOME).ok() == WELCOME
    job = c.sbatch("-o", "/dev/null", "--hold", wrap="true", user=WELCOME)
    for command in ("srun true", "salloc true", "sbatch --wrap true"):
        c.run(command, user=OTHER).fails(REFUSED.format(OTHER))
    assert c.run("squeue -h -o %i").ok().split() == [str(job)]
    c.run("srun true").ok()  # root may write the list
    users.write_text("")  # asked anew each time
    c.run(["scontrol", "update", f"JobId={job}", "Comment=x"], user=WELCOME).fails(REFUSED.format(WELCOME))
    assert "Comment=x" not in c.run(f"scontrol show job {job}").ok()
    c.run(["scancel", str(job)], user=WELCOME).ok()  # what one has, one may always end


@pytest.mark.parametrize("lines,why", (
    (["auth required pam_permit.so", "account required pam_deny.so"], ""),
    (["auth required pam_unix.so", "account required pam_permit.so"], "; a module asks for a password, and nobody is asked"),
    (["auth required pam_not_there.so", "account required pam_permit.so"], ""),
    ([], ""),
))
def test_pam_refuses_a_submission(site, lines, why):
    """CORE-079: a closed account, a stack that wants a password, a missing module, and a missing stack."""
    c = site
    if lines:
        c.service(*lines)
    c.start()
    said = c.run("srun true", user=OTHER).fails(REFUSED.format(OTHER))
    assert any(line.endswith(why) for line in said.splitlines() if REFUSED.format(OTHER) in line), said
    c.run("srun true").ok()


def test_module_messages_are_shown_and_hanging_modules_ended(site):
    """The user gets the messages of modules; a module that takes too long fails only its own request."""
    c = site
    gate = c.dir / "gate"
    ask = c.dir / "ask"
    ask.write_text(f"#!/bin/sh\n[ $PAM_TYPE-$PAM_USER-$PAM_RUSER != account-{OTHER}-{OTHER} ] || {{ touch {gate}; exec sleep 1000; }}\n"
                   "echo the machine is closed on Sundays\nexit 1\n")
    ask.chmod(0o755)
    c.service("auth required pam_permit.so", f"account required pam_exec.so stdout {ask}")
    c.start()
    said = c.run("srun true", user=WELCOME).fails(REFUSED.format(WELCOME))
    assert "the machine is closed on Sundays" in said
    c.run("srun true", user=OTHER).fails("job_submit/pam")
    assert gate.exists()
    c.run("srun true", user=WELCOME).fails("the machine is closed on Sundays")
    c.run("srun true").ok()


def test_programs_of_a_hanging_module_are_killed(site):
    """A module runs programs in separate sessions, which do not end: none of them remains."""
    c = site
    program, pids = c.dir / "hangs", c.dir / "pids"
    program.write_text(f"#!/bin/sh\nsetsid sleep 1000 &\necho $$ $! >{pids}\nsleep 1000\n")
    program.chmod(0o755)
    c.service(f"auth required pam_exec.so quiet {program}", "account required pam_permit.so")
    c.start()
    c.run("sbatch --wrap true", user=WELCOME).fails("has not answered within")
    for pid in map(int, pids.read_text().split()):
        eventually(lambda: not alive(pid), "what a module of PAM has started has ended")


def test_users_take_turns(site):
    """Whose module hangs costs others one question at most, however many he has asked."""
    c = site
    program = c.dir / "hangs"
    program.write_text(f"#!/bin/sh\n[ $PAM_USER != {WELCOME} ] || {{ : >{c.dir}/inside; exec sleep 1000; }}\n")
    program.chmod(0o755)
    c.service("auth required pam_permit.so", f"account required pam_exec.so quiet {program}")
    c.start()
    with contextlib.ExitStack() as stack:
        hanging = [stack.enter_context(c.popen("sbatch --wrap true", user=WELCOME)) for _ in range(20)]
        eventually(lambda: (c.dir / "inside").exists(), "the first one hangs")
        done = [stack.enter_context(c.popen("sbatch --wrap true", user=OTHER)) for _ in range(3)]
        for p in done:
            assert p.communicate()[0].startswith("Submitted batch job")
        assert sum(p.poll() is None for p in hanging) >= 15
        for p in hanging:
            p.kill()
