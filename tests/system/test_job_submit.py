# SPDX-License-Identifier: GPL-3.0-or-later
"""job_submit.lua: the site's script changes, refuses and orders jobs: CORE-051, CORE-154, X-20, HET-113."""
import os
import re

from harness import ROOT, eventually

SCRIPT = """
function slurm_job_submit(job_desc, part_list, submit_uid)
    if job_desc.name == "bad" then
        slurm.log_user("%s is a bad name, user %d", job_desc.name, submit_uid)
        return slurm.ERROR
    end
    if job_desc.name == "broken" then
        return job_desc.nothing.at_all
    end
    if job_desc.name == "endless" then
        while true do pcall(function() while true do end end) end
    end
    if job_desc.name == "denied" then
        return slurm.ESLURM_ACCESS_DENIED
    end
    if job_desc.time_limit == slurm.NO_VAL then
        job_desc.time_limit = 7
        slurm.user_msg("a limit of 7 minutes is set")
    end
    if job_desc.account == "urgent" then
        job_desc.priority = 4000000000
    end
    slurm.log_info("job of %d in %s", submit_uid, part_list.main.name)
    return slurm.SUCCESS
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
    if job_desc.comment == "no" then
        slurm.log_user("not that comment for %s", job_rec.name)
        return slurm.ERROR
    end
    return slurm.SUCCESS
end
"""


def put(c, text):
    """In one step, as an editor does it."""
    new = c.dir / "new.lua"
    new.write_text(text)
    new.chmod(0o644)
    os.rename(new, c.dir / "job_submit.lua")


def batch(c, name, *options, user=None):
    return c.run(["sbatch", "-o", "/dev/null", "-J", name, *options, "--wrap", "true"], user=user)


def log(c):
    return (c.dir / "slurmctld.log").read_text()


def test_job_submit_script_changes_and_refuses_jobs(make_cluster):
    """CORE-051, 154."""
    c = make_cluster(nodes=1, cpus=1, conf="JobSubmitPlugins=lua\n")
    batch(c, "early").fails("job_submit.lua does not exist")
    put(c, SCRIPT)
    user = "nobody" if ROOT else None
    uid = int(c.run("id -u", user=user).ok())
    batch(c, "bad", user=user).fails(f"Batch job submission failed: bad is a bad name, user {uid}")
    batch(c, "denied").fails("Access/permission denied")
    batch(c, "broken").fails("job_submit.lua:8: attempt to index a nil value")
    batch(c, "endless").fails("it takes too long")
    c.run("srun -J bad true").fails("bad is a bad name")
    assert "job_submit.lua:8: attempt to index" in log(c)
    first = c.sbatch("-o", "/dev/null", "-t60", wrap="sleep 1000")
    eventually(lambda: c.state(first) == "RUNNING", "the node is full")
    done = batch(c, "plain", "--test-only")
    assert done.returncode == 0 and "a limit of 7 minutes is set" in done.stderr
    assert f"to start at {c.job(first)['EndTime']} using 1 processors on nodes n1" in done.stderr
    done = batch(c, "plain")
    assert "a limit of 7 minutes is set" in done.stderr
    plain = int(done.ok().split()[-1])
    assert c.job(plain)["TimeLimit"] == "00:07:00"
    if ROOT:  # a priority that the user could not give
        urgent = int(batch(c, "urgent", "-A", "urgent", "-t1", user=user).ok().split()[-1])
        assert c.job(urgent)["Priority"] == "4000000000"
        batch(c, "urgent", "--priority=5", user=user).fails("Access/permission denied: only operators may set a priority")
    c.run(f"scontrol update JobId={plain} Comment=no").fails("not that comment for plain")
    c.run(f"scontrol update JobId={plain} Comment=yes").ok()
    assert c.job(plain)["Comment"] == "yes"
    # A new version is read; one that does not compile leaves the last one.
    put(c, SCRIPT.replace("= 7", "= 9"))
    assert c.job(int(batch(c, "nine").ok().split()[-1]))["TimeLimit"] == "00:09:00"
    put(c, "function slurm_job_submit(")
    assert c.job(int(batch(c, "nine").ok().split()[-1]))["TimeLimit"] == "00:09:00"
    assert "the one before it serves" in log(c)
    c.kill("slurmctld")
    c.start_controller()
    batch(c, "none").fails("the site's job_submit script cannot be used")
    c.conf_file.write_text(c.conf_file.read_text().replace("JobSubmitPlugins=lua\n", ""))
    c.run("scontrol reconfigure").ok()
    batch(c, "any").ok()


