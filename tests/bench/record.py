"""Logs that are recorded, against a script that only parses their lines, and KV events, against a subscriber that
throws the same messages away."""
import ctypes
import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import played_events
from played_events import BLOCK, packed
from measure import KVFALL, thread_table
from tap import Skip

SNDHWM, LINGER, LAST_ENDPOINT, PUB = 23, 17, 32, 9
EVENTS_PER_BATCH = 8
FLOOR = 200000


class Silent(played_events.Engine):
    """The events of an engine, which are kept."""

    def __init__(self, capacity):
        self.capacity, self.block, self.arrays = capacity, BLOCK, True
        self.cache, self.stored, self.removed = played_events.collections.OrderedDict(), 0, 0
        self.events = []

    def publish(self, at, events):
        self.events += [(at, event) for event in events]


def alone(at, event):
    """An event for each of its blocks."""
    name, hashes, *more = event
    if name == "BlockRemoved":
        return [(at, [name, [one], *more]) for one in hashes]
    parent, tokens, *rest = more
    return [(at, [name, [one], hashes[i - 1] if i else parent, tokens[i * BLOCK:(i + 1) * BLOCK], *rest]) for i, one in enumerate(hashes)]


def payloads(requests, single):
    engine = Silent(1500)
    for one in played_events.requests(requests):
        engine.serve(one["at"], one["tokens"])
    events = [one for at, event in engine.events for one in (alone(at, event) if single else [(at, event)])]
    batches = [events[i:i + EVENTS_PER_BATCH] for i in range(0, len(events), EVENTS_PER_BATCH)]
    return [packed([batch[0][0], [event for _, event in batch], None]) for batch in batches], len(events)


def publish(made, subscriber):
    """Sends them to what `subscriber(address)` starts, once it has subscribed; returns what it started."""
    zmq = played_events.library()
    context = ctypes.c_void_p(zmq.zmq_ctx_new())
    socket = ctypes.c_void_p(zmq.zmq_socket(context, PUB))
    for option, value in ((SNDHWM, 0), (LINGER, 60000)):
        zmq.zmq_setsockopt(socket, option, ctypes.byref(ctypes.c_int(value)), 4)
    assert zmq.zmq_bind(socket, b"tcp://127.0.0.1:*") == 0
    text, length = ctypes.create_string_buffer(256), ctypes.c_size_t(256)
    zmq.zmq_getsockopt(socket, LAST_ENDPOINT, text, ctypes.byref(length))
    process = subscriber(text.value.decode())
    zmq.zmq_recv(socket, text, 256, 0)
    for number, payload in enumerate(made):
        for part, more in ((b"kv", 2), (struct.pack(">Q", number), 2), (payload, 0)):
            zmq.zmq_send(socket, part, len(part), more)
    zmq.zmq_close(socket)
    zmq.zmq_ctx_term(context)
    return process


def recorded(bench, made):
    """CPU seconds of kvfall record, those of its busiest thread, and how many blocks it had."""
    out = bench.path("events.jsonl")
    pathlib.Path(out).unlink(missing_ok=True)
    process = publish(made, lambda address: subprocess.Popen(
        [str(KVFALL), "record", "--events", address, "-o", str(out)], stdout=subprocess.PIPE, text=True))
    size, still = -1, 0
    while still < 15:  # what is read is written within half a second
        now = os.stat(out).st_size if os.path.exists(out) else 0
        size, still = now, still + 1 if now == size and now > 0 else 0
        time.sleep(0.1)
    busiest = max(thread["cpu_s"] for thread in thread_table(process.pid).values())
    before = os.times()
    process.send_signal(signal.SIGTERM)
    said = process.communicate()[0]
    assert process.returncode == 143 and "gaps" not in said, said
    after = os.times()
    return (after.children_user + after.children_system - before.children_user - before.children_system, busiest,
            int(re.search(r"Events: (\d+) blocks", said).group(1)))


def cpu(argv):
    """CPU seconds of a program that ends by itself."""
    before = os.times()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def long_requests(count):
    """Conversations at an assistant: 3,000 tokens of instructions that all share, 4,000 of a user's own on average."""
    draw = random.Random(1)
    shared = [draw.randrange(128000) for _ in range(3000)]
    for i in range(count):
        own = [draw.randrange(128000) for _ in range(int(draw.expovariate(1 / 4000)))]
        yield {"at": 0.1 * i, "who": "user-%d" % (i % 300), "tokens": shared + own, "out": 100}


def log(bench, name, requests, prompt):
    """(path, MB, requests) of a gateway's log."""
    path, count = pathlib.Path(bench.path(name)), 0
    with open(path, "w") as out:
        for one in requests:
            count += 1
            out.write(json.dumps({"created": one["at"], "model": "m", "session_id": one["who"], **prompt(one["tokens"]),
                                  "usage": {"prompt_tokens": len(one["tokens"]), "completion_tokens": one["out"]}}) + "\n")
    return path, path.stat().st_size / 1e6, count


def logs(bench):
    parse = [sys.executable, "-c", "import json, sys\nfor line in open(sys.argv[1]): json.loads(line)"]
    scale = 5 if bench.quick else 1

    def ids(tokens):
        return {"prompt_token_ids": tokens}

    def text(tokens):
        return {"messages": [{"role": "user", "content": " ".join("w%d" % token for token in tokens)}]}
    for what, floor, requests, prompt, more in (
            ("log with token ids", 300, long_requests(2500 // scale), ids, ()),
            ("  short prompts, blocks of 16", None, played_events.requests(30000 // scale), ids, ("--block-tokens", str(BLOCK))),
            ("log with text", 50, played_events.requests(30000 // scale), text, ("--block-tokens", str(BLOCK)))):
        (path, size, count), out = log(bench, "gateway.log", requests, prompt), pathlib.Path(bench.path("gateway.jsonl.zst"))
        record = [str(KVFALL), "record", str(path), "-o", str(out), "--overwrite", *more]
        bench.row_ratio(what + ", a CPU second", bench.pair(what.strip(), lambda: size / cpu(record), lambda: size / cpu(parse + [str(path)])),
                        "%.0f MB", floor=floor)
        bench.row_value("  a request kept", [out.stat().st_size / count], "%.1f B", under=60)


def record(bench):
    logs(bench)
    try:
        played_events.library()
    except Skip as error:
        bench.row_none("KV events recorded", str(error))
        return
    for what, requests, single in (("KV events of a block each", 10000, True), ("KV events of 14 blocks", 20000, False)):
        made, events = payloads(requests // (4 if bench.quick else 1), single)

        kept_up = []

        def ours():
            cpu_s, busiest_s, _ = recorded(bench, made)
            kept_up.append(events / busiest_s)
            return events / cpu_s

        def theirs():
            return events / float(publish(made, lambda address: subprocess.Popen(
                [str(bench.program("bench_events")), address, str(len(made))], stdout=subprocess.PIPE, text=True)).communicate()[0])
        bench.row_ratio(what + ", a CPU second", bench.pair(what, ours, theirs), "%.0f")
        bench.row_value("  a second, by the busiest thread", kept_up, "%.0f", over=FLOOR)
