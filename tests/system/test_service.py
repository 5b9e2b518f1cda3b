# SPDX-License-Identifier: GPL-3.0-or-later
"""The daemons as services of a host: units, syslog with its severities: CORE-170, 231, 233."""
import os
import re
import signal
import socket
import subprocess

import pytest

from harness import DEADLINE, PREFIX, ROOT, eventually

UNITS = PREFIX / "lib/systemd/system"
PRIVATE_DEV = """mount -t tmpfs none {dev} && for f in null zero full random urandom tty; do touch {dev}/$f &&
mount --bind /dev/$f {dev}/$f || exit 1; done; mkdir {dev}/shm && mount --rbind {dev} /dev && ln -s {log} /dev/log && exec {command}"""


@pytest.mark.parametrize("daemon", ["slurmctld", "slurmd"])
def test_systemd_units_are_valid(daemon, tmp_path):
    """CORE-170, 231: systemd accepts them without a message; it restarts killed daemons."""
    text = (UNITS / f"{daemon}.service").read_text()
    unit = tmp_path / f"{daemon}.service"
    unit.write_text(text.replace(f"ExecStart={daemon} ", f"ExecStart={PREFIX}/sbin/{daemon} "))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nRestart=on-failure\n" in text
    assert ("\nKillMode=process\n" in text) == (daemon == "slurmd")


@pytest.mark.skipif(not ROOT, reason="needs root: a /dev of its own")
@pytest.mark.parametrize("left_out, added", [
    ("SlurmctldLogFile|SlurmctldDebug", "SlurmctldDebug=info"), ("None", "SlurmctldSyslogDebug=info")])
def test_daemons_log_to_syslog(make_cluster, tmp_path, left_out, added):
    """CORE-233: without a log file, or with syslog configured, a daemon sends the messages of its level to syslog, each line with its severity."""
    c = make_cluster(nodes=1, start=False)
    c.conf_file.write_text(re.sub(rf"({left_out})=.*\n", "", c.conf_file.read_text()) + added + "\n")
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(str(tmp_path / "log"))
    receiver.settimeout(DEADLINE)
    (tmp_path / "dev").mkdir()
    line = PRIVATE_DEV.format(dev=tmp_path / "dev", log=tmp_path / "log", command=PREFIX / "sbin/slurmctld")
    subprocess.run(["unshare", "-m", "sh", "-c", line], env=c.environment(), check=True, timeout=DEADLINE)
    try:
        eventually(lambda: c.run("scontrol ping").returncode == 0, "the controller")
        c.run("scontrol update nodename=n1 state=drain reason=syslog").ok()
    finally:
        os.kill(int((c.dir / "slurmctld.pid").read_text()), signal.SIGTERM)
    said = []
    while not said or "stop" not in said[-1]:
        said.append(receiver.recv(65536).decode())
    form = re.compile(r"<(\d+)>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d slurmctld\[\d+\]: (?s:(.*))")
    facts = [form.fullmatch(text).groups() for text in said]
    assert all(number == {"error": "27", "warning": "28"}.get(text.partition(":")[0], "30") for number, text in facts), facts
    assert not any(text.startswith("debug") for _, text in facts)
