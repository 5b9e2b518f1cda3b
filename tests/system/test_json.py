# SPDX-License-Identifier: GPL-3.0-or-later
"""--json and --yaml have the members and types that Slurm's data parser is published with."""
import json
import types

import pytest
import yaml

from harness import Cluster, eventually

# member:type. s text, i integer, f any number, b truth, n {set, infinite, number}, l list, o object, x exit code
JOB = """account:s accrue_time:n admin_comment:s allocating_node:s array_job_id:n array_task_id:n array_max_tasks:n array_task_string:s
association_id:i batch_features:s batch_flag:b batch_host:s flags:l burst_buffer:s burst_buffer_state:s cluster:s cluster_features:s command:s
comment:s container:s container_id:s contiguous:b core_spec:i thread_spec:i cores_per_socket:n billable_tres:n cpus_per_task:n
cpu_frequency_minimum:n cpu_frequency_maximum:n cpu_frequency_governor:n cpus_per_tres:s cron:s deadline:n delay_boot:n dependency:s
derived_exit_code:x eligible_time:n end_time:n excluded_nodes:s exit_code:x extra:s failed_node:s features:s federation_origin:s
federation_siblings_active:s federation_siblings_viable:s gres_detail:l group_id:i group_name:s het_job_id:n het_job_id_set:s het_job_offset:n
job_id:i job_resources:o job_size_str:l job_state:l last_sched_evaluation:n licenses:s licenses_allocated:s mail_type:l mail_user:s max_cpus:n
max_nodes:n mcs_label:s memory_per_tres:s name:s network:s nodes:s nice:i tasks_per_core:n tasks_per_tres:n tasks_per_node:n tasks_per_socket:n
tasks_per_board:n cpus:n node_count:n tasks:n partition:s prefer:s memory_per_cpu:n memory_per_node:n minimum_cpus_per_node:n
minimum_tmp_disk_per_node:n power:o preempt_time:n preemptable_time:n pre_sus_time:n hold:b priority:n priority_by_partition:l profile:l qos:s
reboot:b required_nodes:s required_switches:i requeue:b resize_time:n restart_cnt:i resv_name:s scheduled_nodes:s segment_size:i
selinux_context:s shared:l sockets_per_board:i sockets_per_node:n start_time:n state_description:s state_reason:s standard_error:s
standard_input:s standard_output:s stderr_expanded:s stdin_expanded:s stdout_expanded:s submit_line:s submit_time:n suspend_time:n
system_comment:s time_limit:n time_minimum:n threads_per_core:n tres_bind:s tres_freq:s tres_per_job:s tres_per_node:s tres_per_socket:s
tres_per_task:s tres_req_str:s tres_alloc_str:s user_id:i user_name:s maximum_switch_wait_time:i wckey:s current_working_directory:s"""
NODE = """architecture:s burstbuffer_network_address:s boards:i boot_time:n cluster_name:s cores:i specialized_cores:i cpu_binding:i cpu_load:i
free_mem:n cpus:i effective_cpus:i specialized_cpus:s energy:o external_sensors:o extra:s power:o features:l active_features:l gpu_spec:s gres:s
gres_drained:s gres_used:s instance_id:s instance_type:s last_busy:n mcs_label:s specialized_memory:i name:s next_state_after_reboot:l address:s
hostname:s state:l operating_system:s owner:s partitions:l port:i real_memory:i res_cores_per_gpu:i comment:s reason:s reason_changed_at:n
reason_set_by_user:s resume_after:n reservation:s alloc_memory:i alloc_cpus:i alloc_idle_cpus:i tres_used:s tres_weighted:f slurmd_start_time:n
sockets:i threads:i temporary_disk:i topology:s weight:i tres:s cert_flags:l version:s"""
PART = """nodes.allowed_allocation:s nodes.configured:s nodes.total:i accounts.allowed:s accounts.deny:s groups.allowed:s qos.allowed:s qos.deny:s
qos.assigned:s alternate:s tres.billing_weights:s tres.configured:s cluster:s select_type:l cpus.task_binding:i cpus.total:i
defaults.memory_per_cpu:i defaults.partition_memory_per_cpu:n defaults.partition_memory_per_node:n defaults.time:n defaults.job:s grace_time:i
maximums.cpus_per_node:n maximums.cpus_per_socket:n maximums.memory_per_cpu:i maximums.partition_memory_per_cpu:n
maximums.partition_memory_per_node:n maximums.nodes:n maximums.shares:i maximums.oversubscribe.jobs:i maximums.oversubscribe.flags:l
maximums.time:n maximums.over_time_limit:n minimums.nodes:i name:s node_sets:s priority.job_factor:i priority.tier:i timeouts.resume:n
timeouts.suspend:n topology:s partition.state:l suspend_time:n"""
RESV = """accounts:s burst_buffer:s core_count:i core_specializations:l end_time:n features:s flags:l groups:s licenses:s max_start_delay:i name:s
node_count:i node_list:s partition:s purge_completed.time:n start_time:n watts:n tres:s users:s"""
STEP = """time.elapsed:i time.end:n time.start:n time.limit:n time.suspended:i time.system.seconds:i time.system.microseconds:i time.total.seconds:i
time.total.microseconds:i time.user.seconds:i time.user.microseconds:i exit_code:x nodes.count:i nodes.range:s nodes.list:l tasks.count:i pid:s
CPU.requested_frequency.min:n CPU.requested_frequency.max:n CPU.governor:s kill_request_user:s state:l statistics.CPU.actual_frequency:i
statistics.energy.consumed:n step.id.sluid:s step.id.job_id:n step.id.step_het_component:n step.id.step_id:s step.name:s task.distribution:s
tres.requested.max:l tres.requested.min:l tres.requested.average:l tres.requested.total:l tres.consumed.max:l tres.consumed.min:l
tres.consumed.average:l tres.consumed.total:l tres.allocated:l array.job_id:i array.task_id:n cluster:s container:s network:s partition:s
reserved_ports:s srun.host:s srun.pid:i submit_line:s user:s"""
META = """plugin.type:s plugin.name:s plugin.data_parser:s plugin.accounting_storage:s client.source:s client.user:s client.group:s command:l
slurm.version.major:s slurm.version.micro:s slurm.version.minor:s slurm.release:s slurm.cluster:s"""
RESOURCES = "select_type:l nodes.count:i nodes.select_type:l nodes.list:s nodes.whole:b nodes.allocation:l cpus:i threads_per_core:n"
NUMBER = {"set": bool, "infinite": bool, "number": (int, float)}


