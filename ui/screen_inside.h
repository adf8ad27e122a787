/* The effects of keys and typed commands on the screen, for the files of the screen alone. Screen thread
 * only. */
#ifndef KVF_UI_SCREEN_INSIDE_H
#define KVF_UI_SCREEN_INSIDE_H

#include "ui/screen.h"

/* Times per token of the contract's modes; any other mode of the scenario is left by the first press. */
enum { SCREEN_GENERATIONS = 3 };
extern const struct screen_generation {
    const char *name;
    unsigned ms;
} screen_generations[SCREEN_GENERATIONS];

void screen_show_view(struct screen *s, size_t view); /* by its index in ui_views */
/* The place of what is selected among the rows that were drawn; -1: it is none of them. */
int screen_picked(const struct screen *s);
void screen_move(struct screen *s, int by); /* the selection, or the place in a list */
bool screen_filters(struct screen *s);      /* whether its rows can be filtered; says where they can if not */
void screen_open(struct screen *s);         /* the detail of a row, the time of an event */
/* The uppermost open part; a run is left only for the study that it is of. */
enum screen_wish screen_close(struct screen *s);
void screen_click(struct screen *s, int row, int col); /* selects a row, or opens it */
/* Changes of the run: each says what became of it. */
void screen_users(struct screen *s, uint64_t to);
void screen_pause(struct screen *s, bool pause);
void screen_speed(struct screen *s, double times);             /* 0: as fast as it can */
bool screen_autoscaler_to(struct screen *s, const char *mode); /* false: there is no such mode */
bool screen_generation_to(struct screen *s, const char *mode); /* likewise */
void screen_mark(struct screen *s, const char *note);
void screen_ask_quit(struct screen *s, enum screen_wish *wish);
/* The picture into a new file, as text or as SVG, or into a file of that name, whose ending decides. */
void screen_save(struct screen *s, const struct canvas *c, bool svg);
void screen_save_as(struct screen *s, const struct canvas *c, const char *path);
/* Carries out a typed command. */
enum screen_wish screen_command(struct screen *s, const struct canvas *c, const char *text);

#endif
