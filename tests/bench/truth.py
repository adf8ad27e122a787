"""How true a simulation of this machine is: in each round every case is calibrated with a run of its own, then run for real and
simulated."""
import os
import pathlib
import re
import resource
import shutil
import statistics
import time

from measure import GIB, KVFALL, SOURCE, Trouble, Unfit, say
from remote import stop, until

PATIENCE_S = 300
NEAR, FAR = (0.9, 1.1), (0.8, 1.2)  # of P99 the wider one
RUN = """
name: bench
mode: %s
include: "%s"
model: tiny-1b
run: {duration: %ds, warmup: 1s}
tiers: {%s}
workload: {%s}
"""
PERSONA = "personas: [{name: one, context: [512, 2048], generate: [50, 100], think: [%s], spread: 0.5}]"
ON_DRIVE = 'nvme: {capacity: 2GiB, path: "."}'
LONGER = {"Poisson arrivals": 3, "near saturation": 3}  # times as long: few requests say little of a P95 by which real runs differ
# what, tiers, workload; rates are for the bandwidth that was calibrated, in requests of PERSONA a second
CASES = (
    ("cpu alone", "gpu: {capacity: 0}, cpu: {capacity: 1GiB}, nvme: {capacity: 0}",
     "users: 4, " + PERSONA % "5ms, 20ms"),
    ("nvme, reads", "gpu: {capacity: 0}, cpu: {capacity: 0}, " + ON_DRIVE, "users: 4, " + PERSONA % "5ms, 20ms"),
    ("nvme, writes", "gpu: {capacity: 0}, cpu: {capacity: 0}, " + ON_DRIVE,
     "phase: prefill, users: 3, " + PERSONA % "5ms, 20ms"),
    ("three tiers", "gpu: {capacity: 256MiB, backend: emulated}, cpu: {capacity: 512MiB}, " + ON_DRIVE,
     "users: 12, " + PERSONA % "20ms, 50ms"),
    ("Poisson arrivals", "gpu: {capacity: 0}, cpu: {capacity: 256MiB}, " + ON_DRIVE,
     "arrival: {process: poisson, rate: 16}, users: 50, " + PERSONA % "1ms, 1ms"),
    ("Azure's lengths", "gpu: {capacity: 0}, cpu: {capacity: 512MiB}, " + ON_DRIVE,
     'source: azure, path: "AZURE", arrival: {process: poisson, rate: 12}'),
    ("near saturation", "gpu: {capacity: 0}, cpu: {capacity: 256MiB}, " + ON_DRIVE,
     "users: 24, " + PERSONA % "500ms, 1500ms"),
)
IN_STORE = 'nvme: {capacity: 0}, remote: {capacity: 2GiB, backend: resp, url: "URL"}'
IN_DIRECTORY = 'nvme: {capacity: 0}, remote: {capacity: 2GiB, backend: file, url: "file://DIRECTORY"}'
SHORT = PERSONA.replace("[512, 2048]", "[128, 512]")
STORE_CASES = (
    ("remote, reads", "gpu: {capacity: 0}, cpu: {capacity: 0}, " + IN_STORE, "users: 4, " + SHORT % "5ms, 20ms"),
    ("remote, writes", "gpu: {capacity: 0}, cpu: {capacity: 0}, " + IN_STORE,
     "phase: prefill, users: 3, " + SHORT % "5ms, 20ms"),
    ("remote, below memory", "gpu: {capacity: 0}, cpu: {capacity: 256MiB}, " + IN_STORE, "users: 12, " + SHORT % "20ms, 50ms"),
    ("remote, a directory", "gpu: {capacity: 0}, cpu: {capacity: 256MiB}, " + IN_DIRECTORY, "users: 12, " + SHORT % "20ms, 50ms"),
)
# measure, unit, bounds of simulated to real
MEASURES = (("throughput_tok_s", "%.0f tok/s", NEAR), ("hit_ratio", "%.3f", NEAR), ("e2e_mean_ms", "%.1f ms", NEAR),
            ("e2e_p95_ms", "%.1f ms", NEAR), ("e2e_p99_ms", "%.1f ms", FAR))
OF_READS = (("nvme_read_mean_ms", "%.1f ms", NEAR), ("nvme_read_p95_ms", "%.1f ms", NEAR), ("nvme_read_p99_ms", "%.1f ms", FAR))
OF_STORE = (("remote_read_mean_ms", "%.1f ms", NEAR), ("remote_read_p95_ms", "%.1f ms", NEAR),
            ("remote_write_mean_ms", "%.1f ms", NEAR), ("remote_write_p95_ms", "%.1f ms", NEAR))
LEAST_BYTES = 0.05  # of all that moved: a cause that moved less is not held against its bound
STEADY = 0.05  # a machine is quiet while a real run repeats another one's throughput and mean latency this well
TRIES = 3  # of a round, until it is
LEAST_READS = 20  # in a real run: the times of fewer say little


