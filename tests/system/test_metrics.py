# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP on the ports of daemons: probes of slurmctld and slurmd, and the metrics of slurmctld in the form of OpenMetrics; X-26, HRES-52."""
import http.client
import re
import socket

import pytest

from harness import DEADLINE, eventually

CONF = "MetricsType=metrics/openmetrics\nLicenses=lic:5\n"
ENDPOINTS = "jobs jobs-users-accts licenses nodes partitions scheduler".split()
RESOURCES = """---
- resource: power
  mode: MODE_2
  layers:
    - nodes: ["n[1-2]"]
      count: 100
    - nodes: ["n[1-4]"]
      count: 150
"""


def get(port, path, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


LOCAL = """import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"GET " + sys.argv[2].encode() + b" HTTP/1.0\\r\\n\\r\\n")
print(s.makefile().readline().split()[1])
"""


def get_local(cluster, path, user=None):
    """The status of a request on the local socket, where the kernel names the caller."""
    program = cluster.work / "local.py"
    program.write_text(LOCAL)
    return int(cluster.run(f"/usr/bin/python3 {program} {next((cluster.dir / 'run').glob('slurmctld*'))} {path}", user=user).ok())


def read(cluster, endpoint):
    """Returns the families of an endpoint: {name: {labels: value}}. Each is declared once, before its samples, which are adjacent."""
    answer, text = get(cluster.port, f"/metrics/{endpoint}")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert text.endswith("# EOF\n")
    families, name = {}, None
    for line in text.splitlines()[:-1]:
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert name not in families and re.fullmatch("slurm_[a-z_]+", name) and len(line.split()) > 3
            families[name] = {}
        elif line.startswith("# TYPE "):
            assert line == f"# TYPE {name} gauge"
        else:
            sample, value = re.fullmatch(rf'{name}(?:\{{(\w+="(?:[^"\\]|\\.)*"(?:,\w+="(?:[^"\\]|\\.)*")*)\}})? (\d+|\+Inf)', line).groups()
            families[name][sample or ""] = float(value)
    assert all(families.values()), "a family without samples"
    return families


def count(cluster, line):
    return len(cluster.run(line).ok().splitlines())


@pytest.fixture
def metered(make_cluster):
    cluster = make_cluster(nodes=4, conf=CONF, partitions=["PartitionName=main Nodes=ALL Default=YES", "PartitionName=half Nodes=n[1-2]"], start=False)
    (cluster.dir / "resources.yaml").write_text(RESOURCES)
    cluster.start()
    return cluster


def test_metrics_are_what_squeue_and_sinfo_show(metered):
    c = metered
    c.run("scontrol update NodeName=n4 State=DRAIN Reason=test").ok()
    runs = [c.sbatch("-n1", "--mem=200", "-L", "lic:2", wrap="sleep 1000"), c.sbatch("-p", "half", "-n2", "--mem=300", "-A", "physics", "-L", "power:30", wrap="sleep 1000")]
    for job in runs:
        c.wait_state(job, "RUNNING")
    c.sbatch("-N3-4", "--exclusive", "-p", "main,half", wrap="true")
    c.sbatch("-H", "-N2", "--array=1-5", "-p", "half", wrap="true")
    c.wait(c.sbatch("-t", "1", wrap="exit 3"))  # short enough to be backfilled
    eventually(lambda: read(c, "jobs")["slurm_jobs_failed"][""] == 1 and read(c, "jobs")["slurm_jobs_completing"][""] == 0, "fresh figures")
    jobs = {name: value[""] for name, value in read(c, "jobs").items()}
    assert jobs["slurm_jobs"] == count(c, "squeue -h -r -t all") == 9
    for word, state in {"pending": "PD", "running": "R", "failed": "F", "completed": "CD", "cancelled": "CA", "timeout": "TO", "suspended": "S"}.items():
        assert jobs[f"slurm_jobs_{word}"] == count(c, f"squeue -h -r -t {state}"), word
    assert jobs["slurm_jobs_hold"] == 5
    assert jobs["slurm_jobs_cpus_alloc"] == sum(int(n) for n in c.run("squeue -h -t R -o %C").ok().split()) == 3
    assert jobs["slurm_jobs_memory_alloc"] == 500 * 2**20 and jobs["slurm_jobs_nodes_alloc"] == 2

    nodes = read(c, "nodes")
    words = [word.rstrip("-") for word in c.run("sinfo -h -N -p main -o %T").ok().split()]  # '-': planned for a pending job
    for word, said in {"idle": "idle", "mixed": "mixed", "alloc": "allocated", "drained": "drained", "draining": "draining", "down": "down"}.items():
        planned = words.count("planned") if word == "idle" else 0  # which are idle nodes
        assert nodes[f"slurm_nodes_{word}"][""] == words.count(said) + planned, word
    assert nodes["slurm_nodes"][""] == len(words) == 4 and nodes["slurm_nodes_drained"][""] == 1
    for record in c.json("scontrol show nodes --json")["nodes"]:
        def figure(name, label=f'node="{record["name"]}"'):
            return nodes[f"slurm_node_{name}"][label]
        assert figure("cpus") == record["cpus"] and figure("cpus_effective") == record["effective_cpus"] and figure("cpus_alloc") == record["alloc_cpus"]
        assert figure("cpus_idle") == record["effective_cpus"] - record["alloc_cpus"]
        assert figure("memory_bytes") == record["real_memory"] * 2**20 == figure("memory_effective_bytes")
        assert figure("memory_alloc_bytes") == record["alloc_memory"] * 2**20 and figure("memory_free_bytes") > 0

    parts = read(c, "partitions")
    assert parts["slurm_partitions"][""] == 2
    for name in ("main", "half"):
        label = f'partition="{name}"'
        assert parts["slurm_partition_nodes"][label] == count(c, f"sinfo -h -N -p {name}")
        assert parts["slurm_partition_jobs_pending"][label] == count(c, f"squeue -h -r -t PD -p {name}")
        assert parts["slurm_partition_jobs_running"][label] == count(c, f"squeue -h -r -t R -p {name}") == 1
        # Held jobs are not looked at: the array asks for 2 nodes.
        assert parts["slurm_partition_jobs_max_job_nodes_nohold"][label] == 4
        assert parts["slurm_partition_jobs_min_job_nodes_nohold"][label] == 3
    assert parts["slurm_partition_nodes_drained"] == {'partition="main"': 1, 'partition="half"': 0}

    owners = read(c, "jobs-users-accts")
    assert owners["slurm_user_jobs"] == {'username="root"': 9} and owners["slurm_user_jobs_hold"] == {'username="root"': 5}
    assert owners["slurm_account_jobs_running"] == {'account="physics"': 1}

    scheduler = eventually(lambda: (now := read(c, "scheduler"))["slurm_bf_cycle_cnt"][""] > 0 and now, "a job is planned")
    said = c.json("sdiag")["statistics"]
    assert scheduler["slurm_sched_jobs_submitted"][""] == said["jobs_submitted"] == 9
    assert scheduler["slurm_sched_jobs_running"][""] == said["jobs_running"] and scheduler["slurm_sched_jobs_pending"][""] == said["jobs_pending"]
    assert 0 < scheduler["slurm_sched_cycle_cnt"][""] <= said["schedule_cycle_total"] and scheduler["slurm_bf_active"][""] == 0
    assert 0 < scheduler["slurm_bf_cycle_cnt"][""] <= said["bf_cycle_counter"] and scheduler["slurm_sched_cycle_last"][""] > 0


def test_metrics_have_each_license_and_layer(metered):
    """HRES-52: /metrics exposes the use of each layer."""
    c = metered
    job = c.sbatch("-w", "n1", "-L", "lic:2", "-L", "lic:2,power:30", wrap="sleep 1000")
    c.wait_state(job, "RUNNING")
    licenses = eventually(lambda: (said := read(c, "licenses"))["slurm_license_used"]['license="lic"'] and said, "fresh figures")
    shown = c.run("scontrol -o show licenses").ok().splitlines()
    for line in shown:
        fields = dict(word.split("=") for word in line.split())
        layer = "Nodes" in fields
        prefix = "slurm_license_layer_" if layer else "slurm_license_"
        label = f'license="{fields["LicenseName"]}"' + (f',nodes="{fields["Nodes"]}"' if layer else "")
        for name in ("Total", "Used", "Free", "Reserved"):
            assert licenses[prefix + name.lower()][label] == float(fields[name])
    assert len(shown) == 3 and licenses["slurm_license_layer_used"] == {'license="power",nodes="n[1-2]"': 30, 'license="power",nodes="n[1-4]"': 30}


def test_http_probes_report_readiness(metered):
    c = metered
    answer, text = get(c.port, "/")
    assert answer.status == 200 and text.split()[2:] == ["/healthz", "/livez", "/readyz", "/metrics", *(f"/metrics/{e}" for e in ENDPOINTS)]
    assert get(c.port, "/metrics")[1].split() == ["/metrics", *(f"/metrics/{e}" for e in ENDPOINTS)]
    node = int(c.node("n1")["Port"])
    for port, name, check in ((c.port, "slurmctld", "lead"), (node, "slurmd", "registration")):
        assert [get(port, path)[1] for path in ("/healthz", "/livez", "/readyz")] == ["ok\n", "ok\n", f"{name} is ready\n"]
        assert get(port, "/readyz?verbose")[1] == f"[+] {check}: ok\n{name} is ready\n"
        assert get(port, "/other")[0].status == 404 and get(port, "/healthz", "POST")[0].status == 405
        answer, text = get(port, "/healthz", "HEAD")
        assert answer.status == 200 and answer.headers["Content-Length"] == "3" and not text
    assert get(node, "/metrics/jobs")[0].status == 404
    c.run("scontrol shutdown slurmctld").ok()
    assert c.daemons.pop("slurmctld").wait(DEADLINE) == 0
    eventually(lambda: get(node, "/readyz")[0].status == 503, "a node daemon that is not ready")
    assert get(node, "/livez")[0].status == 200


def send(port, data, piece=None):
    """What the daemon answers to these bytes until it closes, which come in pieces."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
        try:
            for at in range(0, len(data), piece or len(data)):
                s.sendall(data[at:at + (piece or len(data))])
        except (ConnectionResetError, BrokenPipeError):
            pass
        said = b""
        try:
            while more := s.recv(65536):
                said += more
        except ConnectionResetError:
            pass
        return said


def test_requests_are_bounded_and_the_port_serves_on(metered):
    c = metered
    whole = b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
    assert send(c.port, whole, 1) == send(c.port, whole) and send(c.port, whole).startswith(b"HTTP/1.1 200 OK\r\n")
    assert send(c.port, whole * 3).count(b"HTTP/1.1") == 1  # one request a connection
    assert send(c.port, b"GET /" + b"a" * 2000 + b" HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 414 ")
    assert send(c.port, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 100000).startswith(b"HTTP/1.1 431 ")
    assert send(c.port, b"GET /\x00 HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert send(c.port, b"GET / HTTP/3\r\n\r\n").startswith(b"HTTP/1.1 505 ")
    assert not send(c.port, b"get / HTTP/1.1\r\n\r\n" + b"x" * 100).startswith(b"HTTP")  # neither a frame nor a request
    c.run("scontrol ping").ok()
    assert "is UP" in c.run("scontrol ping").ok()


def test_private_metrics_are_for_those_who_may_read_them(make_cluster):
    """slurm.conf(5), MetricsAuthUsers, MetricsParameters and PrivateData."""
    c = make_cluster(nodes=1, conf="MetricsType=metrics/openmetrics\nPrivateData=jobs\n")
    assert get(c.port, "/metrics/jobs")[0].status == 401 and get(c.port, "/livez")[0].status == 200
    assert get_local(c, "/metrics/jobs") == 200
    assert get_local(c, "/metrics/jobs", "nobody") == 403
    text = c.conf_file.read_text()
    c.conf_file.write_text(text + "MetricsParameters=ignore_private_data\n")
    c.run("scontrol reconfigure").ok()
    assert get(c.port, "/metrics/jobs")[0].status == 200
    c.conf_file.write_text(text + "MetricsParameters=ignore_private_data\nMetricsAuthUsers=daemon,nobody\n")
    c.run("scontrol reconfigure").ok()
    assert get(c.port, "/metrics/jobs")[0].status == 401
    eventually(lambda: get_local(c, "/metrics/jobs", "nobody") == 200, "a user of the list")
    c.conf_file.write_text(text + "MetricsParameters=ignore_private_data\nMetricsAuthUsers=nobod,NOBODY\n")
    c.run("scontrol reconfigure").ok()
    eventually(lambda: get_local(c, "/metrics/jobs", "nobody") == 403, "a user who is not of the list")
    c.conf_file.write_text(text.replace("metrics/openmetrics", "metrics/none"))
    c.run("scontrol reconfigure").ok()
    assert get_local(c, "/metrics/jobs") == 404 == get(c.port, "/metrics")[0].status


def test_disabled_http_is_no_protocol(make_cluster):
    c = make_cluster(nodes=1, conf="MetricsType=metrics/openmetrics\nCommunicationParameters=disable_http\n")
    for port in (c.port, int(c.node("n1")["Port"])):
        assert not send(port, b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n").startswith(b"HTTP")
    c.conf_file.write_text(c.conf_file.read_text().replace("metrics/openmetrics", "metrics/other"))
    assert "'metrics/other' is not one of: metrics/none metrics/openmetrics" in c.run("slurmctld --check").stderr
