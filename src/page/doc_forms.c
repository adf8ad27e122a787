#include <string.h>

#include "page/doc_inside.h"

const struct doc_form doc_forms[] = {
    {"html", ".html", "a page for a browser or paper, in one file", true, doc_page},
    {"md", ".md", "Markdown, as GitHub has it", false, doc_markdown},
    {"txt", ".txt", "plain text, 80 columns wide", false, doc_plain},
};
const size_t doc_form_count = sizeof doc_forms / sizeof *doc_forms;

const struct doc_form *doc_form_named(const char *name) {
    for (size_t i = 0; i < doc_form_count; i++)
        if (strcmp(doc_forms[i].name, name) == 0) return &doc_forms[i];
    return NULL;
}

const struct doc_form *doc_form_of(const char *path) {
    size_t len = strlen(path);
    for (size_t i = 0; i < doc_form_count; i++) {
        size_t tail = strlen(doc_forms[i].suffix);
        if (len > tail && strcmp(path + len - tail, doc_forms[i].suffix) == 0) return &doc_forms[i];
    }
    return NULL;
}

void doc_forms_list(struct buf *out) {
    for (size_t i = 0; i < doc_form_count; i++)
        buf_addf(out, "%s: %s; FILE%s\n", doc_forms[i].name, doc_forms[i].help, doc_forms[i].suffix);
}
