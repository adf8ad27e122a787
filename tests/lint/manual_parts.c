/* Prints a part of a manual page that a table of the program has: `manual_parts measures`. `make manual` puts
 * it into the page; a test holds both alike. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "export/openmetrics_table.h"
#include "model/engines.h"
#include "record/metric.h"
#include "record/snapshot.h"
#include "scenario/load.h"
#include "ui/keyboard.h"

enum { COLUMNS = 110 };

/* A word as mdoc has it: what is no ASCII by its code point. */
static void put_word(const char *word, size_t len) {
    for (const char *end = word + len; word < end;) {
        const char *next = word;
        int32_t c = utf8_next(&next);
        printf(c < 0x80 ? "%c" : "\\[u%04X]", (int)c);
        word = next;
    }
}

/* One sentence a line, broken between words where it is longer. */
static void put_sentences(const char *text) {
    size_t column = 0;
    while (*text) {
        size_t len = strcspn(text, " ");
        if (column > 0 && column + 1 + len > COLUMNS) column = 0, putchar('\n');
        if (column == 0 && (*text == '.' || *text == '\'')) printf("\\&");
        if (column > 0) putchar(' ');
        put_word(text, len);
        column += len + (column > 0);
        text += len;
        if (!*text++) break;
        if (text[-2] == '.') column = 0, putchar('\n');
    }
    putchar('\n');
}

static void put_measures(void) {
    for (size_t i = 0; i < metric_row_count; i++) {
        const struct metric *m = &metric_rows[i];
        const char *unit = metric_form_unit(m->form), *better = metric_better_word(m->better);
        printf(".It Va %s", m->pattern);
        if (*unit || *better)
            printf(" Pq %s%s%s%s", unit, *unit && *better ? ", " : "", better, *better ? " is better" : "");
        putchar('\n');
        put_sentences(m->help);
    }
}

/* Text of a table as mdoc has it; `word`: punctuation alone is no delimiter. */
static void put_text(const char *text, int word) {
    if (word && !isalnum((unsigned char)text[0])) printf("\\&");
    for (; *text; text++) {
        if (*text == '-')
            printf("\\-");
        else if (*text == '\\')
            printf("\\e");
        else
            putchar(*text);
    }
}

/* Sizes and times have their unit in their values. */
static int unit_told(const char *unit) {
    return *unit && strcmp(unit, "bytes") != 0 && strcmp(unit, "bytes/s") != 0 && strcmp(unit, "s") != 0;
}

static const char *default_told(const char *fallback) {
    return strcmp(fallback, "\"\"") == 0 ? "empty"
           : strcmp(fallback, ".") == 0  ? "the current directory"
                                         : fallback;
}

static void put_keys(void) {
    size_t count;
    const struct scenario_key *keys = scenario_keys(&count);
    for (size_t i = 0; i < count; i++) {
        const struct scenario_key *k = &keys[i];
        printf(".It Sy %s\n%s", k->name, k->type);
        if (*k->range) printf(": "), put_text(k->range, 0);
        if (unit_told(k->unit)) printf(" %s", k->unit);
        printf("; ");
        if (strcmp(k->fallback, "required") == 0)
            printf("no default");
        else if (strncmp(k->fallback, "of the ", 7) == 0)
            printf("default that %s", k->fallback);
        else
            printf("default "), put_text(default_told(k->fallback), 0);
        printf(".\n.br\n");
        put_text(k->help, 0);
        putchar('\n');
    }
}

static void put_row(const char *word, const char *help) {
    printf(".It Cm %s\n", word);
    put_sentences(help);
}

static void put_policies(void) {
    for (unsigned i = 0; i < TRAITS_POLICIES; i++) put_row(traits_policy(i)->word, traits_policy(i)->help);
}

static void put_routings(void) {
    for (unsigned i = 0; traits_routing(i); i++) put_row(traits_routing(i)->word, traits_routing(i)->help);
}

static void put_sources(void) {
    for (unsigned i = 0; traits_source(i); i++) put_row(traits_source(i)->word, traits_source(i)->help);
}

static void put_backends(enum kvf_tier tier) {
    for (unsigned i = 0; traits_backend(tier, i); i++)
        put_row(traits_backend(tier, i)->word, traits_backend(tier, i)->help);
}

static void put_gpu_backends(void) {
    put_backends(KVF_TIER_GPU);
}

static void put_cpu_backends(void) {
    put_backends(KVF_TIER_CPU);
}

static void put_nvme_backends(void) {
    put_backends(KVF_TIER_NVME);
}

static void put_remote_backends(void) {
    put_backends(KVF_TIER_REMOTE);
}

static void put_engines(void) {
    for (unsigned i = 0; i < ENGINES_PRESETS; i++) {
        const struct engines_fit *f = engines_fit(i);
        printf(".It %s Ta %s Ta %g Ta %g Ta %g ms Ta %g ms Ta %g us\n", f->name,
               roofline_device(f->gpu)->name, f->mfu, f->efficiency, (double)f->overhead_ns / 1e6,
               (double)f->prefill_overhead_ns / 1e6, (double)f->exchange_ns / 1e3);
    }
}

static void put_keyboard(void) {
    for (size_t i = 0; i < keyboard_count; i++) {
        const struct key_entry *entry = &keyboard[i];
        printf(".It Ic ");
        put_text(entry->name, 1);
        for (; i + 1 < keyboard_count && !keyboard[i + 1].help; i++)
            printf(" , "), put_text(keyboard[i + 1].name, 1);
        printf("\n%c", toupper((unsigned char)entry->help[0]));
        put_text(entry->help + 1, 0);
        printf(".\n");
    }
}

