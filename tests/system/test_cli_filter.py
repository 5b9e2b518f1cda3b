# SPDX-License-Identifier: GPL-3.0-or-later
"""CliFilterPlugins: filters of the site set defaults, and change, refuse and log submissions of sbatch, salloc and srun."""
import json
import subprocess

import pytest

from harness import ROOT

SCRIPT = """
function slurm_cli_setup_defaults(options, early_pass)
    note("defaults %s %s", options.type, tostring(early_pass))
    options["comment"] = "site"
    options["time"] = 7
    options.hold = options.type == "sbatch"
    return slurm.SUCCESS
end
function slurm_cli_pre_submit(options, offset)
    local name = options["job-name"]
    note("submit %s %d %s %s", options.type, offset, tostring(options.ntasks), tostring(options.argv[1]))
    slurm.cli_store(offset, name)
    if name == "look" then
        note("%s %s %s %s %s %s", options.time, tostring(options.mem), tostring(options.exclusive), options.hold,
             tostring(options.partition), tostring(options.nope))
        note("%s", slurm.json_cli_options(options))
        note("%d %s %s", slurm.time_str2mins("1:30:00"), slurm.CLUSTER_NAME, tostring(slurm.json_env():find('"FOO":"a\\\\"b"') ~= nil))
    elseif name == "change" then
        options.comment, options.hold, options.time, options.nodes = nil, nil, "00:03:00", "1"
        note("%s %s %s", tostring(options.comment), options.hold, options.time)
    elseif name == "refuse" then
        slurm.log_error("no %s", name)
        slurm.log_debug("not told")
        slurm.user_msg("say why: %d\\nand more", offset)
        return slurm.ERROR
    elseif name == "broken" then
        return options.nothing.at_all
    elseif name == "unknown" then
        options["no-such"] = "1"
    elseif name == "other" then
        options[options.type == "srun" and "array" or "label"] = "1"
    elseif name == "invalid" then
        options.time = "x:y"
    elseif name == "mute" then
        return
    end
    return slurm.SUCCESS
end
function slurm_cli_post_submit(offset, job_id, step_id)
    note("after %d %d %s %s", offset, job_id, step_id == slurm.NO_VAL and "none" or step_id, slurm.cli_retrieve(offset))
    return slurm.ERROR
end
function note(...)
    local f = io.open(os.getenv("NOTES"), "a")
    f:write(string.format(...), "\\n")
    f:close()
end
"""


class Filtered:
    """A cluster whose commands have filters, and the notes of these filters."""

    def __init__(self, c):
        self.c = c
        self.file = c.work / "notes"
        self.script = c.dir / "cli_filter.lua"

    def run(self, line, **more):
        self.file.write_text("")
        env = {"NOTES": str(self.file), **more.pop("env", {})}
        return self.c.run(line, env=env, **more)

    def notes(self):
        return self.file.read_text().splitlines()


@pytest.fixture(scope="module")
def lua():
    from harness import Cluster
    c = Cluster(nodes=2, cpus=2, conf="CliFilterPlugins=lua\n")
    try:
        (c.dir / "cli_filter.lua").write_text(SCRIPT)
        (c.dir / "cli_filter.lua").chmod(0o644)
        yield Filtered(c)
        c.stop()
    finally:
        c.destroy()


def batch(f, name, *options, **more):
    return f.run(["sbatch", "--parsable", "-o", "/dev/null", "-J", name, *options], **more)


def test_defaults_are_below_every_other_source(lua):
    """The script's line, the variable and the command line each replace a default; each hook is asked in its order."""
    script = "#!/bin/sh\n#SBATCH --comment=script\n"
    job = int(batch(lua, "plain", "-t9", stdin=script, env={"SBATCH_REQUEUE": "1"}).ok())
    assert lua.notes() == ["defaults sbatch true", "defaults sbatch false", "submit sbatch 0 nil nil", f"after 0 {job} none plain"]
    fields = lua.c.job(job)
    assert (fields["TimeLimit"], fields["Comment"], fields["Reason"]) == ("00:09:00", "script", "JobHeldUser")
    job = int(batch(lua, "plain", stdin="#!/bin/sh\n", env={"SBATCH_TIMELIMIT": "8"}).ok())
    fields = lua.c.job(job)
    assert (fields["TimeLimit"], fields["Comment"]) == ("00:08:00", "site")


