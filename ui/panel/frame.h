/* The input of a panel: the moment to show, and how. Panels only draw it into their pane; they compute,
 * remember and fetch nothing. Screen thread only. */
#ifndef KVF_UI_PANEL_FRAME_H
#define KVF_UI_PANEL_FRAME_H

#include <stdbool.h>

#include "draw/canvas.h"
#include "record/provider.h"
#include "record/run.h"
#include "record/snapshot.h"
#include "ui/panel/history.h"
#include "ui/panel/layout.h"

/* Sorting, filter and place in the table or list of a view; each view has its own. */
struct frame_table {
    int sort; /* column, from 0 */
    bool descending;
    char filter[64]; /* "" is none; a row stays when its text contains it, letter case ignored */
    int selected;    /* row under the cursor, from 0; panels cut it to what there is */
    unsigned hidden; /* bit i: column i is left out */
};

/* The object of a row, which has a detail of its own. */
enum frame_kind {
    FRAME_NOTHING,
    FRAME_TIER,
    FRAME_CLASS,
    FRAME_GPU,
    FRAME_DRIVE,
    FRAME_RANK,
    FRAME_USER,
    FRAME_KINDS
};
#define FRAME_NO_USER UINT64_MAX /* the number of the user of a request that names none */
struct frame_thing {
    enum frame_kind kind;
    uint64_t number; /* of the tier, class, device, rank, user */
};
/* The drawn rows, from the top; each can be selected, opened and clicked. */
enum { FRAME_ROWS_MOST = 96 };
struct frame_rows {
    unsigned count;
    struct {
        struct frame_thing thing;
        struct rect at; /* its first column is the margin */
    } row[FRAME_ROWS_MOST];
};

struct frame {
    const struct run_record *run; /* name, model, mode, classes; the rest is being written until `over` */
    const struct snapshot *snap;  /* the moment shown, or the window that ends there; NULL: no interval yet */
    const struct snapshot *interval; /* that moment alone, which has the ranks; NULL likewise */
    const struct verdict *verdict;   /* on what is shown; NULL: it was not judged */
    const struct history *history;
    const struct provider_status *status;
    double interval_s; /* of the scenario */
    double planned_s;  /* warm-up and duration; 0: not known */
    double shown_s;    /* run time of the moment shown, NaN: none; ends the graphs that are no "all" */
    double newest_s;   /* run time of the newest interval; NaN: none */
    enum zoom zoom;
    enum windows_span span;            /* what snap is of: windows, where `windowed` */
    bool windowed;                     /* snap is of a window, not of one interval */
    const struct windows_view *window; /* that one; NULL: none, or its levels are unknown */
    bool live;                         /* the run goes on and its figures come in */
    bool over;                         /* it has ended: run->results, bottleneck, status are there */
    bool back;                         /* an earlier moment is shown: travelled to, or frozen */
    bool frozen;                       /* by p */
    bool controls;                     /* keys that change the run work (not in watch) */
    bool inside;                       /* it is a run of a study: Esc goes back to its table */
    const char *autoscaler;            /* "off", "qos", "capacity": what steers the users now */
    const char *generation;            /* "none", "fast", "realistic" or "fixed": time per token now */
    size_t view;                       /* index in panels[] */
    int heat;                          /* scope of the heat map */
    struct frame_table table;          /* of this view */
    int *list_end;                /* draw() leaves the last useful place in its list here; NULL: not wanted */
    bool detail;                  /* the selected row in full */
    struct frame_thing open;      /* of a detail: of what */
    struct frame_thing *leads_to; /* draw() leaves here what opens from an open row; NULL: not wanted */
    struct frame_rows *rows;      /* draw() leaves its rows here; NULL: not wanted */
    double *picked_s;             /* draw() leaves the run time of the selected row here; NULL: not wanted */
    const char *message;          /* last word for the footer; NULL: none */
    const char *question;         /* being asked: prompt text in front of `answer`; NULL: nothing */
    const char *answer;
};

struct column;
/* A view: its name, the parts it consists of, and how they are drawn. */
struct panel_ops {
    const char *name;  /* "overview" */
    const char *title; /* for help: the question it answers */
    const struct layout_section *sections;
    size_t section_count;
    int sort_columns;             /* columns a table of it can be sorted by; 0: no table */
    const struct column *columns; /* of those, for the settings; NULL: they have none */
    bool list;                    /* arrows and page keys move in it */
    bool filters;                 /* its rows can be filtered */
    bool upwards;                 /* row 0 of its list is at the bottom: what goes down counts backwards */
    /* at[i] is where section i stands, empty where there is no room. frame->snap may be NULL. */
    void (*draw)(struct canvas *c, const struct rect *at, const struct frame *f);
};

#endif