def busy_s():
    """Processor time that all of the machine's programs have used, and what this one's children have."""
    with open("/proc/stat") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:]]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK"), used.ru_utime + used.ru_stime


class Neighbours:
    """What other programs take of the processors while this one measures."""

    def __init__(self):
        self.shares = []
        self.unquiet = 0  # rounds begun again

    def watched(self, work):
        (all_before, ours_before), begun = busy_s(), time.monotonic()
        got = work()
        (all_after, ours_after), seconds = busy_s(), time.monotonic() - begun
        others = all_after - all_before - (ours_after - ours_before)
        self.shares.append(max(others, 0) / seconds / os.cpu_count())
        return got


def azure(bench):
    given = bench.options.traces
    for place in [given] if given else [str(SOURCE.parent / "shared/traces"), str(SOURCE.parents[1] / "shared/traces")]:
        path = pathlib.Path(place) / "azure2023/AzureLLMInferenceTrace_conv.csv"
        if path.is_file():
            return str(path.resolve())
    return None


def calibrate(bench, case, duration, *more):
    """The file, and what its own real run had: throughput, mean and P95 end to end."""
    path, scenario = bench.path("machine.yaml"), bench.path("calibrated.yaml")
    with open(scenario, "w", encoding="utf-8") as out:
        out.write((RUN % ("real", "", duration, *case)).replace('include: ""\n', ""))
    bench.finish(bench.start([str(KVFALL), "probe", "--calibrate", "--path", bench.scratch, "--output", path, "--overwrite", "--time",
                              "%ds" % (8 if bench.quick else 15), "--run", "%ds" % duration, *more, scenario]), PATIENCE_S)
    with open(path, encoding="utf-8") as file:
        said = re.search(r"scenario: (\d+) tok/s, end to end ([\d.]+) ms on average and ([\d.]+) ms at P95", file.read())
    return path, dict(zip(("throughput_tok_s", "e2e_mean_ms", "e2e_p95_ms"), map(float, said.groups())))


def measures(rows):
    """MEASURES, and bytes by tier, direction and cause that matter."""
    total = statistics.median(r["total_read_bytes"] + r["total_write_bytes"] for r, _ in rows)
    found = list(MEASURES + (OF_STORE if rows[0][0].get("remote_read_bytes") else OF_READS))
    for name in rows[0][0]:
        parts = name.split("_")
        if len(parts) == 4 and parts[1] in ("read", "write") and parts[3] == "bytes" and parts[2] != "peak":
            if statistics.median(r.get(name) or 0 for r, _ in rows) > LEAST_BYTES * total:
                found.append((name, "%.3g B", NEAR))
    return found


def spread(values, unit):
    return "%s (%s .. %s)" % (unit % statistics.median(values), unit.split()[0] % min(values), unit.split()[0] % max(values))


def too_few(bench, what, rows):
    reads = statistics.median(real.get("nvme_hits") or 0 for real, _ in rows)
    if 0 < reads < LEAST_READS:
        bench.row_none("%s: nvme_read_*_ms" % what, "%d reads in a real run are too few to be held against a bound" % reads)
    return reads < LEAST_READS


def report(bench, what, rows):
    """Of each figure, whether the median is inside its bounds, and in how many rounds of all it was."""
    held, few = [], too_few(bench, what, rows)
    for name, unit, (least, most) in measures(rows):
        pairs = [(s[name], r[name]) for r, s in rows if s.get(name) is not None and r.get(name)]
        if not pairs or (few and name.startswith("nvme_read_") and name.endswith("_ms")):
            continue
        ratios = [s / r for s, r in pairs]
        met = least <= statistics.median(ratios) <= most
        held.append((met, sum(least <= ratio <= most for ratio in ratios), len(ratios)))
        bench.rows.append(("%s: %s" % (what, name), spread([s for s, _ in pairs], unit), spread([r for _, r in pairs], unit),
                           "%.2f" % statistics.median(ratios), "%.2f .. %.2f" % (min(ratios), max(ratios)),
                           "%g .. %g" % (least, most), met))
    return held


def again(rows):
    """What a second real run had in parts of the first: no simulation of a machine can be nearer."""
    for name, words in (("throughput_tok_s", "throughput"), ("e2e_mean_ms", "mean"), ("e2e_p95_ms", "P95")):
        ratios = [real[name] / first[name] for first, real, _ in rows if real.get(name) and first[name]]
        if ratios:
            yield "%s %.2f .. %.2f" % (words, min(ratios), max(ratios))


def was_quiet(first, real):
    """Whether the machine was as fast in the real run as in the one that was calibrated with: the simulation has no say in it."""
    return all(abs(real[name] / first[name] - 1) <= STEADY for name in ("throughput_tok_s", "e2e_mean_ms")
               if real.get(name) and first[name])


