#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/terms.h"
#include "base/units.h"
#include "draw/format.h"
#include "scenario/load.h"
#include "study/machine.h"
#include "study/suite/suite.h"

/* The limits of --quick on times, and on the machine that other groups are fitted to. */
static const uint64_t quick_run = 8 * KVF_NS_PER_S, quick_search = 28 * KVF_NS_PER_S;
static const uint64_t quick_memory = 4 * KVF_GIB, quick_disk = 36 * KVF_GIB;
enum { SETTINGS_MAX = OPTIONS_GIVEN_MAX, QUICK_DOCUMENTS = 2, QUICK_REQUESTS = 60 };

/* The value that the command line gives a key, which is then not ours to choose; NULL: none. Keys of a file
 * to include lie under those of the tests, and do not count. */
static const char *given_value(const struct suite *s, const char *key) {
    const char *value = NULL;
    for (size_t i = 0; i < s->options->settings; i++) {
        const struct scenario_setting *g = &s->options->setting[i];
        if (g->key && strcmp(g->key, key) == 0) value = g->value;
    }
    return value;
}

static bool set_by_user(const struct suite *s, const char *key) {
    return given_value(s, key) != NULL;
}

/* The closed division fixes model and workload: what is asked of all tests is not asked of these. The size
 * of a tier is for tests that have it: gpu-only stays so. */
static bool concerns(const struct suite_test *t, const struct scenario *file, const char *key) {
    if (!key) return true;
    if (strcmp(key, "tiers.gpu.capacity") == 0) return file->tier[KVF_TIER_GPU].on;
    if (strcmp(key, "tiers.cpu.capacity") == 0) return file->tier[KVF_TIER_CPU].on;
    if (strcmp(key, "tiers.nvme.capacity") == 0) return file->tier[KVF_TIER_NVME].on;
    return t->group != SUITE_GROUP_MLPERF ||
           (strcmp(key, "model") != 0 && strcmp(key, "workload.rag.documents") != 0);
}

static bool in_vain(const struct scenario_report *report, const struct scenario_setting *setting) {
    size_t len = setting->key ? strlen(setting->key) : 0;
    if (!setting->key) return false;
    for (unsigned i = 0; i < report->unused_count; i++)
        if (report->unused_by[i] && strncmp(report->unused[i], setting->key, len) == 0 &&
            report->unused[i][len] == ':')
            return true;
    return false;
}

/* `effective`, NULL without settings: which of them the scenario makes something of. */
static int load_with(const struct suite_test *t, const struct scenario_setting *setting, size_t count,
                     bool *effective, struct scenario *sc, struct err *e) {
    struct scenario_report report;
    const char *yaml = suite_test_yaml(t);
    if (!yaml) return err_set(e, KVF_ERR_INTERNAL, "the scenario %s is not in the program", t->name);
    int rc = scenario_load(NULL, yaml, setting, count, sc, NULL, &report);
    if (rc)
        err_set(e, KVF_ERR_USAGE, "%s/%s: %.*s", suite_group_name(t->group), t->name,
                (int)strcspn(buf_text(&report.errors), "\n"), buf_text(&report.errors));
    if (rc == 0) machine_choose_gpu(sc);
    if (rc == 0) scenario_unused_list(&report, sc);
    for (size_t i = 0; i < count; i++) effective[i] = !in_vain(&report, &setting[i]);
    scenario_load_free(&report);
    return rc;
}

/* Whether a setting leaves what a test is, and says where and how often. */
static bool harmless(const char *key) {
    return key && (strcmp(key, "tiers.nvme.path") == 0 || strcmp(key, "run.trials") == 0);
}

static bool same(const struct scenario *a, const struct scenario *b) {
    struct buf x = {0}, y = {0};
    scenario_emit_json(a, &x);
    scenario_emit_json(b, &y);
    bool result = strcmp(buf_text(&x), buf_text(&y)) == 0;
    buf_free(&x);
    buf_free(&y);
    return result;
}

/* Whether the included files change the test as filed: at all, and in more than peaks, which affect only how
 * results are shown. */
static int load_included(struct suite *s, const struct suite_test *test, const struct scenario *filed,
                         bool *effective, bool *more, struct err *e) {
    struct scenario_setting file[SETTINGS_MAX];
    bool ignored[SETTINGS_MAX];
    size_t count = 0;
    *effective = *more = false;
    for (size_t i = 0; i < s->options->settings; i++)
        if (!s->options->setting[i].key) file[count++] = s->options->setting[i];
    if (count == 0) return 0;
    struct scenario *with = mem_zalloc(1, sizeof *with);
    int rc = load_with(test, file, count, ignored, with, e);
    *effective = rc == 0 && !same(filed, with);
    for (int t = 0; t < KVF_TIERS; t++)
        memcpy(with->tier[t].peak_bytes_per_s, filed->tier[t].peak_bytes_per_s,
               sizeof with->tier[t].peak_bytes_per_s);
    *more = rc == 0 && !same(filed, with);
    free(with);
    return rc;
}

