"""Memory limits: of the address space, and of a control group."""
import contextlib
import os
import pathlib
import resource
import signal
import time

from rig import STATUSES, Cannot, require, sentence, try_kinds

GROUPS = pathlib.Path("/sys/fs/cgroup")  # version 2, or version 1 with its memory controller below
MIB = 1 << 20


@contextlib.contextmanager
def group(bytes_max):
    """A control group of its own with so much memory and no swap; its file of members."""
    old = (GROUPS / "memory/memory.limit_in_bytes").exists()
    at = GROUPS / ("memory" if old else "") / ("kvfall-faults-%d" % os.getpid())
    try:
        if not old and "memory" not in (GROUPS / "cgroup.subtree_control").read_text().split():
            (GROUPS / "cgroup.subtree_control").write_text("+memory")
        at.mkdir()
    except OSError as e:
        raise Cannot("a control group for memory cannot be made: %s" % e) from None
    try:
        (at / ("memory.limit_in_bytes" if old else "memory.max")).write_text(str(bytes_max))
        with contextlib.suppress(OSError):
            (at / ("memory.memsw.limit_in_bytes" if old else "memory.swap.max")).write_text(str(bytes_max) if old else "0")
        yield at / "cgroup.procs"
    finally:
        for _ in range(100):
            with contextlib.suppress(OSError):
                at.rmdir()
                break
            time.sleep(0.02)


def looked_at(place, status, out, err, killed):
    require(status in STATUSES or (killed and status == -signal.SIGKILL),
            "it ends with %s" % ("signal %d" % -status if status < 0 else status), err[-1500:])
    require(status <= 0 or sentence(err), "it fails without a sentence", out[-500:], err[-1500:])
    place.healthy()
    place.others_untouched()
    again = place.run(["run", "--headless", "tiny.yaml", "--db", place.db, "--quiet", "--set", "tiers.cpu.capacity=512KiB"])
    require(again[0] == 0 and not place.left(), "the next start does not put things right", place.left(), *again)
    require(place.rows("SELECT count(*) FROM runs WHERE status = 'running'") == [(0,)], "a dead run goes on")
    require(place.rows("SELECT status FROM runs WHERE run_id = 1") == [("completed",)], "an earlier run is lost")
    return status != 0


def address_space(place, rng):
    limit = rng.randrange(16, 400) * MIB
    got = place.run(["run", "--headless", "tiny.yaml", "--db", place.db, "--quiet"],
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    if got[0] == 127 or "error while loading shared libraries" in got[2]:
        return True  # not even the program's libraries
    return looked_at(place, *got, killed=False)


def control_group(place, rng):
    """More than the group has: refused with the arithmetic, or with --force killed by the kernel, which loses nothing."""
    forced = rng.random() < 0.5
    with group(64 * MIB) as members:
        got = place.run(["run", "--headless", "tiny.yaml", "--db", place.db, "--quiet", "--cpu", "256MiB"] + ["--force"] * forced,
                        preexec_fn=lambda: members.write_text(str(os.getpid())))
    require(forced or got[0] == 2, "more memory than the control group has is not refused", *got)
    return looked_at(place, *got, killed=forced)


KINDS = {"address space": address_space, "control group": control_group}


def attempt(kind, place, rng):
    place.scenario()
    got = place.run(["run", "--headless", "tiny.yaml", "--db", place.db, "--quiet"])
    require(got[0] == 0, "the rig's own run fails", *got)
    return KINDS[kind](place, rng)


def campaign(findings, clock, seed, most=None):
    """{kind: [times, times that it was too little]}."""
    return try_kinds(findings, clock, seed, "limit", KINDS, attempt, most)
