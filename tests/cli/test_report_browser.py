"""The page of kvfall report in a browser, from a file: it is drawn, light and dark, fits a telephone, no label is cut or
stands on another one, and nothing is complained of."""
import html
import json
import re
import shutil
import struct
import subprocess
import zlib

import histories
from pages import HOSTILE, add_run
from runs import measure
from tap import Skip, case, home, main, run, scratch

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")

# Measures the page from inside, for a copy of it that may run scripts.
MEASURE = """<script>
document.addEventListener("DOMContentLoaded", function () {
  var wrong = [];
  document.querySelectorAll("svg.plot[role=img]").forEach(function (svg) {
    var box = svg.viewBox.baseVal, seen = [];
    svg.querySelectorAll("text").forEach(function (text) {
      var b = text.getBBox(), what = svg.querySelector("title").textContent + ": " + text.textContent;
      if (!b.width) return;
      if (b.x < -1 || b.y < -1 || b.x + b.width > box.width + 1 || b.y + b.height > box.height + 1) wrong.push("cut: " + what);
      if (text.classList.contains("p") || text.classList.contains("v")) return;
      seen.forEach(function (o) {
        var over_x = Math.min(b.x + b.width, o.x + o.width) - Math.max(b.x, o.x);
        var over_y = Math.min(b.y + b.height, o.y + o.height) - Math.max(b.y, o.y);
        if (over_x > 1 && over_y > 4) wrong.push("on each other: " + what + " / " + o.what);
      });
      b.what = what;
      seen.push(b);
    });
  });
  parent.postMessage({wrong: wrong, width: innerWidth, needed: document.documentElement.scrollWidth,
                      charts: document.querySelectorAll("svg.plot[role=img]").length}, "*");
});
</script></head>"""

# A browser has a least width of its own; a frame in it has none.
FRAMES = """<!DOCTYPE html><body><p></p>%s<script>
var all = [];
addEventListener("message", function (event) { all.push(event.data); document.body.firstChild.textContent = JSON.stringify(all); });
</script></body>"""


def browser():
    for name in BROWSERS:
        if shutil.which(name):
            return shutil.which(name)
    raise Skip("none of %s is installed" % ", ".join(BROWSERS))


def look(page, *options, width=800, height=600):
    """Runs the browser on a file; returns what it wrote to both streams."""
    profile = scratch("browser")
    got = subprocess.run([browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr",
                          "--user-data-dir=%s" % profile, "--window-size=%d,%d" % (width, height), *options, "file://%s" % page],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    return got.stdout.decode("utf-8", "replace"), got.stderr.decode("utf-8", "replace")


def complaints(log):
    return [line for line in log.splitlines() if "CONSOLE" in line]


def pixels(path):
    """The rows of a PNG of 8 bits as lists of (red, green, blue)."""
    data, at, body = path.read_bytes(), 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        if kind == b"IDAT":
            body += data[at + 8:at + 8 + length]
        at += 12 + length
    step = {2: 3, 6: 4}[colour]
    assert depth == 8
    raw, before, rows = zlib.decompress(body), bytes(width * step), []
    for y in range(height):
        start = y * (width * step + 1)
        kind, line = raw[start], bytearray(raw[start + 1:start + 1 + width * step])
        for i in range(len(line)):
            left, up = line[i - step] if i >= step else 0, before[i]
            corner = before[i - step] if i >= step else 0
            if kind == 1:
                line[i] = (line[i] + left) & 255
            elif kind == 2:
                line[i] = (line[i] + up) & 255
            elif kind == 3:
                line[i] = (line[i] + (left + up) // 2) & 255
            elif kind == 4:
                guess = left + up - corner
                line[i] = (line[i] + min((left, up, corner), key=lambda v: abs(guess - v))) & 255
        rows.append([tuple(line[i:i + 3]) for i in range(0, len(line), step)])
        before = bytes(line)
    return rows


def screenshot(page, *options, **size):
    """What a picture of the page holds: its first pixel, and all its colours; and what was complained of."""
    picture = scratch("picture") / "page.png"
    _, log = look(page, "--screenshot=%s" % picture, *options, **size)
    assert picture.exists(), log
    rows = pixels(picture)
    return rows[0][0], {colour for row in rows for colour in row}, complaints(log)


def report(*refs):
    page = home() / "work" / ("report-%s.html" % "-".join(refs))
    got = run(["report", *refs, "-o", page, "--force"])
    assert got.rc == 0, got
    return page


def measured(page, *widths):
    """What MEASURE found in a copy of the page, by its width."""
    copy, outer = page.with_suffix(".measured.html"), page.with_suffix(".frames.html")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    copy.write_text(text.replace("</head>", MEASURE, 1))
    outer.write_text(FRAMES % "".join('<iframe src="%s" width="%d" height="900" style="border:0"></iframe>' % (copy.name, width)
                                      for width in widths))
    dom, log = look(outer, "--dump-dom", width=1600)
    found = re.search(r"<p>(.*)</p>", dom, re.S)
    assert found and found.group(1), (dom[-500:], log)
    return {one["width"]: one for one in json.loads(html.unescape(found.group(1)))}


def long_names(db):
    """A run of four tiers, many classes and long names."""
    run_id = add_run(db, ("gpu", "cpu", "nvme", "remote"), 40, name=HOSTILE[:60], description="d" * 300, note="n" * 900)
    for n in range(8):
        name = "class-%d-of-the-longest-names" % n
        histories.insert(db, "run_classes", run_id=run_id, n=n, share=0.1, p95_ms=2.0 + n / 50, **{"class": name})
        for seq in range(40):
            histories.insert(db, "qos_intervals", run_id=run_id, seq=seq, met_ratio=0.5, ttft_p95_ms=2.0 + n * seq, queued=seq * n,
                             **{"class": name})
    return run_id


@case("light and dark, with its lines drawn, and not a complaint")
def _():
    with histories.make() as db:
        add_run(db, intervals=30)
        long_names(db)
    page = report("1")
    corner, colours, said = screenshot(page, height=1000)
    assert corner == (255, 255, 255) and not said, (corner, said)
    assert {(0, 0x72, 0xb2), (0x1b, 0x1f, 0x24)} <= colours, "its first line and its text"
    corner, colours, said = screenshot(page, "--blink-settings=preferredColorScheme=0", height=1000)
    assert corner == (0x0f, 0x13, 0x18) and (0x4a, 0xa8, 0xe8) in colours and not said, (corner, said)
    assert not screenshot(report("2"), width=400, height=300)[2]


@case("a script in the page would be seen, and would not run")
def _():
    with histories.make() as db:
        add_run(db)
    page = report("1")
    page.write_text(page.read_text().replace("</head>", "<script>document.title = 'ran'</script></head>", 1))
    dom, log = look(page, "--dump-dom")
    assert complaints(log) and "<title>ran" not in dom, log


@case("no label is cut or stands on another one, and no width needs scrolling, from a telephone to a wide screen")
def _():
    with histories.make() as db:
        add_run(db, intervals=30, bottleneck="x" * 400)
        long_names(db)
        add_run(db, intervals=1)
    page = report("1", "2", "3")
    got = measured(page, 360, 1400)
    assert set(got) == {360, 1400}, got
    for width, one in got.items():
        assert one["charts"] > 30 and not one["wrong"] and one["needed"] <= width, one


@case("a real run")
def _():
    measure({"run.duration": "2s"})
    page = report("latest")
    got = measured(page, 800)[800]
    assert got["charts"] > 15 and not got["wrong"] and got["needed"] <= 800, got
    assert not screenshot(page)[2]


main()
