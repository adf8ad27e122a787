#include "study/ranks/ranks.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "rank/launcher.h"
#include "record/run.h"
#include "study/ranks/exit.h"
#include "study/session.h"
#include "study/signals.h"

static struct launcher *launcher; /* of --ranks; main thread */
static _Atomic bool together;     /* from joining to leaving */

static void cut_off(void) {
    if (!atomic_load(&together)) return;
    launcher_stop(launcher);
    signals_cut_off(
        "the launcher of the ranks is gone, and the run with it; `kvfall show` has what was stored until then");
}

/* A library of MPI that has lost the launcher ends the process without a word, often before rank_join() has
 * told of it. */
static void cut_off_by_library(void) {
    if (!launcher || !launcher_lives(launcher)) cut_off();
    launcher_stop(launcher);
    signals_cut_off("the library of MPI has ended the run; `kvfall show` has what was stored until then");
}

static const char *own_name(struct run_options *o, const char *path, unsigned rank) {
    char *name = session_numbered_file(path, "rank", rank);
    if (name) o->given.owned[o->given.owned_count++] = name;
    return name;
}

static void settle(struct run_options *o, struct scenario *s, const struct rank *r) {
    s->ranks.count = rank_count(r);
    s->ranks.number = rank_number(r);
    s->ranks.beside = rank_beside(r);
    o->io_trace = own_name(o, o->io_trace, s->ranks.number);
    o->request_log = own_name(o, o->request_log, s->ranks.number);
    if (s->ranks.number == 0) return;
    o->headless = o->quiet = true;
    o->db = "none";
    o->json = o->metrics = NULL;
}

/* At the exit of the process, behind what a library of MPI that was begun later still tells the launcher
 * then. */
static void launcher_leave(void) {
    launcher_end(launcher);
    launcher = NULL;
}

/* This command line as often as there are ranks, of which this process is the first. */
static int ranks_start(unsigned ranks, int argc, char **argv, struct err *e) {
    char program[PATH_MAX], why[200];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (!rank_library(why, sizeof why)) return err_set(e, KVF_ERR_USAGE, "%s", why);
    if (n < 0) return err_set(e, KVF_ERR_USAGE, "/proc is not mounted, and --ranks needs it");
    program[n] = '\0';
    char **own = mem_zalloc((size_t)argc + 2, sizeof *own);
    own[0] = program;
    memcpy(own + 1, argv, (size_t)argc * sizeof *own);
    int rc = launcher_start(&launcher, ranks, own, e);
    if (rc == 0) atexit(launcher_leave);
    free(own);
    return rc;
}

int ranks_join(struct run_options *o, int argc, char **argv, struct scenario *s, struct rank **out,
               struct err *e) {
    bool launched = rank_launched();
    *out = NULL;
    if (!launched && o->ranks < 2) return 0;
    if (o->scenario && strcmp(o->scenario, "-") == 0)
        return err_set(e, KVF_ERR_USAGE, "standard input reaches only one rank; name the scenario's file");
    if (!launched && ranks_start((unsigned)o->ranks, argc, argv, e) != 0) return -(int)e->code;
    launcher_ready();
    int rc = rank_join(out, launcher, cut_off, e);
    launcher_joined(launcher);
    if (rc == 0 && *out) {
        settle(o, s, *out);
        atomic_store(&together, true);
        exit_hook(cut_off_by_library);
    }
    return rc;
}

void ranks_leave(struct rank *r) {
    atomic_store(&together, false);
    rank_leave(r, true);
    exit_hook(NULL);
}

void ranks_give_up(struct rank *r, const char *why) {
    if (r) rank_send_all(r, RANK_ENDED, RUN_FAILED, why, strlen(why));
    ranks_leave(r);
}