def number(n):
    return {"set": True, "infinite": False, "number": n}


def is_number(value):
    return isinstance(value, dict) and value.keys() == NUMBER.keys() and all(isinstance(value[k], t) for k, t in NUMBER.items())


CHECKS = {"s": lambda v: isinstance(v, str), "i": lambda v: isinstance(v, int) and not isinstance(v, bool), "b": lambda v: isinstance(v, bool),
          "f": lambda v: isinstance(v, (int, float)), "n": is_number, "l": lambda v: isinstance(v, list), "o": lambda v: isinstance(v, dict),
          "x": lambda v: isinstance(v["status"], list) and is_number(v["return_code"]) and is_number(v["signal"]["id"])
          and isinstance(v["signal"]["name"], str)}


def check(record, table):
    wrong = []
    for row in table.split():
        path, kind = row.split(":")
        value = record
        for name in path.split("."):
            value = value[name] if name in value else KeyError
        if value is KeyError or not CHECKS[kind](value):
            wrong.append(f"{row} is {value!r}")
    assert not wrong, "\n".join(wrong)


@pytest.fixture(scope="module")
def cluster():
    c = Cluster(conf="GresTypes=gpu", node_conf="Gres=gpu:2", start=False)
    try:
        (c.dir / "gres.conf").write_text("Name=gpu Count=2 File=/dev/null,/dev/zero\n")
        c.start()
        yield c
        c.stop()
    finally:
        c.destroy()


