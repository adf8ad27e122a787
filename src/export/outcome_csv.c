#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "draw/sheet.h"
#include "export/outcome_format.h"

static void add_text(const char *text, struct buf *out) {
    buf_add(out, ",");
    sheet_csv_text(text, out);
}

/* Nothing where it is missing. */
static void add_number(double v, struct buf *out) {
    char text[UNITS_REAL];
    buf_add(out, ",");
    if (!isfinite(v)) return;
    units_format_real(v, text);
    buf_add(out, text);
}

/* The numbers behind texts such as "4GiB" and "200ms", so that a plot has them in order. */
static const char *number_column(const struct outcome_dimension *d) {
    return strcmp(d->unit, "B") == 0     ? "_bytes"
           : strcmp(d->unit, "ns") == 0  ? "_ns"
           : strcmp(d->unit, "B/s") == 0 ? "_bytes_s"
           : d->role == OUTCOME_LOAD     ? "_requests_s"
                                         : NULL;
}

static void add_dimension_heads(const struct outcome *o, struct buf *out) {
    for (unsigned d = 0; d < o->dimensions; d++) {
        const char *number = number_column(&o->dimension[d]);
        add_text(o->dimension[d].key, out);
        if (number) {
            struct buf name = {0};
            buf_addf(&name, "%s%s", o->dimension[d].key, number);
            add_text(buf_text(&name), out);
            buf_free(&name);
        }
    }
}

static void add_place(const struct outcome *o, size_t point, struct buf *out) {
    for (unsigned d = 0; d < o->dimensions; d++) {
        const struct outcome_value *v = &o->dimension[d].value[o->point[point].at[d]];
        add_text(v->text, out);
        if (number_column(&o->dimension[d])) add_number(v->number, out);
    }
}

static void curves_csv(const struct outcome *o, struct buf *out) {
    buf_add(out, "sweep_id,name,policy,capacity_bytes,lookups,misses,miss_ratio,sample,method\n");
    for (size_t i = 0; i < o->curves; i++) {
        const struct sweep_curve *c = &o->curve[i];
        buf_addf(out, "%" PRId64, o->record.sweep_id);
        add_text(o->record.name, out);
        add_text(c->policy, out);
        buf_addf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, c->capacity_bytes, c->lookups, c->misses);
        add_number(c->miss_ratio, out);
        add_number(c->sample, out);
        add_text(c->method, out);
        buf_add(out, "\n");
    }
}

void outcome_csv(const struct outcome *o, struct buf *out) {
    if (strcmp(o->record.profile, "miss_ratio") == 0) {
        curves_csv(o, out);
        return;
    }
    buf_add(out, "sweep_id,name,point");
    add_dimension_heads(o, out);
    buf_add(out, ",state,run_id");
    for (size_t m = 0; m < o->measures; m++) add_text(o->measure[m].name, out);
    buf_add(out, "\n");
    for (size_t i = 0; i < o->points; i++) {
        const struct outcome_point *p = &o->point[i];
        buf_addf(out, "%" PRId64, o->record.sweep_id);
        add_text(o->record.name, out);
        buf_addf(out, ",%zu", p->number);
        add_place(o, i, out);
        add_text(outcome_state_name(p->state), out);
        buf_add(out, ",");
        if (p->run_id) buf_addf(out, "%" PRId64, p->run_id);
        for (size_t m = 0; m < o->measures; m++) add_number(outcome_measured(o, i, m), out);
        buf_add(out, "\n");
    }
}
