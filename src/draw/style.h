/* The look of the screen: meanings instead of colours, and the characters allowed. Only term turns a tone
 * into a terminal attribute; colour is never the only cue. Constant; any thread. */
#ifndef KVF_DRAW_STYLE_H
#define KVF_DRAW_STYLE_H

#include <stdbool.h>

#define TONE_LIST(X)                                                                                         \
    X(NORMAL)  /* text and figures */                                                                        \
    X(DIM)     /* units, axes, details */                                                                    \
    X(STRONG)  /* the figure to look at first */                                                             \
    X(TITLE)   /* the screen's first line */                                                                 \
    X(HEADING) /* names of sections and columns */                                                           \
    X(KEY)     /* a key that may be pressed */                                                               \
    X(GOOD)    /* inside its target */                                                                       \
    X(WARN)    /* near its limit, paused, not as wanted */                                                   \
    X(BAD)     /* failed, outside its target */                                                              \
    X(ACCENT)  /* first series of a graph */                                                                 \
    X(SECOND)  /* second series */                                                                           \
    X(THIRD)   /* third series */                                                                            \
    X(GPU)     /* the tiers, wherever they are drawn */                                                      \
    X(CPU)                                                                                                   \
    X(NVME)                                                                                                  \
    X(REMOTE)                                                                                                \
    X(STATE_GOOD) /* the state's word in the first line */                                                   \
    X(STATE_WARN)                                                                                            \
    X(STATE_BAD)                                                                                             \
    X(MARK)     /* something that was done by hand, on a graph */                                            \
    X(SELECTED) /* the line under the cursor, inverse */                                                     \
    X(HEAT1)    /* a heat map, few to many */                                                                \
    X(HEAT2)                                                                                                 \
    X(HEAT3)                                                                                                 \
    X(HEAT4)                                                                                                 \
    X(HEAT5)
#define X(id) TONE_##id,
enum tone { TONE_LIST(X) TONES };
#undef X

/* For dark and light backgrounds; the last two for people who do not tell red from green. */
#define SCHEME_LIST(X)                                                                                       \
    X(DARK, "dark")                                                                                          \
    X(LIGHT, "light")                                                                                        \
    X(MONO, "mono")                                                                                          \
    X(COLOUR_BLIND, "colour-blind")                                                                          \
    X(COLOUR_BLIND_LIGHT, "colour-blind-light")
#define X(id, name) SCHEME_##id,
enum scheme { SCHEME_LIST(X) SCHEMES };
#undef X

struct style {
    bool ascii;         /* no characters beyond ASCII */
    enum scheme scheme; /* mono also where NO_COLOR or --no-color says so */
};

const char *scheme_name(enum scheme s); /* "colour-blind" */

#endif
