# SPDX-License-Identifier: GPL-3.0-or-later
"""Very many batch jobs in little time: requests packed here, over one connection to the controller's local socket."""
import os
import socket
import struct

SUBMIT = 2
WINDOW = 64  # requests that wait for their answer, as many as one connection may have


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def field(number, value):
    """Of a message: a number, or bytes, or text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def request(name, work):
    """A SubmitRequest as sbatch makes it of a small script, with an environment like that of a login."""
    spec = b"".join([field(1, name), field(5, work), field(6, f"{work}/{name}"), field(8, "/dev/null"), field(33, 1), field(35, 1),
                     field(38, "localhost"), field(39, 1), field(51, os.urandom(16)), field(57, f"sbatch {name}")])
    environment = b"".join(field(3, f"VARIABLE_{i}={'x' * 40}") for i in range(20))
    payload = field(1, "#!/bin/sh\nexec true\n") + environment + field(5, 0o22)
    return field(1, spec) + field(2, payload)


def answer(connection):
    """The job id of the next one."""
    head = connection.read(24)
    flags, _, length = struct.unpack("<HHI", head[8:16])
    body = connection.read(length)
    assert flags == 1 and body[0] == 0x08, f"refused: {body}"
    number = shift = 0
    for byte in body[1:]:
        number |= (byte & 0x7f) << shift
        shift += 7
        if not byte & 0x80:
            return number


def submit(cluster, count):
    """Returns the ids of N acknowledged jobs; all of them are pending except those for which the nodes have enough resources."""
    ids, sent = [], 0
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(str(cluster.dir / "run/slurmctld"))
        with s.makefile("rb") as connection:
            while len(ids) < count:
                while sent < count and sent - len(ids) < WINDOW:
                    body = request(f"job{sent}.sh", str(cluster.work))
                    s.sendall(struct.pack("<4sHHHHIQ", b"SLUI", 1, SUBMIT, 0, 0, len(body), sent + 1) + body)
                    sent += 1
                ids.append(answer(connection))
    return ids
