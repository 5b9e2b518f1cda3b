# SPDX-License-Identifier: GPL-3.0-or-later
"""SLURM_* variables of one job in every context: Slurm's guide to prologs and epilogs, srun(1), sbatch(1)."""
from harness import eventually

SITE = ("PrologSlurmctld", "Prolog", "Epilog", "EpilogSlurmctld")
TASK = ("TaskProlog",)
USER = ("script", "step") + TASK
ALL = SITE + USER
# variable -> value, and the contexts that have it; all others do not
WANT = {
    "SLURM_CLUSTER_NAME": ("test", ALL),
    "SLURM_JOB_ID": ("{job}", ALL),
    "SLURM_JOBID": ("{job}", ALL),
    "SLURM_JOB_SLUID": ("{sluid}", ALL),
    "SLURM_JOB_NAME": ("a-name", ALL),
    "SLURM_JOB_PARTITION": ("main", ALL),
    "SLURM_JOB_NODELIST": ("n1", ALL),
    "SLURM_JOB_NUM_NODES": ("1", ALL),
    "SLURM_JOB_CPUS_PER_NODE": ("{cpus}", ALL),
    "SLURM_JOB_START_TIME": ("{start}", ALL),
    "SLURM_JOB_LICENSES": ("lic:2", ALL),
    "SLURM_JOB_COMMENT": ("a-comment", SITE),
    "SLURM_JOB_EXTRA": ("more", SITE),
    "SLURM_JOB_OVERSUBSCRIBE": ("NO", SITE),
    "SLURM_JOB_EXCLUSIVE": ("NODE", SITE),
    "SLURM_JOB_WORK_DIR": ("{work}", SITE),
    "SLURM_JOB_RESTART_COUNT": ("0", SITE),
    "SLURM_NTASKS": ("2", ("Prolog", "Epilog") + USER),
    "SLURM_NNODES": ("1", USER),
    "SLURM_GTIDS": ("0,1", ("step",) + TASK),
    "SLURM_GTID": ("0,1", TASK),
    "SLURM_RLIMIT_NOFILE": ("{files}", TASK),
    "SLURM_RLIMIT_CORE": ("0", TASK),
    "SLURM_JOB_EXIT_CODE": ("512", ("Epilog", "EpilogSlurmctld")),
    "SLURM_JOB_DERIVED_EC": ("768", ("Epilog", "EpilogSlurmctld")),
}


def test_variables_of_every_context(make_cluster):
    c = make_cluster(nodes=1, conf="Licenses=lic:4", start=False)
    for context in SITE + TASK:
        path = c.dir / context
        folder = c.work if context in TASK else c.dir
        path.write_text(f"#!/bin/sh\nenv >{folder}/env.{context}.$$\nmv {folder}/env.{context}.$$ {folder}/env.{context}\n")
        path.chmod(0o755)
        with c.conf_file.open("a") as f:
            f.write(f"{context}={path}\n")
    c.start()
    options = "-N1 -n2 -J a-name --comment=a-comment --extra=more --exclusive -t 10 -L lic:2 -o out"
    job = c.sbatch(*options.split(), wrap="srun -n1 sh -c 'exit 3'; ulimit -c 0; env >env.script; srun -n2 sh -c 'env >env.step.$SLURM_PROCID'; "
                                          "mv env.step.0 env.step; ulimit -n >files; exit 2")
    sluid = c.run(["squeue", "-h", "-t", "all", "-j", str(job), "-o", "%s"]).ok().strip()
    fields = c.wait(job)
    start, end = (int(c.run(["date", "-d", fields[key], "+%s"]).ok()) for key in ("StartTime", "EndTime"))
    facts = {"job": job, "sluid": sluid, "work": c.work, "start": start, "cpus": fields["NumCPUs"], "files": (c.work / "files").read_text().strip()}
    for context in ALL:
        path = (c.dir if context in SITE else c.work) / f"env.{context}"
        eventually(path.exists, f"what {context} sees")
        seen = dict(line.partition("=")[::2] for line in path.read_text().splitlines())
        began = int(seen["SLURM_JOB_START_TIME"]) if context == "PrologSlurmctld" else start
        assert start - 60 < began <= start, context  # the job's time counts from the end of PrologSlurmctld on
        for name, (value, contexts) in WANT.items():
            expected = value.format(**{**facts, "start": began}) if context in contexts else None
            if name == "SLURM_GTIDS" and context == "script":
                continue
            assert seen.get(name) == expected, (context, name)
        ends = {"EpilogSlurmctld": (end,), "Epilog": (end, start + 600)}.get(context, (began + 600,))
        assert int(seen["SLURM_JOB_END_TIME"]) in ends, context  # a node may begin the epilog before the controller knows the end
