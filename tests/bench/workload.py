"""What requests and files of them cost: see bench_workload.c."""
import json
import os
import random
import sys

from measure import MIB, say, size

# A reader in Python: the seconds of processor time to take in the whole file, by kind.
YARDSTICKS = {
    "json": "json.load(open(path, encoding='utf-8'))",
    "mooncake": "[json.loads(line) for line in open(path, encoding='utf-8')]",
    "csv": "list(csv.reader(open(path, encoding='utf-8', newline='')))",
}
PEOPLE = """workload:
  users: 10000
  personas:
    - {name: chatbot, context: [512, 4096], generate: [50, 200], think: [100ms, 500ms]}
    - {name: coding, context: [4096, 25000], generate: [100, 500], think: [200ms, 1s]}
    - {name: document, context: [4096, 16384], generate: [200, 800], think: [300ms, 1500ms]}
"""


def scenario(bench, words):
    path = bench.path("workload.yaml")
    with open(path, "w") as out:
        out.write("model: llama3.1-8b\ntiers: {cpu: {capacity: 1TiB}}\n" + words)
    return path


def taken(bench, words, skip, count):
    """(ns of a request, requests, seconds, seconds to the first)"""
    argv = [str(bench.program("bench_workload")), scenario(bench, words), str(skip), str(count)]
    return [float(word) for word in bench.finish(bench.start(argv)).split()]


def yardstick_s(bench, kind, path):
    program = ("import csv, json, sys, time\npath = sys.argv[1]\nbegun = time.process_time()\n%s\n"
               "print(time.process_time() - begun)")
    return float(bench.finish(bench.start([sys.executable, "-c", program % YARDSTICKS[kind], path])))


# ---- files in the shape of real ones ----

def texts(draw, count):
    """Messages as people and models write them: words, quotes, lines, lists, code, some of it not in English."""
    words = ["the", "of", "and", "to", "a", "in", "is", "for", "you", "with", "function", "would", "that", "return",
             "example", "please", "explain", "business", "following", "result", "however", "strategy", "value",
             "\"quoted\"", "it's", "1.", "2.", "42", "`x = y`", "- item:", "(see above)", "https://example.org/a?b=c&d"]
    others = ["\u00fcber", "na\u00efve", "\u4f60\u597d", "\u043f\u0440\u0438\u0432\u0435\u0442", "\u2013", "\u201cso\u201d", "\U0001f600"]
    made = []
    for number in range(count):
        length = int(min(draw.lognormvariate(5.9, 1.2), 8000))
        parts, so_far = [], 0
        while so_far < length:
            word = draw.choice(others if draw.random() < 0.01 else words)
            parts.append(word + ("\n" if draw.random() < 0.03 else " "))
            so_far += len(parts[-1])
        made.append("".join(parts))
    return made


def sharegpt_file(bench, size_bytes):
    """The layout of the usual file: an array of objects, indented by two."""
    path, draw, written = bench.path("sharegpt.json"), random.Random(3), 2
    message = "\n      {\n        \"from\": \"%s\",\n        \"value\": %s\n      }"
    said = [json.dumps(text, ensure_ascii=False) for text in texts(draw, 4000)]
    with open(path, "w", encoding="utf-8") as out:
        out.write("[")
        number = 0
        while written < size_bytes:
            turns = 2 * min(1 + int(draw.expovariate(1 / 3)), 30)
            body = ",".join(message % ("gpt" if turn % 2 else "human", said[draw.randrange(len(said))])
                            for turn in range(turns))
            text = "%s\n  {\n    \"id\": \"c%07d_0\",\n    \"conversations\": [%s\n    ]\n  }" % (
                "," * (number > 0), number, body)
            out.write(text)
            number += 1
            written += len(text.encode())
        out.write("\n]\n")
    return path


def mooncake_file(bench, size_bytes):
    """Rows of about 250 bytes: half of them have fewer than 14 ids, some have hundreds."""
    path, draw, fresh, written, row = bench.path("mooncake.jsonl"), random.Random(4), 1, 0, 0
    with open(path, "w") as out:
        while written < size_bytes:
            count = max(1, min(int(draw.lognormvariate(2.65, 1.0)), 247))
            known = draw.randrange(count) if draw.random() < 0.5 else 0
            ids = list(range(known)) + list(range(fresh, fresh + count - known))
            fresh = fresh % 200000 + count
            text = json.dumps({"timestamp": row // 4 * 1000, "input_length": 512 * count - draw.randrange(512),
                               "output_length": draw.randrange(1, 900), "hash_ids": ids}) + "\n"
            out.write(text)
            written += len(text)
            row += 1
    return path


