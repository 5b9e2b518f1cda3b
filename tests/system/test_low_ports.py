# SPDX-License-Identifier: GPL-3.0-or-later
"""CORE-230: daemons listen on reserved ports (<1024), which only processes of root may open."""
import pathlib
import pwd
import re
import signal

from harness import eventually, free_ports
from test_takeover import Pair

BIND_SERVICE = 1 << 10


def low_ports(count):
    return free_ports(count, 600, 1000)


def rights(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {name: int(value, 16) for name, value in re.findall(r"^Cap(\w+):\s+(\w+)$", text, re.M)}


def user_of(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return pwd.getpwuid(int(re.search(r"^Uid:\s+(\d+)", text, re.M)[1])).pw_name


def test_daemons_listen_on_reserved_ports(make_cluster):
    """CORE-230: Of root, as the controller of 2002 was."""
    c = make_cluster(nodes=1, ports=low_ports(2))
    assert c.run("srun -n1 echo there").ok() == "there"
    assert c.wait(c.sbatch(wrap="true"))["JobState"] == "COMPLETED"


def test_slurmuser_listens_on_low_ports(make_cluster):
    """SlurmUser has the right to listen there and no other right of root; it keeps the right across takeovers, and programs that the controller runs
    for the site do not have it."""
    ports = low_ports(2)
    pair = Pair(make_cluster, user="daemon", nodes=1, ports=ports, conf="")
    c = pair.c
    held = {"Inh": 0, "Prm": BIND_SERVICE, "Eff": BIND_SERVICE, "Amb": 0}
    pid = c.daemons["slurmctld"].pid
    assert user_of(pid) == "daemon" and {k: rights(pid)[k] for k in held} == held
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert children and not any(rights(child)["Eff"] or rights(child)["Prm"] for child in children)
    c.run("scontrol takeover").ok()
    pair.leads("backup")
    eventually(lambda: rights(pid)["Eff"] == BIND_SERVICE, "the same process begins anew")
    eventually(lambda: {k: rights(pid)[k] for k in held} == held, "nothing is handed on to what it executes")
    assert user_of(pid) == "daemon"
    c.kill("backup", signal.SIGTERM)
    pair.leads("localhost")
    none = dict.fromkeys(held, 0)

    def helpers():
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    eventually(lambda: helpers() and all({k: rights(child)[k] for k in held} == none for child in helpers()),
               lambda: f"what it has started has no right, and can get none: {[rights(child) for child in helpers()]}")
    assert c.run("srun -n1 echo there").ok() == "there"
