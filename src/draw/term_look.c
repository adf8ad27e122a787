#include "draw/term_look.h"

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
    [TONE_STATE_GOOD] = {{78, R | B}, {GREEN, R | B}, {28, R | B}, {GREEN, R | B}, R | B},
    [TONE_STATE_WARN] = {{221, R | B}, {YELLOW, R | B}, {130, R | B}, {MAGENTA, R | B}, R | B},
    [TONE_STATE_BAD] = {{203, R | B}, {RED, R | B}, {160, R | B}, {RED, R | B}, R | B | U},
    [TONE_MARK] = {{228, B}, {YELLOW, B}, {125, B}, {RED, B}, B},
    [TONE_SELECTED] = {{-1, R}, {-1, R}, {-1, R}, {-1, R}, R},
    [TONE_HEAT1] = {{24, 0}, {BLUE, 0}, {153, 0}, {CYAN, 0}, D},
    [TONE_HEAT2] = {{37, 0}, {CYAN, 0}, {111, 0}, {BLUE, 0}, D},
    [TONE_HEAT3] = {{148, 0}, {GREEN, 0}, {134, 0}, {MAGENTA, 0}, 0},
    [TONE_HEAT4] = {{214, 0}, {YELLOW, B}, {168, 0}, {RED, 0}, B},
    [TONE_HEAT5] = {{203, 0}, {RED, B}, {160, 0}, {RED, B}, B},
};

/* Colours that people tell apart who do not tell red from green: blue, yellow and orange for judgement, tiers
 * apart in brightness, a heat map from violet to yellow (Okabe and Ito, 2008). 0: as in the usual scheme. */
static const struct {
    short dark, light, eight;
} apart[TONES] = {
    [TONE_GOOD] = {39, 25, BLUE},
    [TONE_WARN] = {220, 136, YELLOW},
    [TONE_BAD] = {208, 166, MAGENTA},
    [TONE_STATE_GOOD] = {39, 25, BLUE},
    [TONE_STATE_WARN] = {220, 136, YELLOW},
    [TONE_STATE_BAD] = {208, 166, MAGENTA},
    [TONE_GPU] = {43, 29, CYAN},
    [TONE_CPU] = {117, 32, BLUE},
    [TONE_NVME] = {214, 130, YELLOW},
    [TONE_REMOTE] = {175, 132, MAGENTA},
    [TONE_HEAT1] = {54, 153, BLUE},
    [TONE_HEAT2] = {61, 111, BLUE},
    [TONE_HEAT3] = {37, 68, CYAN},
    [TONE_HEAT4] = {113, 61, YELLOW},
    [TONE_HEAT5] = {226, 54, YELLOW},
};

struct term_look term_look(enum tone tone, enum scheme scheme, int colours) {
    enum tone known = tone < TONES ? tone : TONE_NORMAL;
    const struct row *r = &rows[known];
    bool light = scheme == SCHEME_LIGHT || scheme == SCHEME_COLOUR_BLIND_LIGHT;
    bool blind = scheme == SCHEME_COLOUR_BLIND || scheme == SCHEME_COLOUR_BLIND_LIGHT;

    if (scheme == SCHEME_MONO || colours == 0) return (struct term_look){-1, r->mono};
    struct term_look look = light            ? colours == 256 ? r->light256 : r->light8
                            : colours == 256 ? r->dark256
                                             : r->dark8;
    if (blind && apart[known].dark)
        look.fg = colours != 256 ? apart[known].eight : light ? apart[known].light : apart[known].dark;
    return look;
}
