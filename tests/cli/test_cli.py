#!/usr/bin/env python3
"""The command line without a run: help, usage errors, models, check, probe, history, show, schema."""
import csv
import io
import json
import os
import re
import signal
import sqlite3

from tap import KVFALL, SOURCE, case, database, finish, home, main, need_tool, run, scratch, spawn, wait_until

COMMANDS = ["run", "suite", "sweep", "check", "models", "record", "trace", "probe", "watch", "history", "show", "compare", "export", "report",
            "validate", "tag", "note", "delete", "prune", "vacuum", "merge", "sql", "schema", "complete", "help"]

HELP = """\
usage: kvfall COMMAND [ARGUMENT]... [--OPTION]...

Benchmarks tiered LLM KV caches: serving workloads on a real GPU, CPU and NVMe
hierarchy, with every interval of every run kept in SQLite.

Commands:
  run       run a scenario, by default the quickstart
  suite     run a series of tests and compare the results
  sweep     run a scenario with some keys varied, and compare the runs
  plan      find the cheapest machine that meets a scenario's targets
  check     explain a scenario and its needs, without running it
  models    list models, or show how a working set spreads over the tiers
  record    make a trace from the request log of a gateway or engine
  trace     describe a trace, or extract a part of it
  clean     remove files that killed runs or power cuts left behind
  probe     show what this machine offers: memory, CPUs, GPU, devices
  watch     show a run of the database on the screen, live or past
  history   list the runs of the database, newest first
  show      print the summary of a stored run, by default the latest
  compare   compare runs: scenarios and metrics, with changes separated from noise
  export    export stored runs for other programs
  report    write stored runs as a report with charts: HTML, Markdown or text
  validate  compare throughput with that of serving engines
  tag       tag a run, or list its tags
  note      write a note on a run, or print it
  delete    delete runs from the database
  prune     delete the oldest runs of the database
  vacuum    give the space of deleted runs back to the disk
  merge     copy the runs of another database into this one
  sql       query the database with a SELECT of your own
  schema    print the schema of the database as SQL
  config    list your settings and their origins
  complete  list possible next words of a command line, for shells
  help      explain a command, or list the screen's keys (help keys)

Options:
  --help     print this, or the help of a command
  --version  print version, compiler, libraries and features

Every command takes --help, --ascii and --no-color. The manual is kvfall(1).
"""

# The design's short forms and the keys that they set.
SHORT_FORMS = {
    "model": ("model", "qwen3-8b", "preset: qwen3-8b"),
    "users": ("workload.users", "7", "users: 7"),
    "seed": ("seed", "99", "seed: 99"),
    "gpu": ("tiers.gpu.capacity", "3GiB", "capacity: 3GiB"),
    "cpu": ("tiers.cpu.capacity", "5GiB", "capacity: 5GiB"),
    "nvme": ("tiers.nvme.capacity", "6GiB", "capacity: 6GiB"),
    "block-trace": ("run.block_trace", "off", "block_trace: off"),
    "insecure": ("tiers.remote.insecure", None, None),
    "generation": ("compute.mode", "fast", "mode: fast"),
    "max-requests": ("run.max_requests", "123", "max_requests: 123"),
    "duration": ("run.duration", "90s", "duration: 90s"),
    "cache-dir": ("tiers.nvme.path", None, None),
    "dataset": ("workload.path", None, None),
    "autoscaler": ("autoscaler.mode", "qos", "mode: qos"),
    "profile": ("assess.profile", "throughput", "profile: throughput"),
    "rag": ("workload.rag.documents", "7", "documents: 7"),
    "rate": ("workload.arrival.rate", None, None),
    "trials": ("run.trials", "3", "trials: 3"),
}

# Bytes of KV cache a token takes, from the models' published configurations.
PUBLISHED = {
    "tiny-1b": 24576, "qwen3-0.6b": 114688, "qwen3-8b": 147456, "qwen3-14b": 163840, "qwen3-32b": 262144,
    "qwen3-32b-awq": 262144, "qwen3-30b-a3b": 98304, "qwen3-235b-a22b": 192512, "mistral-7b": 131072,
    "llama2-7b": 524288, "llama2-13b": 819200, "llama3.1-8b": 131072, "llama3.1-70b-instruct": 327680,
    "llama3.1-405b": 516096, "llama3.2-1b": 32768, "llama3.2-3b": 114688, "deepseek-v3": 70272, "kimi-k2": 70272,
    "glm-4.5": 376832, "gpt-oss-20b": 49152, "gpt-oss-120b": 73728, "llama4-scout": 196608,
}

SMALL = """\
name: small
model: llama3.1-8b
tiers: {gpu: {capacity: 2GiB, backend: emulated}, cpu: {capacity: 64MiB}}
workload: {users: 4}
"""


def usage_error(args, sentence, **options):
    got = run(args, **options)
    assert (got.rc, got.stdout) == (2, ""), got
    assert got.stderr == "kvfall: %s\n" % sentence, got


