/* The look of a tone in a scheme, on a terminal of so many colours. Pure. */
#ifndef KVF_DRAW_TERM_LOOK_H
#define KVF_DRAW_TERM_LOOK_H

#include "draw/style.h"

enum { LOOK_BOLD = 1, LOOK_DIM = 2, LOOK_REVERSE = 4, LOOK_UNDERLINE = 8 };
struct term_look {
    short fg;       /* number of a colour, -1: the terminal's own */
    unsigned attrs; /* LOOK_... */
};

/* `colours` is 256, 8, or 0 for none, which looks like SCHEME_MONO. Any thread. */
struct term_look term_look(enum tone tone, enum scheme scheme, int colours);

#endif
