# SPDX-License-Identifier: GPL-3.0-or-later
"""A person at a terminal: a command in a session of its own that a pseudo terminal controls."""
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

from harness import DEADLINE


class Terminal:
    """Use with 'with': what still runs at its end is hung up on, and waited for."""

    def __init__(self, cluster, command, user=None, rows=24, columns=80, **keys):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.seen = ""  # all that was shown, up to now
        self.modes = termios.tcgetattr(slave)  # as they were before
        self.process = subprocess.Popen(cluster.argv(command, user), stdin=slave, stdout=slave, stderr=slave, cwd=cluster.work,
                                        env=cluster.environment(**keys), start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.slave = slave  # kept: the modes can be read when the command is gone

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.slave)
        os.close(self.master)
        self.process.wait(DEADLINE)

    def type(self, text):
        os.write(self.master, text.encode())

    def until(self, text):
        """Reads until it was shown; what was before it, and the text. The next call begins after it."""
        end = time.monotonic() + DEADLINE
        while text not in self.seen:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                raise AssertionError(f"{text!r} was not shown: {self.seen!r}")
            try:
                got = os.read(self.master, 65536)
            except OSError:  # everybody has closed it
                got = b""
            assert got, f"the terminal is closed; {text!r} was not shown: {self.seen!r}"
            self.seen += got.decode(errors="replace")
        before, _, self.seen = self.seen.partition(text)
        return before + text

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def restored(self):
        """Whether the modes are those from before."""
        return termios.tcgetattr(self.slave) == self.modes

    def end(self):
        """The exit status."""
        return self.process.wait(DEADLINE)