def round_of(bench, cases, duration, neighbours, got, *more):
    for what, tiers, workload in cases:
        seconds = duration * LONGER.get(what, 1)
        for tried in range(1 if bench.quick else TRIES):
            file, first = neighbours.watched(lambda: calibrate(bench, (tiers, workload), seconds, *more))

            def one(mode):
                return bench.kvfall(RUN % (mode, file, seconds, tiers, workload), patience=PATIENCE_S)
            try:
                real = neighbours.watched(lambda: one("real"))
                if was_quiet(first, real) or tried == TRIES - 1 or bench.quick:
                    got.setdefault(what, []).append((first, real, one("simulate")))
                    break
                neighbours.unquiet += 1
            except Trouble as why:
                raise Trouble("%s: %s" % (what, why))


def store_rounds(bench, cases, duration, neighbours, got):
    """Cases with a server and with a directory, calibrated for them."""
    socket, directory = bench.path("store.sock"), bench.path("store")
    os.makedirs(directory, exist_ok=True)
    server = bench.start(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--loglevel", "warning"], quiet=True)
    until(lambda: os.path.exists(socket) or server.poll() is not None, "redis-server")
    for n in range(bench.pairs):
        for what, tiers, workload in cases:
            at = "file://" + directory if "DIRECTORY" in tiers else "unix://" + socket
            case = (what, tiers.replace("file://DIRECTORY", at).replace("URL", at), workload)
            round_of(bench, [case], duration, neighbours, got, "--remote", at)
        say("  round %d of %d: calibrated and run with a store" % (n + 1, bench.pairs))
    stop(bench, server)


def truth(bench):
    if bench.free < 16 * GIB:
        raise Unfit("less than 16 GiB are free")
    trace, neighbours, got = azure(bench), Neighbours(), {}
    wanted = bench.options.case
    stored = [case for case in STORE_CASES if not wanted or any(words in case[0] for words in wanted)]
    if stored and not shutil.which("redis-server"):
        bench.row_none("remote", "redis-server is missing; install the package redis-server")
        stored = []
    cases = [case for case in CASES if (trace or "AZURE" not in case[2])
             and (not wanted or any(words in case[0] for words in wanted))]
    if not cases and not stored:
        raise Unfit("no case has these words in its name; there are " + ", ".join(case[0] for case in CASES + STORE_CASES))
    if not trace and not wanted:
        bench.row_none("Azure's lengths", "AzureLLMInferenceTrace_conv.csv is not there; name its folder with --traces")
    duration = 8 if bench.quick else 20
    cases = [(what, tiers, workload.replace("AZURE", trace or "")) for what, tiers, workload in cases]
    for n in range(bench.pairs if cases else 0):
        round_of(bench, cases, duration, neighbours, got)
        say("  round %d of %d: calibrated and run" % (n + 1, bench.pairs))
    if stored:
        store_rounds(bench, stored, duration, neighbours, got)
    if not got:
        return
    held = [one for what, _, _ in [*cases, *stored] for one in report(bench, what, [pair for _, *pair in got[what]])]
    always = sum(inside == rounds for _, inside, rounds in held)
    never = sum(inside == 0 for _, inside, _ in held)
    quiet = [was_quiet(first, real) for rows in got.values() for first, real, _ in rows]
    bench.notes.append("truth: in %d of %d rounds the real run repeated throughput and mean latency of the calibrated one within %.0f %%; "
                       "%d more did not, and were begun again before anything was simulated." % (
                           sum(quiet), len(quiet), 100 * STEADY, neighbours.unquiet))
    stalled = [real["nvme_stall_ms"] / real["measured_s"] / 1e3 for rows in got.values() for _, real, _ in rows if real.get("nvme_stall_ms") is not None]
    if stalled:
        bench.notes.append("truth: the drive stalled for %.0f %% of the real runs' time (median; %.0f to %.0f %%)." % (
            100 * statistics.median(stalled), 100 * min(stalled), 100 * max(stalled)))
    for what, rows in got.items():
        bench.notes.append("truth: %s: the real run in parts of the one that was calibrated with just before: %s" % (
            what, ", ".join(again(rows))))
    bench.notes.append("truth: medians, least and most of %d rounds, simulated beside real; each round calibrates for each case, then runs "
                       "and simulates it for %d s (Poisson arrivals and near saturation for three times that). %d of %d figures are inside their bounds, "
                       "%d in every round, %d in none. Other programs took %.0f %% of the processors (median; %.0f to %.0f %%)." % (
                           bench.pairs, duration, sum(met for met, _, _ in held), len(held), always, never,
                           100 * statistics.median(neighbours.shares), 100 * min(neighbours.shares),
                           100 * max(neighbours.shares)))
