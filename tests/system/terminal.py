# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading output and typing input as it arrives, on pipes and terminals."""
import os
import pty
import select
import subprocess
import time

from harness import DEADLINE


def read_until(stream, text):
    """Returns the output of a pipe up to and including this text, and the output that arrived with it."""
    got, end = "", time.monotonic() + DEADLINE
    while text not in got:
        assert time.monotonic() < end, got
        if select.select([stream], [], [], 1)[0]:
            piece = os.read(stream.fileno(), 65536).decode(errors="replace")
            assert piece, f"{text!r} is not in {got!r}"
            got += piece
    return got


class Terminal:
    """A command on a terminal of its own, in a session of its own."""

    def __init__(self, cluster, argv, user=None, cwd=None, env=None):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(["setsid", "-c", "-w", *cluster.argv(argv, user)], stdin=slave, stdout=slave,
                                        stderr=slave, env=cluster.environment(**(env or {})), cwd=cwd or cluster.work)
        os.close(slave)
        self.seen = ""

    def type(self, text):
        os.write(self.master, text.encode())

    def until(self, text):
        """Returns the output up to and including this text; later output is kept."""
        end = time.monotonic() + DEADLINE
        while text not in self.seen:
            assert time.monotonic() < end, self.seen
            if select.select([self.master], [], [], 1)[0]:
                self.seen += self.read(text)
        before, _, self.seen = self.seen.partition(text)
        return before + text

    def read(self, text):
        try:
            return os.read(self.master, 65536).decode(errors="replace")
        except OSError as gone:  # EIO: no process has the terminal open any more
            raise AssertionError(f"the command ended before {text!r} was seen: {self.seen!r}") from gone

    def hang_up(self):
        os.close(self.master)

    def close(self):
        """Waits for the command's end; its status."""
        status = self.process.wait(DEADLINE)
        os.close(self.master)
        return status