def test_script_sees_evaluated_options(lua):
    batch(lua, "look", "--mem=2048", "--exclusive", "--wrap", "true", env={"FOO": 'a"b'}).ok()
    notes = lua.notes()
    assert notes[3] == "00:07:00 2G exclusive set nil nil"
    options = json.loads(notes[4])
    assert options == {"comment": "site", "exclusive": "exclusive", "hold": "set", "job-name": "look", "mem": "2G", "output": "/dev/null",
                       "parsable": "set", "time": "00:07:00", "wrap": "true", "argv": []}
    assert notes[5] == "90 test true"


def test_change_by_the_script_replaces_the_option(lua):
    """Options that the filter sets or removes have the same effect as on the command line; all other options stay."""
    job = int(batch(lua, "change", "-N2", "--comment=mine", "-t30", "--nice=5", stdin="#!/bin/sh\n#SBATCH -t40 --mem=10\n").ok())
    assert lua.notes()[3] == "nil unset 00:03:00"
    fields = lua.c.job(job)
    assert fields["TimeLimit"] == "00:03:00" and "Comment" not in fields and fields["NumNodes"] == "1"
    assert fields["Reason"] != "JobHeldUser" and fields["Nice"] == "5" and fields["MinMemoryNode"] == "10M"


def test_script_is_called_for_srun_and_salloc(lua):
    assert lua.run("srun -J plain -n2 hostname").ok()
    notes = lua.notes()
    assert notes[:2] == ["defaults srun false", "submit srun 0 2 hostname"] and notes[2].startswith("after 0 ") and notes[2].endswith(" 0 plain")
    assert lua.run("salloc -J change true").returncode == 0
    notes = lua.notes()
    assert notes[:2] == ["defaults salloc false", "submit salloc 0 nil true"] and notes[3].endswith(" none change")
    assert lua.run("srun --test-only -J plain true").returncode == 0
    assert len(lua.notes()) == 2


def test_script_is_called_for_each_component(lua):
    """Also one that the script begins; a change is that component's."""
    script = "#!/bin/sh\n#SBATCH -J plain -n1\n#SBATCH hetjob\n#SBATCH -J change -N2 -t40\n"
    job = int(lua.run(["sbatch", "--parsable"], stdin=script).ok())
    assert lua.notes() == ["defaults sbatch true", "defaults sbatch false", "defaults sbatch false", "submit sbatch 0 1 nil",
                           "submit sbatch 1 nil nil", "nil unset 00:03:00", f"after 0 {job} none plain", f"after 1 {job} none change"]
    assert (lua.c.job(f"{job}+0")["TimeLimit"], lua.c.job(f"{job}+1")["TimeLimit"]) == ("00:07:00", "00:03:00")
    assert lua.c.job(f"{job}+1")["NumNodes"].startswith("1")


@pytest.mark.parametrize("name, texts", [
    ("refuse", ["{0}: error: lua: no refuse", "{0}: say why: 0\nand more\n"]),
    ("broken", ["cli_filter.lua:27: attempt to index a nil value"]),
    ("unknown", ["cli_filter.lua:29: unknown option 'no-such'"]),
    ("other", ["cli_filter.lua:31: {0} has no option '"]),
    ("invalid", ["cli_filter.lua:33: Invalid --time specification: x:y"]),
    ("mute", ["slurm_cli_pre_submit() returns no number, as slurm.SUCCESS is"])])
def test_a_script_that_refuses_or_fails_ends_the_submission(lua, name, texts):
    for command in (["sbatch", "--wrap", "true"], ["srun", "true"], ["salloc", "true"]):
        done = lua.run([command[0], "-J", name, *command[1:]])
        done.fails(*(t.format(command[0]) for t in texts), f"{command[0]}: error: cli_filter plugin terminated with error")
        assert done.returncode == 1 and "not told" not in done.stderr and not any(n.startswith("after") for n in lua.notes())


def test_a_script_that_cannot_be_used_ends_every_submission(lua):
    for text, why in (("x = = 1", "cli_filter.lua:1: unexpected symbol near '='"), ("x = 1", "it has none of the functions"), (None, "does not exist")):
        if text is None:
            lua.script.unlink()
        else:
            lua.script.write_text(text)
        lua.run("srun true").fails("srun: error: cli_filter/lua: ", why)
    if ROOT:
        lua.script.write_text(SCRIPT)
        lua.script.chmod(0o666)
        lua.run("srun true").fails("srun: error: cli_filter/lua: ", "cli_filter.lua")
    lua.script.write_text(SCRIPT)
    lua.script.chmod(0o644)
    lua.run("srun -J plain true").ok()
    conf = lua.c.conf_file.read_text()
    lua.c.conf_file.write_text(f"{conf}CliFilterParameters=cli_filter_lua_path={lua.c.dir}/other.lua\n")
    lua.run("srun true").fails(f"srun: error: cli_filter/lua: {lua.c.dir}/other.lua does not exist")
    lua.c.conf_file.write_text(conf)