/* Columns of a table of the database; a phase is stored by its name. */
static void put_fields(const struct snapshot_field *f, size_t count) {
    for (const struct snapshot_field *end = f + count; f < end; f++) {
        int named = strcmp(f->name, "phase") == 0;
        printf(".It Va %s Pq %s%s%s\n", f->name,
               named                   ? "TEXT"
               : f->type == SNAPSHOT_F ? "REAL"
                                       : "INTEGER",
               *f->unit ? ", " : "", f->unit);
        putchar(named ? f->help[0] : toupper((unsigned char)f->help[0]));
        put_word(f->help + 1, strlen(f->help + 1));
        printf(".\n");
    }
}

static int put_fields_of(const char *list) {
#define PART(id)                                                                                             \
    { #id "_fields", snapshot_##id##_fields, &snapshot_##id##_field_count }
    static const struct {
        const char *list;
        const struct snapshot_field *field;
        const size_t *count;
    } parts[] = {PART(interval), PART(tier), PART(cause),     PART(gpu),   PART(qos), PART(remote),
                 PART(block),    PART(rank), PART(rank_tier), PART(fleet), PART(pod)};
#undef PART
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(list, parts[i].list) == 0) return put_fields(parts[i].field, *parts[i].count), 0;
    return -1;
}

/* Labels that the code writes for the families it knows by name. */
static const char *const named_labels[][2] = {
    {"kvfall_build_info", "version"},
    {"kvfall_run_info", "run_id , name , uuid , mode , model , host , seed , trial , trials"},
    {"kvfall_run_status", "status"},
    {"kvfall_run_phase", "phase"},
    {"kvfall_tier_info", "tier , device , emulated"},
    {"kvfall_result_tier_capacity_bytes", "tier"},
    {"kvfall_result_criterion_passed", "criterion"}};

/* Labels of a part's samples. */
static const char *const part_labels[] = {[FAMILY_TIER] = "tier",
                                          [FAMILY_CLASS] = "class",
                                          [FAMILY_GPU] = "device",
                                          [FAMILY_RANK] = "rank,host",
                                          [FAMILY_RANK_TIER] = "rank,host,tier",
                                          [FAMILY_POD] = "pod",
                                          [FAMILY_RECORD] = NULL};

/* " by tier , direction": the first label has no comma before it. */
static void put_label(const char *label, int *count) {
    printf("%s%s", (*count)++ ? " , " : " by ", label);
}

static void put_labels(const struct family *f) {
    static const struct {
        unsigned by;
        const char *word, *label;
    } arrays[] = {{FAMILY_BY_TIER, "TIER", "tier"},
                  {FAMILY_BY_CLASS, "CLASS", "class"},
                  {FAMILY_BY_PHASE, NULL, "phase"},
                  {FAMILY_BY_DIR, "DIR", "direction"},
                  {FAMILY_BY_CAUSE, "CAUSE", "cause"},
                  {0, "OUTCOME", "outcome"},
                  {0, "STAT", "quantile"}};
    int count = 0;
    for (size_t i = 0; i < sizeof named_labels / sizeof *named_labels; i++)
        if (strcmp(named_labels[i][0], f->name) == 0) put_label(named_labels[i][1], &count);
    for (const char *at = part_labels[f->part] ? part_labels[f->part] : ""; *at; at += *at == ',') {
        char label[16];
        size_t len = strcspn(at, ",");
        snprintf(label, sizeof label, "%.*s", (int)len, at);
        put_label(label, &count);
        at += len;
    }
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if ((f->by & arrays[i].by) || (f->metric && arrays[i].word && strstr(f->metric, arrays[i].word)))
            put_label(arrays[i].label, &count);
    for (int i = 0; i < FAMILY_LABELS && f->label[i]; i++) put_label(f->label[i], &count);
    if (f->type == FAMILY_HISTOGRAM) put_label("le", &count);
}

static void put_families_of(int results) {
    static const char *const types[] = {"gauge", "counter", "histogram", "summary", "info"};
    for (size_t i = 0; i < family_count; i++) {
        const struct family *f = &families[i];
        if (results != (f->part == FAMILY_RESULT || f->part == FAMILY_RECORD)) continue;
        printf(".It Va %s Pq %s", f->name, types[f->type]);
        put_labels(f);
        struct buf help = {0};
        family_help(f, &help);
        printf("\n%c%s.\n", toupper((unsigned char)help.data[0]), help.data + 1);
        buf_free(&help);
    }
}

static void put_families(void) {
    put_families_of(0);
}

static void put_result_families(void) {
    put_families_of(1);
}

static const struct {
    const char *name;
    void (*put)(void);
} parts[] = {{"measures", put_measures},
             {"keys", put_keys},
             {"keyboard", put_keyboard},
             {"families", put_families},
             {"result_families", put_result_families},
             {"policies", put_policies},
             {"routings", put_routings},
             {"sources", put_sources},
             {"engines", put_engines},
             {"gpu_backends", put_gpu_backends},
             {"cpu_backends", put_cpu_backends},
             {"nvme_backends", put_nvme_backends},
             {"remote_backends", put_remote_backends}};

int main(int argc, char **argv) {
    for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(argv[1], parts[i].name) != 0) continue;
        parts[i].put();
        return 0;
    }
    if (argc == 2 && put_fields_of(argv[1]) == 0) return 0;
    fprintf(stderr, "usage: %s PART\n", argv[0]);
    return 2;
}
