# SPDX-License-Identifier: GPL-3.0-or-later
"""Every refusal: the message names the invalid item, the exit status is not zero, and nothing is left behind."""
import json
import os

import pytest

from harness import PREFIX, ROOT, eventually, free_ports

NEVER = [
    (["-p", "nosuch"], "invalid partition", "nosuch"),
    (["--test-only", "-N", "5"], "Node count specification invalid", None),
    (["--test-only", "-n", "17"], "More processors requested than permitted", None),
    (["--mem", "5000"], "Requested node configuration is not available: Memory specification can not be satisfied", "5000M"),
    (["--mem", "16777216T"], "Memory specification can not be satisfied", "17592186044416M asked, at most 4000M"),
    (["-c", "5"], "Requested node configuration is not available: CPU count per node can not be satisfied", "5 asked"),
    (["--tmp", "99T"], "Requested node configuration is not available: Temporary disk specification", "main"),
    (["-w", "nosuch"], "Invalid node name specified", "nosuch"),
    (["-x", "nosuch"], "Invalid node name specified", "nosuch"),
    (["-C", "golden"], "Invalid feature specification", "golden"),
]


@pytest.mark.parametrize("options,text,thing", NEVER, ids=lambda v: " ".join(v) if isinstance(v, list) else None)
def test_impossible_requests_are_refused(cluster, options, text, thing):
    """CORE-084."""
    said = cluster.run(["sbatch", *options, "--wrap=true"]).fails()
    assert text.lower() in said.lower()
    assert thing is None or thing in said
    said = cluster.run(["srun", *options, "true"]).fails()
    assert text.lower() in said.lower()
    assert cluster.run("squeue -h").ok() == ""


@pytest.mark.parametrize("tool", ["sbatch", "srun", "salloc", "squeue", "sinfo", "scancel", "scontrol"])
def test_unknown_option_is_named(cluster, tool):
    said = cluster.run([tool, "--no-such-option"]).fails("no-such-option")
    assert said.startswith(tool + ":")


@pytest.mark.parametrize("option", ["mem", "mem-per-cpu", "mem-per-gpu", "tmp"])
def test_requests_beyond_every_node_are_refused(cluster, option):
    """As it was typed, and nothing is cut off."""
    for command in (["sbatch", "--wrap=true"], ["srun", "true"]):
        said = cluster.run([command[0], f"--{option}=99999999999T", *command[1:]]).fails(f"{command[0]}: error: ")
        assert f"Invalid --{option} specification: 99999999999T: no node has more than 16777216T" in said
    job = cluster.sbatch("--hold", wrap="true")
    cluster.run(f"scontrol update JobId={job} MinMemoryNode=99999999999T").fails("99999999999T")
    cluster.run(f"scancel {job}").ok()


@pytest.mark.parametrize("options", [["-N", "x"], ["-n", "-1"], ["-t", "soon"], ["--mem", "lots"], ["-c", "0"],
                                     ["-N", "3-1"], ["--nice=x"], ["--begin=never"], ["-w", "n[1-"]])
def test_wrong_value_names_the_option(cluster, options):
    said = cluster.run(["sbatch", *options, "--wrap=true"]).fails("sbatch: error: ")
    assert options[-1].split("=")[-1].removeprefix("n") in said
    assert cluster.run("squeue -h").ok() == ""


def test_script_without_interpreter(cluster):
    cluster.run("sbatch", stdin="echo no interpreter\n").fails(
        "sbatch: error: This does not look like a batch script.", "#!")
    cluster.run("sbatch", stdin="").fails("sbatch: error: Batch script is empty!")
    cluster.run("sbatch nosuch.sh").fails("nosuch.sh")
    cluster.run("sbatch", stdin="#!/bin/sh\r\necho dos\r\n").fails("DOS line breaks")


