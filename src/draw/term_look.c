#include "draw/term_look.h"

enum { B = LOOK_BOLD, D = LOOK_DIM, R = LOOK_REVERSE, U = LOOK_UNDERLINE };

/* The eight colours of every terminal that has any. */
enum { RED = 1, GREEN, YELLOW, BLUE, MAGENTA, CYAN };

struct row {
    struct term_look dark256, dark8, light256, light8;
    unsigned mono;
};

/* Three families, apart in every scheme of 256 colours: judgement in green, amber and red; tiers in bright
 * hues that are none of these; everything else pale. Eight colours suffice for the first two alone: series
 * are plain, dim and bold there. Grounds are the terminal's own, so the scheme has to fit them; bars are made
 * by reversing. Yellow cannot be read on white, which has magenta for it. */
static const struct row rows[TONES] = {
    [TONE_NORMAL] = {{-1, 0}, {-1, 0}, {-1, 0}, {-1, 0}, 0},
    [TONE_DIM] = {{245, 0}, {-1, D}, {243, 0}, {-1, D}, D},
    [TONE_STRONG] = {{-1, B}, {-1, B}, {-1, B}, {-1, B}, B},
    [TONE_TITLE] = {{110, R}, {-1, R}, {25, R}, {-1, R}, R},
    [TONE_HEADING] = {{110, B}, {-1, B}, {25, B}, {-1, B}, B},
    [TONE_KEY] = {{110, B}, {-1, B | U}, {25, B}, {-1, B | U}, B},
    [TONE_GOOD] = {{78, 0}, {GREEN, 0}, {28, 0}, {GREEN, 0}, 0},
    [TONE_WARN] = {{221, 0}, {YELLOW, B}, {130, 0}, {MAGENTA, 0}, B},
    [TONE_BAD] = {{203, B}, {RED, B}, {160, B}, {RED, B}, B | U},
    [TONE_ACCENT] = {{153, 0}, {-1, 0}, {60, 0}, {-1, 0}, 0},
    [TONE_SECOND] = {{181, 0}, {-1, D}, {95, 0}, {-1, D}, 0},
    [TONE_THIRD] = {{109, 0}, {-1, B}, {102, 0}, {-1, B}, 0},
    [TONE_GPU] = {{213, 0}, {MAGENTA, 0}, {163, 0}, {BLUE, B}, 0},
    [TONE_CPU] = {{75, 0}, {BLUE, B}, {27, 0}, {BLUE, 0}, 0},
    [TONE_NVME] = {{44, 0}, {CYAN, 0}, {30, 0}, {CYAN, 0}, 0},
    [TONE_REMOTE] = {{141, 0}, {BLUE, 0}, {92, 0}, {CYAN, B}, 0},
    [TONE_STATE_GOOD] = {{78, R | B}, {GREEN, R | B}, {28, R | B}, {GREEN, R | B}, R | B},
    [TONE_STATE_WARN] = {{221, R | B}, {YELLOW, R | B}, {130, R | B}, {MAGENTA, R | B}, R | B},
    [TONE_STATE_BAD] = {{203, R | B}, {RED, R | B}, {160, R | B}, {RED, R | B}, R | B | U},
    [TONE_MARK] = {{231, B}, {-1, B}, {232, B}, {-1, B}, B},
    [TONE_SELECTED] = {{-1, R}, {-1, R}, {-1, R}, {-1, R}, R},
    [TONE_HEAT1] = {{24, 0}, {BLUE, 0}, {189, 0}, {CYAN, 0}, D},
    [TONE_HEAT2] = {{67, 0}, {BLUE, B}, {146, 0}, {CYAN, B}, D},
    [TONE_HEAT3] = {{110, 0}, {CYAN, 0}, {103, 0}, {BLUE, 0}, 0},
    [TONE_HEAT4] = {{153, 0}, {CYAN, B}, {60, 0}, {BLUE, B}, B},
    [TONE_HEAT5] = {{231, 0}, {-1, B}, {17, 0}, {-1, B}, B},
};

/* Colours that people tell apart who do not tell red from green: blue, yellow and orange for judgement (Okabe
 * and Ito, 2008), tiers between them. 0: as in the usual scheme. */
static const struct {
    short dark, light, eight;
} apart[TONES] = {
    [TONE_GOOD] = {39, 25, BLUE},           [TONE_WARN] = {220, 136, YELLOW},
    [TONE_BAD] = {208, 166, RED},           [TONE_STATE_GOOD] = {39, 25, BLUE},
    [TONE_STATE_WARN] = {220, 136, YELLOW}, [TONE_STATE_BAD] = {208, 166, RED},
    [TONE_GPU] = {43, 29, GREEN},           [TONE_CPU] = {69, 69, CYAN},
    [TONE_NVME] = {205, 125, MAGENTA},      [TONE_REMOTE] = {97, 54, MAGENTA},
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
