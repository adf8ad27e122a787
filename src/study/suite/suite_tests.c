#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "draw/format.h"
#include "study/shipped.h"
#include "study/suite/suite.h"

#define X(id, name, what) {name, what},
static const struct { const char *name, *what; } groups[] = {SUITE_GROUP_LIST(X)};
#undef X

const struct suite_test suite_tests[] = {
    {"gpu-only", SUITE_GROUP_SUITE, 0, SUITE_USERS_BASE, false},
    {"cpu-only", SUITE_GROUP_SUITE, 2, SUITE_USERS_BASE, false},
    {"storage-only", SUITE_GROUP_SUITE, 0, SUITE_USERS_BASE, false},
    {"gpu-cpu", SUITE_GROUP_SUITE, 2, SUITE_USERS_BASE, false},
    {"cpu-storage", SUITE_GROUP_SUITE, 8, SUITE_USERS_BASE, false},
    {"gpu-cpu-storage", SUITE_GROUP_SUITE, 8, SUITE_USERS_BASE, false},
    {"storage-saturation", SUITE_GROUP_SUITE, 0, SUITE_USERS_HIGH, false},
    {"production", SUITE_GROUP_SUITE, 2, SUITE_USERS_BASE, false},
    {"autoscale", SUITE_GROUP_SUITE, 8, SUITE_USERS_FILE, true},
    {"capacity-autoscale", SUITE_GROUP_SUITE, 0, SUITE_USERS_FILE, true},
    {"mlperf-closed-1", SUITE_GROUP_MLPERF, 0, SUITE_USERS_FILE, false},
    {"mlperf-closed-2", SUITE_GROUP_MLPERF, 0, SUITE_USERS_FILE, false},
    {"mlperf-closed-3", SUITE_GROUP_MLPERF, 0, SUITE_USERS_FILE, false},
    {"s1-storage-saturation", SUITE_GROUP_SMOKE, 0, SUITE_USERS_FILE, false},
    {"s2-three-tiers", SUITE_GROUP_SMOKE, 0, SUITE_USERS_FILE, false},
    {"s3-users-at-qos", SUITE_GROUP_SMOKE, 0, SUITE_USERS_FILE, true},
    {"s4-peak-capacity", SUITE_GROUP_SMOKE, 0, SUITE_USERS_FILE, true},
    {"s5-submission-8b", SUITE_GROUP_SMOKE, 0, SUITE_USERS_FILE, false},
    {"s6-submission-70b", SUITE_GROUP_SMOKE, 0, SUITE_USERS_FILE, false},
    {"s7-rag", SUITE_GROUP_SMOKE, 0, SUITE_USERS_FILE, false},
    {"s8-everything", SUITE_GROUP_SMOKE, 0, SUITE_USERS_FILE, true},
    {"s9-sharegpt", SUITE_GROUP_SMOKE, 0, SUITE_USERS_FILE, false},
    {"tiers-gpu", SUITE_GROUP_TIERS, 0, SUITE_USERS_FILE, false},
    {"tiers-gpu-cpu", SUITE_GROUP_TIERS, 0, SUITE_USERS_FILE, false},
    {"tiers-gpu-cpu-nvme", SUITE_GROUP_TIERS, 0, SUITE_USERS_FILE, false},
    {"tiers-nvme", SUITE_GROUP_TIERS, 0, SUITE_USERS_FILE, false},
};
enum { TESTS = sizeof suite_tests / sizeof suite_tests[0] };
_Static_assert((int)TESTS <= (int)SUITE_MOST, "a plan holds every test");
const size_t suite_test_count = TESTS;

const char *suite_group_name(enum suite_group g) {
    return groups[g].name;
}
const char *suite_group_what(enum suite_group g) {
    return groups[g].what;
}

const char *suite_test_yaml(const struct suite_test *t) {
    char name[96];
    snprintf(name, sizeof name, "%s/%s", groups[t->group].name, t->name);
    return shipped_find(name);
}