@pytest.fixture(scope="module")
def scene(cluster):
    running = cluster.sbatch("-N2", "-t", "10", "-o", "/dev/null", "--mail-type=END,TIME_LIMIT_80", "--mem=200M", "--gres=gpu:2",
                             "--cpu-freq=low-high:OnDemand", "--array=7", wrap="srun -n2 -N2 -t 5 -J inner --mem=50M --gres=gpu:1 sleep 1000")
    eventually(lambda: f"{running}_7.0" in cluster.run("squeue -h -s -o %i").ok(), "its step runs")
    held = int(cluster.run("sbatch --parsable -H --array=1-9%2 -o /dev/null --wrap true").ok())
    failed = cluster.sbatch("-o", "/dev/null", wrap="kill -9 $$")
    cluster.wait(failed)
    cluster.run("scontrol create reservation ReservationName=r1 StartTime=now+36000 Duration=60 Users=root Nodes=n4").ok()
    yield types.SimpleNamespace(running=running, held=held, failed=failed)
    cluster.run("scontrol delete reservation r1")
    cluster.run(f"scancel {running} {held}")
    cluster.wait(running)


@pytest.mark.parametrize("command,what,table", [
    ("squeue -t all", "jobs", JOB), ("scontrol show job", "jobs", JOB), ("scontrol show node", "nodes", NODE), ("sinfo", "nodes", NODE),
    ("scontrol show partition", "partitions", PART), ("scontrol show reservation", "reservations", RESV), ("sinfo -T", "reservations", RESV),
    ("squeue --steps", "steps", STEP), ("scontrol show step", "steps", STEP)], ids=lambda text: text.partition(":")[0])
def test_members_and_types(cluster, scene, command, what, table):
    said = cluster.json(command)
    assert said[what]
    for record in said[what]:
        check(record, table)
    check(said["meta"], META)
    assert said["errors"] == said["warnings"] == [] and is_number(said["last_update"]) and said["last_update"]["number"] > 1000000
    assert what != "jobs" or is_number(said["last_backfill"])


def test_values_of_jobs(cluster, scene):
    running, held, failed = scene.running, scene.held, scene.failed
    jobs = {j["job_id"]: j for j in cluster.json("squeue -t all")["jobs"]}
    job = jobs[running]
    assert job["array_job_id"] == number(running) and job["array_task_id"] == number(7)
    assert jobs[failed]["array_job_id"] == number(0) and jobs[failed]["array_task_id"]["set"] is False
    assert job["gres_detail"] == ["gpu:2(IDX:0-1)"] * 2
    assert [job[f"cpu_frequency_{n}"]["number"] for n in ("minimum", "maximum", "governor")] == [0x80000001, 0x80000003, 0x84000000]
    assert job["mail_type"] == ["END", "TIME=80%"] and job["time_limit"]["number"] == 10 and not job["hold"]
    check(job["job_resources"], RESOURCES)
    assert [n["name"] for n in job["job_resources"]["nodes"]["allocation"]] == ["n1", "n2"]
    assert jobs[held]["array_job_id"]["number"] == held and jobs[held]["array_task_string"] == "1-9%2" and jobs[held]["hold"]
    assert jobs[held]["array_max_tasks"]["number"] == 2
    cluster.run(f"scontrol update JobId={held} AdminComment=seen").ok()
    assert cluster.json(f"squeue -j {held}")["jobs"][0]["admin_comment"] == "seen"
    assert jobs[failed]["exit_code"]["status"] == ["SIGNALED"] and jobs[failed]["exit_code"]["signal"] == {
        "id": {"set": True, "infinite": False, "number": 9}, "name": "KILL"}


