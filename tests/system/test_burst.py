# SPDX-License-Identifier: GPL-3.0-or-later
"""Burst buffers with burst_buffer.lua: HET-25 to 30, and the statements of the manual pages on burst_buffer/lua."""
import re
import shutil
import signal

import pytest

from harness import DEADLINE, ROOT, eventually
from test_docs import TOP

DEMO = TOP / "examples/burst_buffer/burst_buffer.lua"

# Each function notes its call, and does what the files beside the script say.
SCRIPT = """
local dir = debug.getinfo(1, "S").source:match("^@(.*)/")
local function has(name) local f = io.open(dir .. "/" .. name); if f then f:close() end; return f end
local function note(name, ...)
    local f = io.open(dir .. "/calls", "a")
    f:write(name, " ", table.concat({...}, " "), "\\n"); f:close()
    while has("hang-" .. name) do os.execute("sleep 0.05") end
    if has("fail-" .. name) then return slurm.ERROR, name .. " was told to fail" end
    if has("busy-" .. name) then return slurm.SUCCESS, "BUSY" end
    return slurm.SUCCESS
end
local function read(path) local f = io.open(path); local text = f:read("a"); f:close(); return text end
function slurm_bb_job_process(script, uid, gid, info)
    if read(script):find("refuse") then return slurm.ERROR, "refused for " .. info.name end
    return slurm.SUCCESS
end
function slurm_bb_pools() return slurm.SUCCESS, '{"pools":[{"id":"p","quantity":10}]}' end
function slurm_bb_setup(id, uid, gid, pool, size, script, info)
    local f = io.open(dir .. "/script-" .. id, "w"); f:write(read(script)); f:close()
    return note("setup", id, pool, size)
end
function slurm_bb_data_in(id, script, uid, gid, info) return note("data_in", id) end
function slurm_bb_test_data_in(id, uid, gid, info) return note("test_data_in", id) end
function slurm_bb_real_size(id, uid, gid, info) return note("real_size", id) end
function slurm_bb_paths(id, script, file, uid, gid, info)
    local f = io.open(file, "w"); f:write("BB_NODES=", info.nodes, "\\n")  -- and stays open
    return note("paths", id)
end
function slurm_bb_pre_run(id, script, uid, gid, info) return note("pre_run", id, info.nodes) end
function slurm_bb_post_run(id, script, uid, gid, info) return note("post_run", id, info.exit_code) end
function slurm_bb_data_out(id, script, uid, gid, info) return note("data_out", id) end
function slurm_bb_test_data_out(id, uid, gid, info) return note("test_data_out", id) end
function slurm_bb_job_teardown(id, script, hurry, uid, gid) return note("teardown", id, hurry) end
function slurm_bb_get_status(uid, gid, ...) return slurm.SUCCESS, "status " .. table.concat({...}, ",") end
"""
WHOLE = ["setup", "data_in", "test_data_in", "real_size", "paths", "pre_run", "post_run", "data_out", "test_data_out", "teardown"]


def make(make_cluster, conf="", script=SCRIPT, **more):
    c = make_cluster(start=False, conf="BurstBufferType=burst_buffer/lua\n", **more)
    (c.dir / "burst_buffer.lua").write_text(script)
    (c.dir / "burst_buffer.conf").write_text(f"PollInterval=1\n{conf}")
    c.start()
    return c


def calls(c, job, full=False):
    path = c.dir / "calls"
    lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return [" ".join(line) if full else line[0] for line in lines if line[1] == str(job)]


