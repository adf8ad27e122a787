#include "scenario/loading.h"

struct place place_of(const struct loading *l, const struct node *n) {
    struct place p = l->source;
    p.line = n->line;
    p.column = n->column;
    return p;
}

bool place_given(const struct loading *l, const char *key) {
    int i = key_index(key);
    return i >= 0 && l->given[i];
}

struct place place_of_key(const struct loading *l, const char *key, const char *other) {
    if (place_given(l, key)) return l->place[key_index(key)];
    if (other && place_given(l, other)) return l->place[key_index(other)];
    return (struct place){.line = 1, .column = 1};
}