/* Tests whose names begin with this and "-", as all that begin with gpu: how many, and the last of them. */
static unsigned begun(const char *name, int *last, struct buf *names) {
    size_t len = strlen(name);
    unsigned count = 0;
    for (int i = 0; i < TESTS; i++) {
        if (strncmp(suite_tests[i].name, name, len) != 0 || suite_tests[i].name[len] != '-') continue;
        if (names) buf_addf(names, "%s%s", count ? ", " : "", suite_tests[i].name);
        *last = i;
        count++;
    }
    return count;
}

static bool mark_group(const char *name, bool *wanted) {
    for (int g = 0; g < SUITE_GROUPS; g++) {
        if (strcmp(groups[g].name, name) != 0) continue;
        for (int i = 0; i < TESTS; i++) wanted[i] = wanted[i] || suite_tests[i].group == (enum suite_group)g;
        return true;
    }
    return false;
}

static bool mark(const char *name, bool *wanted) {
    if (mark_group(name, wanted)) return true;
    int found = 0;
    while (found < TESTS && strcmp(suite_tests[found].name, name) != 0) found++;
    if (found == TESTS && begun(name, &found, NULL) != 1) return false; /* "s1" is one of them alone */
    return wanted[found] = true;
}

static int unknown(const char *name, struct err *e) {
    struct buf names = {0};
    int last;
    bool several = begun(name, &last, &names) > 1;
    if (several) err_set(e, KVF_ERR_USAGE, "\"%s\" may be %s; name one", name, buf_text(&names));
    buf_free(&names);
    if (several) return -KVF_ERR_USAGE;
    struct nearest n = nearest_start(name);
    for (int i = 0; i < TESTS; i++) nearest_offer(&n, suite_tests[i].name);
    for (int g = 0; g < SUITE_GROUPS; g++) nearest_offer(&n, groups[g].name);
    if (n.best)
        return err_set(e, KVF_ERR_USAGE, "there is no test \"%s\"; did you mean \"%s\"?", name, n.best);
    return err_set(e, KVF_ERR_USAGE, "there is no test \"%s\"; `kvfall suite --list` names all", name);
}

int suite_choose(const char *const *names, size_t count, const struct suite_test **chosen, size_t *found,
                 struct err *e) {
    bool wanted[TESTS] = {false};
    if (count == 0) {
        mark("suite", wanted);
        mark("mlperf", wanted);
    }
    for (size_t i = 0; i < count; i++)
        if (!mark(names[i], wanted)) return unknown(names[i], e);
    *found = 0;
    for (int i = 0; i < TESTS; i++)
        if (wanted[i]) chosen[(*found)++] = &suite_tests[i];
    return 0;
}

enum { LIST_NAME = 23 };

/* The file's own description. */
static void list_test(const struct suite_test *t, struct format_page *p) {
    static const char key[] = "\ndescription: ";
    const char *text = suite_test_yaml(t);
    text = text ? strstr(text, key) : NULL;
    if (!text) return;
    text += sizeof key - 1;
    const char *end = text + strcspn(text, "\n"), *name_of = t->name;
    while (text < end) { /* rows of whole words */
        int room = (int)p->columns - LIST_NAME - 3, len = (int)(end - text);
        if (len > room)
            for (len = room; len > 1 && text[len] != ' ';) len--;
        format_line(p, FORMAT_PLAIN, "  %-*s %.*s", LIST_NAME, name_of, len, text);
        name_of = "";
        text += len + (text[len] == ' ');
    }
}

void suite_list_text(const struct format_style *style, struct buf *out) {
    struct format_page p;
    format_page_init(&p, style, out);
    for (int g = 0; g < SUITE_GROUPS; g++) {
        format_line(&p, FORMAT_HEADING, "%s: %s", groups[g].name, groups[g].what);
        for (int i = 0; i < TESTS; i++)
            if (suite_tests[i].group == (enum suite_group)g) list_test(&suite_tests[i], &p);
    }
}