def test_job_with_a_buffer_passes_all_stages(make_cluster):
    """HET-25: the whole life of a buffer, the job's environment, errors for the user, pools, and the output of scontrol."""
    c = make(make_cluster, conf="Directive=BB_SITE\n")
    script = "#!/bin/sh\n#BB_SITE pool=p capacity=3 %j %x %% \\\\%j\n#SBATCH -J name\necho $BB_NODES\nexit 3\n"
    (c.dir / "hang-data_out").touch()
    job = c.sbatch("-t1", script=script)
    eventually(lambda: c.job(job)["JobState"] == "STAGE_OUT", "its data are staged out")
    assert c.job(job)["BurstBuffer"].startswith("#BB_SITE") and c.job(job)["BurstBufferState"] in ("post-run", "staging-out")
    for states in ("SO", "SO,R", "PD,SO"):
        assert c.run(f"squeue -h -t {states} -o %i:%t").ok().strip() == f"{job}:SO", states
    eventually(lambda: "idle" in c.node("n1")["State"].lower(), "its node is free meanwhile")
    shown = c.run("scontrol show burstbuffer").ok()
    assert "PoolName[0]=p Granularity=1 TotalSpace=10 FreeSpace=7 UsedSpace=3" in shown
    assert f"JobID={job} " in shown and "Pool=p Size=3 State=staging-out" in shown
    assert c.run("scontrol show bbstat a b").ok() == "status a,b"
    (c.dir / "hang-data_out").unlink()
    c.wait(job)
    eventually(lambda: c.job(job)["BurstBufferState"] == "complete", "it is torn down")
    assert calls(c, job) == WHOLE
    assert f"setup {job} p 3" in calls(c, job, True) and f"post_run {job} 768" in calls(c, job, True)
    assert (c.dir / f"script-{job}").read_text() == script.replace("%j %x %% \\\\%j", f"{job} name % %j")
    assert c.output(job) == "n1\n" and c.job(job)["ExitCode"] == "3:0"
    c.run(["sbatch", "-J", "bad", "--bb=#BB_SITE refuse", "--wrap=true"]).fails("Burst Buffer request invalid: refused for bad")
    c.run(["srun", "--bb=#BB_SITE pool=q", "true"]).fails("pool 'q' does not exist")
    c.run(["sbatch", "--bbf=/nonexistent", "--wrap=true"]).fails("Invalid --bbf specification")
    (c.work / "lines").write_text("#BB_SITE from a file\n")
    assert c.run(["srun", f"--bbf={c.work}/lines", "sh", "-c", "echo $SLURM_JOB_ID"]).ok().split()[-1].isdigit()
    last = max(int(line.split()[1]) for line in (c.dir / "calls").read_text().splitlines())
    eventually(lambda: calls(c, last) == WHOLE, lambda: calls(c, last))
    assert (c.dir / f"script-{last}").read_text() == "#!/bin/sh\n#BB_SITE from a file\n"


def test_failed_stages_and_crashes_are_survived(make_cluster):
    """HET-25: a function that fails holds the job; kill -9 of the controller in any phase neither loses nor repeats anything."""
    c = make(make_cluster)
    (c.dir / "fail-data_in").touch()
    job = c.sbatch("--bb=#BB_LUA", wrap="true")
    eventually(lambda: c.run(f"squeue -h -j {job} -O Reason:").ok() == "burst_buffer/lua: slurm_bb_data_in: data_in was told to fail", "it is held")
    assert c.json(f"squeue -j {job}")["jobs"][0]["state_reason"] == "BurstBufferOperation"
    assert c.job(job)["Reason"] == "burst_buffer/lua:_slurm_bb_data_in:_data_in_was_told_to_fail"
    (c.dir / "fail-data_in").unlink()
    c.run(f"scontrol release {job}").ok()
    c.wait(job)
    eventually(lambda: c.job(job)["BurstBufferState"] == "complete", "it is torn down")
    assert calls(c, job) == ["setup", "data_in", "teardown", *WHOLE]
    again = {"data_in": ["setup", "data_in", "teardown", *WHOLE], "pre_run": WHOLE[:6] + WHOLE[5:], "data_out": WHOLE[:8] + WHOLE[6:],
             "teardown": WHOLE[:10] + WHOLE[9:]}
    for phase, whole in again.items():
        (c.dir / f"hang-{phase}").touch()
        job = c.sbatch("--bb=#BB_LUA", "-o", f"{c.work}/{phase}", "--open-mode=append", wrap="echo once")
        eventually(lambda: phase in calls(c, job), f"{phase} of {job} runs")
        c.kill("slurmctld", signal.SIGKILL)
        (c.dir / f"hang-{phase}").unlink()
        c.start_controller()
        c.wait(job)
        eventually(lambda: c.job(job)["BurstBufferState"] == "complete", lambda: f"{phase}: {calls(c, job)}")
        assert calls(c, job) == whole, phase
        assert (c.work / phase).read_text() == "once\n"
    (c.dir / "hang-data_in").touch()  # which is killed
    job = c.sbatch("--bb=#BB_LUA", wrap="true")
    eventually(lambda: "data_in" in calls(c, job), "it runs")
    c.run(f"scancel {job}").ok()
    eventually(lambda: calls(c, job, True)[-1] == f"teardown {job} true", "it is torn down in a hurry")
    (c.dir / "hang-data_in").unlink()


