#include "ui/term_look.h"

enum { B = LOOK_BOLD, D = LOOK_DIM, R = LOOK_REVERSE, U = LOOK_UNDERLINE };

/* The eight colours of every terminal that has any. */
enum { RED = 1, GREEN, YELLOW, BLUE, MAGENTA, CYAN };

struct row {
    struct term_look dark256, dark8, light256, light8;
    unsigned mono;
};

/* Grounds are the terminal's own, so the scheme has to fit them; bars are made by reversing. Yellow
 * and cyan cannot be read on white, dark blue not on black. */
static const struct row rows[TONES] = {
    [TONE_NORMAL] = {{-1, 0}, {-1, 0}, {-1, 0}, {-1, 0}, 0},
    [TONE_DIM] = {{245, 0}, {-1, D}, {243, 0}, {-1, D}, D},
    [TONE_STRONG] = {{-1, B}, {-1, B}, {-1, B}, {-1, B}, B},
    [TONE_TITLE] = {{75, R}, {CYAN, R}, {25, R}, {BLUE, R}, R},
    [TONE_HEADING] = {{110, B}, {CYAN, B}, {25, B}, {BLUE, B}, B},
    [TONE_KEY] = {{221, B}, {YELLOW, B}, {130, B}, {MAGENTA, B}, B},
    [TONE_GOOD] = {{78, 0}, {GREEN, 0}, {28, 0}, {GREEN, 0}, 0},
    [TONE_WARN] = {{221, 0}, {YELLOW, B}, {130, 0}, {MAGENTA, 0}, B},
    [TONE_BAD] = {{203, B}, {RED, B}, {160, B}, {RED, B}, B | U},
    [TONE_ACCENT] = {{81, 0}, {CYAN, 0}, {31, 0}, {BLUE, 0}, 0},
    [TONE_SECOND] = {{177, 0}, {MAGENTA, 0}, {91, 0}, {MAGENTA, 0}, 0},
    [TONE_THIRD] = {{215, 0}, {YELLOW, 0}, {166, 0}, {RED, 0}, 0},
    [TONE_GPU] = {{114, 0}, {GREEN, 0}, {28, 0}, {GREEN, 0}, 0},
    [TONE_CPU] = {{75, 0}, {CYAN, 0}, {26, 0}, {BLUE, 0}, 0},
    [TONE_NVME] = {{215, 0}, {YELLOW, 0}, {166, 0}, {MAGENTA, 0}, 0},
    [TONE_REMOTE] = {{177, 0}, {MAGENTA, 0}, {91, 0}, {RED, 0}, 0},
    [TONE_READ] = {{81, 0}, {CYAN, 0}, {31, 0}, {BLUE, 0}, 0},
    [TONE_WRITE] = {{213, 0}, {MAGENTA, 0}, {127, 0}, {MAGENTA, 0}, 0},
    [TONE_MARK] = {{228, B}, {YELLOW, B}, {125, B}, {RED, B}, B},
    [TONE_SELECTED] = {{-1, R}, {-1, R}, {-1, R}, {-1, R}, R},
    [TONE_HEAT1] = {{24, 0}, {BLUE, 0}, {153, 0}, {CYAN, 0}, D},
    [TONE_HEAT2] = {{37, 0}, {CYAN, 0}, {111, 0}, {BLUE, 0}, D},
    [TONE_HEAT3] = {{148, 0}, {GREEN, 0}, {134, 0}, {MAGENTA, 0}, 0},
    [TONE_HEAT4] = {{214, 0}, {YELLOW, B}, {168, 0}, {RED, 0}, B},
    [TONE_HEAT5] = {{203, 0}, {RED, B}, {160, 0}, {RED, B}, B},
};

struct term_look term_look(enum tone tone, enum scheme scheme, int colours) {
    const struct row *r = &rows[tone < TONES ? tone : TONE_NORMAL];

    if (scheme == SCHEME_MONO || colours == 0) return (struct term_look){-1, r->mono};
    if (scheme == SCHEME_LIGHT) return colours == 256 ? r->light256 : r->light8;
    return colours == 256 ? r->dark256 : r->dark8;
}
