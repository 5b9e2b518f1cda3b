# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of output: emptied or continued, by option, environment and site."""
import pytest

from harness import Cluster

# What --open-mode, its variable or nothing says, and what the site's default makes of a file that holds something.
MODES = [([], {}, None), (["--open-mode=append"], {}, True), (["--open-mode=truncate"], {}, False),
         (["--open-mode=a"], {}, True), ([], {"OPEN_MODE": "append"}, True), ([], {"OPEN_MODE": "t"}, False),
         (["--open-mode=truncate"], {"OPEN_MODE": "append"}, False)]


@pytest.fixture(scope="module", params=["", "JobFileAppend=0", "JobFileAppend=1"])
def site(request):
    """A cluster, and whether its files are continued by default."""
    c = Cluster(nodes=1, conf=request.param)
    try:
        yield c, request.param.endswith("1")
        c.stop()
    finally:
        c.destroy()


def found(text, append):
    return ("before\n" if append else "") + text


@pytest.mark.parametrize("command", ["sbatch", "srun"])
def test_unknown_open_mode_is_refused(cluster, command):
    cluster.run([command, "--open-mode=middle", "true"]).fails("open-mode", "middle")


@pytest.mark.parametrize("options,env,append", MODES)
def test_open_mode_of_batch_output_is_applied(site, options, env, append):
    c, default = site
    append = default if append is None else append
    env = {f"SBATCH_{k}": v for k, v in env.items()}
    for names in (["-o", "file-%x"], ["-o", "file-%x", "-e", "errors-%x"]):
        for name in ("file-b", "errors-b"):
            (c.work / name).write_text("before\n")
        c.wait(c.sbatch("-J", "b", *names, *options, wrap="echo out; echo err >&2", env=env))
        out = "out\nerr\n" if len(names) == 2 else "out\n"
        assert (c.work / "file-b").read_text() == found(out, append)
        assert (c.work / "errors-b").read_text() == ("before\n" if len(names) == 2 else found("err\n", append))


@pytest.mark.parametrize("options,env,append", MODES)
def test_open_mode_of_step_output_is_applied(site, options, env, append):
    """Written by srun, and by the tasks on their nodes."""
    c, default = site
    append = default if append is None else append
    env = {f"SLURM_{k}": v for k, v in env.items()}
    for name in ("file", "file-0", "file-1"):
        (c.work / name).write_text("before\n")
    c.run(["srun", "-n2", "-o", "file", *options, "echo", "x"], env=env).ok()
    assert (c.work / "file").read_text() == found("x\nx\n", append)
    c.run(["srun", "-n2", "-o", "file-%t", *options, "echo", "x"], env=env).ok()
    for name in ("file-0", "file-1"):
        assert (c.work / name).read_text() == found("x\n", append)


def test_mode_of_the_job_holds_for_its_steps(cluster):
    (cluster.work / "inner").write_text("before\n")
    cluster.wait(cluster.sbatch("--open-mode=append", wrap="srun -o inner echo x"))
    assert (cluster.work / "inner").read_text() == "before\nx\n"
