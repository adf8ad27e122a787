#include "study/setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "probe/host.h"
#include "scenario/sweep_plan.h"
#include "study/machine.h"
#include "study/output.h"

/* The built-in scenario fits its cpu tier to this machine's memory, unless it is another one's. */
static int load_once(const char *path, const struct options *o, uint64_t memory_bytes, struct scenario *s,
                     char **yaml, struct scenario_report *report) {
    struct buf builtin = {0};
    if (!path) scenario_quickstart(memory_bytes, &builtin);
    int rc = scenario_load(path, path ? NULL : buf_text(&builtin), o->setting, o->settings, s, yaml, report);
    buf_free(&builtin);
    return rc;
}

int setup_scenario(const char *path, const struct options *o, struct scenario *s, char **yaml,
                   struct scenario_report *report) {
    struct host host = {0};
    *report = (struct scenario_report){0};
    if (yaml) *yaml = NULL;
    if (!path) host_probe(&host);
    int rc = load_once(path, o, host.memory_available_bytes, s, yaml, report);
    if (rc == 0 && !path && s->mode == KVF_MODE_SIMULATE) {
        scenario_load_free(report);
        if (yaml) free(*yaml);
        *report = (struct scenario_report){0};
        rc = load_once(path, o, UINT64_MAX, s, yaml, report);
    }
    if (rc) {
        bool ended = !report->errors.len || report->errors.data[report->errors.len - 1] == '\n';
        output_say("%s%s", buf_text(&report->errors), ended ? "" : "\n");
        const char *what = !path ? "the built-in scenario" : strcmp(path, "-") == 0 ? "standard input" : path;
        output_say("kvfall: %s cannot be used, %u error%s\n", what, report->error_count,
                   report->error_count == 1 ? "" : "s");
        if (yaml) {
            free(*yaml);
            *yaml = NULL;
        }
        int status = err_exit_status((enum err_code)(-rc));
        return status ? status : 2;
    }
    machine_choose_gpu(s);
    scenario_unused_list(report, s);
    if (yaml && !path) {
        free(*yaml);
        *yaml = mem_strdup("");
    }
    return 0;
}

void setup_say_unused(const struct scenario_report *report) {
    for (unsigned i = 0; i < report->unused_count; i++) {
        const char *by = report->unused_by[i], *key = report->unused[i], *why = strstr(key, ": ");
        if (!by || !why) continue;
        if (strcmp(by, "--set") == 0)
            log_line(KVF_LOG_WARNING, "--set %.*s has no effect%s", (int)(why - key), key, why);
        else
            log_line(KVF_LOG_WARNING, "%s has no effect%s", by, why);
    }
}

void setup_say_fit(const struct fit *fit) {
    for (unsigned i = 0; i < fit->lines; i++) log_line(KVF_LOG_INFO, "--fit: %s", fit->line[i].text);
}

struct scenario setup_placed(const struct scenario *s) {
    struct scenario placed = *s;
    char *real = *s->workload.path ? realpath(s->workload.path, NULL) : NULL;
    if (real && strlen(real) < sizeof placed.workload.path)
        snprintf(placed.workload.path, sizeof placed.workload.path, "%s", real);
    free(real);
    sweep_place(placed.sweep.keys);
    sweep_place(placed.sweep.variants);
    return placed;
}
