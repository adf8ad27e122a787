"""kvfall export --format hdr: logs that readers of HdrHistogram's interval logs take, with our latencies in them."""
import base64
import collections
import math
import re
import struct
import zlib

import histories
import runs
from tap import Skip, case, home, main, run

try:
    from hdrh.histogram import HdrHistogram
    from hdrh.log import HistogramLogReader
except ImportError:
    HdrHistogram = None

LINE = re.compile(r"Tag=([^,\s]+),(\d+\.\d{3}),(\d+\.\d{3}),(\d+\.\d{3}),(HIST[A-Za-z0-9+/]+=*)")
Line = collections.namedtuple("Line", "tag begin length most counts")


def decode(text):
    """{(least value, greatest value): count} of a compressed payload, of the V2 encoding with two digits."""
    packed = base64.b64decode(text, validate=True)
    cookie, length = struct.unpack(">II", packed[:8])
    assert cookie & ~0xf0 == 0x1c849304 and length == len(packed) - 8, packed[:8]
    plain = zlib.decompress(packed[8:])
    cookie, length, offset, digits, lowest, highest, ratio = struct.unpack(">IIIIQQd", plain[:40])
    assert cookie & ~0xf0 == 0x1c849303 and length == len(plain) - 40, plain[:40]
    assert (offset, digits, lowest, highest, ratio) == (0, 2, 1, 2 ** 46 - 1, 1.0), plain[:40]
    found, place, at = {}, 0, 40
    while at < len(plain):
        value = shift = 0
        while True:
            byte = plain[at]
            at += 1
            last = shift == 56
            value |= (byte if last else byte & 127) << shift
            shift += 7
            if last or byte < 128:
                break
        count = value >> 1 ^ -(value & 1)
        if count < 0:
            place -= count
            continue
        if count:
            # 256 places of one value each, then 128 for each octave
            octave = max(0, place // 128 - 1)
            low = (place - octave * 128) << octave
            found[low, low + (1 << octave) - 1] = count
        place += 1
    return found


def read(text):
    """The lines of a log, and its comments."""
    comments = [line for line in text.splitlines() if line.startswith("#")]
    rest = text.splitlines()[len(comments):]
    assert rest[0] == '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"', rest[0]
    lines = []
    for line in rest[1:]:
        tag, begin, length, most, payload = LINE.fullmatch(line).groups()
        lines.append(Line(tag, float(begin), float(length), float(most), decode(payload)))
    return comments, lines


def stored(data):
    """{(least, greatest): count} of a histogram of the database."""
    return {(low, high): count for low, high, count in runs.buckets(data)[0]}


def same(counts, buckets):
    """Each bucket stands at one place inside it."""
    return len(counts) == len(buckets) and all(
        low <= got[0] and got[1] <= high and counts[got] == n
        for got, ((low, high), n) in zip(sorted(counts), sorted(buckets.items())))


def percentile(counts, q):
    """The place, its least and its greatest value, of the nearest rank. The libraries answer with the latter."""
    rank, seen = math.ceil(q * sum(counts.values()) - 1e-9), 0
    for place in sorted(counts):
        seen += counts[place]
        if seen >= rank:
            return place
    raise AssertionError(counts)


def small_log():
    """The log of a short run with a warm-up, and its summary."""
    _, summary = runs.measure({"run.warmup": "200ms", "run.duration": "600ms"})
    got = run(["export", "--format", "hdr"])
    assert got.rc == 0, got
    return got.stdout, summary


@case("a log has a line for each stored histogram of an interval, in order, with its counts")
def _():
    text, summary = small_log()
    comments, lines = read(text)
    assert summary["run"]["uuid"] in comments[0] and comments[1] == "#[Histogram log format version 1.3]", comments
    start = float(re.match(r"#\[StartTime: (\d+\.\d{3}) \(seconds since epoch\), ", comments[2]).group(1))
    assert comments[3] == "#[BaseTime: %.3f (seconds since epoch)]" % start, comments
    assert abs(start - runs.last_run()["started_at"] - runs.result(summary, "prepare_s")) < 0.002, comments
    rows = runs.rows("SELECT h.*, t_s, length_s, phase FROM interval_histograms AS h JOIN intervals "
                     "USING (run_id, seq) ORDER BY seq, scope")
    scopes = {row["scope"] for row in rows}
    intervals = [line for line in lines if line.tag.split("-")[0] in scopes]
    assert scopes == {"e2e", "ttft", "queue_wait", "storage_io", "gpu_read", "cpu_read", "nvme_read", "nvme_read_device",
                      "nvme_write"}
    assert len(intervals) == len(rows), (scopes, len(rows))
    for line, row in zip(intervals, rows):
        tag = row["scope"] + ("" if row["phase"] == "measured" else "-" + row["phase"])
        assert line.tag == tag, (line, dict(row))
        assert abs(line.begin - (row["t_s"] - row["length_s"])) < 0.001 and abs(line.length - row["length_s"]) < 0.001, line
        assert same(line.counts, stored(row["data"])), (line, dict(row))
        assert abs(line.most - max(line.counts)[1] / 1e6) < 0.00051, line
    assert [line.begin for line in lines] == sorted(line.begin for line in lines)


@case("measured lines add up to the whole run and have its percentiles to the nanosecond, but for those at its extremes")
def _():
    text, summary = small_log()
    _, lines = read(text)
    sums = collections.defaultdict(collections.Counter)
    for line in lines:
        sums[line.tag].update(line.counts)
    whole = {row["scope"]: stored(row["data"]) for row in runs.rows("SELECT scope, data FROM histograms")}
    assert {tag for tag in sums if "-" not in tag} == set(whole), (set(sums), set(whole))
    for scope, buckets in whole.items():
        assert same(sums[scope], buckets), (scope, sums[scope], buckets)
        if re.search("_(q2d|d2c)_", scope):
            continue  # of requests of one size: no result has their percentiles
        for name, q in (("p50", 0.5), ("p95", 0.95)):
            value, place = runs.result(summary, "%s_%s_ms" % (scope, name)) * 1e6, percentile(sums[scope], q)
            low = high = place[1]
            if place in (min(sums[scope]), max(sums[scope])):
                # the run knows its least and its largest value, and none of its percentiles is beyond them
                low, high = next(b for b in buckets if b[0] <= place[0] and place[1] <= b[1])
            assert low - 0.6 < value < high + 0.6, (scope, name, value, place, buckets)


@case("the library hdrh reads it and has the same percentiles")
def _():
    if not HdrHistogram:
        raise Skip("Python's package hdrhistogram is missing")
    text, summary = small_log()
    path = home() / "work/run.hlog"
    path.write_text(text)
    reader, count = HistogramLogReader(str(path), HdrHistogram(1, 2 ** 46 - 1, 2)), 0
    while reader.get_next_interval_histogram():
        count += 1
    _, lines = read(text)
    assert count == len(lines), (count, len(lines))
    for line, source in zip(lines, text.splitlines()[5:]):
        theirs = HdrHistogram.decode(source.rsplit(",", 1)[1].encode())
        assert theirs.get_total_count() == sum(line.counts.values()), line
        if line.tag == "generation":
            ours = runs.result(summary, line.tag + "_p50_ms") * 1e6
            assert abs(theirs.get_value_at_percentile(50) - ours) <= ours / 32, (line.tag, ours) # their rank is rounded


@case("a run without latencies is refused, and so are several runs and a file that is there")
def _():
    with histories.make() as db:
        run_id = histories.add_run(db)
        histories.insert(db, "intervals", run_id=run_id, seq=0, t_s=1, length_s=1, phase="measured")
        histories.add_run(db)
    runs.refused(["export", "1", "--format", "hdr"], "run 1 has no latencies")
    runs.refused(["export", "1", "2", "--format", "hdr"], "--format hdr takes one run at a time")


@case("histograms that are damaged are left out, and times that are missing are 0")
def _():
    one = bytes((1, 100, 100, 3))  # sum 100; three values in bucket 100
    with histories.make() as db:
        run_id = histories.add_run(db)
        for seq, data in ((0, one), (1, b"\x07rubbish"), (2, one)):
            histories.insert(db, "intervals", run_id=run_id, seq=seq, phase="measured")
            histories.insert(db, "interval_histograms", run_id=run_id, seq=seq, scope="e2e", data=data)
        histories.insert(db, "interval_histograms", run_id=run_id, seq=2, scope="unheard_of", data=one)
    got = run(["export", "--output", "run.hlog"])
    assert got.rc == 0, got
    _, lines = read((home() / "work/run.hlog").read_text())
    assert lines == [Line("e2e", 0, 0, 0, {(100, 100): 3})] * 2, lines


main()