def created():
    """Files that stand in the case's home now."""
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(home()) for name in names)


def check_text(text, *options):
    return run(["check", "-", *options], input=text)


def configuration(output):
    """The part of `check` that is the configuration."""
    return "".join(line + "\n" for line in output.splitlines() if not line.startswith("#"))


# Help and usage. ----------------------------------------------------------------------------------


@case("--help is the page it is")
def _():
    assert run(["--help"]) == (0, HELP, "")
    assert run(["help"]) == (0, HELP, "")
    assert run(["--ascii", "--help"]) == (0, HELP, "")


@case("without a command the program says what to type first")
def _():
    got = run([])
    assert (got.rc, got.stdout) == (2, "") and got.stderr.count("\n") == 10, got
    typed = re.findall(r"^  kvfall (\w+)", got.stderr, re.M)
    assert typed == ["run", "run", "watch", "probe"] and set(typed) <= set(COMMANDS), got
    assert "kvfall --help" in got.stderr and max(map(len, got.stderr.split("\n"))) <= 90, got
    assert run(["--no-color"]) == got


@case("--version names version, compiler and features")
def _():
    got = run(["--version"])
    lines = got.stdout.splitlines()
    assert got.rc == 0 and re.fullmatch(r"kvfall \d+\.\d+\.\d+(\+[0-9a-z.]+)?", lines[0]), got
    facts = dict(line.split(None, 1) for line in lines[1:])
    assert set(facts) == {"compiler", "flags", "libraries", "cuda", "bpf", "mpi", "sanitizer", "hardening", "lto",
                          "coverage"}, got
    assert re.match(r"on|off: .+", facts["cuda"]), got
    assert re.match(r"on: libbpf [1-9]|off: .+", facts["bpf"]), got


@case("the program starts without the libraries that only some commands use")
def _():
    linked = run([str(KVFALL)], program=need_tool("ldd")).stdout
    assert "libsqlite3" in linked or "not a dynamic" in linked, linked
    for late in ("libcurl", "libmicrohttpd", "libgnutls", "libzmq", "libnvme", "libmpi", "libcuda", "libnvidia"):
        assert late not in linked, linked


@case("COMMAND --help and help COMMAND agree, and name the command's arguments")
def _():
    for command in COMMANDS:
        got = run([command, "--help"])
        assert got.rc == 0 and got.stdout.startswith("usage: kvfall %s" % command), got
        assert run(["help", command]) == got
        assert "--ascii" in got.stdout and "--no-color" in got.stdout, got
        assert max(len(line) for line in got.stdout.splitlines()) <= 80, got
        for line in re.sub(r"\n {20,}", "  ", got.stdout).splitlines():
            assert not line.startswith("  --") or re.match(r"  --[a-z-]+( [^ ]+){0,2}  +[A-Za-z0-9]", line), line


@case("an unknown command names the nearest and exits 2")
def _():
    usage_error(["rum"], 'there is no command "rum"; did you mean "run"?')
    usage_error(["histroy", "--limit", "3"], 'there is no command "histroy"; did you mean "history"?')
    usage_error(["frobnicate"], 'there is no command "frobnicate"; `kvfall --help` lists them')
    usage_error(["help", "chekc"], 'there is no command "chekc"; did you mean "check"?')
    usage_error(["-v"], "kvfall itself has no option -v; it takes --help, --version, or a command")


@case("an unknown option names the nearest and exits 2")
def _():
    usage_error(["run", "--userz", "3"], "run has no option --userz; did you mean --users?")
    usage_error(["run", "--headles"], "run has no option --headles; did you mean --headless?")
    usage_error(["show", "--qqqqqq=1"], "show has no option --qqqqqq; `kvfall help show` lists them")
    usage_error(["history", "-n", "3"],
                'options have two dashes and a name, here "-n"; `kvfall help history` lists them')


@case("options without their value, with one too many, twice the argument")
def _():
    usage_error(["run", "--users"], "--users needs a value: --users N")
    usage_error(["run", "--headless=yes"], "--headless takes no value")
    usage_error(["run", "a.yaml", "b.yaml"], 'run takes 1 argument at most, "b.yaml" is one too many')
    usage_error(["schema", "x"], 'schema takes no argument, here "x"')
    usage_error(["check", "-", "--set", "users"],
                '--set needs KEY=VALUE, such as --set workload.users=20, not "users"')
    usage_error(["history", "--limit", "few"],
                '--limit is a whole number from 0 to 9223372036854775807, not "few"')
    usage_error(["check"], "check needs a scenario: `kvfall check FILE`, or - for standard input")


