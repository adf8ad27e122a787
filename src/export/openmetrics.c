#include "export/openmetrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/build.h"
#include "base/utf8.h"
#include "export/openmetrics_table.h"

enum { LABELS_MAX = 10, NAME_MOST = 128 };

static const char *const type_names[] = {"gauge", "counter", "histogram", "summary", "info"};

/* One text under way. Labels are a stack: who adds some takes them off again. */
struct writer {
    struct buf *out;
    enum openmetrics_form form;
    const struct family *family;
    bool begun; /* its header is written: it has a sample */
    struct {
        const char *name, *value;
    } label[LABELS_MAX];
    size_t labels;
};

/* The sources of a family of a live run. */
struct live {
    const struct openmetrics_identity *id;
    const struct snapshot *snap;
    const struct totals *totals;
    bool ranks;
};

/* ---- text ---- */

static void put_value(struct buf *out, const char *value) {
    while (*value) {
        const char *from = value;
        int32_t ch = utf8_next(&value);
        if (ch == '\\')
            buf_add(out, "\\\\");
        else if (ch == '"')
            buf_add(out, "\\\"");
        else if (ch == '\n')
            buf_add(out, "\\n");
        else if (ch < 0 || utf8_is_control(ch))
            buf_add(out, "?");
        else
            buf_bytes(out, from, (size_t)(value - from));
    }
}

/* The fewest digits that give the number back. */
static void put_number(struct buf *out, double v) {
    char text[40];
    if (isinf(v)) {
        buf_add(out, v < 0 ? "-Inf" : "+Inf");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v) break;
    }
    buf_add(out, text);
}

/* OpenMetrics names the family, without what its samples are called by; the older form the samples. */
static int name_len(const struct writer *w) {
    const struct family *f = w->family;
    size_t len = strlen(f->name);
    if (w->form == OPENMETRICS_1_0 && f->type == FAMILY_COUNTER && buf_ends_with(f->name, "_total")) len -= 6;
    if (w->form == OPENMETRICS_1_0 && f->type == FAMILY_INFO && buf_ends_with(f->name, "_info")) len -= 5;
    return (int)len;
}

static void put_header(struct writer *w) {
    const struct family *f = w->family;
    int len = name_len(w);
    bool info_as_gauge = w->form == OPENMETRICS_TEXT && f->type == FAMILY_INFO;
    buf_addf(w->out, "# HELP %.*s ", len, f->name);
    family_help(f, w->out);
    buf_addf(w->out, "\n# TYPE %.*s %s\n", len, f->name, type_names[info_as_gauge ? FAMILY_GAUGE : f->type]);
    if (w->form == OPENMETRICS_1_0 && f->unit[0]) buf_addf(w->out, "# UNIT %.*s %s\n", len, f->name, f->unit);
    w->begun = true;
}

static void label_push(struct writer *w, const char *name, const char *value) {
    if (w->labels == LABELS_MAX) abort(); /* the table has fewer */
    w->label[w->labels].name = name;
    w->label[w->labels++].value = value;
}

/* Name and labels of a sample, up to its value. An empty label is none. */
static void put_sample(struct writer *w, const char *suffix) {
    const char *before = "{";
    if (!w->begun) put_header(w);
    buf_addf(w->out, "%s%s", w->family->name, suffix);
    for (size_t i = 0; i < w->labels; i++) {
        if (!w->label[i].value[0]) continue;
        buf_addf(w->out, "%s%s=\"", before, w->label[i].name);
        put_value(w->out, w->label[i].value);
        buf_add(w->out, "\"");
        before = ",";
    }
    buf_add(w->out, *before == ',' ? "} " : " ");
}

static void put_count(struct writer *w, const char *suffix, uint64_t n) {
    put_sample(w, suffix);
    buf_addf(w->out, "%" PRIu64 "\n", n);
}

static void put_real(struct writer *w, const char *suffix, double v) {
    if (!kvf_present(v)) return;
    put_sample(w, suffix);
    put_number(w->out, v);
    buf_add(w->out, "\n");
}

