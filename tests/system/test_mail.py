# SPDX-License-Identifier: GPL-3.0-or-later
"""--mail-type, --mail-user and MailProg."""
import os
import pwd
import re

from harness import eventually

PROGRAM = """#!/bin/sh
{ echo "$#|$1|$2|$3|$SLURM_JOB_ID|$SLURM_JOB_STATE|$SLURM_JOB_MAIL_TYPE|$(cat)"; } >> %s
"""


def test_mail_is_sent_as_slurm_does(make_cluster):
    c = make_cluster(nodes=1)
    sent = c.dir / "sent"
    program = c.dir / "mail"
    program.write_text(PROGRAM % sent)
    program.chmod(0o755)
    with c.conf_file.open("a") as f:
        f.write(f"MailProg={program}\n")
    c.run("scontrol reconfigure").ok()
    quiet = c.sbatch("-J", "q", "-o", "/dev/null", wrap="true")
    good = c.sbatch("-J", "x", "--mail-type=ALL", "--mail-user=a@b", "-o", "/dev/null", wrap="true")
    bad = c.sbatch("-J", "y z", "--mail-type=FAIL,TIME_LIMIT_80", "--mail-user=a@b", "-o", "/dev/null", wrap="exit 3")
    for job in (quiet, good, bad):
        c.wait(job)
    lines = eventually(lambda: (sent.exists() and len(sent.read_text().splitlines()) == 3
                                and sorted(sent.read_text().splitlines())), "three mails")
    want = [rf"3\|-s\|Slurm Job_id={good} Name=x Began, Queued time 00:00:0\d\|a@b\|{good}\|RUNNING\|BEGIN\|",
            rf"3\|-s\|Slurm Job_id={good} Name=x Ended, Run time 00:00:0\d, COMPLETED, ExitCode 0\|a@b\|{good}\|COMPLETED\|END\|",
            rf"3\|-s\|Slurm Job_id={bad} Name=y z Failed, Run time 00:00:0\d, FAILED, ExitCode 3\|a@b\|{bad}\|FAILED\|FAIL\|"]
    for line, pattern in zip(lines, want):
        assert re.fullmatch(pattern, line), (line, pattern)


def test_mail_without_an_address_goes_to_the_user_who_submits(make_cluster):
    c = make_cluster(nodes=1)
    me = pwd.getpwuid(os.geteuid()).pw_name
    cases = ((["--mail-type=END"], me, f"MailUser={me} MailType=END"),
             (["--mail-type=END", "--mail-user=a@b"], "a@b", "MailUser=a@b MailType=END"), ([], "", ""), (["--mail-type=NONE"], "", ""),
             (["--mail-type=end,begin,Time_Limit_80"], me, f"MailUser={me} MailType=BEGIN,END,TIME_LIMIT_80"),
             (["--mail-type=ALL"], me, f"MailUser={me} MailType=INVALID_DEPEND,BEGIN,END,FAIL,REQUEUE,STAGE_OUT"))
    for options, user, mail in cases:
        job = c.sbatch("-H", *options, wrap="true")
        shown = c.run(f"scontrol show job {job}").ok()
        assert f"   {mail}" in shown.splitlines() if mail else "Mail" not in shown
        assert c.json(f"squeue -j {job}")["jobs"][0]["mail_user"] == user


def test_invalid_mail_types_and_addresses_are_refused(make_cluster):
    c = make_cluster(nodes=1)
    for option, said in (("--mail-type=NOISE", "Invalid --mail-type specification: NOISE"), ("--mail-user=-bcc", "begins with a letter or digit"),
                         ("--mail-user=a b", "has no blanks")):
        for line in (["sbatch", option, "--wrap", "true"], ["srun", option, "true"]):
            failed = c.run(line)
            assert failed.returncode != 0 and said in failed.stderr, failed.stderr


def test_failing_mail_program_is_logged(make_cluster):
    c = make_cluster(nodes=1, conf="MailProg=/nowhere/mail")
    job = c.sbatch("--mail-type=END", "-o", "/dev/null", wrap="true")
    assert c.wait(job)["JobState"] == "COMPLETED"
    eventually(lambda: f"job {job}: MailProg /nowhere/mail cannot be run" in (c.dir / "slurmctld.log").read_text(), "a word")