def test_values_of_steps(cluster, scene):
    steps = {s["step"]["id"]["step_id"]: s for s in cluster.json(f"squeue --steps={scene.running}")["steps"]}
    batch, inner = steps["batch"], steps["0"]
    assert inner["step"]["name"] == "inner" and inner["step"]["id"]["job_id"] == number(scene.running) and inner["state"] == ["RUNNING"]
    assert inner["nodes"] == {"count": 2, "range": "n[1-2]", "list": ["n1", "n2"]} and inner["tasks"]["count"] == 2
    assert inner["time"]["limit"] == number(5) and inner["time"]["end"] == number(0) and batch["time"]["limit"]["infinite"]
    assert inner["array"] == {"job_id": scene.running, "task_id": number(7)} and inner["task"]["distribution"] == "Cyclic"
    assert inner["srun"]["pid"] == int(inner["pid"]) > 0 and "sleep 1000" in inner["submit_line"] and inner["user"] == "root"
    assert inner["CPU"] == {"requested_frequency": {"min": number(0x80000001), "max": number(0x80000003)}, "governor": "OnDemand"}
    allocated = {(t["type"], t["name"]): (t["id"], t["count"]) for t in inner["tres"]["allocated"]}
    assert allocated == {("cpu", ""): (1, 2), ("mem", ""): (2, 100), ("node", ""): (4, 2), ("gres", "gpu"): (0, 2)}
    assert batch["nodes"]["list"] == ["n1"] and batch["task"]["distribution"] == "Unknown"


def test_flags_of_states(cluster, scene):
    """A state of a job or node is the base state followed by the flags."""
    job = cluster.sbatch("-o", "/dev/null", "-w", "n3", wrap="sleep 1000")
    eventually(lambda: cluster.state(job) == "RUNNING", "running")
    cluster.run(f"scancel -s STOP {job}").ok()
    cluster.run("scontrol update NodeName=n3 State=DRAIN Reason=x ResumeAfter=7000").ok()
    record = cluster.json(f"squeue -j {job}")["jobs"][0]
    assert record["job_state"] == ["RUNNING", "STOPPED"]
    node = cluster.json("scontrol show node n3")["nodes"][0]
    assert node["state"] == ["MIXED", "DRAIN"] and node["resume_after"]["number"] > node["reason_changed_at"]["number"]
    cluster.run("scontrol update NodeName=n3 State=RESUME").ok()
    cluster.run(f"scancel {job}").ok()


@pytest.mark.parametrize("command", ["squeue -t all", "squeue --steps", "sinfo", "scontrol show node", "scontrol show partition",
                                     "scontrol show reservation", "scontrol show step"])
def test_yaml_has_the_content_of_json(cluster, scene, command):
    def stable(said):
        """Removes the times of the listing and of running jobs."""
        del said["last_update"], said["meta"]["command"]
        for record in (r for value in said.values() if isinstance(value, list) for r in value):
            for key in ("time", "last_busy", "free_mem", "cpu_load", "last_sched_evaluation", "end_time"):
                record.pop(key, None)
        said.pop("last_backfill", None)
        return said
    assert stable(yaml.safe_load(cluster.run(f"{command} --yaml").ok())) == stable(cluster.json(command))


def test_forms_of_the_output(cluster, scene):
    assert "Possible data_parser plugins:\ndata_parser/v0.0." in cluster.run("squeue --json=list").ok()
    for version in ("v0.0.40", "data_parser/v0.0.41", "v0.0.43+prefer_refs"):
        assert json.loads(cluster.run(f"sinfo --json={version}").ok())["nodes"]
    cluster.run("squeue --json=v9").fails("unknown data parser 'v9'")
    compact = cluster.run("squeue --json", env={"SLURM_JSON": "compact"}).ok()
    assert "\n" not in compact and json.loads(compact)["jobs"]
    assert cluster.run("sinfo --yaml", env={"SLURM_YAML": "compact"}).ok().count("\n") < cluster.run("sinfo --yaml").ok().count("\n") / 4