static void put_histogram(struct writer *w, const struct totals_histogram *h) {
    uint64_t below = 0;
    size_t labels = w->labels;
    for (int i = 0; i <= TOTALS_BOUNDS; i++) {
        char bound[24] = "+Inf";
        if (i < TOTALS_BOUNDS) snprintf(bound, sizeof bound, "%g", totals_bounds_s[i]);
        if (i < TOTALS_BOUNDS && w->form == OPENMETRICS_1_0 && !strpbrk(bound, ".e")) strcat(bound, ".0");
        below += h->count[i];
        label_push(w, "le", bound);
        put_count(w, "_bucket", below);
        w->labels = labels;
    }
    put_real(w, "_sum", h->sum_s);
    put_count(w, "_count", below);
}

/* Division gives the decimal that people expect where a product with 0.001 does not. */
static double scaled(const struct family *f, double v) {
    return f->scale <= 0 ? v : f->scale < 1 ? v / (1 / f->scale) : v * f->scale;
}

/* ---- a live run: values by their place ---- */

static void put_at(struct writer *w, const char *at) {
    const struct family *f = w->family;
    double real;
    uint64_t whole;
    if (f->kind == FAMILY_BUCKETS) {
        put_histogram(w, (const struct totals_histogram *)at);
    } else if (f->kind == FAMILY_U64) {
        memcpy(&whole, at, sizeof whole);
        put_count(w, "", whole);
    } else {
        memcpy(&real, at, sizeof real);
        put_real(w, "", scaled(f, real));
    }
}

static void put_points(struct writer *w, const char *part, size_t index) {
    const struct family *f = w->family;
    size_t size = f->kind == FAMILY_BUCKETS ? sizeof(struct totals_histogram) : sizeof(uint64_t);
    size_t labels = w->labels;
    for (int i = 0; i < FAMILY_POINTS && (i == 0 || f->point[i].value[0]); i++) {
        for (int l = 0; l < FAMILY_LABELS && f->label[l]; l++)
            label_push(w, f->label[l], f->point[i].value[l]);
        put_at(w, part + f->point[i].at + index * size);
        w->labels = labels;
    }
}

static const char *tier_label(const struct snapshot *snap, size_t i) {
    return snap->tier_on[i] ? tier_name((enum kvf_tier)i) : NULL;
}

static const char *class_label(const struct snapshot *snap, size_t i) {
    return i < snap->classes ? snap->class_name[i] : NULL;
}

static const char *phase_label(const struct snapshot *snap, size_t i) {
    (void)snap;
    return run_phase_name((enum kvf_run_phase)i);
}

static const char *dir_label(const struct snapshot *snap, size_t i) {
    (void)snap;
    return dir_name((enum kvf_dir)i);
}

static const char *cause_label(const struct snapshot *snap, size_t i) {
    (void)snap;
    return cause_name((enum kvf_cause)i);
}

/* In the order in which arrays lie in each other. */
static const struct dimension {
    unsigned by;
    const char *name;
    size_t size;
    const char *(*label)(const struct snapshot *snap, size_t i); /* NULL: not there in this run */
} dimensions[] = {{FAMILY_BY_TIER, "tier", KVF_TIERS, tier_label},
                  {FAMILY_BY_CLASS, "class", KVF_CLASSES_MAX, class_label},
                  {FAMILY_BY_PHASE, "phase", KVF_RUN_PHASES, phase_label},
                  {FAMILY_BY_DIR, "direction", KVF_DIRS, dir_label},
                  {FAMILY_BY_CAUSE, "cause", KVF_CAUSES, cause_label}};

static void put_arrays(struct writer *w, const struct live *in, unsigned by, size_t index) {
    const struct dimension *d = dimensions;
    size_t labels = w->labels;
    if (!by) {
        put_points(w, (const char *)in->totals, index);
        return;
    }
    while (!(by & d->by)) d++;
    for (size_t i = 0; i < d->size; i++) {
        const char *value = d->label(in->snap, i);
        if (!value) continue;
        label_push(w, d->name, value);
        put_arrays(w, in, by & ~d->by, index * d->size + i);
        w->labels = labels;
    }
}

static void put_tiers(struct writer *w, const struct live *in) {
    for (size_t t = 0; t < KVF_TIERS; t++) {
        if (!in->snap->tier_on[t]) continue;
        label_push(w, "tier", tier_label(in->snap, t));
        put_points(w, (const char *)&in->snap->tier[t], 0);
        w->labels--;
    }
}

static void put_classes(struct writer *w, const struct live *in) {
    for (size_t k = 0; k < in->snap->classes; k++) {
        label_push(w, "class", in->snap->class_name[k]);
        put_points(w, (const char *)&in->snap->qos[k], 0);
        w->labels--;
    }
}