@case("an option whose number may be left out takes a number that follows, and nothing else")
def _():
    for options, documents in ((["--rag"], 10), (["--rag", "20"], 20), (["--rag=5"], 5), (["--rag", "--users", "3"], 10)):
        got = check_text(SMALL, *options)
        assert got.rc == 0 and "    documents: %d\n" % documents in got.stdout, (options, got)
    got = run(["check", "--rag", "-"], input=SMALL)
    assert got.rc == 0 and "    documents: 10\n" in got.stdout, got
    got = check_text(SMALL, "--rag=many")
    assert got.rc == 2 and '--rag workload.rag.documents: must be auto or an integer, not "many"' in got.stderr, got


@case("the options of each page of the manual are those of its commands")
def _():
    common = {"help", "ascii", "no-color"}
    for page in sorted((SOURCE / "man").glob("*.1")):
        text = page.read_text().replace("\\-", "-")
        documented = {name for line in re.findall(r"^\.It (Fl .*)", text, re.MULTILINE)
                      for name in re.findall(r"\bFl -([a-z-]+)", line)}
        program = set(common) if page.stem == "kvfall" else set()
        for command in re.findall(r"^\.Nm kvfall (\w+)$", text, re.MULTILINE):
            program |= set(re.findall(r"^  (?:-[a-z], )?--([a-z-]+)", run(["help", command]).stdout, re.MULTILINE)) - common
        if "The options of\n.Xr kvfall-run 1\nthat set keys" in text:
            documented |= set(SHORT_FORMS) | {"set", "include", "speed"}
        assert documented == program, (page.name, documented - program, program - documented)


@case("output that cannot be written is exit 1 with a sentence")
def _():
    with open("/dev/full", "w") as full:
        got = finish(spawn(["models"], stdout=full))
    assert got.rc == 1 and "No space left on device" in got.stderr, got
    got = run(["-c", 'exec "$0" models >&-', os.environ.get("KVFALL") or SOURCE / "kvfall"], program="/bin/sh")
    assert got.rc == 1 and got.stderr.startswith("kvfall: not everything could be written"), got


# Models. ------------------------------------------------------------------------------------------


@case("bytes per token are the published ones")
def _():
    got = run(["models"])
    assert got.rc == 0, got
    table = {}
    for line in re.findall(r"^\S.*", got.stdout, re.MULTILINE)[1:]:
        words = line.split()
        table[words[0]] = int(words[5].replace(",", ""))
    for name, size in PUBLISHED.items():
        assert table.get(name) == size, (name, size, table.get(name))


@case("a model by its name: geometry and contexts")
def _():
    got = run(["models", "llama3.1-70b-instruct"])
    # 80 layers x 2 x 8 heads x 128 x 2 B = 327,680 B; x 8,192 = 2.5 GiB
    assert got == (0, """\
model             llama3.1-70b-instruct
geometry          80 layers, 8 KV heads of 128, bf16
weights           70.6 billion parameters, bf16: 131 GiB (141,107,412,992 B)
per token         327,680 B
1024 tokens       320 MiB (335,544,320 B)
8192 tokens       2.50 GiB (2,684,354,560 B)
32768 tokens      10.0 GiB (10,737,418,240 B)
131072 tokens     40.0 GiB (42,949,672,960 B)
""", ""), got


@case("the working set falls over the tiers of a scenario, whole contexts at a time")
def _():
    path = home() / "work/three.yaml"
    path.write_text("name: three\nmodel: tiny-1b\ntiers: {gpu: {capacity: 2GiB, backend: emulated}, "
                    "cpu: {capacity: 64MiB}, nvme: {capacity: 3GiB}}\n")
    got = run(["models", "llama3.1-8b", "three.yaml", "--users", "40", "--context", "8192"])
    # 1 GiB a context; usable: 0.8 x 2 GiB holds 1, 0.8 x 64 MiB none, 3 GiB of nvme 3; 36 are left.
    assert got == (0, """\
model             llama3.1-8b
geometry          32 layers, 8 KV heads of 128, bf16
weights           8.03 billion parameters, bf16: 15.0 GiB (16,060,522,496 B)
per token         131,072 B
8192 tokens       1.00 GiB (1,073,741,824 B)
working set       40 users x 1.00 GiB = 40.0 GiB
tiers of          three.yaml

tier         usable          users        bytes
gpu        1.60 GiB              1     1.00 GiB
cpu        51.2 MiB              0          0 B
nvme       3.00 GiB              3     3.00 GiB
none                            36     36.0 GiB

36 of 40 contexts (36.0 GiB) fit into no tier: they are evicted and missed.
""", ""), got


