#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that speaks PMI-1 as MPICH's library does, written from the protocol: a parent, or a child that it has spawned.

Debian's MPICH asks nobody: its device (ch4:ucx) has no MPI_Open_port, which MPI_Comm_spawn begins with.

    spawn N         N children                      two          two commands with operands of their own
    info KEY VALUE  two children, with that         again N      one child after the other
    other PROGRAM   that program                    much N       N children, which is too many
    endless         operands without end            leave        its child goes on until there is a file "go"
    names           a child publishes a name        code         a child that exits with 3
    child-abort     and the parent waits            child-kill   and the parent waits
    child-code      a child that exits with 3, and the parent waits
    parent-kill     and the child waits             wait         both wait
    deep            a child spawns another
"""
import os
import select
import signal
import socket
import sys

SELF = os.path.abspath(__file__)
server = socket.socket(fileno=os.dup(int(os.environ["PMI_FD"])))
answers = server.makefile("r")


def ask(line):
    server.sendall(line.encode() + b"\n")
    return dict(word.split("=", 1) for word in answers.readline().split())


def block(count, program, *operands, total=1, number=1, info=(), preput=()):
    yield f"mcmd=spawn\nnprocs={count}\nexecname={program}\ntotspawns={total}\nspawnssofar={number}"
    yield from (f"arg{i}={word}" for i, word in enumerate(operands, 1))
    yield f"argcnt={len(operands)}\npreput_num={len(preput)}"
    yield from (f"preput_key_{i}={k}\npreput_val_{i}={v}" for i, (k, v) in enumerate(preput))
    yield f"info_num={len(info)}"
    yield from (f"info_key_{i}={k}\ninfo_val_{i}={v}" for i, (k, v) in enumerate(info))
    yield "endcmd"


PORT = (("PARENT_ROOT_PORT_NAME", "tag#0$description#x y$"),)


def spawn(*blocks):
    return int(ask("\n".join(line for b in blocks for line in b))["rc"])


def children(count, *operands, **more):
    code = spawn(block(count, SELF, "child", *operands, preput=PORT, **more))
    assert code == 0, code


def say(*words):
    """In one piece: parent and child are two commands that write to one pipe."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def wait():
    while True:
        signal.pause()


def child(what, *rest):
    assert os.environ["PMI_SPAWNED"] == "1"
    server.sendall(b"cmd=get kvsname=x key=PARENT_ROOT_PORT_NAME\n")
    port = answers.readline().split("value=")[1].strip()
    rank, size, app = os.environ["PMI_RANK"], os.environ["PMI_SIZE"], ask("cmd=get_appnum")["appnum"]
    ask("cmd=barrier_in")
    if what == "say":
        say(f"child {rank} of {size}, command {app}, on {os.environ['SLURMD_NODENAME']} in {os.getcwd()}:",
            *(f"<{word}>" for word in (port, *rest)))
    elif what == "leave":
        while not os.path.exists("go"):
            signal.sigtimedwait([signal.SIGUSR1], 0.02)
        say("child leaves")
    elif what == "names":
        assert ask("cmd=publish_name service=server port=here")["rc"] == "0"
        assert ask("cmd=lookup_name service=of-parent")["port"] == "there"
        assert ask("cmd=unpublish_name service=of-parent")["rc"] == "-1"  # it is another one's
    elif what == "deep":
        children(1, "say")
    elif what == "abort":
        ask("cmd=abort exitcode=9")
    elif what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "wait":
        say("child waits", os.getppid())
        wait()
    ask("cmd=finalize")
    sys.exit(3 if what == "code" else 0)


def endless():
    server.sendall(b"mcmd=spawn\nnprocs=1\nexecname=x\n")
    for i in range(100000):
        server.sendall(b"arg%d=%s\n" % (i, b"x" * 1000))
    return ask("endcmd")["rc"]


def press(path):
    """Sends spawn requests until the peer reads no more; writes the number of bytes that were accepted."""
    say("presses", os.getpid())
    signal.sigwait([signal.SIGUSR1])
    server.setblocking(False)
    request, taken = ("mcmd=spawn\nnprocs=1\nexecname=x\n" + ("arg1=" + "x" * 4000 + "\n") * 200 + "argcnt=200\nendcmd\n").encode(), 0
    poll = select.poll()
    poll.register(server, select.POLLOUT)
    while taken < 64 << 20 and poll.poll(1000):
        taken += server.send(request[taken % len(request):])
    with open(path, "w") as file:
        print(taken, file=file)


def parent(what="nothing", *rest):
    first = os.environ["PMI_RANK"] == "0"
    if what == "spawn" and first:
        children(rest[0], "say")
    elif what == "two":
        code = spawn(block(2, SELF, "child", "say", "a b", total=2, number=1, preput=PORT),
                     block(1, SELF, "child", "say", "it's; $HOME", "", total=2, number=2, preput=PORT))
        say(f"parent: {code}")
    elif what == "info":
        say("parent:", spawn(block(2, SELF if rest[0] != "path" else "pmi1.py", "child", "say", preput=PORT, info=[rest])))
    elif what == "again":
        for _ in range(int(rest[0])):
            children(1, "say")
    elif what == "other":
        say("parent:", spawn(block(1, rest[0])))
    elif what == "much":
        say("parent:", spawn(block(rest[0], SELF, "child", "say")))
    elif what == "endless":
        say("parent:", endless())
    elif what == "press":
        press(*rest)
    elif what == "names":
        ask("cmd=publish_name service=of-parent port=there")
        children(1, "names")
        while (found := ask("cmd=lookup_name service=server"))["rc"] != "0":
            pass
        say("parent found", found["port"])
    elif what in ("child-abort", "child-kill", "parent-kill", "wait", "deep", "leave", "code", "child-code"):
        children(1, {"parent-kill": "wait"}.get(what, what.removeprefix("child-")))
        if what == "parent-kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "wait":
            say("parent waits")
        if what == "leave":
            say("parent leaves")
        if what.startswith("child-") or what == "wait":
            wait()
    if what == "spawn":
        ask("cmd=barrier_in")
        say("parent", os.environ["PMI_RANK"])
    ask("cmd=finalize")


signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
ask("cmd=init pmi_version=1 pmi_subversion=1")
if sys.argv[1:2] == ["child"]:
    child(*sys.argv[2:])
parent(*sys.argv[1:])
