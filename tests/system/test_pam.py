# SPDX-License-Identifier: GPL-3.0-or-later
"""A PAM session round each step: UsePAM, CORE-078."""
import pathlib

import pytest

from harness import ROOT, eventually

HERE = pathlib.Path("/usr/include/security/pam_appl.h").exists()
pytestmark = pytest.mark.skipif(not ROOT or not HERE, reason="needs root, and PAM to be built with")
USER = "nobody"


class Site:
    """A node whose daemon sees another /etc/pam.d."""

    def __init__(self, cluster):
        self.c = c = cluster
        self.services = c.dir / "pam.d"
        self.services.mkdir()
        self.log = c.dir / "pam.log"
        note = c.dir / "note"
        note.write_text(f"#!/bin/sh\necho $PAM_TYPE $PAM_USER $PAM_SERVICE $(id -u) >>{self.log}\n")
        note.chmod(0o755)
        (c.dir / "limits").write_text("* - memlock 4321\n* hard nofile 300\n* soft nofile 200\n")
        (c.dir / "env").write_text("FROM_PAM DEFAULT=yes\n")
        self.note = f"pam_exec.so {note}"
        with c.conf_file.open("a") as f:
            f.write("UsePAM=yes\n")
        spawn = c.spawn

        def inside(name, argv):
            if not name.startswith("n"):
                return spawn(name, argv)
            return spawn(name, ["unshare", "-m", "sh", "-c", f'mount --bind {self.services} /etc/pam.d && exec "$@"', "sh", *argv])
        c.spawn = inside

    def service(self, *lines):
        (self.services / "slurm").write_text("".join(line + "\n" for line in lines))


@pytest.fixture
def site(make_cluster):
    return Site(make_cluster(nodes=1, start=False))


def test_pam_session_surrounds_each_step(site):
    c = site.c
    site.service("account required pam_permit.so", "auth required pam_permit.so", f"session required {site.note}",
                 f"session required pam_limits.so conf={c.dir}/limits", f"session required pam_env.so conffile={c.dir}/env")
    c.start()
    # The soft limit of files is the user's own, which is propagated, as far as the hard one goes.
    show = "echo $FROM_PAM; ulimit -l; ulimit -Hn; ulimit -Sn"
    assert c.run(["srun", "sh", "-c", show], user=USER).ok().split() == ["yes", "4321", "300", "300"]
    eventually(lambda: site.log.read_text().splitlines() == [f"{what} {USER} slurm 0" for what in ("open_session", "close_session")],
               lambda: site.log.read_text())
    job = c.sbatch("-o", "out", wrap=show, user=USER)
    c.wait(job)
    assert c.output(job, "out").split() == ["yes", "4321", "300", "300"]
    eventually(lambda: len(site.log.read_text().splitlines()) == 4, lambda: site.log.read_text())
    # The user's own limits are below those of the session.
    assert c.run(["sh", "-c", f"ulimit -l 99; srun sh -c '{show}'"], user=USER).ok().split()[1] == "99"


@pytest.mark.parametrize("line,what", (("account required pam_deny.so", "account"), ("session required pam_deny.so", "session")))
def test_a_refusal_keeps_the_step_from_starting(site, line, what):
    """CORE-078."""
    c = site.c
    site.service(line, "account required pam_permit.so", "auth required pam_permit.so", "session required pam_permit.so")
    c.start()
    c.run(["srun", "touch", f"{c.work}/ran"], user=USER).fails(f"PAM: {what} of user {USER}, service slurm (/etc/pam.d/slurm): ")
    assert not (c.work / "ran").exists()
    assert "DRAIN" not in c.node("n1")["State"]


def test_libpam_is_loaded_only_if_configured(make_cluster):
    c = make_cluster(nodes=1)
    shown = c.run(["srun", "sh", "-c", "grep -c libpam /proc/$PPID/maps; tr -d '\\0' </proc/$PPID/comm"]).stdout.split()
    assert shown == ["0", "slurmstepd"]