@case("contexts are those of the scenario unless told")
def _():
    path = home() / "work/personas.yaml"
    path.write_text("model: llama3.1-8b\ntiers: {cpu: {capacity: 64MiB}}\nworkload: {users: 2, personas: "
                    "[{name: a, share: 1, context: [1000, 3000], generate: [10, 10], think: [1s, 1s], spread: 1}, "
                    "{name: b, share: 3, context: [4000, 6000], generate: [10, 10], think: [1s, 1s], spread: 1}]}\n")
    got = run(["models", "llama3.1-8b", "personas.yaml"])
    # (2000 + 3 x 5000) / 4 = 4250
    assert got.rc == 0 and "\ncontexts          1,000 to 6,000 tokens by its personas, 4,250 on average\n" in got.stdout, got
    assert "\n4250 tokens " in got.stdout, got
    assert "\n500 tokens " in run(["models", "llama3.1-8b", "personas.yaml", "--context", "500"]).stdout


@case("MLA latents, sliding windows, dtypes and ranks are in the figures")
def _():
    def size(args):
        got = run(args)
        assert got.rc == 0, got
        return int(re.search(r"^1000 tokens .*\(([\d,]+) B\)", got.stdout, re.MULTILINE).group(1).replace(",", ""))

    # 61 x (512 + 64) x 2 B x 1000
    assert size(["models", "deepseek-v3", "--context", "1000"]) == 70272000
    # 12 full layers of 1000 tokens, 12 of the last 128, each 2 x 8 x 64 x 2 B
    assert size(["models", "gpt-oss-20b", "--context", "1000"]) == 12 * (1000 + 128) * 2048
    path = home() / "work/fp8.yaml"
    path.write_text("model: {preset: llama3.1-8b, dtype: fp8}\ntensor_parallel: 2\ntiers: {cpu: {capacity: 64MiB}}\n")
    assert size(["models", "llama3.1-8b", "fp8.yaml", "--context", "1000"]) == 131072 * 1000 // 4


@case("an unknown model names the nearest and exits 2")
def _():
    usage_error(["models", "lama3.1-8b"], 'there is no model "lama3.1-8b"; did you mean "llama3.1-8b"?')
    usage_error(["models", "%%%"], 'there is no model "%%%"; `kvfall models` lists them')
    usage_error(["models", "--users", "3"], "name the model: `kvfall models NAME --users N --context TOKENS`")


# Check. -------------------------------------------------------------------------------------------


@case("check prints a configuration that loads back to itself")
def _():
    first = check_text(SMALL)
    assert first.rc == 0 and first.stderr == "", first
    assert "name: small\n" in first.stdout and "users: 4\n" in first.stdout, first
    second = check_text(first.stdout)
    assert second.rc == 0, second
    assert configuration(second.stdout) == configuration(first.stdout), second
    assert created() == [], created()


@case("check tells unused keys and the memory it will take, as comments")
def _():
    got = check_text(SMALL + "cache: {block_tokens: 32}\n")
    comments = [line for line in got.stdout.splitlines() if line.startswith("#")]
    assert got.rc == 0 and any("cache.block_tokens" in line for line in comments), got
    assert any("cpu tier" in line and "MiB" in line for line in comments), got
    assert not re.search(r"^[^#\n]*cache\.block_tokens", got.stdout, re.MULTILINE), got


@case("short forms are the keys that they stand for")
def _():
    page = re.sub(r"\n {20,}", " ", run(["run", "--help"]).stdout)
    for option, (key, value, line) in SHORT_FORMS.items():
        assert re.search(r"^  --%s .*\(%s\)$" % (option, re.escape(key)), page, re.MULTILINE), (option, page)
        if value:
            by_option, by_key = check_text(SMALL, "--%s" % option, value), check_text(SMALL, "--set", "%s=%s" % (key, value))
            assert by_option.rc == 0 and configuration(by_option.stdout) == configuration(by_key.stdout), by_option
            assert configuration(by_option.stdout) != configuration(check_text(SMALL).stdout), by_option
    got = check_text(SMALL, "--duration=90s", "--users", "7", "--users=8")
    assert "  duration: 90s\n" in got.stdout and "  users: 8\n" in got.stdout, got


@case("a path may hold what YAML holds for special")
def _():
    folder = home() / "work" / "it's: [odd] #1"
    folder.mkdir()
    got = check_text(SMALL, "--nvme", "8MiB", "--cache-dir", folder)
    assert got.rc == 0, got
    again = check_text(got.stdout)
    assert again.rc == 0 and configuration(again.stdout) == configuration(got.stdout), again


@case("check says that chunks of documents are cut, and that they are not")
def _():
    text = "model: llama3.1-8b\ntiers: {cpu: {capacity: 64MiB}}\nworkload: {rag: {documents: auto, chunk_tokens: %d}}\n"
    got = check_text(text % 4096)
    assert got.rc == 0, got
    assert ("# Note:\n#   workload.rag.chunk_tokens: 4096 tokens are 512 MiB of KV, and a chunk has 256 MiB at most: "
            "chunks have 2048 tokens\n") in got.stdout, got
    assert "# Note:" not in check_text(text % 2048).stdout


