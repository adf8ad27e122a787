/* The table of metric families, and how a row says where its samples come from. For openmetrics.c and the
 * manual. */
#ifndef KVF_EXPORT_OPENMETRICS_TABLE_H
#define KVF_EXPORT_OPENMETRICS_TABLE_H

#include <stddef.h>

#include "base/buf.h"

enum family_type { FAMILY_GAUGE, FAMILY_COUNTER, FAMILY_HISTOGRAM, FAMILY_SUMMARY, FAMILY_INFO };

/* The structure that holds a value; offsets count from its start. */
enum family_part {
    FAMILY_IDENTITY, /* openmetrics.c knows these by name */
    FAMILY_SNAPSHOT,
    FAMILY_TIER,   /* each tier that is on, of the snapshot */
    FAMILY_CLASS,  /* each QoS class */
    FAMILY_GPU,    /* each device */
    FAMILY_REMOTE, /* the server behind the remote tier */
    FAMILY_BLOCK,  /* the kernel's block layer */
    FAMILY_RANK,   /* each rank, where ranks are asked for */
    FAMILY_RANK_TIER,
    FAMILY_FLEET, /* the pods of a simulated fleet together */
    FAMILY_POD,   /* each row of pods */
    FAMILY_TOTALS,
    FAMILY_RESULT, /* by the names of results */
    FAMILY_RECORD  /* openmetrics.c knows these by name */
};
enum family_kind { FAMILY_U64, FAMILY_F64, FAMILY_BUCKETS };

/* Arrays that a value lies in, the outermost first; each is a label. */
enum {
    FAMILY_BY_TIER = 1,
    FAMILY_BY_CLASS = 2,
    FAMILY_BY_PHASE = 4,
    FAMILY_BY_DIR = 8,
    FAMILY_BY_CAUSE = 16
};

enum { FAMILY_POINTS = 8, FAMILY_LABELS = 2 };
/* One of several values that differ in labels of the row's own. */
struct family_point {
    size_t at;
    const char *value[FAMILY_LABELS];
};

struct family {
    enum family_type type;
    const char *name; /* as the text format has its samples, without suffixes of histograms and summaries */
    const char *unit; /* its last word, "" where there is none */
    const char *help; /* a phrase; "" or from a semicolon on: behind that of the field, see family_help() */
    enum family_part part;
    enum family_kind kind;
    unsigned by;  /* FAMILY_BY_... */
    double scale; /* factor of a value; 0: 1 */
    const char *label[FAMILY_LABELS];
    struct family_point point[FAMILY_POINTS]; /* without labels: the first alone */
    /* FAMILY_RESULT: names of results, in which TIER, DIR, CAUSE, CLASS and OUTCOME stand for labels and
     * STAT for the quantiles, the mean and the number of a summary. */
    const char *metric;
};

extern const struct family families[];
extern const size_t family_count;
void family_help(const struct family *f, struct buf *out); /* adds the phrase */

#endif