# The script of the guide to heterogeneous jobs, and what a component has of it: whether its lines of the parts are directives is up to Directive=.
HET_SCRIPT = """#!/bin/bash
#SBATCH --nodes=1 --constraint=haswell
#BB create_persistent name=alpha capacity=10 access=striped type=scratch
#DW persistentdw name=alpha
#SBATCH hetjob
#SBATCH --nodes=2 --constraint=knl
# a comment
#DW persistentdw name=alpha
"""
THIRD = "#SBATCH hetjob\n#BB last\n#SBATCH -n1\n#DW other\n"
USED = "\necho commands\n#DW behind a command\n#SBATCH -n99\ncat <<end\n#DW in a text\nend"
FIRST_2 = HET_SCRIPT.replace("""comment
#DW""", """comment
#EXCLUDED DW""")
SCRIPTS = {
    "DW": (FIRST_2 + THIRD.replace("#DW", "#EXCLUDED DW") + USED,
           "#!/bin/bash\n#SBATCH --nodes=2 --constraint=knl\n#DW persistentdw name=alpha\nexit 0",
           "#!/bin/bash\n#SBATCH -n1\n#DW other\nexit 0"),
    "BB": (HET_SCRIPT + THIRD.replace("#BB", "#EXCLUDED BB") + USED,
           "#!/bin/bash\n#SBATCH --nodes=2 --constraint=knl\nexit 0",
           "#!/bin/bash\n#BB last\n#SBATCH -n1\nexit 0"),
    "NONE": (HET_SCRIPT + THIRD + USED, "#!/bin/bash\n#SBATCH --nodes=2 --constraint=knl\nexit 0", "#!/bin/bash\n#SBATCH -n1\nexit 0"),
}


def test_scripts_of_components(make_cluster):
    """HET-26, 28, 29, 30: the listings of the guide to heterogeneous jobs, for their user, with each word of Directive=: the directives of other
    components are marked in the script of component 0; the others have their #SBATCH and buffer lines, and none of the commands."""
    c = make(make_cluster, conf="Directive=DW\n", node_conf="Feature=haswell,knl")
    user = "nobody" if ROOT else None
    # Word for word, but for the interpreter and the numbers of nodes.
    job = c.sbatch("-H", script=HET_SCRIPT, user=user)
    assert c.run(f"scontrol write batch_script {job} -", user=user).ok() == FIRST_2.rstrip("\n")
    assert c.run(f"scontrol write batch_script {job}+1 -", user=user).ok() == SCRIPTS["DW"][1]
    c.run(f"scancel {job}").ok()
    for word, texts in SCRIPTS.items():
        (c.dir / "burst_buffer.conf").write_text(f"PollInterval=1\nDirective={word}\n")
        c.run("scontrol reconfigure").ok()
        job = c.sbatch("-H", "-o", "/dev/null", script=HET_SCRIPT + THIRD + USED, user=user)
        for i, text in enumerate(texts):
            for asked in f"{job}+{i}", job + i if i else job:
                assert c.run(f"scontrol write batch_script {asked} -", user=user).ok() == text, (word, i)
        wanted = [[line for line in text.splitlines() if line.startswith(f"#{word} ")] for text in SCRIPTS[word]]
        wanted[0] = [line for line in wanted[0] if "behind" not in line and "in a text" not in line]
        shown = [c.run(f"squeue -h -O BurstBuffer:400 -j {job}+{i}").ok().strip() for i in range(3)]
        assert shown == ["\n".join(lines) or "(null)" for lines in wanted], word
        c.run(f"scontrol release {job}").ok()
        for i, text in enumerate(texts):
            c.wait(job + i)
            if wanted[i]:
                eventually(lambda: calls(c, job + i) == WHOLE, lambda: calls(c, job + i))
                given = text.replace(USED, USED.replace(f"\n#{word} ", f"\n#EXCLUDED {word} "))  # no directives of the job, either
                assert (c.dir / f"script-{job + i}").read_text().strip() == given, (word, i)
            else:
                assert calls(c, job + i) == [], (word, i)