@case("a bad scenario: every error at its place, exit 2, nothing created")
def _():
    bad = {
        "model: llama3.1-8b\ntiers: {cpu: {capacity: 64MiB}}\nusers: 3\n": [(3, 1, "users")],
        "model: lama3.1-8b\ntiers: {cpu: {capacity: 64MiB}}\n": [(1, 8, "model")],
        "model: llama3.1-8b\nmodel: tiny-1b\ntiers: {cpu: {capacity: 64MiB}}\n": [(2, 1, "model")],
        SMALL + "run: {duration: fast, warmup: -1s}\n": [(5, 17, "run.duration"), (5, 31, "run.warmup")],
        SMALL + "cache: {headroom: 1.5}\n": [(5, 19, "cache.headroom")],
        SMALL + "seed: [1]\n": [(5, 7, "seed")],
    }
    for text, places in bad.items():
        path = home() / "work/bad.yaml"
        path.write_text(text)
        for args in (["check", "bad.yaml"], ["run", "--headless", "bad.yaml"]):
            got = run(args)
            assert (got.rc, got.stdout) == (2, ""), got
            found = re.findall(r"^bad\.yaml:(\d+):(\d+): ([\w.]+): \S", got.stderr, re.MULTILINE)
            assert found == [(str(line), str(column), key) for line, column, key in places], (text, got)
            word = "error" if len(places) == 1 else "errors"
            assert got.stderr.splitlines()[-1] == "kvfall: bad.yaml cannot be used, %d %s" % (len(places), word), got
        path.unlink()
    assert created() == [], created()


@case("what is no YAML at all, or too much of it, is an error")
def _():
    aliases = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        "%s: &%s [%s]\n" % (b, b, ", ".join(["*" + a] * 9)) for a, b in zip("abcdefgh", "bcdefghi"))
    for number, content in enumerate([b"", b"a: [1, 2\n", b"\x00\x01\x02\xff" * 50, b"name: a\x00b\n", b"- 1\n",
                                      aliases.encode(), b"{" * 5000, b"model: \xff\xfe\n"]):
        path = home() / "work" / ("odd%d.yaml" % number)
        path.write_bytes(content)
        got = run(["check", path.name], timeout=20)
        assert got.rc == 2 and got.stderr.startswith(path.name + ":"), (content[:40], got)
        path.unlink()
    got = run(["check", "absent.yaml"])
    assert got.rc == 2 and "absent.yaml" in got.stderr and "No such file" in got.stderr, got
    got = run(["check", "."])
    assert got.rc == 2 and got.stderr, got
    assert created() == [], created()


@case("settings on the command line are judged like the file")
def _():
    got = check_text(SMALL, "--set", "workload.userz=3")
    assert got.rc == 2 and "workload.users" in got.stderr and "--set" in got.stderr, got
    got = check_text(SMALL, "--users", "many")
    assert got.rc == 2 and "--users" in got.stderr, got


@case("check looks at the cache path: absent, a file, a system directory")
def _():
    (home() / "work/file").write_text("")
    for path in ("absent", "file", "/proc", "/etc"):
        got = check_text(SMALL, "--nvme", "8MiB", "--cache-dir", path)
        assert got.rc == 2 and path in got.stderr and got.stderr.startswith("kvfall: "), got


@case("more than there is: refused with its arithmetic, or forced")
def _():
    got = check_text(SMALL, "--nvme", "900TiB")
    assert got.rc == 2 and "900 TiB" in got.stderr and "free" in got.stderr and "--force" in got.stderr, got
    assert check_text(SMALL, "--nvme", "900TiB", "--force").rc == 0


@case("check --keys prints one key a line")
def _():
    got = run(["check", "--keys"])
    keys = got.stdout.splitlines()
    assert got.rc == 0 and len(keys) == len(set(keys)) > 80, got
    assert {key for key, _, _ in SHORT_FORMS.values()} <= set(keys), got
    assert all(re.fullmatch(r"[a-z0-9_.\[\]]+", key) for key in keys), got


# Probe. -------------------------------------------------------------------------------------------


@case("probe tells host, memory and the device under a path")
def _():
    got = run(["probe", "/dev/shm", "."])
    facts = re.findall(r"^( *[a-zA-Z/ ]+?)  +(\S.*)$", got.stdout, re.MULTILINE)
    names = [name.strip() for name, _ in facts]
    assert got.rc == 0, got
    for name in ("host", "kernel", "cpus", "memory", "gpu"):
        assert names.count(name) == 1, (name, got)
    for name in ("path", "file system", "device", "direct I/O", "free"):
        assert names.count(name) == 2, (name, got)
    assert created() == [], created()


@case("probe of a path that is not there is exit 2, the others are told")
def _():
    got = run(["probe", "absent", "."])
    assert got.rc == 2 and got.stderr == "kvfall: absent cannot be probed: No such file or directory\n", got
    assert "file system" in got.stdout, got


@case("probe --calibrate measures memory and disk with the workers, depth and chunks of the scenario that will use it, leaves "
      "nothing behind, and what it writes can be included")
