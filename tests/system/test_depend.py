# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs that depend on others: --dependency and its output in listings (X-10)."""
import signal

import pytest

from harness import eventually


def gated(cluster, name, *options, status=0):
    """A job that runs until its gate is opened."""
    gate = cluster.work / name
    gate.unlink(missing_ok=True)
    job = cluster.sbatch("-o", "/dev/null", *options, wrap=f"while [ ! -e {gate} ]; do sleep 0.05; done; exit {status}")
    return job, gate


def waiting(cluster, dependency, *options):
    return cluster.sbatch("-o", "/dev/null", "-d", dependency, *options, wrap="true")


def shown(cluster, job):
    return cluster.run(f"squeue -h -j {job} -o %E|%r").ok().strip()


def is_over(cluster, job, state="COMPLETED"):
    assert cluster.wait(job)["JobState"] == state


@pytest.mark.parametrize("dependency", ["afterok:999999", "afterok", "soon:1", "afterok:1,afterok:1?afterok:1", "afterok:1+5"])
def test_bad_ones_are_refused(cluster, dependency):
    for line in (["sbatch", "-d", dependency, "--wrap", "true"], ["srun", "-d", dependency, "true"],
                 ["salloc", "-d", dependency, "true"]):
        cluster.run(line).fails("Job dependency problem")


def test_each_kind_waits_for_its_end(cluster):
    job, gate = gated(cluster, "kinds")
    kinds = {kind: waiting(cluster, f"{kind}:{job}") for kind in ("afterok", "afternotok", "afterany", "afterburstbuffer", "aftercorr")}
    for kind, waiter in kinds.items():
        assert shown(cluster, waiter) == f"{kind}:{job}(unfulfilled)|Dependency"
    is_over(cluster, waiting(cluster, f"after:{job}"))
    later = waiting(cluster, f"after:{job}+10")
    fields = cluster.job(kinds["afterok"])
    assert (fields["Dependency"], fields["Reason"], fields["EligibleTime"]) == (f"afterok:{job}(unfulfilled)", "Dependency", "Unknown")
    assert cluster.run(f"squeue -h -j {kinds['afterok']} -O Dependency").ok().strip() == f"afterok:{job}(unfulfilled)"[:20]
    told = cluster.json(f"squeue --json -j {kinds['afterok']}")["jobs"][0]
    assert told["dependency"] == f"afterok:{job}(unfulfilled)"
    gate.touch()
    for kind in ("afterok", "afterany", "afterburstbuffer", "aftercorr"):
        is_over(cluster, kinds[kind])
    eventually(lambda: shown(cluster, kinds["afternotok"]) == f"afternotok:{job}(failed)|DependencyNeverSatisfied", "it is told")
    assert cluster.job(kinds["afterok"])["Dependency"] == "(null)"
    assert shown(cluster, later) == f"after:{job}+10(unfulfilled)|Dependency"
    for left in (kinds["afternotok"], later):
        cluster.run(f"scontrol update JobId={left} Dependency=").ok()
        is_over(cluster, left)


def test_a_repeated_dependency_is_shown_once(cluster):
    job, gate = gated(cluster, "repeated")
    waiter = waiting(cluster, f"afterok:{job}:{job},afterany:{job},afterok:{job}")
    assert shown(cluster, waiter) == f"afterok:{job}(unfulfilled),afterany:{job}(unfulfilled)|Dependency"
    cluster.run(f"scontrol update JobId={waiter} Dependency=singleton,singleton,afterok:{job}").ok()
    assert shown(cluster, waiter) == f"singleton(unfulfilled),afterok:{job}(unfulfilled)|Dependency"
    cluster.run(f"scontrol update JobId={waiter} Dependency=afterok:{job}:{job}").ok()
    gate.touch()
    is_over(cluster, waiter)


