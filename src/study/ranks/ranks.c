#include "study/ranks/ranks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "record/run.h"
#include "study/session.h"

/* Launchers refuse to start more processes than there are cores, and to be used by root, until told
 * otherwise. All processes are on this machine, and reach each other by its loopback. */
static void launcher_settle(void) {
    static const char *const settings[][2] = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                              {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                              {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                              {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                                              {"OMPI_MCA_orte_enable_recovery", "1"},
                                              {"OMPI_MCA_btl_tcp_if_include", "lo"},
                                              {"PRTE_ALLOW_RUN_AS_ROOT", "1"},
                                              {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                              {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
                                              {"PRTE_MCA_hwloc_default_binding_policy", "none"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) setenv(settings[i][0], settings[i][1], 0);
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

int ranks_join(struct run_options *o, int argc, char **argv, struct scenario *s, struct rank **out,
               struct err *e) {
    bool launched = rank_launched();
    char program[PATH_MAX];
    *out = NULL;
    if (!launched && o->ranks < 2) return 0;
    if (o->scenario && strcmp(o->scenario, "-") == 0)
        return err_set(e, KVF_ERR_USAGE, "standard input reaches only one rank; name the scenario's file");
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0) return err_set(e, KVF_ERR_USAGE, "/proc is not mounted, and --ranks needs it");
    program[n] = '\0';
    char **own = mem_zalloc((size_t)argc + 2, sizeof *own);
    own[0] = program;
    memcpy(own + 1, argv, (size_t)argc * sizeof *own);
    if (!launched) launcher_settle();
    int rc = rank_join(out, launched ? 1 : (unsigned)o->ranks, own, e);
    free(own);
    if (rc == 0 && *out) settle(o, s, *out);
    return rc;
}

void ranks_give_up(struct rank *r, const char *why) {
    if (!r) return;
    rank_send_all(r, RANK_ENDED, RUN_FAILED, why, strlen(why));
    rank_leave(r, true);
}