/* The file as it is first, which says what of the command line is for it. */
static int load(struct suite *s, struct suite_entry *entry, struct err *e) {
    struct scenario_setting setting[SETTINGS_MAX];
    size_t from[SETTINGS_MAX], count = 0;
    bool effective[SETTINGS_MAX], included = false, more = false;
    int rc = load_with(entry->test, NULL, 0, NULL, &entry->scenario, e);
    if (rc == 0) rc = load_included(s, entry->test, &entry->scenario, &included, &more, e);
    for (size_t i = 0; i < s->options->settings; i++) {
        if (!concerns(entry->test, &entry->scenario, s->options->setting[i].key)) continue;
        from[count] = i;
        setting[count++] = s->options->setting[i];
    }
    if (rc == 0) rc = load_with(entry->test, setting, count, effective, &entry->scenario, e);
    entry->as_filed = true;
    for (size_t i = 0; i < count && rc == 0; i++) {
        bool file = !setting[i].key, changes = file ? more : effective[i] && !harmless(setting[i].key);
        s->effective[from[i]] = s->effective[from[i]] || (file ? included : effective[i]);
        entry->as_filed = entry->as_filed && !changes;
    }
    return rc;
}

/* ---- times ---- */

static bool known_test(const char *name, size_t len) {
    for (size_t i = 0; i < suite_test_count; i++)
        if (strlen(suite_tests[i].name) == len && strncmp(suite_tests[i].name, name, len) == 0) return true;
    return false;
}

/* --duration TIME for all tests, --duration TEST=TIME for one; the last that concerns a test counts. */
static int given_duration(const struct suite *s, const struct suite_test *t, uint64_t *ns, struct err *e) {
    for (size_t i = 0; i < s->options->given_count; i++) {
        const char *value = s->options->given[i].value;
        if (strcmp(s->options->given[i].spec->name, "duration") != 0) continue;
        const char *eq = strchr(value, '='), *time = eq ? eq + 1 : value;
        size_t len = eq ? (size_t)(eq - value) : 0;
        uint64_t v;
        if (eq && !known_test(value, len))
            return err_set(e, KVF_ERR_USAGE, "--duration %s: there is no test \"%.*s\"", value, (int)len,
                           value);
        if (units_parse_duration(time, &v) != 0 || v == 0)
            return err_set(e, KVF_ERR_USAGE, "--duration is a time such as 30s, or TEST=TIME, not \"%s\"",
                           value);
        if (!eq || (strlen(t->name) == len && strncmp(value, t->name, len) == 0)) *ns = v;
    }
    return 0;
}

static int choose_times(const struct suite *s, const struct suite_test *t, struct scenario *sc,
                        struct err *e) {
    if (s->quick) {
        sc->run.duration_ns = kvf_min(sc->run.duration_ns, t->searches ? quick_search : quick_run);
        sc->run.warmup_ns = kvf_min(sc->run.warmup_ns, KVF_NS_PER_S);
        if (!set_by_user(s, "run.max_requests"))
            sc->run.max_requests = kvf_min(sc->run.max_requests, QUICK_REQUESTS);
    }
    if (s->quick && t->searches) { /* an answer, if a rough one, in half a minute */
        sc->autoscaler.settle_ns = kvf_min(sc->autoscaler.settle_ns, KVF_NS_PER_S / 2);
        sc->autoscaler.stage_ns = kvf_min(sc->autoscaler.stage_ns, 2 * KVF_NS_PER_S);
        sc->autoscaler.hold_ns = kvf_min(sc->autoscaler.hold_ns, 4 * KVF_NS_PER_S);
        sc->autoscaler.cooldown_ns = kvf_min(sc->autoscaler.cooldown_ns, KVF_NS_PER_S);
    }
    return given_duration(s, t, &sc->run.duration_ns, e);
}

/* ---- sizes ---- */

/* The kind of the event that tells the last note. */
static void note_kind(struct fit *f, enum record_event_kind kind, const char *value) {
    f->line[f->lines - 1].kind = kind;
    f->line[f->lines - 1].value = value;
}

__attribute__((format(printf, 2, 3))) static bool note(struct fit *f, const char *fmt, ...) {
    va_list ap;
    if (f->lines == FIT_LINES_MAX) return false;
    va_start(ap, fmt);
    vsnprintf(f->line[f->lines].text, FIT_LINE, fmt, ap);
    va_end(ap);
    f->line[f->lines++].scaled = true;
    return true;
}

