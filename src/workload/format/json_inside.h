/* Functions shared by the files of the JSON reader. One thread for each reader. */
#ifndef KVF_WORKLOAD_FORMAT_JSON_INSIDE_H
#define KVF_WORKLOAD_FORMAT_JSON_INSIDE_H

#include "workload/format/json.h"

/* Whether `need` bytes are at hand; reads on for them. What was at hand may move. */
bool json_ahead(struct json *j, size_t need);
/* Ends the reading with a sentence about the byte at hand; false. The first error stays. */
bool json_fail_here(struct json *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool json_cut_short(struct json *j); /* the same, about an input that ends too early */
/* The same for the body of a string; true when the reader is lenient and goes on. */
bool json_fault_here(struct json *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The byte at hand opens a string: its body is next. */
void json_string_begin(struct json *j);
/* Reads a string to its end and keeps its first bytes, whole code points only. */
bool json_text_read(struct json *j);
/* The byte at hand begins a number: keeps and checks it. */
bool json_number_read(struct json *j);

#endif