def _():
    (home() / "work/use.yaml").write_text("model: tiny-1b\nengine: {workers: 3}\ntiers: {nvme: {io_depth: 2, io_size: 64KiB}}\n")
    got = run(["probe", "--calibrate", "use.yaml", "--path", ".", "--size", "16MiB", "--time", "300ms", "--output", "peaks.yaml"])
    assert (got.rc, got.stdout) == (0, "") and "with 3 workers" in got.stderr, got
    assert "writes 16.0 MiB of files into a directory of its own under ." in got.stderr, got
    shares = [int(n) for n in re.findall(r"calibrate: .* the \w+ tier; (\d+) % done, \d\d:\d\d left$", got.stderr, re.MULTILINE)]
    assert len(shares) == 10 and shares == sorted(shares) and shares[0] == 0 and shares[5] == 33 and shares[-1] > 60, got
    assert [name for name in created() if not name.endswith(("/peaks.yaml", "/use.yaml"))] == [], created()
    text = (home() / "work/peaks.yaml").read_text()
    figures = r"\[[\d.e+, -]+\]"
    assert re.search(r"^engine:\n  workers: 3\n  timer_late: \d+ns\n  timer_late_spread: %s\n  wake: \d+ns\n  wake_spread: %s$" %
                     (figures, figures), text, re.MULTILINE), text
    cpu, nvme = (re.search(r"    depths: (.*)\n", text.split("  %s: #" % tier)[1]).group(1) for tier in ("cpu", "nvme"))
    assert (cpu, nvme) == ("[1, 2, 3]", "[1, 2, 6]"), text
    for tier in ("cpu", "nvme"):
        part = text.split("  %s: #" % tier)[1]
        for key in ("peak_read", "peak_write", "read_bandwidth", "write_bandwidth", "both_bandwidth"):
            assert re.search(r"^    %s: [1-9]\d*MB/s$" % key, part, re.MULTILINE), (tier, key, text)
        assert re.search(r"^    latency: [\d.]+(ns|us|ms)$", part, re.MULTILINE), (tier, text)
        assert re.search(r"^    # meanwhile other programs kept \d+ % of the processors busy$", part, re.MULTILINE), (tier, text)
        depths = re.search(r"^    depths: \[(1(?:, \d+)*)\]$", part, re.MULTILINE).group(1).split(", ")
        for key in ("read_rates", "write_rates"):
            rates = re.search(r"^    %s: \[([\d., e+]+)\] # windows apart by ([\d, ]+) %%$" % key, part, re.MULTILINE)
            assert len(rates.group(1).split(", ")) == len(rates.group(2).split(", ")) == len(depths), (tier, text)
    for tier in ("cpu", "nvme"):
        part = text.split("  %s: #" % tier)[1].split("\n  nvme:")[0]
        assert re.findall(r"^    (rested_\w+): [\d.e+-]+$", part, re.MULTILINE) == ["rested_read", "rested_write"], (tier, text)
        assert ("    reuse_" in part) == (tier == "cpu"), (tier, text)
    distances, rates = (re.search(r"^    reuse_%s: \[(.+)\]$" % key, text, re.MULTILINE).group(1).split(", ") for key in ("distances", "rates"))
    assert distances[0] == "4" and len(rates) == len(distances) and all(float(rate) > 0 for rate in rates), text
    for key, many in (("begins", 40), ("begins_behind", 40), ("interference", 2), ("first_begins", 40), ("first_begins_behind", 40),
                      ("first_write", 1), ("staging_rate", 1), ("begins_depth", 1), ("first_begins_depth", 1)):
        found = re.search(r"^    %s: \[?([\d., e+-]+)\]?$" % key, text.split("  nvme:")[1], re.MULTILINE)
        assert found and len(found.group(1).split(", ")) == many, (key, text)
        assert "    %s:" % key not in text.split("  nvme:")[0], (key, text)
    rate = re.search(r"peak_write: (\S+)", text.split("  nvme:")[1]).group(1)
    checked = run(["check", "--include", "peaks.yaml", "-"], input=SMALL)
    nvme = configuration(checked.stdout).split("  nvme:\n")[1]
    assert checked.rc == 0 and "    capacity: 0\n" in nvme, checked  # it turns no tier on
    value, unit = re.fullmatch(r"(\d+)(MB)/s", rate).groups()
    shown = re.search(r"^    peak_write: (\d+)(MB|GB)/s$", nvme, re.MULTILINE).groups()
    assert int(shown[0]) * {"MB": 1, "GB": 1000}[shown[1]] == int(value), (rate, shown)