def test_any_is_enough_and_kill_ends_what_can_never_be(cluster):
    bad, bad_gate = gated(cluster, "bad", status=3)
    good, good_gate = gated(cluster, "good")
    either = waiting(cluster, f"afterok:{bad}?afterok:{good}")
    both = waiting(cluster, f"afterok:{bad}:{good}")
    killed = waiting(cluster, f"afterok:{bad}", "--kill-on-invalid-dep=yes")
    failing = waiting(cluster, f"afternotok:{bad}")
    bad_gate.touch()
    is_over(cluster, failing)
    is_over(cluster, killed, "CANCELLED")
    assert cluster.job(killed)["Reason"] == "DependencyNeverSatisfied"
    assert shown(cluster, either) == f"afterok:{bad}(failed)?afterok:{good}(unfulfilled)|Dependency"
    good_gate.touch()
    is_over(cluster, either)
    eventually(lambda: shown(cluster, both) == f"afterok:{bad}(failed),afterok:{good}(fulfilled)|DependencyNeverSatisfied", "told")
    cluster.run(f"scancel {both}").ok()


def test_srun_and_salloc_wait_and_jobs_see_it(cluster):
    job, gate = gated(cluster, "waits")
    p = cluster.popen(["srun", "-d", f"afterok:{job}", "echo", "ran"])
    eventually(lambda: f"afterok:{job}(unfulfilled)" in cluster.run("squeue -h -t PD -o %E").stdout, "srun's job waits")
    gate.touch()
    out, _ = p.communicate(timeout=60)
    assert (p.returncode, out.strip()) == (0, "ran")
    text = cluster.run(["salloc", "-Q", "-d", f"afterany:{job}", "sh", "-c", "echo $SLURM_JOB_DEPENDENCY"]).ok()
    assert text.strip() == f"afterany:{job}"


def test_singletons_run_one_at_a_time(cluster):
    first, gate = gated(cluster, "single", "-J", "only")
    others = [waiting(cluster, "singleton", "-J", "only") for _ in range(3)]
    is_over(cluster, waiting(cluster, "singleton", "-J", "another"))
    assert [shown(cluster, job) for job in others] == ["singleton(unfulfilled)|Dependency"] * 3
    gate.touch()
    ends = [cluster.wait(job) for job in others]
    assert all(end["JobState"] == "COMPLETED" for end in ends)
    for before, after in zip(ends, ends[1:]):
        assert before["EndTime"] <= after["StartTime"]


def test_circles_are_refused(cluster):
    job, gate = gated(cluster, "circle")
    a = waiting(cluster, f"afterok:{job}")
    b = waiting(cluster, f"afterok:{a}")
    cluster.run(f"scontrol update JobId={a} Dependency=afterok:{b}").fails("Job dependency problem", "itself")
    assert cluster.job(a)["Dependency"] == f"afterok:{job}(unfulfilled)"
    gate.touch()
    is_over(cluster, a)
    is_over(cluster, b)


def test_a_killed_controller_remembers(make_cluster):
    c = make_cluster(conf="MinJobAge=2\n")
    done = c.sbatch("-o", "/dev/null", wrap="true")
    job, gate = gated(c, "remember")
    waiter = waiting(c, f"afterok:{done}:{job}")
    c.wait(done)
    eventually(lambda: c.run(f"scontrol show job {done}").returncode != 0, "it is purged")
    c.kill("slurmctld", signal.SIGKILL)
    c.start_controller()
    c.wait_ready()
    assert shown(c, waiter) == f"afterok:{job}(unfulfilled)|Dependency"
    gate.touch()
    eventually(lambda: c.run(f"scontrol show job {waiter}").returncode != 0 or c.state(waiter) == "COMPLETED", "it ran")
    c.stop()


def test_kill_invalid_depend_ends_jobs(make_cluster):
    c = make_cluster(conf="DependencyParameters=kill_invalid_depend\n")
    bad = c.sbatch("-o", "/dev/null", "-H", wrap="true")
    ended, stays = waiting(c, f"afterok:{bad}"), waiting(c, f"afterok:{bad}", "--kill-on-invalid-dep=no")
    c.run(f"scancel {bad}").ok()
    is_over(c, ended, "CANCELLED")
    assert shown(c, stays) == f"afterok:{bad}(failed)|DependencyNeverSatisfied"
    c.run(f"scancel {stays}").ok()
    c.stop()


