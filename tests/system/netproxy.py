# SPDX-License-Identifier: GPL-3.0-or-later
"""A bad network: a proxy for TCP that parses frames, and drops, delays, reorders, repeats and cuts them on request."""
import select
import socket
import struct
import threading
import time

HEADER = 24
CHANNEL = 32  # the flag of a frame behind which its direction is encrypted
RECORD = -1   # "rpc" of what is seen of an encrypted connection: one record
UP, DOWN = "up", "down"  # to the daemon behind the proxy; from it


class Frame:
    """One whole frame, or record: rpc is its number, index its place among those of its kind and direction on this connection."""
    __slots__ = ("data", "direction", "rpc", "flags", "index", "connection", "kind")

    def __init__(self, data, direction, connection, seen, sealed):
        self.data, self.direction, self.connection = data, direction, connection
        self.rpc, self.flags = (RECORD, 0) if sealed else struct.unpack("<HH", data[6:10])
        self.kind = (direction, self.rpc)
        self.index = seen.get(self.kind, 0)
        seen[self.kind] = self.index + 1


def fields(message):
    """{number: [values]} of a packed message."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(message):
        key = varint()
        value = varint() if key & 7 == 0 else None
        if key & 7 == 2:
            length = varint()
            value, at = message[at:at + length], at + length
        elif value is None:
            at += 8 if key & 7 == 1 else 4
        found.setdefault(key >> 3, []).append(value)
    return found


def number_in(frame, field):
    """The first value of this number in a message's body, of those that are whole numbers; None: there is none."""
    body = frame.data[HEADER + struct.unpack("<H", frame.data[10:12])[0]:]
    return next((value for value in fields(body).get(field, ()) if isinstance(value, int)), None)


class Cut:
    """Forward this number of bytes of the frame, then break the connection, by resets or by an ordinary end."""

    def __init__(self, at, reset=True):
        self.at, self.reset = at, reset


class Later:
    """Delay the frame, and everything after it in its direction."""

    def __init__(self, seconds):
        self.seconds = seconds


class Lose:
    """The frame is lost, and all that follows both ways, as TCP has it; so much later the connection breaks."""

    def __init__(self, seconds):
        self.seconds = seconds


REPEAT, SWAP = "repeat", "swap"  # SWAP: the next frame of this direction overtakes it, if one comes soon
SWAP_PATIENCE = 0.2


def frame_length(data):
    if len(data) < HEADER:
        return None
    token, body = struct.unpack("<HI", data[10:16])
    return HEADER + token + body


class _Way:
    """One direction of a connection."""

    def __init__(self, source, sink, direction):
        self.source, self.sink, self.direction = source, sink, direction
        self.read, self.ready = b"", []  # ready: (when, bytes, whether to cut then)
        self.held, self.held_until = None, 0.0
        self.ended, self.told, self.last_due = False, False, 0.0
        self.sealed = False  # records follow

    def unit_length(self):
        if self.sealed:
            return 2 + struct.unpack(">H", self.read[:2])[0] if len(self.read) >= 2 else None
        return frame_length(self.read)