def test_text_of_a_user_does_not_stop_the_controller(make_cluster):
    """CORE-154: a pattern that usually takes no time, and a comment for which it would take hours."""
    c = make_cluster(nodes=1, cpus=1, conf="JobSubmitPlugins=lua\n")
    put(c, """
function slurm_job_submit(job_desc, part_list, submit_uid)
    slurm.log_user("<%s>", (job_desc.comment or ""):match("^%s*(.-)%s*$"))
    return (job_desc.comment or ""):match("^%s*(.-)%s*;$") and slurm.SUCCESS or slurm.ERROR
end
function slurm_job_modify() return slurm.SUCCESS end
""")
    batch(c, "short", "--comment=  what;  ").fails("<what;>")
    batch(c, "short", "--comment=  what;").ok()
    batch(c, "long", f"--comment={' ' * 30000}.").fails("it takes too long")
    batch(c, "short", "--comment=;").ok()


def test_script_that_keeps_too_much_is_read_again(make_cluster):
    """CORE-154: without that it would refuse all jobs from then on."""
    c = make_cluster(nodes=1, cpus=1, conf="JobSubmitPlugins=lua\n")
    put(c, """
kept = {}
function slurm_job_submit(job_desc, part_list, submit_uid)
    kept[#kept + 1] = string.rep("x", 20000000) .. #kept
    return slurm.SUCCESS
end
function slurm_job_modify() return slurm.SUCCESS end
""")
    for _ in range(5):
        batch(c, "any").ok()
    assert "its memory was used up: read again, without what it kept" in log(c)


def test_words_of_a_long_comment_do_not_stop_the_controller(make_cluster):
    """CORE-154: words that are put at the begin of a table move all others; lines are found one by one."""
    c = make_cluster(nodes=1, cpus=1, conf="JobSubmitPlugins=lua\n")
    put(c, """
function slurm_job_submit(job_desc, part_list, submit_uid)
    local words, lines, from = {}, 0, 1
    for word in (job_desc.comment or ""):gmatch("%S+") do table.insert(words, 1, word) end
    local text = string.rep("a line of a text\\n", 50000)
    while text:find("\\n", from, true) do from, lines = text:find("\\n", from, true) + 1, lines + 1 end
    slurm.log_user("%d words, %d lines", #words, lines)
    return slurm.SUCCESS
end
""")
    assert "3 words, 50000 lines" in batch(c, "short", "--comment=one two three").stderr
    batch(c, "long", f"--comment={'x ' * 15000}").fails("it takes too long")
    batch(c, "short").ok()


def test_job_submit_script_is_called_for_each_component(make_cluster):
    """HET-113: the script sees each component, and may change one of them."""
    c = make_cluster(nodes=2, cpus=2, conf="JobSubmitPlugins=lua\n")
    put(c, """
function slurm_job_submit(job_desc, part_list, submit_uid)
    slurm.log_info("component with %d tasks", job_desc.num_tasks)
    if job_desc.num_tasks == 2 then
        job_desc.comment = "changed"
    end
    return slurm.SUCCESS
end
""")
    leader = int(c.run(["sbatch", "-H", "--parsable", "-n1", ":", "-n2", "--wrap", "true"]).ok())
    assert re.findall(r"component with (\d) tasks", log(c)) == ["1", "2"]
    assert c.run(f"squeue -h -j {leader} -O HetJobOffset,Comment").ok().split() == ["0", "(null)", "1", "changed"]
