/* The screen's content and its keys, without a terminal: takes in the provider's news, keeps the moment
 * shown, the view and the open question, and draws the whole picture. Screen thread only. */
#ifndef KVF_UI_SCREEN_H
#define KVF_UI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/panel/frame.h"
#include "ui/panel/panels.h"
#include "ui/prompt.h"
#include "ui/settings.h"
#include "ui/ui.h"

/* The question in the footer. */
enum screen_asking { ASKING_NOTHING, ASKING_MARK, ASKING_FILTER, ASKING_TIME, ASKING_COMMAND, ASKING_QUIT };

enum { SCREEN_OPEN = 4 };

struct screen {
    const struct ui_setup *setup;
    struct style style;
    enum scheme theme; /* that was asked for; SCHEMES: none was */
    struct history *history;
    struct snapshot newest;  /* the last interval, brought up to date by looks in between */
    struct snapshot arrived; /* as it came; also earlier ones */
    bool any;                /* there is one */
    double newest_s;         /* run time of the newest interval */
    uint64_t version;
    struct provider_status status;

    enum windows_span span;
    struct windows_view window;      /* that ends at the newest interval */
    struct windows_view past_window; /* that ends at `past` */
    bool windowed, past_windowed;    /* they are there */
    uint64_t window_version;

    bool back, frozen; /* `past` is shown instead of the newest */
    struct snapshot past;

    size_t view, view_before; /* the last one that is neither help nor evidence */
    enum zoom zoom;
    enum zoom zoom_asked; /* before the end of the run chose all */
    int heat;
    struct frame_table table[PANELS];
    char filter_before[64];               /* of the one that is being typed */
    bool detail;                          /* of the selected request */
    struct frame_thing leads_to;          /* what Enter opens from there */
    struct frame_rows rows;               /* of what was drawn last */
    struct frame_thing pick;              /* the selected one of them */
    struct frame_thing open[SCREEN_OPEN]; /* details, one opened from the other */
    int opened;
    double picked_s; /* run time of what is selected in the list that was drawn last; NaN: none */
    int list_end;    /* last place in the list that was drawn last */
    struct prompt prompt;
    enum screen_asking asking;
    char message[400];
    uint64_t message_until_ns;
    uint64_t users;          /* asked for last */
    uint64_t users_until_ns; /* and not yet to be seen */
    bool pause;              /* the same for space */
    uint64_t pause_until_ns;
    double speed; /* the same for < and > */
    uint64_t speed_until_ns;
    char generation[16];
    char autoscaler[16]; /* the same for a */
    uint64_t autoscaler_until_ns;
    double to_begin_at_s; /* NaN once it is shown */
    bool stop_sent;       /* q was confirmed: no need to report the end */
};

enum { SCREEN_FEED = 500 }; /* intervals to take in before keys are looked at again */
enum screen_wish {
    WISH_NOTHING,
    WISH_SUSPEND,
    WISH_REDRAW,
    WISH_ABORT,
    WISH_LEAVE,
    WISH_OPEN, /* of a study: the run of the selected row */
    WISH_BACK, /* from a run of a study to its table */
    WISH_QUIT  /* the study, which asks */
};

/* The autoscaler's mode at the moment shown: "off", "qos" or "capacity". */
const char *screen_autoscaler(const struct screen *s);
/* Shows a few words in the footer for some seconds. */
void screen_say(struct screen *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void screen_init(struct screen *s, const struct ui_setup *setup);
void screen_free(struct screen *s);
struct settings screen_settings(const struct screen *s); /* the current settings */
/* Takes in news; true when the picture may have changed. At most `most` intervals a call, so
 * that a long stored run does not keep keys waiting; *more (may be NULL) says there are more. */
bool screen_feed(struct screen *s, unsigned most, bool *more);
/* A key; `c` is the picture it was pressed on. Tells what the terminal's owner has to do. */
enum screen_wish screen_key(struct screen *s, const struct canvas *c, int code, int row, int col);
/* The view, or the detail that is open over it. */
const struct panel_ops *screen_panel(const struct screen *s);
/* Shows `arrived`, which a provider has filled with an earlier moment. */
void screen_look_back(struct screen *s);
/* Shows the moment at or before run time t_s; false with a message when there is none to be had. */
bool screen_travel(struct screen *s, double t_s);
/* Another window, for all tables and the verdict. */
void screen_window(struct screen *s, enum windows_span span);
void screen_draw(struct screen *s, struct canvas *c);
/* Runs out messages; true when the picture has changed by that. */
bool screen_tick(struct screen *s);

#endif
