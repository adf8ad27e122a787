"""An engine as far as its KV events go: a small cache over ZeroMQ, spoken through libzmq's C interface, with
MessagePack written by hand, so that nothing is shared with the program under test."""
import collections
import ctypes
import random
import struct
import threading
import time

from tap import Skip

BLOCK, TUESDAY_BLOCKS = 16, 1500
INTEGERS = ((0, 0x7f, b"", ">B"), (0, 0xff, b"\xcc", ">B"), (0, 0xffff, b"\xcd", ">H"), (0, 0xffffffff, b"\xce", ">I"), (0, 2 ** 64 - 1, b"\xcf", ">Q"), (-2 ** 63, -1, b"\xd3", ">q"))
PUB_LIKE, ROUTER, LAST_ENDPOINT, LINGER, SNDMORE, DONTWAIT = 9, 6, 32, 17, 2, 1


def requests(count=120, seed=5):
    """Conversations over two system prompts, as token ids: what a gateway saw, in the order of their times."""
    rng, at, talks, made = random.Random(seed), 1.7e9, {}, []
    for _ in range(count):
        at = round(at + rng.expovariate(4), 3)
        who = rng.randrange(count // 8)
        history = talks.setdefault(who, [[7] * 64, list(range(50, 130))][who % 2][:])
        history += [rng.randrange(32000) for _ in range(rng.randint(5, 90))]
        made.append({"at": at, "tokens": history[:], "out": rng.randint(1, 40), "who": "user-%d" % who})
    return made


def library():
    try:
        zmq = ctypes.CDLL("libzmq.so.5")
    except OSError as error:
        raise Skip("ZeroMQ's library is not here (libzmq5): %s" % error)
    for name in ("zmq_ctx_new", "zmq_socket"):
        getattr(zmq, name).restype = ctypes.c_void_p
    return zmq


def packed(value):
    if value is None:
        return b"\xc0"
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, int):  # in the fewest bytes that a number from 0 needs, as msgspec does for the engine
        for least, most, code, form in INTEGERS:
            if least <= value <= most:
                return code + struct.pack(form, value)
    if isinstance(value, (str, bytes)):
        data = value.encode() if isinstance(value, str) else value
        return (b"\xdb" if isinstance(value, str) else b"\xc6") + struct.pack(">I", len(data)) + data
    if isinstance(value, dict):
        return b"\xdf" + struct.pack(">I", len(value)) + b"".join(packed(part) for pair in value.items() for part in pair)
    return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(packed, value))


class Engine:
    """A prefix cache of so many blocks under LRU, whose events a publisher sends and a replay socket repeats."""

    def __init__(self, blocks, block_tokens, arrays=False, kept=10000, ports=("*", "*")):
        self.capacity, self.block, self.arrays, self.kept = blocks, block_tokens, arrays, kept
        self.cache, self.sent, self.sequence, self.stored, self.removed = collections.OrderedDict(), {}, 0, 0, 0
        self.zmq = library()
        self.context = ctypes.c_void_p(self.zmq.zmq_ctx_new())
        self.publisher, self.address = self._bound(PUB_LIKE, ports[0])
        self.router, self.replay = self._bound(ROUTER, ports[1])
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self._replays, daemon=True)
        self.thread.start()

    def _bound(self, kind, port):
        socket = ctypes.c_void_p(self.zmq.zmq_socket(self.context, kind))
        none, text, size = ctypes.c_int(0), ctypes.create_string_buffer(256), ctypes.c_size_t(256)
        self.zmq.zmq_setsockopt(socket, LINGER, ctypes.byref(none), 4)
        assert self.zmq.zmq_bind(socket, ("tcp://127.0.0.1:%s" % port).encode()) == 0
        self.zmq.zmq_getsockopt(socket, LAST_ENDPOINT, text, ctypes.byref(size))
        return socket, text.value.decode()

    def subscribed(self):
        """Whether somebody has subscribed since the last call."""
        return self.zmq.zmq_recv(self.publisher, ctypes.create_string_buffer(256), 256, DONTWAIT) > 0

    def _send(self, socket, *parts):
        for i, part in enumerate(parts):
            self.zmq.zmq_send(socket, part, len(part), SNDMORE if i + 1 < len(parts) else 0)

    def _replays(self):
        wait = ctypes.c_int(50)
        self.zmq.zmq_setsockopt(self.router, 27, ctypes.byref(wait), 4)
        while not self.closing.is_set():
            parts, data = [], ctypes.create_string_buffer(256)
            while len(parts) < 3:
                size = self.zmq.zmq_recv(self.router, data, 256, 0)
                if size < 0:
                    break
                parts.append(data.raw[:size])
            if len(parts) < 3:
                continue
            for sequence in sorted(number for number in list(self.sent) if number >= struct.unpack(">Q", parts[2])[0]):
                self._send(self.router, parts[0], b"", struct.pack(">Q", sequence), self.sent[sequence])
            self._send(self.router, parts[0], b"", b"\xff" * 8, b"")

    def close(self):
        self.closing.set()
        self.thread.join()
        for socket in (self.publisher, self.router):
            self.zmq.zmq_close(socket)
        self.zmq.zmq_ctx_term(self.context)

    def _event(self, name, **fields):
        return [name, *fields.values()] if self.arrays else {"type": name, **{key: value for key, value in fields.items() if value is not None}}

    def publish(self, at, events, heard=True, kept=True):
        payload = packed([at, events, None] if self.arrays else {"ts": at, "events": events})
        if kept:
            self.sent[self.sequence] = payload
        if heard:
            self._send(self.publisher, b"kv@pod@m", struct.pack(">Q", self.sequence), payload)
        self.sequence += 1

    def serve(self, at, tokens, **how):
        """One request: what of its whole blocks is not there is stored, and what has to go is removed."""
        ends = range(self.block, len(tokens) + 1, self.block)
        names = [hash(tuple(tokens[:end])) & (2 ** 64 - 1) for end in ends]
        found = 0
        while found < len(names) and names[found] in self.cache:
            found += 1
        events = []
        if found < len(names):
            events.append(self._event("BlockStored", block_hashes=names[found:], parent_block_hash=names[found - 1] if found else None,
                                      token_ids=tokens[found * self.block:len(names) * self.block], block_size=self.block,
                                      lora_id=None, medium="GPU"))
        self.stored += len(names) - found
        for name in reversed(names):
            self.cache.pop(name, None)
            self.cache[name] = True
        gone = [self.cache.popitem(last=False)[0] for _ in range(max(0, len(self.cache) - self.capacity))]
        self.removed += len(gone)
        if gone:
            events.append(self._event("BlockRemoved", block_hashes=gone, medium="GPU"))
        if events:
            self.publish(at, events, **how)
        return found, names


def tuesday(publisher):
    """Serves the quarter of an hour that the documents show; returns what the engine counted."""
    for one in requests(4000):
        publisher.serve(one["at"], one["tokens"])
    return "%d blocks stored, %d removed" % (publisher.stored, publisher.removed)


if __name__ == "__main__":
    played = Engine(TUESDAY_BLOCKS, BLOCK, ports=(5557, 5558))
    print("events at %s, replay at %s" % (played.address, played.replay), flush=True)
    while not played.subscribed():
        time.sleep(0.01)
    input("%s; Enter ends\n" % tuesday(played))
    played.close()
