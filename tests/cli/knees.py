"""Simulated systems whose knee is known from runs with a fixed number of users, and searches for it: for a test and for a
bench. Users think, then need one link for as long as their context takes; sizes of requests vary."""
import json
import pathlib

SCENARIO = """name: knee
model: {layers: 1, kv_heads: 1, head_dim: 1024, dtype: fp16}
mode: simulate
run: {warmup: 0s, interval: 1s}
engine: {slots: 100000}
tiers: {gpu: {capacity: 8TiB, backend: emulated, write_bandwidth: %dMB/s, read_bandwidth: %dMB/s, latency: 1ms},
        cpu: {capacity: 0}, nvme: {capacity: 0}}
qos: {classes: [{name: all, p95: %s}]}
workload: {users: 1, phase: prefill, prefix: {probability: 0}, conversation: {end_probability: 1},
           personas: [{name: a, context: [16000, 16000], generate: [100, 100], think: [%s, %s], spread: %s}]}
autoscaler: {max_users: 1000000}
"""
# Bandwidth in MB/s, target, think time; seconds of a fixed run that say enough; where each mode's knee may be.
SYSTEMS = {1: (1024, "64ms", "125ms", 1800, {"qos": 1, "capacity": 4}),
           8: (512, "300ms", "500ms", 1800, {"qos": 8, "capacity": 6}),
           34: (2048, "195ms", "500ms", 1800, {"qos": 34, "capacity": 20}),
           110: (2048, "200ms", "2s", 5400, {"qos": 110, "capacity": 73}),
           1000: (8192, "100ms", "5s", 1200, {"qos": 1073, "capacity": 692}),
           10000: (8192, "300ms", "45s", 1200, {"qos": 10000, "capacity": 6000})}
WITHIN = 0.05
SPREAD = {"qos": 0.1, "capacity": 0.8}  # a request takes between this part and all of its user's sizes


class Knee:
    """run(arguments) starts kvfall and returns when it has ended; folder is for files."""
    def __init__(self, run, folder, system, mode):
        bandwidth, target, think, self.fixed_s, guesses = SYSTEMS[system]
        self.run, self.mode, self.known, self.guess = run, mode, {}, guesses[mode]
        self.path = pathlib.Path(folder) / ("knee-%d-%s.yaml" % (system, mode))
        self.path.write_text(SCENARIO % (bandwidth, bandwidth, target, think, think, SPREAD[mode]))

    def results(self, users, seconds, seed, *options):
        """{metric: value} of a run."""
        out = self.path.with_suffix(".%d.%d.json" % (users, seed))
        self.run(["run", str(self.path), "--headless", "--quiet", "--db", "none", "--json", str(out), "--seed", str(seed),
                  "--duration", "%ds" % seconds, "--set", "workload.users=%d" % users, *options])
        values = {name: entry["value"] for name, entry in json.loads(out.read_text())["results"].items()}
        out.unlink()
        return values

    def fixed(self, users):
        """What the mode goes by, of a run with so many users."""
        if users not in self.known:
            metric = "slo_all_met_ratio" if self.mode == "qos" else "throughput_tok_s"
            self.known[users] = self.results(users, self.fixed_s, 99)[metric]
        return self.known[users]

    def few(self, users, best):
        """Whether so many users are below the knee or at it (qos), or below it (capacity)."""
        return self.fixed(users) >= 0.95 if self.mode == "qos" else self.fixed(users) < 0.98 * best

    def knee(self):
        """The most that keep the target, or the fewest with 98 % of the most, between fixed numbers of users: where it may
        be when runs say so, else by halving."""
        best = max(self.fixed(int(factor * self.guess) + 2) for factor in (2, 3)) if self.mode == "capacity" else None
        step = max(1, self.guess // 400)
        low = self.guess if self.mode == "qos" else self.guess - step
        high = low + step
        if (low > 0 and not self.few(low, best)) or self.few(high, best):  # not there: anywhere
            low, high = 0, 1
            while self.few(high, best):
                low, high = high, 2 * high if high < self.guess / 2 else max(high + 1, int(1.2 * high))
        while high - low > max(1, low // 400):
            middle = (low + high) // 2
            low, high = (middle, high) if self.few(middle, best) else (low, middle)
        return low if self.mode == "qos" else high

    def seek(self, start, seconds, seed):
        """(users, whether that is the answer)."""
        got = self.results(start, seconds, seed, "--autoscaler", self.mode)
        return got["autoscaler_users"], got["autoscaler_found"] == 1


def near(users, knee):
    return users is not None and abs(users - knee) <= WITHIN * knee + 1e-9


def starts(knee):
    return (1, 4, 20, 200, 10 * knee)
