# SPDX-License-Identifier: GPL-3.0-or-later
"""sdiag: the counters of the controller, in Slurm's lines and Slurm's JSON."""
import re

from harness import eventually

# The lines that programs look for, in their order; a dot ends what is compared.
LINES = """sdiag output at. Data since. Server thread count:. RPC queue enabled:. Agent queue size:. Agent count:. Agent thread count:.
DBD Agent queue size:. Jobs submitted:. Jobs started:. Jobs completed:. Jobs canceled:. Jobs failed:. Job states ts:. Jobs pending:.
Jobs running:. Main schedule statistics (microseconds):. Last cycle:. Max cycle:. Total cycles:. Mean cycle:. Mean depth cycle:.
Last queue length:. Main scheduler exit:. End of job queue:. Hit default_queue_depth:. Hit sched_max_job_start:. Blocked on licenses:.
Hit max_rpc_cnt:. Timeout (max_sched_time):. Backfilling stats. Total backfilled jobs (since last slurm start):.
Total backfilled jobs (since last stats cycle start):. Total backfilled heterogeneous job components:. Total cycles:. Last cycle when:.
Last cycle:. Max cycle:. Mean cycle:. Last depth cycle:. Last depth cycle (try sched):. Depth Mean:. Depth Mean (try depth):.
Last queue length:. Queue length mean:. Last table size:. Mean table size:. Backfill exit. End of job queue:. Hit bf_max_job_start:.
Hit bf_max_job_test:. System state changed:. Hit table size limit (bf_node_space_size):. Timeout (bf_max_time):.
Latency for 1000 calls to gettimeofday():. Remote Procedure Call statistics by message type. Remote Procedure Call statistics by user.
Pending RPC statistics. No pending RPCs. Sluice statistics"""
NUMBERS = {"req_time", "req_time_start", "job_states_ts", "bf_when_last_cycle"}
MEMBERS = """parts_packed server_thread_count agent_queue_size agent_count agent_thread_count dbd_agent_queue_size gettimeofday_latency
schedule_cycle_max schedule_cycle_last schedule_cycle_sum schedule_cycle_total schedule_cycle_mean schedule_cycle_mean_depth
schedule_cycle_per_minute schedule_cycle_depth schedule_queue_length jobs_submitted jobs_started jobs_completed jobs_canceled jobs_failed
jobs_pending jobs_running bf_backfilled_jobs bf_last_backfilled_jobs bf_backfilled_het_jobs bf_cycle_counter bf_cycle_mean bf_depth_mean
bf_depth_mean_try bf_cycle_sum bf_cycle_last bf_cycle_max bf_last_depth bf_last_depth_try bf_depth_sum bf_depth_try_sum bf_queue_len
bf_queue_len_mean bf_queue_len_sum bf_table_size bf_table_size_sum bf_table_size_mean""".split()


def statistics(cluster):
    return cluster.json("sdiag")["statistics"]


def test_counters_follow_jobs_and_requests(cluster):
    cluster.run("sdiag --reset").ok()
    head = cluster.sbatch("-N4", "--exclusive", "-t", "30", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: cluster.state(head) == "RUNNING", "running")
    waits = [cluster.sbatch("-N4", "--exclusive", "-t", "30", "-o", "/dev/null", wrap="true") for _ in range(2)]
    array = int(cluster.run("sbatch --parsable -H --array=1-5 -o /dev/null --wrap true").ok())
    said = eventually(lambda: statistics(cluster)["bf_cycle_counter"] and statistics(cluster), "a pass that backfilled")
    assert said["jobs_submitted"] == 8 and said["jobs_started"] == 1 and said["jobs_pending"] == 7 and said["jobs_running"] == 1
    assert said["schedule_cycle_total"] >= said["bf_cycle_counter"] and said["schedule_cycle_depth"] >= said["bf_depth_sum"] > 0
    cluster.run(f"scancel {head} {waits[0]} {waits[1]} {array}").ok()
    cluster.wait(head)
    job = cluster.sbatch("-o", "/dev/null", wrap="exit 3")
    cluster.wait(job)
    said = statistics(cluster)
    assert (said["jobs_canceled"], said["jobs_completed"], said["jobs_failed"]) == (8, 1, 0)
    rpcs = {r["message_type"]: r for r in said["rpcs_by_message_type"]}
    assert rpcs["REQUEST_SUBMIT_BATCH_JOB"]["count"] == 5 and rpcs["REQUEST_SUBMIT_BATCH_JOB"]["type_id"] == 4003
    assert sum(u["count"] for u in said["rpcs_by_user"]) == sum(r["count"] for r in rpcs.values())


