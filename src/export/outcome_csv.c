#include <string.h>

#include "draw/sheet.h"
#include "export/outcome_format.h"

/* The numbers behind texts such as "4GiB" and "200ms", so that a plot has them in order. */
static const char *number_column(const struct outcome_dimension *d) {
    return strcmp(d->unit, "B") == 0     ? "_bytes"
           : strcmp(d->unit, "ns") == 0  ? "_ns"
           : strcmp(d->unit, "B/s") == 0 ? "_bytes_s"
           : d->role == OUTCOME_LOAD     ? "_requests_s"
                                         : NULL;
}

static void add_dimension_heads(const struct outcome *o, struct sheet *g) {
    for (unsigned d = 0; d < o->dimensions; d++) {
        const char *number = number_column(&o->dimension[d]);
        struct buf name = {0};
        sheet_column(g, o->dimension[d].key);
        if (number) buf_addf(&name, "%s%s", o->dimension[d].key, number);
        if (number) sheet_column(g, buf_text(&name));
        buf_free(&name);
    }
}

static void add_place(const struct outcome *o, size_t point, struct sheet *g) {
    for (unsigned d = 0; d < o->dimensions; d++) {
        const struct outcome_value *v = &o->dimension[d].value[o->point[point].at[d]];
        sheet_text(g, v->text);
        if (number_column(&o->dimension[d])) sheet_number(g, v->number);
    }
}

static void add_curves(const struct outcome *o, struct sheet *g) {
    static const char *const columns[] = {"policy",     "capacity_bytes", "lookups", "misses",
                                          "miss_ratio", "sample",         "method"};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) sheet_column(g, columns[i]);
    for (size_t i = 0; i < o->curves; i++) {
        const struct sweep_curve *c = &o->curve[i];
        sheet_number(g, (double)o->record.sweep_id);
        sheet_text(g, o->record.name);
        sheet_text(g, c->policy);
        sheet_number(g, (double)c->capacity_bytes);
        sheet_number(g, (double)c->lookups);
        sheet_number(g, (double)c->misses);
        sheet_number(g, c->miss_ratio);
        sheet_number(g, c->sample);
        sheet_text(g, c->method);
    }
}

static void add_points(const struct outcome *o, struct sheet *g) {
    sheet_column(g, "point");
    add_dimension_heads(o, g);
    sheet_column(g, "state");
    sheet_column(g, "undone");
    sheet_column(g, "run_id");
    for (size_t m = 0; m < o->measures; m++) sheet_column(g, o->measure[m].name);
    for (size_t i = 0; i < o->points; i++) {
        const struct outcome_point *p = &o->point[i];
        char undone[STANDING_TEXT];
        sheet_number(g, (double)o->record.sweep_id);
        sheet_text(g, o->record.name);
        sheet_number(g, (double)p->number);
        add_place(o, i, g);
        sheet_text(g, outcome_state_name(p->state));
        sheet_text(g, outcome_undone(p, undone));
        sheet_number(g, p->run_id ? (double)p->run_id : KVF_MISSING);
        for (size_t m = 0; m < o->measures; m++) sheet_number(g, outcome_measured(o, i, m));
    }
}

void outcome_csv(const struct outcome *o, struct buf *out) {
    struct sheet *g = sheet_new(SHEET_CSV, false, 0);
    sheet_column(g, "sweep_id");
    sheet_column(g, "name");
    (strcmp(o->record.profile, "miss_ratio") == 0 ? add_curves : add_points)(o, g);
    sheet_print(g, out);
    sheet_free(g);
}
