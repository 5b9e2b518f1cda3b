# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster whose hosts are network namespaces, joined by a switch with ports that can be disconnected; nothing of it is visible outside."""
import ctypes
import functools
import os
import re
import shutil
import subprocess

import pytest

from harness import DEADLINE, ROOT, Cluster, Result

CONTROLLER = "ctl"
ADDRESS = "10.77.0."
PROXY, PROXY_NUMBER = "between", 9


@functools.cache
def missing():
    """Returns what this machine lacks for such a cluster, or None."""
    if not ROOT:
        return "needs root for network namespaces"
    for tool in ("ip", "unshare", "nsenter", "nft"):
        if not shutil.which(tool):
            return f"needs {tool}"
    if subprocess.run(["unshare", "--net", "ip", "link", "add", "b0", "type", "bridge"], capture_output=True).returncode:
        return "needs network namespaces with bridges"
    return None


HOOK = "{ type filter hook input priority 0; }"


def chance(percent):
    return f"numgen random mod 100 < {percent} counter drop"


class Hosts(Cluster):
    """With 'proxied' a host between them carries the connections of others to the last node, and of processes there to srun. 'others' are more
    hosts, with the last numbers of their addresses."""

    def __init__(self, nodes=2, conf="", proxied=False, others=None, **more):
        if missing() and not os.environ.get("CI"):
            pytest.skip(missing())
        super().__init__(nodes=nodes, conf=conf, start=False, **more)
        self.holders = {}  # host -> a process in its namespace
        self.numbers = {CONTROLLER: 1, **(others or {}), **({PROXY: PROXY_NUMBER} if proxied else {})}
        self.numbers.update((name, 10 + i) for i, name in enumerate(self.names))
        self.preload = {}  # host -> what its processes load first, commands too
        self.proxied = proxied
        text = self.conf_file.read_text().replace("localhost(127.0.0.1)", f"{CONTROLLER}({ADDRESS}1)")
        for i, name in enumerate(self.names):
            text = re.sub(rf"(NodeName={name} NodeAddr=)127.0.0.1 Port=\d+", rf"\g<1>{ADDRESS}{10 + i} Port=6818", text)
        if proxied:
            text = text.replace(f"NodeAddr={ADDRESS}{9 + nodes}", f"NodeAddr={ADDRESS}{PROXY_NUMBER}")
        for host in self.numbers:
            (self.dir / f"{host}.conf").write_text(text.replace(f"socketdir={self.dir}/run", f"socketdir={self.dir}/run-{host}"))
        try:
            self.wire()
        except BaseException:
            self.destroy()
            raise

    # --- the network ------------------------------------------------------------------------------------------------
    def hold(self, host):
        self.holders[host] = p = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                                                  stdout=subprocess.PIPE, cwd="/")
        p.stdout.readline()

    def inside(self, host):
        return ["nsenter", "-t", str(self.holders[host].pid), "-n"]

    def ip(self, host, line):
        subprocess.run([*self.inside(host), "ip", *line.split()], check=True, capture_output=True)

    def wire(self):
        self.hold("switch")
        self.ip("switch", "link add b0 type bridge")
        self.ip("switch", "link set b0 up")
        for host, number in self.numbers.items():
            self.hold(host)
            self.ip("switch", f"link add {host} type veth peer name eth0 netns {self.holders[host].pid}")
            self.ip("switch", f"link set {host} master b0")
            self.ip(host, "link set lo up")
            self.ip(host, f"addr add {ADDRESS}{number}/24 dev eth0")
            self.ip(host, "link set eth0 up")
            self.plug(host)

    def pull(self, host):
        """Disconnects the host's port of the switch: no packet passes, and neither side is notified."""
        self.ip("switch", f"link set {host} down")

    def plug(self, host):
        self.ip("switch", f"link set {host} up")

    def lose(self, sender, receiver):
        """Loses packets in one direction: packets from the sender to the receiver go to a station that does not exist."""
        self.ip(sender, f"neigh replace {ADDRESS}{self.numbers[receiver]} lladdr 02:00:00:00:00:99 dev eth0 nud permanent")

    def deliver(self, sender, receiver):
        self.ip(sender, f"neigh del {ADDRESS}{self.numbers[receiver]} dev eth0")

    def part(self, one, other):
        """Separates two hosts; both still reach all others."""
        self.lose(one, other)
        self.lose(other, one)

    def join(self, one, other):
        self.deliver(one, other)
        self.deliver(other, one)

    def narrow(self, host, largest):
        """Larger packets vanish on their way to and from it, without a word; 1500: none."""
        for end in (host, CONTROLLER):
            self.ip(end, "link set eth0 gso_max_segs 1")
        self.ip("switch", f"link set {host} mtu {largest}")

    def nft(self, host, line):
        return subprocess.run([*self.inside(host), "nft", line], check=True, capture_output=True, text=True).stdout

    def drop(self, percent):
        """Of each hundred packets that come to a host as many are lost, by chance."""
        for host in self.numbers:
            self.ip(host, "link set eth0 gso_max_segs 1")  # a packet is what goes over a wire
            self.nft(host, "add table ip loss")
            self.nft(host, f"add chain ip loss input {HOOK}")
            self.nft(host, f'add rule ip loss input iifname "eth0" {chance(percent)}')

    def dropped(self):
        return sum(int(n) for host in self.numbers for n in re.findall(r"counter packets (\d+)", self.nft(host, "list ruleset")))

    def enter(self, host):
        """Takes the calling thread, and the threads it starts, into the host's network."""
        with open(f"/proc/{self.holders[host].pid}/ns/net") as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0):
                raise OSError(ctypes.get_errno(), "setns")

    # --- commands and daemons, each on a host -----------------------------------------------------------------------
    def there(self, host):
        env = {"SLURM_CONF": str(self.dir / f"{host}.conf")}
        if host in self.preload:
            env["LD_PRELOAD"] = self.preload[host]
        return env

    def run(self, line, host=CONTROLLER, env=None, timeout=DEADLINE, **more):
        argv = [*self.inside(host), *self.argv(line, None)]
        done = subprocess.run(argv, text=True, capture_output=True, cwd=self.work, errors="replace", timeout=timeout,
                              env=self.environment(**{**self.there(host), **(env or {})}), input=more.get("stdin", ""))
        return Result(argv, done.returncode, done.stdout, done.stderr)

    def popen(self, line, host=CONTROLLER, env=None, **more):
        return super().popen([*self.inside(host), *self.argv(line, None)], env={**self.there(host), **(env or {})}, **more)

    def spawn(self, name, argv):
        host = CONTROLLER if name == "slurmctld" else name
        log = open(self.dir / f"{name}.stderr", "ab")
        self.daemons[name] = subprocess.Popen([*self.inside(host), *map(str, argv)], stdin=subprocess.DEVNULL, stdout=log,
                                              stderr=log, cwd=self.dir, env=self.environment(**self.there(host)),
                                              start_new_session=True)
        log.close()

    def destroy(self):
        super().destroy()
        for holder in self.holders.values():
            holder.stdin.close()
            holder.kill()
            holder.wait()
            holder.stdout.close()


def wrong_clock(directory):
    """Builds the library that shows a process a wrong clock, which differs by the seconds in the file 'skew' beside it."""
    source, library, skew = directory / "clock.c", directory / "clock.so", directory / "skew"
    source.write_text(r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long skew(void)
{
    char text[32] = "";
    int fd = open(SKEW, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) < 0)
        text[0] = 0;
    close(fd);
    return atol(text);
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    int rc = (int)syscall(SYS_clock_gettime, id, t);

    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        t->tv_sec += skew();
    return rc;
}

time_t time(time_t *out)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    out->tv_sec = t.tv_sec;
    out->tv_usec = t.tv_nsec / 1000;
    return 0;
}
""")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", f'-DSKEW="{skew}"', "-o", library, source], check=True)
    return str(library), skew