STRICT = """
local function refuse(_, name)
    error("undefined variable " .. name, 2)
end
function slurm_cli_pre_submit(options, offset)
    options.comment = "strict"
    return slurm.SUCCESS
end
setmetatable(_G, {__index = refuse, __newindex = refuse})
"""


def test_a_script_may_forbid_undefined_variables(lua):
    """Functions that it does not define are not asked for, although a lookup fails."""
    lua.script.write_text(STRICT)
    job = int(batch(lua, "plain", "--wrap", "true").ok())
    assert lua.c.job(job)["Comment"] == "strict"
    lua.script.write_text(SCRIPT)


DEFAULTS = """
# time=1
time = 30
sbatch:*:comment=both words
srun:*:comment=not this
sbatch:other:time=99
*:test:nice=3
cat:*:time=3
label=1
no-such=4
begin=nonsense
 sbatch:time =30
"""


def test_defaults_of_the_user(make_cluster):
    """~/.slurm/defaults: invalid lines are reported, and the others take effect."""
    c = make_cluster(nodes=1, cpus=1, conf="CliFilterPlugins=cli_filter/user_defaults\n")
    home = c.dir / "home"
    (home / ".slurm").mkdir(parents=True)
    (home / ".slurm/defaults").write_text(DEFAULTS)
    env = {"HOME": str(home)}
    done = c.run(["sbatch", "--parsable", "--wrap", "true"], env=env)
    fields = c.job(int(done.ok()))
    assert (fields["TimeLimit"], fields["Comment"], fields["Nice"]) == ("00:30:00", "both words", "3")
    file = home / ".slurm/defaults"
    assert [text for text in done.stderr.splitlines() if "user_defaults" in text] == [
        f"sbatch: error: user_defaults: {file}:8: unknown command, use salloc, sbatch, srun or *: cat",
        f"sbatch: error: user_defaults: {file}:10: unknown option 'no-such'",
        f"sbatch: error: user_defaults: {file}:11: Invalid --begin specification: nonsense",
        f"sbatch: error: user_defaults: {file}:12: unknown option 'sbatch:time'"]
    fields = c.job(int(c.run(["sbatch", "--parsable", "-t5", "--wrap", "true"], env=env).ok()))
    assert fields["TimeLimit"] == "00:05:00"
    file.unlink()
    assert c.run(["sbatch", "--parsable", "--wrap", "true"], env=env).stderr == ""


SYSLOG = r"""
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
void syslog(int priority, const char *format, ...)
{
    FILE *f = fopen(getenv("SYSTEM_LOG"), "a");
    va_list ap;
    va_start(ap, format);
    vfprintf(f, format, ap);
    va_end(ap);
    fputc('\n', f);
    fclose(f);
}
void __syslog_chk(int priority, int flag, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    syslog(priority, "%s", va_arg(ap, const char *));
    va_end(ap);
}
"""


def test_submissions_are_written_to_the_system_log(make_cluster):
    """One line of JSON for each component and step, and none for a refused request."""
    c = make_cluster(nodes=1, cpus=2, conf="CliFilterPlugins=syslog\n")
    library, log = c.dir / "syslog.so", c.dir / "syslog"
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-x", "c", "-", "-o", library], input=SYSLOG, text=True, check=True)
    log.write_text("")
    log.chmod(0o666)
    env = {"LD_PRELOAD": str(library), "SYSTEM_LOG": str(log), "FOO": "a\nb\"\\"}
    c.run("sbatch -p nowhere --wrap true", env=env).fails("nowhere")
    job = int(c.run(["sbatch", "--parsable", "-t5", "--wrap", "true"], env=env).ok())
    c.run("srun -n1 true", env=env).ok()
    first, second = (json.loads(line) for line in log.read_text().splitlines())
    assert (first["program"], first["job_id"], first["component"]) == ("sbatch", job, 0) and "step_id" not in first
    assert first["options"] == {"parsable": "set", "time": "00:05:00", "wrap": "true", "argv": []}
    assert first["environment"]["FOO"] == "a\nb\"\\" and first["uid"] == c.work.stat().st_uid
    assert (second["program"], second["step_id"], second["options"]["argv"]) == ("srun", 0, ["true"])