def test_a_buffer_is_of_one_component(make_cluster):
    """HET-25, 27: a buffer is recorded, listed and prepared for its component alone, on the nodes of that component. There are no persistent buffers,
    which several components could use, as with Slurm's burst_buffer/lua: a line such as create_persistent is a matter of the site script, and nothing
    is left."""
    c = make(make_cluster, conf="Flags=DisablePersistent\n")
    (c.dir / "hang-data_out").touch()
    script = ("#!/bin/sh\n#SBATCH -n1 -w n1\n#BB_LUA create_persistent name=alpha\n#BB_LUA pool=p capacity=3\n#SBATCH hetjob\n#SBATCH -n1 -w n2\n"
              "#SBATCH hetjob\n#SBATCH -N2 -w n[3-4]\n#BB_LUA pool=p capacity=2\necho $BB_NODES\n")
    job = c.sbatch(script=script)
    eventually(lambda: [calls(c, job + i)[-1:] for i in (0, 2)] == [["data_out"]] * 2, "both are staged out")
    shown = c.run("scontrol show burst").ok()
    assert "Flags=DisablePersistent" in shown and "FreeSpace=5 UsedSpace=5" in shown
    assert re.findall(r"(JobID|Name)=(\w+).* Size=(\d+)", shown) == [("JobID", str(job), "3"), ("JobID", str(job + 2), "2")]
    assert calls(c, job + 1) == [] and "BurstBuffer" not in c.job(job + 1)
    prepared = [line for i in (0, 2) for line in calls(c, job + i, True) if line.startswith("pre_run")]
    assert prepared == [f"pre_run {job} n1", f"pre_run {job + 2} n[3-4]"]
    (c.dir / "hang-data_out").unlink()
    for i in (0, 2):
        eventually(lambda: calls(c, job + i) == WHOLE, lambda: calls(c, job + i))
    eventually(lambda: "JobID=" not in c.run("scontrol show burst").ok(), "nothing is left")
    assert "FreeSpace=10 UsedSpace=0" in c.run("scontrol show burst").ok() and c.output(job) == "n1\n"
    c.run("scontrol create reservation=r starttime=now duration=5 users=root nodes=n1 burstbuffer=10").fails("BurstBuffer")


def test_buffers_of_components_together(make_cluster):
    """HET-25: components that together need more than their pool has are refused; sluice why of a component whose data are staged out says so."""
    c = make(make_cluster)
    script = "#!/bin/sh\n#BB_LUA pool=p capacity={0}\n#SBATCH hetjob\n#BB_LUA pool=p capacity={0}\ntrue\n"
    eventually(lambda: "TotalSpace=10" in c.run("scontrol show burstbuffer").ok(), "the pools are known")
    c.run("sbatch", stdin=script.format(6)).fails("pool 'p' has 10, 12 requested by all components together")
    assert c.run("squeue -h").ok() == ""
    (c.dir / "fail-data_out").touch()
    job = c.sbatch(script=script.format(5))
    for name in (job, f"{job}+1"):
        said = eventually(lambda: "told to fail" in (text := c.run(f"sluice why {name}").ok()) and text, lambda: c.run(f"sluice why {name}").ok())
        assert "STAGE_OUT" in said and "Its data are being staged out of its burst buffer." in said, said
        assert "cleaned up" not in said and f"scancel --hurry {job}+{'01'[name != job]}\n" in said + "\n", said
    c.run(f"scancel --hurry {job}").ok()
    c.wait(job)


def test_check_and_nothing_without_a_type(make_cluster):
    """HET-28: without a BurstBufferType scripts stay as they are; slurmctld --check reads the file and the script."""
    c = make_cluster(nodes=2)
    script = "#!/bin/sh\n#BB_LUA a\n#SBATCH hetjob\n#BB_LUA b\ntrue"
    job = c.sbatch("-H", script=script)
    assert c.run(f"scontrol write batch_script {job} -").ok() == script
    c.run(f"scontrol write batch_script {job}+1 -").fails("has no script")
    assert c.run("scontrol show burst").ok() == "" and c.run("scontrol show bbstat").ok() == c.run("scontrol show dwstat").ok() == ""
    c.run(["sbatch", "--bb=#BB_LUA", "--wrap=true"]).fails("BurstBufferType is not set")
    with open(c.conf_file, "a") as file:
        file.write("BurstBufferType=burst_buffer/lua\n")
    check = f"slurmctld --check -f {c.conf_file}"
    c.run(check).fails("burst_buffer.lua does not exist")
    (c.dir / "burst_buffer.lua").write_text(SCRIPT.replace("slurm_bb_real_size", "other"))
    c.run(check).fails("function slurm_bb_real_size is missing")
    guard = "setmetatable(_G, {__index = function(_, name) error(name .. ' is undefined') end})\n"
    (c.dir / "burst_buffer.lua").write_text(guard + SCRIPT.replace("slurm_bb_real_size", "other"))
    c.run(check).fails("function slurm_bb_real_size is missing")
    (c.dir / "burst_buffer.lua").write_text("function (\n")
    c.run(check).fails("burst_buffer.lua:1: ")
    (c.dir / "burst_buffer.lua").write_text(SCRIPT)
    (c.dir / "burst_buffer.conf").write_text("\nStageInTimeout=0\n")
    c.run(check).fails(f"{c.dir}/burst_buffer.conf:2: StageInTimeout=0")
    (c.dir / "burst_buffer.conf").write_text("")
    c.run(check).ok()