@case("probe --calibrate refuses what does not fit, and options that make no sense")
def _():
    got = run(["probe", "--calibrate", "--size", "1TiB"])
    assert got.rc == 1 and "free, and measuring with 1.00 TiB leaves less than as much again" in got.stderr, got
    usage_error(["probe", "--calibrate", "--size", "5"], '--size is a size from 16MiB to 1TiB, such as 2GiB, not "5"')
    usage_error(["probe", "--calibrate", "--time", "x"],
                '--time is a duration from 100ms to 1h, such as 30s, not "x"')
    usage_error(["probe", "--calibrate", "here.yaml", "there.yaml"],
                '--calibrate takes one scenario, not "there.yaml" as well')
    got = run(["probe", "--calibrate", "here.yaml"])
    assert got.rc == 2 and "kvfall: here.yaml cannot be used, 1 error" in got.stderr, got
    usage_error(["probe", "--size", "1GiB"],
                "--size belongs to --calibrate; paths to look at are given by themselves")
    assert created() == [], created()


@case("probe --calibrate stopped by a signal leaves nothing behind")
def _():
    process = spawn(["probe", "--calibrate", "--size", "16MiB", "--time", "10s"])
    wait_until(lambda: b"calibrate: filling the nvme" in process.stderr.readline(), 60)
    process.send_signal(signal.SIGTERM)
    got = finish(process)
    assert got.rc == 143 and "stopped while the nvme tier was measured" in got.stderr, got
    assert created() == [], created()


@case("--include: its keys lie under those of the scenario, its errors have its name")
def _():
    folder = home() / "work/sub"
    folder.mkdir()
    (folder / "peaks.yaml").write_text("tiers:\n  cpu: {peak_read: 1GB/s, peak_write: 2GB/s}\n  nvme: {io_depth: 8}\n")
    (folder / "s.yaml").write_text(
        "include: peaks.yaml\nmodel: llama3.1-8b\ntiers: {cpu: {capacity: 64MiB, peak_write: 3GB/s}}\n")
    got = run(["check", "sub/s.yaml"])
    assert got.rc == 0 and "    peak_read: 1GB/s\n    peak_write: 3GB/s\n" in got.stdout, got
    assert "include: null\n" in got.stdout and "no effect" not in got.stdout, got
    assert run(["check", "-"], input=got.stdout).rc == 0
    (folder / "more.yaml").write_text("tiers:\n  cpu: {peak_read: 5GB/s}\nseed: x\n")
    got = run(["check", "sub/s.yaml", "--include", "sub/more.yaml"])
    assert (got.rc, got.stderr.splitlines()[0]) == (2, 'sub/more.yaml:3:7: seed: must be an integer, not "x"'), got
    got = run(["check", "sub/s.yaml", "--include", "none.yaml"])
    assert (got.rc, got.stderr.splitlines()[0]) == (2, "none.yaml:1:1: cannot be read: No such file or directory"), got


# History. -----------------------------------------------------------------------------------------


def stored():
    """A database of two runs, made from the schema that the program prints."""
    path = database()
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as db:
        db.executescript(run(["schema"]).stdout)
        runs = [(1, "first, \"quoted\"", "tiny-1b", "completed", 1700000000.0, 1700000060.0),
                (2, "second", "llama3.1-8b", "failed", 1700003600.0, 1700003610.0)]
        for number, name, model, status, start, end in runs:
            db.execute("INSERT INTO runs (run_id, uuid, name, model, mode, seed, status, started_at, ended_at, host, "
                       "bottleneck) VALUES (?, ?, ?, ?, 'real', 42, ?, ?, ?, 'lab1', 'none stands out')",
                       (number, "%08d-0000-4000-8000-000000000000" % number, name, model, status, start, end))
        results = [("throughput_tok_s", 1240.5, "tok/s"), ("storage_throughput_tok_s", 312.25, "tok/s"),
                   ("e2e_p95_ms", 120, "ms"), ("nvme_read_p95_ms", None, "ms"), ("hit_ratio", 0.97, ""), ("reuse_hit_ratio", 0.931, "")]
        for number, result in enumerate(results):
            db.execute("INSERT INTO results (run_id, n, metric, value, unit, samples) VALUES (1, ?, ?, ?, ?, 100)",
                       (number, *result))
    return path


@case("an empty history says so, creates nothing, exit 0")
def _():
    got = run(["history"])
    assert (got.rc, got.stdout.split(), got.stderr) == (0, ("no runs yet in %s" % database()).split(), ""), got
    assert json.loads(run(["history", "--json"]).stdout) == []
    got = run(["show"])
    assert got.rc == 2 and str(database()) in got.stderr, got
    assert created() == [], created()


