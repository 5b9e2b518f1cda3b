# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters whose steps are in control groups of the kernel, in a tree of their own below the real ones."""
import contextlib
import os
import pathlib
import time

from harness import Cluster

TOP = pathlib.Path("/sys/fs/cgroup")
EXTRA = ("io", "pids", "rdma", "hugetlb", "misc")
V1 = ("freezer", "memory", "cpuset", "devices", "cpuacct")


class Groups:
    """A directory that looks as a mount point does: links into directories of the real trees, which are removed with it."""

    def __init__(self, cluster, version):
        self.cluster, self.version = cluster, version
        self.mount = cluster.dir / "cgroup"
        self.mount.mkdir()
        self.trees = {}
        for name in V1 if version == 1 else ("unified",):
            real = TOP / name
            if version == 2 and (TOP / "cgroup.controllers").exists():
                real = TOP
            tree = real / cluster.dir.name
            try:
                tree.mkdir()
            except OSError:
                continue  # lacks() tells
            self.trees[name] = tree
            for word in [f"+{name}" for name in ("cpuset", "memory", *EXTRA)] if version == 2 else ():
                with contextlib.suppress(OSError):  # lacks() tells
                    (real / "cgroup.subtree_control").write_text(word)
            (self.mount / name).symlink_to(tree)
            if name == "cpuset":
                for file in ("cpuset.mems", "cpuset.cpus"):
                    (tree / file).write_text((real / file).read_text())

    @property
    def base(self):
        """Of node n1, in the tree where processes are."""
        if self.version == 1:
            return self.trees["freezer"] / "slurm_n1"
        return self.trees["unified"] / "system.slice/n1_slurmstepd.scope"

    def of(self, tree):
        return self.trees[tree] / "slurm_n1"

    def jobs(self):
        """Directories of jobs, wherever they are, below their trees."""
        found = set()
        for tree in self.trees.values():
            for path, below, _ in os.walk(tree):  # which may change meanwhile
                found.update(os.path.relpath(os.path.join(path, name), tree) for name in below if name.startswith("job_"))
        return sorted(found)

    def processes(self):
        found = []
        for tree in self.trees.values():
            for path, _, _ in os.walk(tree):
                with contextlib.suppress(OSError):
                    found += [int(pid) for pid in pathlib.Path(path, "cgroup.procs").read_text().split()]
        return found

    def destroy(self):
        """Removes the directories from the bottom up, as soon as the kernel has forgotten their processes."""
        end = time.monotonic() + 10
        for tree in self.trees.values():
            for path in [*sorted(tree.glob("**/"), reverse=True)]:
                while time.monotonic() < end:
                    with contextlib.suppress(OSError):
                        os.rmdir(path)
                    if not path.exists():
                        break


def lacks(version, *trees):
    """Why a test of this version and these controllers cannot run here; None: it can."""
    if os.geteuid() != 0:
        return "control groups are root's"
    if version == 1:
        missing = [t for t in trees or V1 if not (TOP / t / "cgroup.procs").exists()]
        return f"no {', '.join(missing)} in {TOP}" if missing else None
    places = [p for p in (TOP, TOP / "unified") if (p / "cgroup.controllers").exists()]
    if not places:
        return f"no cgroup2 at {TOP}"
    missing = [t for t in trees if t not in (places[0] / "cgroup.controllers").read_text().split()]
    return f"no {', '.join(missing)} in {places[0]}/cgroup.controllers" if missing else None


@contextlib.contextmanager
def cluster(version, cgroup_conf="", conf="", start=True, **more):
    """Two CPUs at most: the smallest machine has two, and with two the cores can be distinguished."""
    c = Cluster(start=False, conf="# cgroup: SLUICE_TEST_CGROUP is not for this one\n" + conf, **{"nodes": 1, "cpus": min(2, os.cpu_count()), **more})
    groups = c.groups = Groups(c, version)
    try:
        (c.dir / "cgroup.conf").write_text(f"CgroupMountpoint={groups.mount}\nCgroupPlugin=cgroup/v{version}\nEnableControllers=yes\n{cgroup_conf}")
        if start:
            c.start()
        yield c
        c.stop()
    finally:
        c.destroy()