def test_arrays_and_changes(make_cluster):
    """HET-25: each element, and each component of each element, has a buffer of its own; kill -9 of the controller between them loses none."""
    c = make(make_cluster, nodes=2)
    with open(c.conf_file, "a") as file:
        file.write("SchedulerParameters=bb_array_stage_cnt=2\n")
    c.run("scontrol reconfigure").ok()
    (c.dir / "hang-data_in").touch()
    script = "#!/bin/sh\n#BB_LUA from %A_%a %j\necho $SLURM_ARRAY_TASK_ID\n"
    job = c.sbatch("--array=1-5", "-o", f"{c.work}/out.%a", script=script)
    eventually(lambda: (c.dir / "calls").exists() and (c.dir / "calls").read_text().count("data_in") == 2, "two are staged in")
    states = c.run(f"squeue -h -r -j {job} -O ArrayTaskID,Reason:30,BurstBufferState").ok().split()
    assert states[1::3] == ["BurstBufferStageIn"] * 5 and sorted(states[2::3]) == ["pending"] * 3 + ["staging-in"] * 2
    c.kill("slurmctld", signal.SIGKILL)
    (c.dir / "hang-data_in").unlink()
    c.start_controller()
    c.wait(job)
    eventually(lambda: (c.dir / "calls").read_text().count("teardown") == 7, lambda: (c.dir / "calls").read_text())  # two began anew
    assert [(c.work / f"out.{i}").read_text() for i in range(1, 6)] == [f"{i}\n" for i in range(1, 6)]
    scripts = sorted(path.read_text().splitlines()[1] for path in c.dir.glob("script-*"))
    assert [line.split()[2] for line in scripts] == [f"{job}_{i}" for i in range(1, 6)]
    assert {line.split()[3] for line in scripts} == {path.name.split("-")[1] for path in c.dir.glob("script-*")}
    het = "#!/bin/sh\n#BB_LUA a %a\n#SBATCH hetjob\n#BB_LUA b %a\ntrue\n"
    job = c.sbatch("--array=7-8", "-o", "/dev/null", script=het)
    c.wait(job)
    for i, text in enumerate(["a 7", "b 7", "a 8", "b 8"]):
        eventually(lambda: calls(c, job + i) == WHOLE, lambda: calls(c, job + i))
        lines = (c.dir / f"script-{job + i}").read_text().splitlines()
        assert [line for line in lines if line.startswith("#BB_LUA")] == [f"#BB_LUA {text}"]
    changed = c.sbatch("-H", script="#!/bin/sh\n#BB_LUA old\ntrue\n")
    if ROOT:
        c.run(["scontrol", "update", f"JobId={changed}", "BurstBuffer=#BB_LUA new"], user="nobody").fails("Access/permission denied")
    c.run(["scontrol", "update", f"JobId={changed}", "BurstBuffer=new"]).fails("no line begins with '#BB_LUA'")
    c.run(["scontrol", "update", f"JobId={changed}", "BurstBuffer=#BB_LUA new"]).ok()
    c.run(f"scontrol release {changed}").ok()
    c.wait(changed)
    eventually(lambda: calls(c, changed) == WHOLE, lambda: calls(c, changed))
    assert (c.dir / f"script-{changed}").read_text() == "#!/bin/sh\n#BB_LUA new\n#EXCLUDED BB_LUA old\ntrue\n"
    c.run(["scontrol", "update", f"JobId={changed}", "BurstBuffer="]).fails("already")


@pytest.mark.slow
def test_transcript_of_the_guide(make_cluster):
    """HET-26, 30: docs/burst-buffers.md with the script in examples/."""
    c = make(make_cluster, script=DEMO.read_text())
    settled = "while sinfo -h -o %t | grep -qv '^idle$'; do sleep 0.02; done"
    c.run([TOP / "tools/transcript", "--before", settled, TOP / "docs/burst-buffers.md", TOP / "examples/jobs"],
          env={"TMPDIR": str(c.work)}, timeout=2 * DEADLINE).ok()
    assert shutil.which("setpriv")