def test_directive_errors_name_the_line(cluster):
    cluster.run("sbatch", stdin="#!/bin/sh\n#SBATCH --frobnicate\n").fails("frobnicate")
    cluster.run("sbatch", stdin="#!/bin/sh\n#SBATCH -N two\n").fails("two")


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_unwritable_output_directory(cluster):
    closed = cluster.dir / "closed"
    closed.mkdir(mode=0o700, exist_ok=True)
    job = cluster.sbatch("-o", f"{closed}/out", user="nobody", wrap="true")
    fields = cluster.wait(job)
    assert fields["JobState"] == "FAILED"
    assert not (closed / "out").exists()
    eventually(lambda: cluster.run("sinfo -h -o %t").ok() == "idle", "all nodes idle")


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_jobs_of_other_users_cannot_be_changed(cluster):
    """CORE-060, 062, 072, 195."""
    job = cluster.sbatch("-o", "/dev/null", wrap="sleep 60", user="daemon")
    cluster.run(f"scancel {job}", user="nobody").fails(
        f"scancel: error: Kill job error on job id {job}: Access/permission denied")
    cluster.run(f"scontrol update JobId={job} Nice=5", user="nobody").fails("Access/permission denied")
    cluster.run("scontrol update NodeName=n1 State=DRAIN Reason=x", user="nobody").fails("Access/permission denied")
    cluster.run("scontrol reconfigure", user="nobody").fails("Access/permission denied")
    cluster.run(f"scontrol write batch_script {job} -", user="nobody").fails("ccess")
    assert cluster.state(job) in ("RUNNING", "PENDING")
    assert cluster.run(f"scancel {job}", user="daemon").returncode == 0
    assert cluster.wait(job)["JobState"] == "CANCELLED"


def test_unknown_job_node_partition(cluster):
    for option in "-s USR1", "--batch":
        cluster.run(f"scancel {option} 999999").fails("scancel: error: Kill job error on job id 999999: Invalid job id specified")
    cluster.run("scontrol show job 999999").fails("slurm_load_jobs error: Invalid job id specified")
    cluster.run("scontrol show node nosuch").finds_none("Node nosuch not found")
    cluster.run("scontrol show partition nosuch").finds_none("Partition nosuch not found")
    cluster.run("scontrol update JobId=999999 Nice=1").fails("Invalid job id specified")


def test_squeue_reports_unknown_filters(cluster):
    """As Slurm's: a node must exist, a user may be misspelt, of partitions nothing is said."""
    for line in ("squeue -w nosuch", "squeue -w n1,nosuch", "squeue -s -w nosuch", "squeue --json -w nosuch"):
        done = cluster.run(line)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", "squeue: error: Invalid node name nosuch\n")
    header = cluster.run("squeue -t PD -n nosuch").ok()
    done = cluster.run("squeue -u nosuchuser")
    assert (done.ok(), done.stderr) == (header, "squeue: error: Invalid user: nosuchuser\n")
    done = cluster.run("squeue -p nosuch")
    assert (done.ok(), done.stderr) == (header, "")


def test_malformed_host_lists_are_errors(cluster):
    for line in (["sinfo", "-n"], ["squeue", "-w"], ["scancel", "-w"], ["sbatch", "--wrap=true", "-w"], ["srun", "-w"],
                 ["scontrol", "show", "node"]):
        done = cluster.run([*line, "n[1-"] + (["true"] if line[0] == "srun" else []))
        assert done.returncode != 0 and done.stdout == "" and "[1-" in done.stderr, (line, done)


@pytest.mark.parametrize("line,shown", [
    (["squeue", "-o", "%~"], "%~\n"), (["squeue", "-o", "%i %~"], "JOBID %~\n"), (["squeue", "-s", "-o", "%~"], "%~\n"),
    (["squeue", "-O", "nosuch"], ""), (["squeue", "-O", "nosuch,jobid:.8"], "   JOBID\n"), (["sinfo", "-h", "-o", "%D %~"], "4 %~\n"),
    (["sinfo", "-O", "nosuch"], ""), (["sinfo", "-h", "-O", "nodes:2,nosuch"], "4 \n"), (["sinfo", "-h", "-S", "~", "-o", "%D"], "4\n")],
    ids=" ".join)
def test_unknown_columns_are_reported_with_exit_status_1(cluster, line, shown):
    done = cluster.run(line)
    assert (done.returncode, done.stdout) == (1, shown) and f"{line[0]}: error: Invalid " in done.stderr, done


def test_refusals_name_the_limits(cluster):
    """A request above a limit is refused with a message that contains the limit."""
    for options, text in [("-x n[1-4]", "--exclude leaves no node of partition main, which has 4"),
                          ("-N2 -x n[1-3]", "--exclude leaves 1 of the 4 nodes of partition main"),
                          ("-t 2290649225", "the longest is 2290649224 minutes"), ("-t 1590729-0", "the longest is 2290649224 minutes"),
                          ("-t 38177488:00:00", "the longest is 2290649224 minutes")]:
        cluster.run(f"sbatch {options} --wrap true").fails(text)