static void put_gpus(struct writer *w, const struct live *in) {
    for (size_t g = 0; g < in->snap->gpus; g++) {
        char device[24];
        snprintf(device, sizeof device, "%" PRIu64, in->snap->gpu[g].device);
        label_push(w, "device", device);
        put_points(w, (const char *)&in->snap->gpu[g], 0);
        w->labels--;
    }
}

/* "3", or "40-79" for a row of several. */
static void put_pods(struct writer *w, const struct snapshot *snap) {
    for (uint32_t i = 0; i < snap->pod_rows; i++) {
        const struct snapshot_pod *at = &snap->pod[i];
        char pod[48];
        int n = snprintf(pod, sizeof pod, "%" PRIu64, at->pod);
        if (at->pods > 1) snprintf(pod + n, sizeof pod - (size_t)n, "-%" PRIu64, (at->pod + at->pods - 1));
        label_push(w, "pod", pod);
        put_points(w, (const char *)at, 0);
        w->labels--;
    }
}

static void put_ranks(struct writer *w, const struct snapshot *snap) {
    for (size_t h = 0; h < snap->hosts && h < SNAPSHOT_HOSTS; h++) {
        const struct snapshot_host *at = &snap->host[h];
        char rank[24];
        snprintf(rank, sizeof rank, "%" PRIu64, at->rank.rank);
        label_push(w, "rank", rank);
        label_push(w, "host", at->host);
        if (w->family->part == FAMILY_RANK) put_points(w, (const char *)&at->rank, 0);
        for (size_t t = 0; w->family->part == FAMILY_RANK_TIER && t < KVF_TIERS; t++) {
            if (!snap->tier_on[t]) continue;
            label_push(w, "tier", tier_label(snap, t));
            put_points(w, (const char *)&at->tier[t], 0);
            w->labels--;
        }
        w->labels -= 2;
    }
}

/* ---- what runs, live or stored ---- */

static void number_text(char out[24], uint64_t n) {
    if (n)
        snprintf(out, 24, "%" PRIu64, n);
    else
        out[0] = '\0';
}

static void put_run_info(struct writer *w, const struct openmetrics_identity *id, bool labelled) {
    char run_id[24], seed[24], trial[24], trials[24];
    size_t labels = w->labels;
    number_text(run_id, (uint64_t)id->run_id);
    number_text(trial, id->trial);
    number_text(trials, id->trials);
    snprintf(seed, sizeof seed, "%" PRIu64, id->seed);
    if (!labelled) {
        label_push(w, "run_id", run_id);
        label_push(w, "name", id->name);
    }
    if (!labelled || id->run_id) label_push(w, "uuid", id->uuid);
    label_push(w, "mode", id->mode);
    label_push(w, "model", id->model);
    label_push(w, "host", id->host);
    label_push(w, "seed", seed);
    label_push(w, "trial", trial);
    label_push(w, "trials", trials);
    put_count(w, "", 1);
    w->labels = labels;
}

static void put_states(struct writer *w, const char *label, const char *const *names, size_t count,
                       size_t now) {
    for (size_t i = 0; i < count; i++) {
        label_push(w, label, names[i]);
        put_count(w, "", i == now);
        w->labels--;
    }
}

static void put_status(struct writer *w, enum run_status status) {
    const char *names[RUN_STATUSES];
    for (int i = 0; i < RUN_STATUSES; i++) names[i] = run_status_name((enum run_status)i);
    put_states(w, "status", names, RUN_STATUSES, status);
}

static void put_phase(struct writer *w, const struct snapshot *snap) {
    const char *names[KVF_RUN_PHASES];
    for (int i = 0; i < KVF_RUN_PHASES; i++) names[i] = run_phase_name((enum kvf_run_phase)i);
    put_states(w, "phase", names, KVF_RUN_PHASES, snap->interval.phase);
}

static void put_tier_info(struct writer *w, const struct snapshot *snap) {
    for (size_t t = 0; t < KVF_TIERS; t++) {
        if (!snap->tier_on[t]) continue;
        label_push(w, "tier", tier_label(snap, t));
        label_push(w, "device", snap->tier_device[t]);
        label_push(w, "emulated", snap->tier_emulated[t] ? "true" : "false");
        put_count(w, "", 1);
        w->labels -= 3;
    }
}

