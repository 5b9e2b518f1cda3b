# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's SQLite file from outside: records read, changed and spoiled, as a test needs them."""
import contextlib
import sqlite3
import struct

META, JOB, PAYLOAD, NODE, PART, MADE = range(1, 7)

_TABLE = []
for _n in range(256):
    for _ in range(8):
        _n = _n >> 1 ^ (0x82F63B78 if _n & 1 else 0)
    _TABLE.append(_n)


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def checksum(kind, key, data):
    if isinstance(key, str):
        return crc32c(struct.pack("<I", kind) + key.encode() + b"\0" + data)
    return crc32c(struct.pack("<IQ", kind, key) + data)


def varint(n):
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """A field of a packed message: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields_in(data):
    """The last value of each field of a packed message, by number: of varints and of bytes."""
    found, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        key = number()
        if key & 7 == 0:
            found[key >> 3] = number()
        else:
            size = number() if key & 7 == 2 else 8 if key & 7 == 1 else 4
            found[key >> 3] = data[at:at + size]
            at += size
    return found


class State:
    """Records by (kind, number or name) of a controller that does not run."""

    def __init__(self, cluster):
        self.path = cluster.dir / "state/state.db"

    @contextlib.contextmanager
    def open(self):
        db = sqlite3.connect(self.path)
        try:
            yield db
            db.commit()
        finally:
            db.close()

    def get(self, kind, key):
        with self.open() as db:
            if isinstance(key, str):
                row = db.execute("SELECT data FROM named WHERE kind = ? AND name = ?", (kind, key)).fetchone()
            else:
                row = db.execute(f"SELECT data FROM numbered_{kind} WHERE id = ?", (key,)).fetchone()
        return row and bytes(row[0])

    def put(self, kind, key, data, good=True):
        """good False: with a checksum that does not fit."""
        total = checksum(kind, key, data) ^ (not good)
        with self.open() as db:
            if isinstance(key, str):
                db.execute("INSERT OR REPLACE INTO named(kind, name, sum, data) VALUES(?,?,?,?)", (kind, key, total, data))
            else:
                db.execute(f"INSERT OR REPLACE INTO numbered_{kind}(id, sum, data) VALUES(?,?,?)", (key, total, data))

    def add(self, kind, key, more):
        """Appends to the record: if a field is given twice, the last value counts."""
        self.put(kind, key, self.get(kind, key) + more)

    def spoil(self, kind, key):
        self.put(kind, key, self.get(kind, key), good=False)

    def drop(self, kind, key):
        with self.open() as db:
            if isinstance(key, str):
                db.execute("DELETE FROM named WHERE kind = ? AND name = ?", (kind, key))
            else:
                db.execute(f"DELETE FROM numbered_{kind} WHERE id = ?", (key,))

    def aside(self):
        """What was set aside: (kind, number or name, why)."""
        with self.open() as db:
            rows = db.execute("SELECT kind, number, name, why FROM damaged ORDER BY rowid").fetchall()
        return [(kind, number if name is None else name, why) for kind, number, name, why in rows]
