#include "ui/command_line.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define X(id, name, argument, help) {name, argument, help},
static const struct { const char *name, *argument, *help; } commands[COMMAND_LINES] = {COMMAND_LINE_LIST(X)};
#undef X

const char *command_line_name(enum command_line_id id) {
    return (unsigned)id < COMMAND_LINES ? commands[id].name : "?";
}

const char *command_line_argument(enum command_line_id id) {
    return (unsigned)id < COMMAND_LINES ? commands[id].argument : "";
}

const char *command_line_help(enum command_line_id id) {
    return (unsigned)id < COMMAND_LINES ? commands[id].help : "";
}

/* The i-th word that may follow a command; NULL: there is none, or any text may. */
static const char *value_of(enum command_line_id id, int i, char *out, size_t len) {
    static const char *const modes[] = {"off", "qos", "capacity", NULL};
    static const char *const generations[] = {"none", "fast", "realistic", NULL};
    switch (id) {
    case COMMAND_LINE_VIEW:
        return setting_word(SETTING_VIEW, i, out, len);
    case COMMAND_LINE_AUTOSCALER:
        return modes[i];
    case COMMAND_LINE_GENERATION:
        return generations[i];
    case COMMAND_LINE_SPEED:
        return i == 0 ? "max" : NULL;
    case COMMAND_LINE_TIME:
        return i == 0 ? "end" : NULL;
    case COMMAND_LINE_SAVE:
        return i == 0 ? "config" : NULL;
#define X(more, id, name, argument, help)                                                                    \
    case COMMAND_LINE_SET_##id:                                                                              \
        return setting_word(SETTING_##id, i, out, len);
        SETTING_LIST(X, )
#undef X
    default:
        return NULL;
    }
}

/* Whether a text is a whole name, or the name and what follows it. */
static bool is_name(const char *text, const char *name) {
    size_t len = strlen(name);
    return strncmp(text, name, len) == 0 && (text[len] == '\0' || text[len] == ' ');
}

struct command_line command_line_parse(const char *text) {
    struct command_line out = {COMMAND_LINES, ""};
    unsigned fits = 0;
    text += strspn(text, " ");
    for (int i = 0; i < COMMAND_LINES; i++) {
        if (!is_name(text, commands[i].name)) continue;
        const char *rest = text + strlen(commands[i].name);
        return (struct command_line){(enum command_line_id)i, rest + strspn(rest, " ")};
    }
    size_t word = strcspn(text, " ");
    for (int i = 0; i < COMMAND_LINES && word > 0; i++) {
        if (strncmp(text, commands[i].name, word) != 0) continue;
        if (strchr(commands[i].name, ' ')) continue; /* of two words */
        out.id = (enum command_line_id)i;
        out.argument = text + word + strspn(text + word, " ");
        fits++;
    }
    return fits == 1 ? out : (struct command_line){COMMAND_LINES, ""};
}

/* A completion: a name, or a name and a value; NULL behind the last one. */
static const char *offer(const char *text, int i, char *out, size_t len) {
    struct command_line c = command_line_parse(text);
    bool named = c.id < COMMAND_LINES && is_name(text, commands[c.id].name) && strchr(text, ' ') &&
                 c.argument > text && c.argument[-1] == ' ';
    if (!named) return i < COMMAND_LINES ? commands[i].name : NULL;
    char word[40];
    const char *value = value_of(c.id, i, word, sizeof word);
    if (!value) return NULL;
    snprintf(out, len, "%s %s", commands[c.id].name, value);
    return out;
}

bool command_line_complete(char *text, size_t len) {
    char common[80] = "", one[80];
    size_t typed = strlen(text);
    int fits = 0;
    const char *next;
    for (int i = 0; (next = offer(text, i, one, sizeof one)); i++) {
        if (strncmp(next, text, typed) != 0) continue;
        if (fits++ == 0) snprintf(common, sizeof common, "%s", next);
        size_t same = 0;
        while (common[same] && common[same] == next[same]) same++;
        common[same] = '\0';
    }
    struct command_line c = command_line_parse(common);
    bool whole = fits == 1 && c.id < COMMAND_LINES && strcmp(common, commands[c.id].name) == 0;
    if (whole && commands[c.id].argument[0]) strcat(common, " ");
    if (fits == 0 || strlen(common) <= typed) return false;
    snprintf(text, len, "%s", common);
    return true;
}

char *command_line_next(const char *text, char *out, size_t len) {
    char one[80];
    size_t typed = strlen(text), used = 0;
    const char *next;
    out[0] = '\0';
    for (int i = 0; (next = offer(text, i, one, sizeof one)) && used < len; i++) {
        if (strncmp(next, text, typed) != 0) continue;
        const char *word = strrchr(next, ' ');
        if (!word || next != one) word = next - 1;
        used += (size_t)snprintf(out + used, len - used, "%s%s", used ? ", " : "", word + 1);
    }
    return out;
}