def azure_file(bench, size_bytes):
    path, draw, row, written = bench.path("azure.csv"), random.Random(5), 0, 0
    with open(path, "w") as out:
        out.write("TIMESTAMP,ContextTokens,GeneratedTokens\n")
        while written < size_bytes:
            at = row // 5
            text = "2023-11-%02d %02d:%02d:%02d.%07d,%d,%d\n" % (1 + at // 86400, at // 3600 % 24, at // 60 % 60, at % 60,
                                                              row % 5 * 2000000, draw.randrange(1, 8000), draw.randrange(1, 900))
            out.write(text)
            written += len(text)
            row += 1
    return path


def burstgpt_file(bench, size_bytes):
    path, draw, row, written = bench.path("burstgpt.csv"), random.Random(6), 0, 0
    with open(path, "w") as out:
        out.write("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n")
        while written < size_bytes:
            asked, given = draw.randrange(1, 3000), draw.randrange(1, 900)
            text = "%d,ChatGPT,%d,%d,%d,Conversation log\n" % (row // 5, asked, given, asked + given)
            out.write(text)
            written += len(text)
            row += 1
    return path


def agentic_file(bench, size_bytes):
    """One conversation in a line, as agents have them: each request names all blocks before it and a few new ones."""
    path, draw, written, at, known = bench.path("agentic.json"), random.Random(7), 0, 0.0, 200
    with open(path, "w") as out:
        out.write('{"id":"trace_0001","block_size":64,"hash_id_scope":"local","requests":[')
        while written < size_bytes:
            known = known + draw.randrange(1, 40) if known < 2500 else 200
            at += draw.random() * 20
            text = json.dumps({"t": round(at, 3), "type": "n", "model": "agent", "in": 64 * known - draw.randrange(64),
                               "out": draw.randrange(1, 900), "hash_ids": list(range(1, known + 1)), "think_time": 1.5,
                               "api_time": 2.25}, separators=(",", ":"))
            out.write("," * (written > 0) + text)
            written += len(text)
        out.write("]}")
    return path


# ---- the figures ----

BLOCK = "cache: {granularity: block}\n"
BLOCKS = {"mooncake": BLOCK, "agentic": "cache: {granularity: block, block_tokens: 64}\n"}
ALL = 1 << 40
FILES = [  # source, what makes its file, its yardstick, MB/s that it shall reach; the others are shorter
    ("sharegpt", sharegpt_file, "json", 150), ("mooncake", mooncake_file, "mooncake", 100),
    ("agentic", agentic_file, "json", None), ("azure", azure_file, "csv", None), ("burstgpt", burstgpt_file, "csv", None)]
KINDS = [
    ("users, whole contexts", PEOPLE),
    ("users, blocks and shared prompts", BLOCK + PEOPLE + "  prefix: {probability: 0.5}\n"),
    ("users, documents by Zipf's law", PEOPLE + "  rag: {documents: 1000, probability: 0.5, top_k: 5}\n"),
    ("users who only generate", PEOPLE + "  phase: decode\n"),
    ("users at a rate, gamma", PEOPLE + "  arrival: {process: gamma, rate: 100, cv: 2}\n")]


def file_figures(bench, source, path, yardstick, floor):
    """MB/s through the whole file beside Python's own reader, and what a request of it costs."""
    length = os.path.getsize(path)
    words = "%sworkload: {source: %s, path: \"%s\"}\n" % (BLOCKS.get(source, ""), source, path)
    runs = []

    def ours():
        runs.append(taken(bench, words, 0, ALL))
        return length / runs[-1][2] / 1e6

    def theirs():
        return length / yardstick_s(bench, yardstick, path) / 1e6

    pairs = bench.pair(source, ours, theirs)
    bench.row_ratio("%s, %s" % (source, size(length)), pairs, "%.0f MB/s", floor=floor)
    kept = source in ("sharegpt", "agentic")
    if kept:  # in memory, so a second play only makes requests
        count = int(runs[0][1])
        words = words.replace("workload: {", "workload: {arrival: {cycles: 2}, ")
        runs = [taken(bench, words, count, ALL) for _ in pairs]
    bench.row_value("  a request" if kept else "  a row becomes a request", [run[0] for run in runs],
                    "%.0f ns", under=1000)
    bench.row_value("  to the first request", [run[3] * 1e3 for run in runs], "%.2f ms")


def workload(bench):
    times = max(5, bench.pairs)
    for what, words in KINDS:
        got = [taken(bench, words, 20000, 300000 if bench.quick else 2000000)[0] for _ in range(times)]
        bench.row_value("a request of " + what, got, "%.0f ns", under=1000)
    for source, made, yardstick, floor in FILES:
        say("  making a file of " + source)
        path = made(bench, (20 if bench.quick else 200 if floor else 50) * MIB)
        file_figures(bench, source, path, yardstick, floor)
        os.unlink(path)
    bench.notes.append("workload: processor time of one core. Files are made in the shape of the published ones; "
                       "yardstick json and csv of Python %d.%d, which only read." % sys.version_info[:2])
