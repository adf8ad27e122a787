#!/usr/bin/env python3
"""--fit: a scenario for a larger machine on this one, by check and by run."""
import json
import os
import re

from runs import last_run, rows
from tap import case, home, main, run

# More than any machine has; the emulated gpu tier and the files of nvme take nothing until they are used.
LARGE = """\
name: large
model: {preset: tiny-1b, layers: 1}
run: {duration: 30s, warmup: 0s, max_requests: 5}
tiers: {gpu: {capacity: 250TiB, backend: emulated}, nvme: {capacity: 500TiB, io_size: 64KiB}}
workload: {users: 1000000, personas: [{name: brief, context: [32, 256], think: [1ms, 2ms]}]}
engine: {workers: 2, noise: 1MiB, staging: 4MiB}
"""
SMALL = """\
name: small
model: {preset: tiny-1b, layers: 1}
run: {duration: 30s, warmup: 0s, max_requests: 5}
tiers: {cpu: {capacity: 4MiB}}
workload: {users: 3, personas: [{name: brief, context: [32, 256], think: [1ms, 2ms]}]}
engine: {workers: 2, noise: 1MiB}
"""
TIB = 1 << 40


def scenario(text):
    path = home() / "work/s.yaml"
    path.write_text(text)
    return path


def size(text):
    number, unit = re.fullmatch(r"(\d+)([KMGT]iB)?", text).groups()
    return int(number) << {"KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40, None: 0}[unit]


def capacities(output):
    """Of gpu, cpu, nvme and remote in what check prints."""
    return [size(text) for text in re.findall(r"^    capacity: (\S+)$", output, re.MULTILINE)]


@case("check --fit prints a scenario that fits, and what was changed")
def _():
    path = scenario(LARGE)
    got = run(["check", path])
    assert got.rc == 2 and "disk: " in got.stderr, got
    got = run(["check", "--fit", path])
    assert (got.rc, got.stderr) == (0, ""), got
    free = os.statvfs(home()).f_bavail * os.statvfs(home()).f_frsize
    gpu, cpu, nvme, _ = capacities(got.stdout)
    assert cpu == 0 and nvme <= max(0.9 * free, free - 2 * 2 ** 30) * 1.01, (got, free)
    assert abs(gpu / nvme - 0.5) < 0.05, got  # their ratio, but for rounding down
    users = int(re.search(r"^  users: (\d+)$", got.stdout, re.MULTILINE).group(1))
    assert abs(users / 1000000 - nvme / (500 * TIB)) < 0.02 * users / 1000000 + 1e-6, (users, nvme)
    for line in ("#   the gpu tier is emulated: it takes no memory, ", "#   tiers.gpu.capacity 250 TiB -> ",
                 "#   tiers.nvme.capacity 500 TiB -> ", "#   workload.users 1000000 -> %d: " % users):
        assert line in got.stdout, (line, got)
    again = scenario(got.stdout)
    assert run(["check", again]).rc == 0
    fitted = run(["check", "--fit", again])
    assert "# Scaled to this machine by --fit:\n#   the gpu tier is emulated" in fitted.stdout, fitted
    assert " -> " not in fitted.stdout and capacities(fitted.stdout)[0] == gpu, fitted


@case("what fits is left alone")
def _():
    path = scenario(SMALL)
    plain, fitted = run(["check", path]), run(["check", "--fit", path])
    assert "# Scaled to this machine by --fit:\n#   nothing\n" in fitted.stdout, fitted
    assert fitted.stdout.replace("#\n# Scaled to this machine by --fit:\n#   nothing\n", "").split("#")[0] == \
        plain.stdout.split("#")[0], (plain, fitted)
    got = run(["run", "--headless", "--quiet", "--fit", path])
    assert got.rc == 0 and got.stderr == "" and "--fit" not in got.stdout, got


@case("run --fit says so on standard error, in the summary, in JSON and in the database")
def _():
    path = scenario(LARGE)
    got = run(["run", "--headless", "--quiet", path])
    assert got.rc == 2 and "or use --force" in got.stderr, got
    got = run(["run", "--headless", "--quiet", "--fit", "--json", "s.json", path])
    assert got.rc == 0, got
    said = [line[len("kvfall: "):] for line in got.stderr.splitlines()]
    assert len(said) == 4 and all(line.startswith("--fit: ") for line in said), got
    summary = json.loads((home() / "work/s.json").read_text())
    events = [(event["level"], event["message"]) for event in summary["events"][:4]]
    assert events == list(zip(["info"] + ["warning"] * 3, said)), (events, said)
    stored = rows("SELECT level, message FROM events ORDER BY n")
    assert [(row["level"], row["message"]) for row in stored][:4] == events, stored
    assert sum("--fit: " in row["message"] for row in stored) == 4, stored
    words = " ".join(got.stdout.split())
    assert all("Warning " + line in words for line in said[1:]), got
    capacity = size(summary["run"]["configuration"]["tiers"]["nvme"]["capacity"])
    assert capacity < 500 * TIB and summary["tiers"]["nvme"]["capacity_bytes"] == capacity, summary["tiers"]
    assert last_run()["scenario_yaml"] == LARGE  # as it was given


@case("a submission that was scaled says so, one that fits does not")
def _():
    rules = "submission: true\nseed: 1\n"
    got = run(["run", "--headless", "--quiet", "--fit", scenario(SMALL + rules)])
    assert got.rc == 0 and "it was scaled" not in last_run()["not_comparable"], got
    got = run(["run", "--headless", "--quiet", "--fit", scenario(LARGE + rules)])
    assert got.rc == 0 and "Submission  not comparable: it was scaled to this machine; " in got.stdout, got
    assert last_run()["not_comparable"].startswith("it was scaled to this machine; "), last_run()


main()