static void drop_emulated_note(struct fit *f) {
    if (f->lines && !f->line[0].scaled) {
        memmove(&f->line[0], &f->line[1], (f->lines - 1) * sizeof f->line[0]);
        f->lines--;
    }
}

/* Bytes of nvme that users are counted by: those given for it, else its share of the drive. */
static uint64_t nvme_room(const struct suite *s) {
    const char *text = given_value(s, "tiers.nvme.capacity");
    uint64_t given;
    return text && units_parse_size(text, &given) == 0 ? given : s->nvme_bytes;
}

/* The wrapper's tests: the same tiers and users wherever they are on, so that tests compare. */
static void size_by_machine(const struct suite *s, struct suite_entry *entry) {
    const struct suite_test *t = entry->test;
    struct scenario *sc = &entry->scenario;

    if (sc->tier[KVF_TIER_GPU].on && !set_by_user(s, "tiers.gpu.capacity"))
        sc->tier[KVF_TIER_GPU].capacity_bytes = s->gpu_bytes;
    if (sc->tier[KVF_TIER_CPU].on && t->cpu_part && !set_by_user(s, "tiers.cpu.capacity"))
        sc->tier[KVF_TIER_CPU].capacity_bytes = suite_cpu_bytes(s, t->cpu_part);
    if (sc->tier[KVF_TIER_NVME].on && !set_by_user(s, "tiers.nvme.capacity"))
        sc->tier[KVF_TIER_NVME].capacity_bytes = s->nvme_bytes;
    if (s->quick && sc->workload.rag.documents > QUICK_DOCUMENTS)
        sc->workload.rag.documents = QUICK_DOCUMENTS;
    if (set_by_user(s, "workload.users")) return;
    /* As many as have their conversations on nvme, were it the only tier. */
    uint64_t each = fit_user_bytes(sc), base = s->base_users, high = s->high_users, room = nvme_room(s);
    if (!s->users_given && each && room / each < base) base = room / each;
    if (base < 1) base = 1;
    if (!s->high_users_given && base < s->base_users) high = high * base / s->base_users;
    sc->workload.users = t->users == SUITE_USERS_HIGH   ? (high ? high : 1)
                         : t->users == SUITE_USERS_BASE ? base
                                                        : kvf_min(sc->workload.users, base);
    if (sc->workload.users < entry->users_before)
        note(&entry->fit,
             "workload.users %" PRIu64 " -> %" PRIu64 ": about %s of conversations each, in %s of nvme",
             entry->users_before, sc->workload.users, format_bytes((double)each).text,
             format_bytes((double)room).text);
}

/* The others: their files, scaled to the machine, which --quick takes for a small one. */
static void size_by_fit(const struct suite *s, struct suite_entry *entry) {
    struct scenario *sc = &entry->scenario;
    struct budget_machine machine;
    struct fit small_fit = {0};

    machine_measure(sc, &machine);
    if (s->quick) {
        struct budget_machine small = machine;
        small.memory_available_bytes = kvf_min(machine.memory_available_bytes, quick_memory);
        if (machine.disk_free_bytes[0] != KVF_UNSET)
            small.disk_free_bytes[0] = kvf_min(machine.disk_free_bytes[0], quick_disk);
        fit_apply(&small_fit, sc, &small);
        uint64_t room = sc->mode == KVF_MODE_REAL ? budget_disk_room(sc, &small) : KVF_UNSET;
        if (sc->tier[KVF_TIER_NVME].on && sc->tier[KVF_TIER_NVME].capacity_bytes == KVF_AUTO &&
            room != KVF_UNSET)
            sc->tier[KVF_TIER_NVME].capacity_bytes = room;
    }
    fit_apply(&entry->fit, sc, &machine);
    for (unsigned i = 0; i < small_fit.lines;
         i++) /* what was changed; the machine is larger than the reason */
        if (small_fit.line[i].scaled)
            note(&entry->fit, "%.*s", (int)strcspn(small_fit.line[i].text, ":"), small_fit.line[i].text);
    if (s->users_given) sc->workload.users = s->base_users;
}

static bool missing_data(const struct scenario *sc) {
    return sc->workload.source == KVF_SOURCE_SHAREGPT && access(sc->workload.path, R_OK) != 0;
}

static void check(const struct suite *s, struct suite_entry *entry) {
    struct err e = {0};
    if (missing_data(&entry->scenario) && set_by_user(s, "workload.path"))
        snprintf(entry->refused, sizeof entry->refused, "the ShareGPT data set %.250s cannot be read: %s",
                 entry->scenario.workload.path, strerror(errno));
    else if (missing_data(&entry->scenario))
        snprintf(entry->refused, sizeof entry->refused,
                 "it needs the ShareGPT data set: give its file with --dataset FILE");
    else if (session_check(&entry->scenario, false, NULL, &e) != 0)
        snprintf(entry->refused, sizeof entry->refused, "%.399s", e.text);
}

