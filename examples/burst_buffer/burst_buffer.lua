-- SPDX-License-Identifier: GPL-3.0-or-later
-- A burst buffer for any machine: a directory for each job, beside this script. See docs/burst-buffers.md.
--
--   #BB_LUA pool=scratch capacity=1G in=FILE out=FILE
--
-- in=FILE is copied into the directory before the job starts; the job finds the directory as $BB_DIR; out=FILE is copied from there
-- when the job has ended. Both are files of the job's working directory.

local root = debug.getinfo(1, "S").source:match("^@(.*)/") .. "/buffers"

local function quote(word)
    return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function run(...)
    local pipe = io.popen(string.format(...) .. " 2>&1; echo $?")
    local output, status = pipe:read("a"):match("^(.-)\n?(%d+)\n$")
    pipe:close()
    return status == "0", output
end

-- The script runs as SlurmUser, who may be root: files of users are touched as the user.
local function run_as(uid, gid, command)
    local _, me = run("id -u")
    if me == "0" then
        command = string.format("setpriv --reuid=%d --regid=%d --clear-groups sh -c %s", uid, gid, quote(command))
    end
    return run("%s", command)
end

local function result(good, output)
    if good then return slurm.SUCCESS end
    return slurm.ERROR, output
end

local function directory(job_id)
    return string.format("%s/%d", root, job_id)
end

-- The options of all directive lines of a job script.
local function options(job_script)
    local found = {}
    for line in io.lines(job_script) do
        local words = line:match("^#BB_LUA(.*)")
        for name, value in (words or ""):gmatch("(%w+)=(%S+)") do found[name] = value end
    end
    return found
end

function slurm_bb_job_process(job_script, uid, gid, job_info)
    for name, value in pairs(options(job_script)) do
        if name ~= "pool" and name ~= "capacity" and name ~= "in" and name ~= "out" then
            return slurm.ERROR, string.format("unknown option %s: use pool, capacity, in, out", name)
        end
        if (name == "in" or name == "out") and value:find("/") then
            return slurm.ERROR, string.format("%s=%s: a file of the working directory is expected", name, value)
        end
    end
    return slurm.SUCCESS
end

function slurm_bb_pools()
    return slurm.SUCCESS, '{"pools": [{"id": "scratch", "quantity": 10737418240, "granularity": 1073741824}]}'
end

function slurm_bb_setup(job_id, uid, gid, pool, bb_size, job_script, job_info)
    slurm.log_info("%s of pool %s for job %d", bb_size, pool, job_id)
    return result(run("mkdir -p %s && chown %d:%d %s", quote(directory(job_id)), uid, gid, quote(directory(job_id))))
end

function slurm_bb_data_in(job_id, job_script, uid, gid, job_info)
    local file = options(job_script)["in"]
    if not file then return slurm.SUCCESS end
    return result(run_as(uid, gid, string.format("cd %s && cp -- %s %s", quote(job_info.work_dir), quote(file), quote(directory(job_id)))))
end

function slurm_bb_test_data_in(job_id, uid, gid, job_info)
    return slurm.SUCCESS, "" -- or "BUSY": slurm_bb_data_in has only begun something
end

function slurm_bb_real_size(job_id, uid, gid, job_info)
    return slurm.SUCCESS
end

function slurm_bb_paths(job_id, job_script, path_file, uid, gid, job_info)
    local file = io.open(path_file, "w")
    file:write("BB_DIR=", directory(job_id), "\n")
    file:close()
    return slurm.SUCCESS
end

function slurm_bb_pre_run(job_id, job_script, uid, gid, job_info)
    return result(run("test -d %s", quote(directory(job_id))))
end

function slurm_bb_post_run(job_id, job_script, uid, gid, job_info)
    return slurm.SUCCESS
end

function slurm_bb_data_out(job_id, job_script, uid, gid, job_info)
    local file = options(job_script).out
    if not file then return slurm.SUCCESS end
    return result(run_as(uid, gid, string.format("cd %s && cp -- %s .", quote(job_info.work_dir), quote(directory(job_id) .. "/" .. file))))
end

function slurm_bb_test_data_out(job_id, uid, gid, job_info)
    return slurm.SUCCESS, ""
end

function slurm_bb_job_teardown(job_id, job_script, hurry, uid, gid)
    return result(run("rm -rf %s", quote(directory(job_id))))
end

function slurm_bb_get_status(uid, gid, what)
    local _, names = run("ls %s", quote(root))
    return slurm.SUCCESS, string.format("buffers of jobs: %s", names:gsub("\n", " "))
end
