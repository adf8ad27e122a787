/* Escaping: makes texts from outside harmless for the document that they go into. Bytes that are not UTF-8,
 * control characters (except tab and newline where a text may have lines), characters that change the
 * direction of text, and characters unknown to XML become U+FFFD. Any thread. */
#ifndef KVF_DRAW_ESCAPE_H
#define KVF_DRAW_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* For text and for attributes of HTML and XML: & < > " ' as references. Newlines and tabs stay. */
void escape_xml(const char *text, struct buf *out);
/* escape_xml() of at most `most` characters; where the text is cut, the last one is an ellipsis. */
void escape_xml_cut(const char *text, size_t most, struct buf *out);
/* For GitHub's Markdown: on one line, without any markup, also inside a cell of a table. */
void escape_markdown(const char *text, struct buf *out);
/* For plain text, as utf8_clean(): on one line unless `lines`; in ASCII only if `ascii`. */
void escape_plain(const char *text, bool lines, bool ascii, struct buf *out);

#endif