def test_output_has_the_lines_and_members_of_slurm(cluster):
    cluster.run("scontrol ping").ok()
    text = cluster.run("sdiag").ok()
    at = 0
    for line in re.split(r"\.\s+", LINES.replace("\n", " ")):
        if line not in ("Mean cycle:", "Mean depth cycle:", "Depth Mean:", "Depth Mean (try depth):", "Queue length mean:", "Mean table size:"):
            at = text.find(line, at)
            assert at >= 0, f"'{line}' is missing, or not in its place, in\n{text}"
    assert re.search(r"^\tREQUEST_PING  +\( 1008\) count:\d+ +ave_time:\d+ +total_time:\d+$", text, re.M)
    said = statistics(cluster)
    for name in MEMBERS:
        assert isinstance(said[name], int), name
    for name in NUMBERS:
        assert set(said[name]) == {"set", "infinite", "number"}
    assert said["bf_active"] in (True, False) and said["pending_rpcs"] == said["pending_rpcs_by_hostlist"] == []


def test_components_started_by_backfill(cluster):
    """HET-128: the line, and the member of --json."""
    head = cluster.sbatch("-N3", "--exclusive", "-t", "30", "-o", "/dev/null", wrap="sleep 1000")
    eventually(lambda: cluster.state(head) == "RUNNING", "running")
    waits = cluster.sbatch("-N4", "--exclusive", "-t", "30", "-o", "/dev/null", wrap="true")
    before = statistics(cluster)["bf_backfilled_het_jobs"]
    job = int(cluster.run("sbatch --parsable -t 1 -n1 -o /dev/null : -n1 : -n1 --wrap true").ok())
    cluster.wait(job)
    assert statistics(cluster)["bf_backfilled_het_jobs"] == before + 3
    assert f"\tTotal backfilled heterogeneous job components: {before + 3}\n" in cluster.run("sdiag").ok()
    cluster.run(f"scancel {waits} {head}").ok()


def test_orders_of_requests(cluster):
    cluster.run("squeue").ok(), cluster.run("squeue").ok(), cluster.run("sinfo").ok()

    def rows(option):
        return [tuple(map(int, r)) for r in re.findall(r"\( *(\d+)\) count:(\d+) +ave_time:(\d+) +total_time:(\d+)",
                                                      cluster.run(f"sdiag {option}").ok().split("by user")[0])]
    for option, key in (("", lambda r: -r[1]), ("-i", lambda r: r[0]), ("-t", lambda r: -r[3]), ("-T", lambda r: -r[2])):
        keys = [key(row) for row in rows(option)]
        assert len(keys) > 2 and keys == sorted(keys), option


def test_reset_is_for_operators(cluster):
    cluster.run("sinfo").ok()
    cluster.run("sdiag --reset", user="nobody").fails("denied")
    assert any(r["message_type"] == "REQUEST_NODE_INFO" for r in statistics(cluster)["rpcs_by_message_type"])
    cluster.run("sdiag -r").ok()
    said = statistics(cluster)
    assert said["jobs_submitted"] == said["schedule_cycle_max"] == 0
    assert not any(r["message_type"] == "REQUEST_NODE_INFO" for r in said["rpcs_by_message_type"])


def test_sdiag_is_for_all_users_and_names_invalid_options(cluster):
    assert "Jobs submitted:" in cluster.run("sdiag", user="nobody").ok()
    cluster.run("sdiag -Z").fails("Z")
    cluster.run("sdiag extra").fails("Unrecognized option: extra")
    assert cluster.run("sdiag --help").ok() == cluster.run("sdiag -h").ok()