@case("history lists the newest first")
def _():
    stored()
    got = run(["history", "--full"])
    lines = got.stdout.splitlines()
    assert got.rc == 0 and len(lines) == 3, got
    assert lines[1].split()[:5] == ["2", "2023-11-14", "23:13", "failed", "second"], got
    assert lines[2].rstrip().endswith("1.24k       312    120 ms        --   93.1 %   97.0 %"), got
    assert lines[1].count("--") == 6, got
    assert len({len(line) for line in lines}) == 1, got
    for columns, least, widest in ((None, 70, 80), ("200", 70, 170), ("40", 30, 40), ("39", 30, 39)):
        piped = run(["history"], env={"COLUMNS": columns} if columns else {}).stdout.splitlines()
        assert least <= max(map(len, piped)) <= widest, piped
    simulated = ["run", "--headless", "--quiet", "--db", "none", "--set", "mode=simulate", "--duration", "10s"]
    for command in (["show"], ["models"], ["probe"], ["config"], simulated):
        for columns in (None, "39"):
            piped = run(command, env={"COLUMNS": columns} if columns else {}).stdout.splitlines()
            assert piped and max(map(len, piped)) <= int(columns or 80), piped
    assert run(["history"], env={"COLUMNS": "200"}).stdout == got.stdout


@case("history filters by name, model, status and number")
def _():
    stored()

    def ids(*options):
        got = run(["history", "--json", *options])
        assert got.rc == 0, got
        return [row["run_id"] for row in json.loads(got.stdout)]

    assert ids() == [2, 1]
    assert ids("--limit", "1") == [2]
    assert ids("--limit", "0") == [2, 1]
    assert ids("--name", "first%") == [1]
    assert ids("--model", "llama%") == [2]
    assert ids("--status", "failed") == [2]
    assert ids("--name", "nobody") == []
    assert run(["history", "--name", "nobody"]).stdout.split() == ("no run in %s matches" % database()).split()
    usage_error(["history", "--status", "done"],
                '--status is running, completed, interrupted, failed or crashed, not "done"')
    usage_error(["history", "--json", "--csv"], "--json and --csv exclude each other; choose one")


@case("history as JSON and CSV: every digit, missing is null or empty")
def _():
    stored()
    row = json.loads(run(["history", "--json"]).stdout)[1]
    assert row["started_at"] == "2023-11-14T22:13:20Z" and row["throughput_tok_s"] == 1240.5, row
    assert row["nvme_read_p95_ms"] is None and row["name"] == 'first, "quoted"', row
    rows = list(csv.DictReader(io.StringIO(run(["history", "--csv"]).stdout)))
    assert list(rows[1]) == list(row), rows
    assert rows[1]["name"] == 'first, "quoted"' and rows[1]["nvme_read_p95_ms"] == "", rows
    assert float(rows[1]["storage_throughput_tok_s"]) == 312.25, rows


@case("show finds a run by id, latest, UUID and name")
def _():
    stored()
    for ref, status in (("1", "COMPLETED"), ("latest", "FAILED"), ("latest~1", "COMPLETED"), ("00000001", "COMPLETED"),
                        ("second", "FAILED")):
        got = run(["show", ref])
        assert got.rc == 0 and got.stdout.startswith(status), (ref, got)
        assert got.stdout.endswith("\nBottleneck: none stands out\n"), got
    assert run(["show"]).stdout == run(["show", "2"]).stdout
    for ref in ("77", "nobody"):
        got = run(["show", ref])
        assert got.rc == 2 and got.stdout == "" and ref in got.stderr, got


@case("show --json gives the stored values under the stored names")
def _():
    stored()
    summary = json.loads(run(["show", "1", "--json"]).stdout)
    assert set(summary) == {"schema", "version", "run", "verdict", "results", "tiers", "qos", "decisions", "criteria", "events"}, summary
    assert summary["run"]["status"] == "completed" and summary["run"]["started_at"] == "2023-11-14T22:13:20.000Z", summary
    assert summary["results"]["throughput_tok_s"] == {"value": 1240.5, "unit": "tok/s"}, summary
    assert summary["results"]["nvme_read_p95_ms"] == {"value": None, "unit": "ms"}, summary


@case("--db and $KVFALL_DB name the database; no database is a sentence")
def _():
    path = stored()
    other = home() / "other.db"
    path.rename(other)
    assert "second" in run(["history", "--db", other]).stdout
    assert "second" in run(["history"], env={"KVFALL_DB": other}).stdout
    other.write_bytes(b"this is not a database, whatever its name says" * 40)
    for args in (["history", "--db", other], ["show", "--db", other]):
        got = run(args)
        assert got.rc in (1, 2) and got.stdout == "" and got.stderr.startswith("kvfall: "), got
        assert "other.db" in got.stderr, got


@case("names from outside cannot steer the terminal")
def _():
    with sqlite3.connect(stored()) as db:
        db.execute("UPDATE runs SET name = ? WHERE run_id = 2", ("\x1b[2Jcaf\u00e9",))
    assert "  ?[2Jcaf\u00e9  " in run(["history"]).stdout
    assert "  ?[2Jcaf?  " in run(["history", "--ascii"]).stdout
    assert "?[2Jcaf?" in run(["show", "--ascii"]).stdout
    assert "?[2Jcaf?" in run(["show"], env={"LC_ALL": "C"}).stdout


main()