def test_controller_down_names_host_and_port(cluster, tmp_path):
    port = free_ports(1)[0]
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"ClusterName=x\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort={port}\n"
                    f"AuthInfo=socketdir={cluster.dir}/run\nNodeName=n1\nPartitionName=p Nodes=n1\n")
    socket = cluster.dir / "run/slurmctld"
    hidden = cluster.dir / "run/.hidden"
    os.rename(socket, hidden)
    try:
        for line in ("squeue", "sinfo", "sbatch --wrap=true", "scancel 1", "scontrol show job", "srun true"):
            said = cluster.run(line, env={"SLURM_CONF": str(conf)}).fails("Unable to contact slurm controller")
            assert str(port) in said and ("127.0.0.1" in said or "localhost" in said), said
        ping = cluster.run("scontrol ping", env={"SLURM_CONF": str(conf)})
        assert ping.stdout.startswith("Slurmctld(primary) at localhost is DOWN") and ping.returncode != 0
    finally:
        os.rename(hidden, socket)


def test_missing_configuration_names_the_file(cluster):
    cluster.run("squeue", env={"SLURM_CONF": "/nonexistent/slurm.conf"}).fails("/nonexistent/slurm.conf")


def test_too_long_texts_are_refused(cluster):
    """Texts of users are kept in memory and used for every job: their length is limited, and other users are not affected."""
    cluster.run(["sbatch", "-J", "x" * 40000, "--wrap", "true"]).fails("exceeds its limit", "name")
    cluster.run(["sbatch", "--comment", "x" * 40000, "--wrap", "true"]).fails("exceeds its limit", "comment")
    for command in ["sbatch", "--wrap", "true"], ["salloc"]:
        cluster.run([command[0], "-n1", ":", "--comment", "x" * 40000, *command[1:]]).fails("exceeds its limit", "comment")
    cluster.run(["scancel", "-u", "root", "-s", "CONT", "-w", ",".join(["n[1-2]"] * 15000)]).fails("exceeds its limit", "nodes")
    cluster.run(["salloc", "-Q", "-N1", "srun", "-O", "-n", "1000000000", "true"]).fails("More processors requested than permitted")
    cluster.settle()
    assert cluster.run("squeue -h").ok() == ""


@pytest.mark.skipif(not ROOT, reason="needs root to become another user")
def test_slurmctld_of_a_wrong_user_names_slurmuser(cluster):
    said = cluster.run([PREFIX / "sbin/slurmctld", "-D"], user="nobody").fails("SlurmUser is root, but this is uid ")
    assert "start slurmctld as root, or write your own name" in said
    other = cluster.dir / "other.conf"
    other.write_text(cluster.conf_file.read_text().replace("SlurmUser=root", "SlurmUser=daemon"))
    cluster.run([PREFIX / "sbin/slurmctld", "-D", "-f", other], user="nobody").fails("start slurmctld as root or as daemon, or ")


def test_texts_of_users_cannot_control_terminals(cluster):
    """DEL and the controls U+0080 to U+009F, which JSON does not escape, and arguments that srun repeats in messages."""
    name = "a\x7fb\u009bc\u00a0d\u00e9"
    job = cluster.sbatch("-H", "-J", name, wrap="true")
    out = cluster.run(f"squeue --json -j {job}").ok()
    assert json.loads(out)["jobs"][0]["name"] == name
    assert not set(out) & {"\x7f", "\u009b"} and "\\u007f" in out and "\\u009b" in out and "\u00e9" in out
    cluster.run(f"scancel {job}").ok()
    said = cluster.run(["srun", "--mpi", "a\x1b[31m\u009b\x7f", "true"]).fails("a\\033[31m")
    assert not set(said) & {"\x1b", "\u009b", "\x7f"}
    script = cluster.work / "others.sh"  # of somebody else's, who is not trusted
    script.write_text("#!/bin/sh\n#SBATCH --network=a\x1b[31m\u202e\ntrue\n")
    warned = cluster.run(["sbatch", "-H", script]).stderr
    assert "warning: option --network=a\\033[31m\\u202e" in warned and not set(warned) & {"\x1b", "\u202e"}
    cluster.run("scancel -u root" if ROOT else "scancel --me").ok()
