#include "ui/settings.h"

#include <stdio.h>
#include <string.h>

#include "ui/panel/columns.h"

#define X(more, id, name, argument, help) {name, help},
static const struct { const char *name, *help; } table[SETTINGS] = {SETTING_LIST(X, )};
#undef X

enum { WORD = 40 };
static const struct panel_ops *const requests = &panel_requests;

struct settings settings_default(void) {
    struct settings s = {
        .theme = SCHEMES, .view = PANEL_overview, .window = WINDOWS_TEN, .zoom = ZOOM_MINUTE};
    setting_set(&s, SETTING_SORT, "-age");
    return s;
}

const char *setting_name(enum setting id) {
    return (unsigned)id < SETTINGS ? table[id].name : "?";
}

const char *setting_help(enum setting id) {
    return (unsigned)id < SETTINGS ? table[id].help : "";
}

enum setting setting_find(const char *name) {
    int i = 0;
    while (i < SETTINGS && strcmp(table[i].name, name) != 0) i++;
    return (enum setting)i;
}

/* "10s" for "10 s": a word that is typed has no blank. */
static const char *squeezed(const char *name, char *out, size_t len) {
    size_t used = 0;
    for (; *name && used + 1 < len; name++)
        if (*name != ' ') out[used++] = *name;
    out[used] = '\0';
    return out;
}

/* The names of columns, then each behind a minus. */
static const char *sort_word(int i, char *out, size_t len) {
    int columns = requests->sort_columns;
    if (i >= 2 * columns) return NULL;
    snprintf(out, len, "%s%s", i < columns ? "" : "-", requests->columns[i % columns].heading);
    return out;
}

const char *setting_word(enum setting id, int i, char *out, size_t len) {
    switch (id) {
    case SETTING_THEME:
        return i < SCHEMES ? squeezed(scheme_name((enum scheme)i), out, len) : NULL;
    case SETTING_VIEW:
        return i < PANELS ? squeezed(panels[i]->name, out, len) : NULL;
    case SETTING_WINDOW:
        return i < WINDOWS_SPANS ? squeezed(windows_name((enum windows_span)i), out, len) : NULL;
    case SETTING_ZOOM:
        return i < ZOOMS ? squeezed(zoom_name((enum zoom)i), out, len) : NULL;
    case SETTING_SORT:
        return sort_word(i, out, len);
    case SETTING_COLUMNS:
        if (i == 0) return squeezed("all", out, len);
        return i <= requests->sort_columns ? squeezed(requests->columns[i - 1].heading, out, len) : NULL;
    default:
        return NULL;
    }
}

/* The place of a word among those of a setting; -1: it is none. */
static int word_index(enum setting id, const char *text) {
    char word[WORD], typed[WORD];
    const char *w;
    squeezed(text, typed, sizeof typed);
    for (int i = 0; (w = setting_word(id, i, word, sizeof word)); i++)
        if (strcmp(w, typed) == 0) return i;
    return -1;
}

/* Names between commas or blanks. */
static bool set_columns(struct settings *s, const char *text) {
    unsigned shown = 0, all = (1u << requests->sort_columns) - 1;
    static const char between[] = ", ";
    for (text += strspn(text, between); *text; text += strspn(text, between)) {
        char word[WORD];
        size_t len = strcspn(text, between);
        snprintf(word, sizeof word, "%.*s", (int)len, text);
        int i = word_index(SETTING_COLUMNS, word);
        if (i < 0 || len >= sizeof word) return false;
        shown |= i == 0 ? all : 1u << (i - 1);
        text += len;
    }
    if (shown) s->hidden = all & ~shown;
    return shown != 0;
}

bool setting_set(struct settings *s, enum setting id, const char *text) {
    if (id == SETTING_COLUMNS) return set_columns(s, text);
    int i = word_index(id, text);
    if (i < 0) return false;
    if (id == SETTING_THEME) s->theme = (enum scheme)i;
    if (id == SETTING_VIEW) s->view = (enum panel)i;
    if (id == SETTING_WINDOW) s->window = (enum windows_span)i;
    if (id == SETTING_ZOOM) s->zoom = (enum zoom)i;
    if (id == SETTING_SORT) {
        s->sort = i % requests->sort_columns;
        s->descending = i >= requests->sort_columns;
    }
    return true;
}

static char *columns_text(const struct settings *s, char *out, size_t len) {
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < requests->sort_columns && used < len; i++)
        if (!(s->hidden & 1u << i))
            used += (size_t)snprintf(out + used, len - used, "%s%s", used ? "," : "",
                                     requests->columns[i].heading);
    return out;
}

char *setting_text(const struct settings *s, enum setting id, char *out, size_t len) {
    const int index[SETTINGS] = {[SETTING_THEME] = (int)s->theme,
                                 [SETTING_VIEW] = (int)s->view,
                                 [SETTING_WINDOW] = (int)s->window,
                                 [SETTING_ZOOM] = (int)s->zoom,
                                 [SETTING_SORT] = s->sort + (s->descending ? requests->sort_columns : 0)};
    if (id == SETTING_COLUMNS && s->hidden) return columns_text(s, out, len);
    if (!setting_word(id, index[id], out, len)) out[0] = '\0';
    return out;
}

char *setting_refusal(enum setting id, const char *typed, char *out, size_t len) {
    char word[WORD], next[WORD];
    size_t used = (size_t)snprintf(out, len, "%s is ", setting_name(id));
    const char *w = setting_word(id, 0, word, sizeof word);
    for (int i = 1; w && used < len; i++) {
        const char *after = setting_word(id, i, next, sizeof next);
        const char *before = i == 1 ? "" : after ? ", " : " or ";
        used += (size_t)snprintf(out + used, len - used, "%s%s", before, w);
        memcpy(word, next, sizeof word);
        w = after ? word : NULL;
    }
    if (used < len) snprintf(out + used, len - used, ", not \"%.40s\"", typed);
    return out;
}
