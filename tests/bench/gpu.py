"""The gpu tier beside its yardsticks: what bench_gpu measures, as rows of the table."""
import re
import subprocess

from measure import BUILD, Trouble, Unfit

PAIR = re.compile(r"^(.*?) {2,}(\S+ \S+) +(\S+ \S+) +([\d.]+)  ([\d.]+ \.\. [\d.]+) +([<>]= [\d.]+|--) +(yes|no|--)$")
ALONE = re.compile(r"^(.*?) {2,}(\S+ us), (\S+ \.\. \S+), target (< \d+ us) +(yes|no)$")
MET = {"yes": True, "no": False, "--": None}


def gpu(bench):
    program = BUILD / "tests/bench/bench_gpu"
    got = subprocess.run([str(program)], capture_output=True, text=True, cwd=bench.dir)
    if got.returncode == 77:
        raise Unfit((got.stdout + got.stderr).strip().replace("bench_gpu: ", ""))
    if got.returncode not in (0, 1):
        raise Trouble("%s: exit status %d: %s" % (program, got.returncode, got.stderr.strip()))
    head, _, rest = got.stdout.partition("\n\n")
    bench.notes += head.splitlines()
    for line in rest.splitlines()[1:]:
        pair, alone = PAIR.match(line), ALONE.match(line)
        if pair:
            what, ours, theirs, ratio, spread, target, met = pair.groups()
            bench.rows.append((what, ours, theirs, ratio, spread, "" if target == "--" else target, MET[met]))
        elif alone:
            what, ours, spread, target, met = alone.groups()
            bench.rows.append((what, ours, "--", "--", spread, target, MET[met]))
        elif "skipped: " in line:
            what, _, why = line.partition("skipped: ")
            bench.row_none(what.strip(), why)
        else:
            bench.notes.append(line)