class _Connection(threading.Thread):
    def __init__(self, proxy, client, number):
        super().__init__(daemon=True)
        self.proxy, self.client, self.number = proxy, client, number
        self.seen, self.broken, self.lost_until = {}, False, None

    def run(self):
        try:
            server = socket.create_connection(self.proxy.target, 10)
        except OSError:
            reset(self.client)
            return
        self.server = server
        for s in (self.client, server):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ways = [_Way(self.client, server, UP), _Way(server, self.client, DOWN)]
        try:
            while not self.broken and not self.proxy.closed and not all(w.told for w in ways):
                self.turn(ways)
        except OSError:
            self.broken = True
        if self.broken or self.proxy.closed:
            reset(self.client)
            reset(server)
        self.client.close()
        server.close()

    def turn(self, ways):
        now = time.monotonic()
        if self.lost_until is not None:
            self.broken = now >= self.lost_until
            if not self.broken:
                select.select([], [], [], min(0.2, self.lost_until - now))
            return
        for way in ways:
            self.forward(way, now)
        if self.broken:
            return
        due = [way.ready[0][0] - now for way in ways if way.ready]
        readable, _, _ = select.select([w.source for w in ways if not w.ended], [], [], max(0, min(due + [0.2])))
        for way in ways:
            if way.source in readable:
                data = way.source.recv(1 << 18)
                way.ended = not data
                way.read += data
                self.take(way)

    def take(self, way):
        while (length := way.unit_length()) is not None and len(way.read) >= length:
            frame = Frame(way.read[:length], way.direction, self.number, self.seen, way.sealed)
            way.sealed = way.sealed or bool(frame.flags & CHANNEL)
            way.read = way.read[length:]
            what = self.proxy.decide(frame)
            due = max(way.last_due, time.monotonic())
            if isinstance(what, Cut):
                self.queue(way, due, (frame.data[:what.at], what))
                return
            if isinstance(what, Lose):
                self.lost_until = time.monotonic() + what.seconds
                return
            if isinstance(what, Later):
                due += what.seconds
            if what == SWAP and way.held is None:
                way.held, way.held_until = frame.data, time.monotonic() + SWAP_PATIENCE
                continue
            data = frame.data * (2 if what == REPEAT else 1)
            if way.held is not None:
                data, way.held = data + way.held, None
            self.queue(way, due, (data, None))

    @staticmethod
    def queue(way, due, what):
        way.last_due = due
        way.ready.append((due, *what))

    def forward(self, way, now):
        if way.held is not None and (way.ended or now >= way.held_until):
            self.queue(way, max(now, way.last_due), (way.held, None))
            way.held = None
        while way.ready and way.ready[0][0] <= now:
            _, data, cut = way.ready.pop(0)
            way.sink.settimeout(30)
            way.sink.sendall(data)
            if cut:
                self.broken = cut.reset
                if not cut.reset:
                    for s in (self.client, self.server):
                        s.shutdown(socket.SHUT_WR)
                    for w in (self.client, self.server):
                        drain(w)
                    self.broken = True
                self.proxy.cuts += 1
                return
        if way.ended and not way.ready and not way.told:
            way.told = True
            way.sink.shutdown(socket.SHUT_WR)


def drain(s):
    """What it still sends, until it has seen the end."""
    s.settimeout(2)
    try:
        while s.recv(65536):
            pass
    except OSError:
        pass


def reset(s):
    """Closes without the courtesy of an end."""
    try:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    s.close()


class Proxy:
    """Listens; forwards each connection to target. fault(frame) decides what happens to a frame: None, or one of the classes above.
    Only one thread at a time calls it. 'kinds' contains the kinds of frames that were seen, with the largest length of each."""

    def __init__(self, target, fault=None, address=("127.0.0.1", 0), enter=None):
        """enter() moves a new thread to the place from which its connections are made, such as another network namespace."""
        self.target, self.fault = target, fault
        self.kinds, self.cuts, self.accepted = {}, 0, 0
        self.closed = False
        self.lock = threading.Lock()
        self.connections = []
        self.thread = threading.Thread(target=self.accept, args=(address, enter), daemon=True)
        self.listening, self.listener = threading.Event(), None
        self.thread.start()
        self.listening.wait()
        if not self.listener:
            raise OSError(f"cannot listen at {address}")

    def accept(self, address, enter):
        try:
            if enter:
                enter()  # connections' threads are where this one is
            self.listener = socket.create_server(address, backlog=64)
            self.port = self.listener.getsockname()[1]
        finally:
            self.listening.set()
        while not self.closed:
            readable, _, _ = select.select([self.listener], [], [], 0.2)
            if not readable:
                continue
            client, _ = self.listener.accept()
            self.accepted += 1
            self.connections = [c for c in self.connections if c.is_alive()]
            self.connections.append(_Connection(self, client, self.accepted))
            self.connections[-1].start()

    def decide(self, frame):
        with self.lock:
            self.kinds[frame.kind] = max(self.kinds.get(frame.kind, 0), len(frame.data))
            return self.fault(frame) if self.fault else None

    def set_fault(self, fault):
        with self.lock:
            self.fault = fault

    def break_connections(self):
        for c in self.connections:
            c.broken = True

    def close(self):
        self.closed = True
        self.thread.join()
        for c in self.connections:
            c.join()
        self.listener.close()


class Once:
    """A fault: the next frame of this kind meets this, and nothing more."""

    def __init__(self, kind, what):
        self.kind, self.what, self.done = kind, what, False

    def __call__(self, frame):
        if self.done or frame.kind != self.kind:
            return None
        self.done = True
        return self.what


class Mischief:
    """A fault: each frame meets one of these by chance; the same seed chooses alike."""

    def __init__(self, pick, chance, faults):
        self.pick, self.chance, self.faults = pick, chance, faults

    def __call__(self, frame):
        if self.pick.random() >= self.chance:
            return None
        fault = self.pick.choice(self.faults)
        if fault is Cut:
            return Cut(self.pick.randrange(len(frame.data) + 1), self.pick.random() < 0.7)
        return fault(self.pick.random() * 0.5) if fault in (Later, Lose) else fault