/* snap: NULL when there is none (yet). */
static void put_identity(struct writer *w, const struct openmetrics_identity *id, const struct snapshot *snap,
                         bool labelled) {
    const char *name = w->family->name + strlen("kvfall_");
    if (strcmp(name, "build_info") == 0) {
        label_push(w, "version", labelled ? id->version : build_version());
        put_count(w, "", 1);
        w->labels--;
    } else if (strcmp(name, "run_info") == 0) {
        put_run_info(w, id, labelled);
    } else if (strcmp(name, "run_start_time_seconds") == 0) {
        put_real(w, "", id->started_at);
    } else if (strcmp(name, "run_status") == 0) {
        put_status(w, id->status);
    } else if (strcmp(name, "run_phase") == 0 && snap) {
        put_phase(w, snap);
    } else if (strcmp(name, "tier_info") == 0 && snap) {
        put_tier_info(w, snap);
    }
}

static void put_live(struct writer *w, const struct live *in) {
    const struct family *f = w->family;
    if (f->part == FAMILY_IDENTITY) put_identity(w, in->id, in->snap, false);
    if (!in->snap) return;
    if (f->part == FAMILY_SNAPSHOT) put_points(w, (const char *)in->snap, 0);
    if (f->part == FAMILY_TIER) put_tiers(w, in);
    if (f->part == FAMILY_CLASS) put_classes(w, in);
    if (f->part == FAMILY_GPU) put_gpus(w, in);
    if (f->part == FAMILY_REMOTE && in->snap->remote_known) put_points(w, (const char *)&in->snap->remote, 0);
    if (f->part == FAMILY_BLOCK && in->snap->block_known) put_points(w, (const char *)&in->snap->block, 0);
    if (f->part == FAMILY_FLEET && in->snap->pod_rows > 0) put_points(w, (const char *)&in->snap->fleet, 0);
    if (f->part == FAMILY_POD) put_pods(w, in->snap);
    if ((f->part == FAMILY_RANK || f->part == FAMILY_RANK_TIER) && in->ranks) put_ranks(w, in->snap);
    if (f->part == FAMILY_TOTALS && in->totals) put_arrays(w, in, f->by, 0);
}

/* ---- an ended run: values by their names ---- */

static const char *tier_word(const struct run_record *run, size_t i) {
    (void)run;
    return i < KVF_TIERS ? tier_name((enum kvf_tier)i) : NULL;
}

static const char *class_word(const struct run_record *run, size_t i) {
    return i < run->classes ? run->klass[i].name : NULL;
}

static const char *dir_word(const struct run_record *run, size_t i) {
    (void)run;
    return i < KVF_DIRS ? dir_name((enum kvf_dir)i) : NULL;
}

static const char *cause_word(const struct run_record *run, size_t i) {
    (void)run;
    return i < KVF_CAUSES ? cause_name((enum kvf_cause)i) : NULL;
}

static const char *outcome_word(const struct run_record *run, size_t i) {
    static const char *const names[] = {"done", "failed", "dropped"};
    (void)run;
    return i < sizeof names / sizeof names[0] ? names[i] : NULL;
}

static const struct word {
    const char *word, *label;
    const char *(*value)(const struct run_record *run, size_t i); /* NULL: no more */
} words[] = {{"TIER", "tier", tier_word},
             {"CLASS", "class", class_word},
             {"DIR", "direction", dir_word},
             {"CAUSE", "cause", cause_word},
             {"OUTCOME", "outcome", outcome_word}};
enum { WORDS = sizeof words / sizeof words[0] };

/* The name with one word replaced. */
static void metric_with(char out[NAME_MOST], const char *metric, const char *word, const char *value) {
    const char *at = strstr(metric, word);
    snprintf(out, NAME_MOST, "%.*s%s%s", (int)(at - metric), metric, value, at + strlen(word));
}

/* Quantiles, then sum and number of the values, which the mean gives. */
static void put_stats(struct writer *w, const struct run_record *run, const char *metric) {
    char name[NAME_MOST], quantile[16];
    for (enum kvf_stat s = KVF_STAT_P50; s <= KVF_STAT_P9999; s++) {
        metric_with(name, metric, "STAT", stat_name(s));
        snprintf(quantile, sizeof quantile, "%.4g", stat_quantile(s));
        label_push(w, "quantile", quantile);
        put_real(w, "", scaled(w->family, result_value(&run->results, name)));
        w->labels--;
    }
    metric_with(name, metric, "STAT", "mean");
    const struct result *mean = result_find(&run->results, name);
    if (!mean || !kvf_present(mean->value) || mean->samples == 0) return;
    put_real(w, "_sum", scaled(w->family, mean->value * (double)mean->samples));
    put_count(w, "_count", mean->samples);
}

