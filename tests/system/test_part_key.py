# SPDX-License-Identifier: GPL-3.0-or-later
"""An external scheduler: a partition with a key, and root submitting for users: CORE-080, 213."""
import os
import pwd

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="submits as root for others")


def test_partition_needs_its_key(make_cluster):
    """CORE-080, 213."""
    c = make_cluster(nodes=1, partitions=["PartitionName=main Nodes=ALL Default=YES",
                                          "PartitionName=ext Nodes=ALL Key=YES"])
    nobody = pwd.getpwnam("nobody")
    key = c.run("scontrol show key ext").ok().strip()
    assert len(key) == 32 and set(key) <= set("0123456789abcdef")
    c.run("scontrol show key main").fails("partition main has no key")
    c.run("scontrol show key none").fails("Invalid partition name specified: none")
    c.run("scontrol show key").fails("of which partition")
    c.run("scontrol show key ext", user="nobody").fails("Access/permission denied")
    c.run("sbatch -pext --wrap=true").fails('root gets it by "scontrol show key ext"')
    c.run(f"sbatch -pext --partition-key={key[::-1]} --wrap=true").fails("which this is not")
    c.run(f"sbatch -pext --partition-key={key} --wrap=true", user="nobody").fails("partition ext is for root only")
    c.run("sbatch --uid=nobody --wrap=true", user="nobody").fails("--uid only permitted by root user")
    c.run("sbatch --uid=no-such --wrap=true").fails("no-such")

    job = c.sbatch("-pext", "--uid=nobody", "-o", "/dev/null", env={"SBATCH_PARTITION_KEY": key},
                   wrap=f"id -un >{c.work}/who; id -g >>{c.work}/who; env >{c.work}/env")
    assert c.wait(job)["UserId"] == f"nobody({nobody.pw_uid})"
    assert (c.work / "who").read_text() == f"nobody\n{nobody.pw_gid}\n"
    assert key not in (c.work / "env").read_text()
    done = c.run(["srun", "-pext", f"--partition-key={key}", "--uid=nobody", "--gid=100", "sh", "-c", "id; env"],
                 env={"SLURM_PARTITION_KEY": key})
    assert done.stdout.startswith(f"uid={nobody.pw_uid}(nobody) gid=100") and key not in done.stdout, done.stderr
    c.wait(c.sbatch("-pext", "--partition-key", key, "-o", "/dev/null", "--comment=key", wrap="true"))
    env = c.run(["salloc", "-pext", f"--partition-k={key}", "env"], env={"SALLOC_PARTITION_KEY": key}).ok()
    assert "SLURM_JOB_ID=" in env and key not in env
    shown = c.run(f"scontrol -o show job {job}", user="nobody").ok() + c.run("squeue --json -t all", user="nobody").ok()
    assert "--partition-key ... -o /dev/null --comment=key" in shown and "--partition-key=..." in shown and key not in shown

    # The keys of all components are left out of the line that each of them shows.
    c.run("scontrol update PartitionName=main Key=NEW").ok()
    other = c.run("scontrol show key main").ok().strip()
    pair = c.sbatch("-H", "-pext", f"--partition-key={key}", "-o", "/dev/null", ":", "-pmain", "--partition-key", other, wrap="true")
    shown = c.run(f"squeue --json -j {pair},{pair + 1}").ok()
    assert shown.count("--partition-key=... -o /dev/null : -pmain --partition-key ... --wrap true") == 2, shown
    assert key not in shown and other not in shown
    c.run(f"scancel {pair}").ok()

    c.run("scontrol update PartitionName=ext Key=NEW").ok()
    second = c.run("scontrol show key ext").ok().strip()
    c.kill("slurmctld")
    c.start_controller()
    assert c.run("scontrol show key ext").ok().strip() == second != key
    c.run(f"sbatch -pext --partition-key={key} --wrap=true").fails("which this is not")
    c.wait(c.sbatch("-pext", f"--partition-key={second}", "-o", "/dev/null", wrap="true"))
    assert key not in (c.dir / "slurmctld.stderr").read_text()