static int prepare(struct suite *s, const struct suite_test *t, struct suite_entry *entry, struct err *e) {
    struct scenario *sc = &entry->scenario;

    entry->test = t;
    int rc = load(s, entry, e);
    uint64_t duration_ns = sc->run.duration_ns, trials = sc->run.trials;
    if (rc == 0) rc = choose_times(s, t, sc, e);
    if (rc) return rc;
    entry->users_before = sc->workload.users;
    if (!set_by_user(s, "tiers.nvme.path")) {
        snprintf(sc->nvme.path[0], sizeof sc->nvme.path[0], "%s", s->dir);
        sc->nvme.path_count = 1;
    }
    if (t->group == SUITE_GROUP_SUITE)
        size_by_machine(s, entry);
    else
        size_by_fit(s, entry);
    drop_emulated_note(&entry->fit);
    if (s->quick && note(&entry->fit, "--quick: a short run on small tiers; a look, not a measurement"))
        note_kind(&entry->fit, RECORD_EVENT_QUICK, "");
    sc->scaled = sc->scaled || s->quick;
    /* One trial where it is one test among many; the group asked for by name is the whole procedure. */
    bool once = !s->named && !set_by_user(s, "run.trials");
    entry->trials = once || sc->run.trials < 1 ? 1 : (uint32_t)sc->run.trials;
    sc->run.trials = entry->trials;
    entry->as_filed = entry->as_filed && !s->quick && entry->trials >= trials &&
                      sc->run.duration_ns >= duration_ns && sc->workload.users == entry->users_before;
    entry->run = mem_zalloc(entry->trials, sizeof *entry->run);
    check(s, entry);
    return 0;
}

/* Settings of the command line that no test of the plan uses. */
static void say_in_vain(const struct suite *s) {
    const struct options *o = s->options;
    for (size_t i = 0; i < o->settings; i++) {
        const struct scenario_setting *g = &o->setting[i];
        const char *what = !g->key ? g->value : strcmp(g->origin, "--set") == 0 ? g->key : NULL;
        if (!s->effective[i])
            log_line(KVF_LOG_WARNING, "%s%s%s has no effect on these tests", g->origin, what ? " " : "",
                     what ? what : "");
    }
}

/* Hierarchies that are ranked are asked the same by as many users, those of the one that carries fewest: what
 * is asked, and the storage throughput that ranks them, depends on how many ask at a time. */
static void level_users(struct suite *s) {
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < s->entries; i++)
        if (s->entry[i].test->group == SUITE_GROUP_TIERS && !s->entry[i].refused[0])
            least = kvf_min(least, s->entry[i].scenario.workload.users);
    for (size_t i = 0; i < s->entries; i++) {
        struct suite_entry *entry = &s->entry[i];
        uint64_t *users = &entry->scenario.workload.users;
        if (entry->test->group != SUITE_GROUP_TIERS || *users <= least) continue;
        note(&entry->fit, "workload.users %" PRIu64 " -> %" PRIu64 ": as in the hierarchy that has fewest",
             *users, least);
        *users = least;
    }
}

void suite_note_left_out(struct suite *s) {
    struct suite_entry *first = s->entry;
    while (first < s->entry + s->entries && first->refused[0]) first++;
    if (first == s->entry + s->entries) return;
    for (size_t i = 0; i < s->entries; i++) {
        const struct suite_entry *one = &s->entry[i];
        if (!one->refused[0] || !note(&first->fit, "not run: %s: %s", one->test->name, one->refused))
            continue;
        note_kind(&first->fit, RECORD_EVENT_NOT_RUN, one->test->name);
        first->fit.line[first->fit.lines - 1].scaled = false;
    }
}

int suite_prepare(struct suite *s, const struct suite_test *const *chosen, size_t count, struct err *e) {
    s->entry = mem_zalloc(count ? count : 1, sizeof *s->entry);
    for (; s->entries < count; s->entries++) {
        int rc = prepare(s, chosen[s->entries], &s->entry[s->entries], e);
        if (rc) return rc;
    }
    say_in_vain(s);
    level_users(s);
    return 0;
}

double suite_entry_s(const struct suite_entry *e) {
    double one = (double)(e->scenario.run.warmup_ns + e->scenario.run.duration_ns) / (double)KVF_NS_PER_S;
    return e->trials * one;
}

double suite_ahead_s(const struct suite *s, size_t from, double around_s) {
    double sum = 0;
    for (size_t i = from; i < s->entries; i++)
        if (!s->entry[i].refused[0]) sum += suite_entry_s(&s->entry[i]) + s->entry[i].trials * around_s;
    return sum;
}