def test_elements_of_an_array(cluster):
    """-d afterok:123_4 waits only for this element; whole arrays are shown as in Slurm."""
    gate = cluster.work / "element"
    gate.unlink(missing_ok=True)
    array = cluster.sbatch("-o", "/dev/null", "--array=1-3",
                           wrap=f"srun true; while [ ! -e {gate}$SLURM_ARRAY_TASK_ID ]; do sleep 0.05; done; "
                                "exit $((SLURM_ARRAY_TASK_ID == 2))")
    first, second = (waiting(cluster, f"afterok:{array}_{i}") for i in (1, 2))
    badly, corr = waiting(cluster, f"afternotok:{array}_2"), waiting(cluster, f"aftercorr:{array}_1")
    every, same = waiting(cluster, f"afterany:{array}"), waiting(cluster, f"afterany:{array}_*")
    assert shown(cluster, first) == f"afterok:{array}_1(unfulfilled)|Dependency"
    assert shown(cluster, every) == shown(cluster, same) == f"afterany:{array}_*(unfulfilled)|Dependency"
    assert f"Dependency=afterok:{array}_1(unfulfilled)" in cluster.run(f"scontrol show job {first}").ok()
    cluster.run(["sbatch", "-d", f"afterok:{array}_4", "--wrap", "true"]).fails("has no such element")
    cluster.run(["sbatch", "-d", f"afterok:{first}_1", "--wrap", "true"]).fails("is not a job array")
    eventually(lambda: f"{array}_2.batch" in cluster.run("squeue -h -s -o %i").ok().split(), "steps name their elements")
    (cluster.work / "element1").touch()
    is_over(cluster, first)
    is_over(cluster, corr)
    assert shown(cluster, second) == f"afterok:{array}_2(unfulfilled)|Dependency"
    (cluster.work / "element2").touch()
    eventually(lambda: shown(cluster, second) == f"afterok:{array}_2(failed)|DependencyNeverSatisfied", "its element has failed")
    is_over(cluster, badly)
    assert shown(cluster, every).startswith("afterany")
    late = waiting(cluster, f"afterok:{array}_1")
    is_over(cluster, late)
    (cluster.work / "element3").touch()
    is_over(cluster, every)
    is_over(cluster, same)
    cluster.run(f"scancel {second}").ok()


def test_each_element_waits_for_its_own(make_cluster):
    """-d aftercorr between arrays: element by element, and those that never can say so."""
    cluster = make_cluster()
    gate = cluster.work / "corr"
    script = f"while [ ! -e {gate}$SLURM_ARRAY_TASK_ID ]; do sleep 0.05; done; exit $((SLURM_ARRAY_TASK_ID == 2))"
    first = cluster.sbatch("-o", "/dev/null", "--array=1-4", wrap=script)
    second = cluster.sbatch("-o", "/dev/null", "--array=1-5", "-d", f"aftercorr:{first}", wrap="true")

    def state(element):
        """Returns the state, the reason and the dependencies of the record that has one."""
        for line in cluster.run(f"squeue -h -r -t all -j {second} -o %i|%T|%r|%E").ok().splitlines():
            name, *rest = line.split("|")
            if name == f"{second}_{element}":
                return rest
        return None

    never = ["PENDING", "DependencyNeverSatisfied", f"aftercorr:{first}_*(failed)"]
    waits = ["PENDING", "Dependency", f"aftercorr:{first}_*(unfulfilled)"]
    eventually(lambda: state(5) == never, "the first array has no fifth element")
    (cluster.work / "corr3").touch()
    eventually(lambda: state(3) and state(3)[0] == "COMPLETED", "the third goes on alone")
    assert state(1) == state(2) == state(4) == waits
    (cluster.work / "corr2").touch()
    eventually(lambda: state(2) == never, "what it waited for has failed")
    assert state(1) == state(4) == waits
    cluster.kill("slurmctld")
    cluster.start_controller()
    cluster.wait_ready()
    (cluster.work / "corr1").touch()
    (cluster.work / "corr4").touch()
    eventually(lambda: [state(i) and state(i)[0] for i in (1, 3, 4)] == ["COMPLETED"] * 3, "the others go on")
    assert state(2) == state(5) == never
    cluster.run(f"scancel {second}").ok()
    ends = cluster.sbatch("-o", "/dev/null", "--array=2-3", "-d", f"aftercorr:{first}", "--kill-on-invalid-dep=yes", wrap="true")
    eventually(lambda: sorted(cluster.run(f"squeue -h -t all -j {ends} -o %T").ok().split()) == ["CANCELLED", "COMPLETED"],
               "what can never be is ended")
    cluster.run(["sbatch", "-d", "aftercorr:999999", "--wrap=true"]).fails("does not exist or has been purged")
    cluster.stop()
