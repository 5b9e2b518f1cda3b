# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller under valgrind, only in the soak: no error, and nothing definitely lost. RELIABILITY I3."""
import re

from harness import PREFIX, eventually

VALGRIND = ["valgrind", "-q", "--leak-check=full", "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite", "--error-exitcode=97",
            "--num-callers=30"]


def reports(c, name):
    """What valgrind says has its process's number in front."""
    return re.findall(r"^==\d+== .*$", (c.dir / f"{name}.stderr").read_text(errors="replace"), re.M)


def test_controller_under_valgrind(make_cluster):
    """I3."""
    c = make_cluster(nodes=2, start=False, conf="MessageTimeout=60\nSlurmdTimeout=300")
    c.spawn("slurmctld", [*VALGRIND, PREFIX / "sbin/slurmctld", "-D"])
    for node in c.names:
        c.start_node(node)
    c.wait_ready()
    jobs = [c.sbatch("-o", "/dev/null", wrap=f"exit {i % 3}") for i in range(200)]
    array = c.sbatch("--array=1-20", "-o", "/dev/null", wrap="srun true")
    held = c.sbatch("-H", "-o", "/dev/null", wrap="true")
    for line in ("scontrol update JobId={} Comment=x", "scontrol show job {}", "scancel {}", "squeue --json", "sinfo", "sdiag",
                 "scontrol reconfigure", "scontrol show config"):
        c.run(line.format(held), timeout=300).ok()
    assert c.run("srun -N2 -n4 echo here", timeout=300).ok().count("here") == 4
    for job in (*jobs, array):
        eventually(lambda: not c.run(f"squeue -h -j {job}").stdout, f"the end of {job}", 600)
    c.stop()
    assert not reports(c, "slurmctld"), "\n".join(reports(c, "slurmctld")[:60])