static void put_metric(struct writer *w, const struct run_record *run, const char *metric) {
    char name[NAME_MOST];
    size_t labels = w->labels;
    for (size_t k = 0; k < WORDS; k++) {
        const char *value;
        if (!strstr(metric, words[k].word)) continue;
        for (size_t i = 0; (value = words[k].value(run, i)) != NULL; i++) {
            metric_with(name, metric, words[k].word, value);
            label_push(w, words[k].label, value);
            put_metric(w, run, name);
            w->labels = labels;
        }
        return;
    }
    if (strstr(metric, "STAT"))
        put_stats(w, run, metric);
    else
        put_real(w, "", scaled(w->family, result_value(&run->results, metric)));
}

static void put_record(struct writer *w, const struct run_record *run) {
    const char *name = w->family->name + strlen("kvfall_");
    if (strcmp(name, "run_end_time_seconds") == 0) put_real(w, "", run->ended_at);
    for (size_t t = 0; strcmp(name, "result_tier_capacity_bytes") == 0 && t < KVF_TIERS; t++) {
        if (!run->tier[t].on) continue;
        label_push(w, "tier", tier_name((enum kvf_tier)t));
        put_count(w, "", run->tier[t].usable_bytes);
        w->labels--;
    }
    for (size_t i = 0; strcmp(name, "result_criterion_passed") == 0 && i < run->criterion_count; i++) {
        label_push(w, "criterion", run->criteria[i].name);
        put_real(w, "", run_criterion_passed(run, &run->criteria[i]));
        w->labels--;
    }
}

static void put_ended(struct writer *w, const struct run_record *run) {
    struct openmetrics_identity id;
    char run_id[24];
    openmetrics_identify(run, &id);
    number_text(run_id, (uint64_t)run->run_id);
    label_push(w, run_id[0] ? "run_id" : "uuid", run_id[0] ? run_id : id.uuid);
    label_push(w, "name", id.name);
    if (w->family->part == FAMILY_IDENTITY) put_identity(w, &id, NULL, true);
    if (w->family->part == FAMILY_RESULT) put_metric(w, run, w->family->metric);
    if (w->family->part == FAMILY_RECORD) put_record(w, run);
    w->labels = 0;
}

/* ---- public ---- */

void openmetrics_identify(const struct run_record *r, struct openmetrics_identity *out) {
    *out = (struct openmetrics_identity){.run_id = r->run_id,
                                         .seed = r->seed,
                                         .trial = r->trial,
                                         .trials = r->trials,
                                         .started_at = r->started_at,
                                         .ended_at = r->ended_at,
                                         .status = r->status};
    snprintf(out->uuid, sizeof out->uuid, "%s", r->uuid);
    snprintf(out->name, sizeof out->name, "%s", r->name);
    snprintf(out->mode, sizeof out->mode, "%s", r->mode);
    snprintf(out->model, sizeof out->model, "%s", r->model);
    snprintf(out->host, sizeof out->host, "%s", r->host);
    snprintf(out->version, sizeof out->version, "%s", r->version);
}

void openmetrics_live(const struct openmetrics_identity *identity, const struct snapshot *snap,
                      const struct totals *totals, bool ranks, enum openmetrics_form form, struct buf *out) {
    struct live in = {identity, snap, totals, ranks};
    struct writer w = {.out = out, .form = form};
    for (size_t i = 0; i < family_count; i++) {
        w.family = &families[i];
        w.begun = false;
        put_live(&w, &in);
    }
    if (form == OPENMETRICS_1_0) buf_add(out, "# EOF\n");
}

void openmetrics_results(const struct run_record *const *runs, size_t count, enum openmetrics_form form,
                         struct buf *out) {
    struct writer w = {.out = out, .form = form};
    for (size_t i = 0; i < family_count; i++) {
        w.family = &families[i];
        w.begun = false;
        for (size_t r = 0; r < count; r++) put_ended(&w, runs[r]);
    }
    if (form == OPENMETRICS_1_0) buf_add(out, "# EOF\n");
}
