#include "export/book.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/utf8.h"

static const char *const number_formats[BOOK_STYLES] = {
    [BOOK_COUNT] = "#,##0",
    [BOOK_TENTH] = "#,##0.0",
    [BOOK_MILLI] = "#,##0.000",
    [BOOK_RATIO] = "0.0000",
    [BOOK_TIME] = "yyyy-mm-dd hh:mm:ss",
};

static void make_styles(struct book *b) {
    for (int s = 0; s < BOOK_STYLES; s++) {
        b->style[s] = workbook_add_format(b->workbook);
        format_set_align(b->style[s], LXW_ALIGN_VERTICAL_TOP);
        if (number_formats[s]) format_set_num_format(b->style[s], number_formats[s]);
    }
    for (int s = BOOK_HEAD; s <= BOOK_HEAD_NUMBER; s++) {
        format_set_bold(b->style[s]);
        format_set_bottom(b->style[s], LXW_BORDER_THIN);
        format_set_text_wrap(b->style[s]);
    }
    format_set_align(b->style[BOOK_HEAD_NUMBER], LXW_ALIGN_RIGHT);
    format_set_bold(b->style[BOOK_LABEL]);
    format_set_text_wrap(b->style[BOOK_WRAP]);
    format_set_align(b->style[BOOK_WRAP], LXW_ALIGN_LEFT);
    format_set_align(b->style[BOOK_TIME], LXW_ALIGN_LEFT);
    format_set_font_color(b->style[BOOK_GOOD], 0x006100);
    format_set_font_color(b->style[BOOK_BAD], 0x9C0006);
    format_set_bold(b->style[BOOK_BAD]);
    format_set_bg_color(b->style[BOOK_DIFFERS], 0xFFF2CC);
    format_set_font_color(b->style[BOOK_LINK], 0x0563C1);
    format_set_underline(b->style[BOOK_LINK], LXW_UNDERLINE_SINGLE);
}

static int no_room(struct err *e, const char *why) {
    return err_set(
        e, KVF_ERR_IO,
        "cannot make the workbook: %s; it takes memory, and room in the folder for temporary files", why);
}

/* Where temporary files go; NULL: nowhere. The library speaks for itself, on standard error, where it finds
 * no place. */
static const char *temporary_folder(void) {
    const char *const folders[] = {getenv("TMPDIR"), P_tmpdir};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (folders[i] && access(folders[i], W_OK | X_OK) == 0) return folders[i];
    return NULL;
}

int book_open(struct book *b, double created_s, struct err *e) {
    const char *folder = temporary_folder();
    if (!folder)
        return err_set(
            e, KVF_ERR_IO,
            "cannot make the workbook: there is no folder for temporary files; name one in $TMPDIR");
    *b = (struct book){.file = memfd_create("workbook", MFD_CLOEXEC)};
    if (b->file < 0) return no_room(e, strerror(errno));
    /* The library only writes to files by their names. Rows go to a temporary one as they are done. */
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", b->file);
    char *named = mem_strdup(folder);
    lxw_workbook_options options = {.constant_memory = LXW_TRUE, .tmpdir = named};
    b->workbook = workbook_new_opt(path, &options);
    free(named);
    if (!b->workbook) {
        close(b->file);
        return no_room(e, "it could not be begun");
    }
    lxw_doc_properties properties = {.comments = (char[]){"written by kvfall"}};
    struct tm tm;
    properties.created = moment_utc(created_s, &tm) ? (time_t)created_s : 1; /* 0 would be now */
    workbook_set_properties(b->workbook, &properties);
    make_styles(b);
    return 0;
}

/* Everything from where the file stands to its end; 0 or an errno. */
static int take_rest(int file, struct buf *out) {
    char piece[1 << 16];
    ssize_t got;
    while ((got = read(file, piece, sizeof piece)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0) buf_bytes(out, piece, (size_t)got);
    return got < 0 ? errno : 0;
}

static int take_file(int file, struct buf *out) {
    return lseek(file, 0, SEEK_SET) < 0 ? errno : take_rest(file, out);
}

static bool room_left(const struct book *b) {
    struct statvfs fs;
    const char *folder = temporary_folder();
    return !folder || statvfs(folder, &fs) != 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= b->bytes;
}

int book_close(struct book *b, struct buf *out, struct err *e) {
    bool room = room_left(b);
    lxw_error failed = workbook_close(b->workbook); /* frees it too */
    int why = failed || !room ? 0 : take_file(b->file, out);
    close(b->file);
    if (failed) return no_room(e, lxw_strerror(failed));
    if (why) return no_room(e, strerror(why));
    if (!room)
        return err_set(
            e, KVF_ERR_NOSPACE,
            "cannot make the workbook: the folder for temporary files is full; name another in $TMPDIR");
    return 0;
}

/* ---- in a process of its own ---- */

struct told {
    int rc;
    struct err e;
};

static _Noreturn void fill_and_tell(int (*fill)(const void *, struct buf *, struct err *), const void *ctx,
                                    int fd, pid_t parent) {
    struct told told = {0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it went before that could help */
    struct buf made = {0};
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (quiet >= 0) (void)dup2(quiet, STDERR_FILENO); /* the caller has the sentence */
    told.rc = fill(ctx, &made, &told.e);
    bool all = buf_write(fd, &told, sizeof told) && buf_write(fd, made.data, made.len);
    _exit(all ? 0 : 1);
}

int book_apart(int (*fill)(const void *ctx, struct buf *out, struct err *e), const void *ctx, struct buf *out,
               struct err *e) {
    struct buf got = {0};
    struct told told;
    int ends[2], status = 0, error = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) return no_room(e, strerror(errno));
    (void)fflush(NULL); /* what is in no file yet would be written twice */
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        close(ends[0]);
        fill_and_tell(fill, ctx, ends[1], parent);
    }
    if (child < 0) error = errno;
    close(ends[1]);
    if (!error) error = take_rest(ends[0], &got);
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    bool whole = !error && status == 0 && got.len >= sizeof told;
    if (whole) {
        memcpy(&told, got.data, sizeof told);
        if (told.rc)
            *e = told.e;
        else
            buf_bytes(out, got.data + sizeof told, got.len - sizeof told);
    }
    buf_free(&got);
    if (whole) return told.rc;
    if (error) return no_room(e, strerror(error));
    return err_set(e, KVF_ERR_NOMEM,
                   "cannot make the workbook: memory is exhausted; export fewer runs, or take csv");
}

int book_begin(struct book_page *p, struct book *b, const char *name, struct err *e) {
    enum { A4 = 9 };
    *p = (struct book_page){.book = b, .sheet = workbook_add_worksheet(b->workbook, name)};
    if (!p->sheet) return no_room(e, "a sheet could not be begun");
    worksheet_set_landscape(p->sheet);
    worksheet_set_paper(p->sheet, A4);
    worksheet_set_margins(p->sheet, 0.5, 0.5, 0.5, 0.7); /* inches */
    worksheet_fit_to_pages(p->sheet, 1, 0);
    worksheet_set_footer(p->sheet, "&L&F, &A&R&P / &N");
    return 0;
}

static void wrote(struct book_page *p, size_t text_len) {
    enum { CELL_BYTES = 80 }; /* with its tags */
    p->book->bytes += CELL_BYTES + text_len;
}

static lxw_col_t next_column(struct book_page *p) {
    if (p->column >= p->columns) p->columns = (lxw_col_t)(p->column + 1);
    return p->column++;
}

/* Characters that XML cannot hold or that a terminal would obey become question marks, except line breaks; a
 * text that is too long is cut, and so is a character that would be cut through. */
static char *clean(const char *text) {
    enum { CELL_BYTES = 32000 }; /* a cell holds 32,767 units of UTF-16, at most one for each byte */
    size_t len = strlen(text);
    bool cut = len > CELL_BYTES;
    char *copy = mem_strdup(text);
    if (cut) {
        for (len = CELL_BYTES; len > 0 && ((unsigned char)copy[len] & 0xc0) == 0x80;) len--;
        copy[len] = '\0';
    }
    utf8_clean(copy, UTF8_LINES);
    return copy;
}

void book_text(struct book_page *p, enum book_style style, const char *text) {
    lxw_col_t column = next_column(p);
    if (!text[0]) return;
    char *copy = clean(text);
    worksheet_write_string(p->sheet, p->row, column, copy, p->book->style[style]);
    wrote(p, strlen(copy));
    free(copy);
}

void book_number(struct book_page *p, enum book_style style, double v) {
    lxw_col_t column = next_column(p);
    if (isfinite(v)) worksheet_write_number(p->sheet, p->row, column, v, p->book->style[style]);
    wrote(p, 0);
}

void book_count(struct book_page *p, enum book_style style, uint64_t v) {
    enum { EXACT_BITS = 53 };
    if (v <= UINT64_C(1) << EXACT_BITS) {
        book_number(p, style, (double)v);
    } else { /* digits rather than another number */
        char digits[24];
        snprintf(digits, sizeof digits, "%" PRIu64, v);
        book_text(p, style, digits);
    }
}

void book_flag(struct book_page *p, enum book_style style, bool v) {
    worksheet_write_boolean(p->sheet, p->row, next_column(p), v, p->book->style[style]);
    wrote(p, 0);
}

void book_time(struct book_page *p, double epoch_s) {
    lxw_col_t column = next_column(p);
    struct tm tm;
    if (moment_utc(epoch_s, &tm))
        worksheet_write_unixtime(p->sheet, p->row, column, (int64_t)epoch_s, p->book->style[BOOK_TIME]);
    wrote(p, 0);
}

void book_skip(struct book_page *p) {
    next_column(p);
}

void book_next_row(struct book_page *p) {
    p->row++;
    p->column = 0;
}

void book_next_row_high(struct book_page *p, size_t length, unsigned width) {
    enum { POINTS = 15, LINES_MAX = 27 }; /* a row is at most 409 points high */
    size_t lines = length / width + 1;
    book_next_row(p);
    if (lines > 1)
        worksheet_set_row(p->sheet, p->row, (double)((lines < LINES_MAX ? lines : LINES_MAX) * POINTS), NULL);
}

enum book_style book_unit_style(const char *unit, double v) {
    if (strcmp(unit, "ms") == 0 || strcmp(unit, "s") == 0 || strcmp(unit, "GiB/s") == 0) return BOOK_MILLI;
    if (strcmp(unit, "B") == 0) return BOOK_COUNT;
    if (unit[0]) return BOOK_TENTH;
    return v == floor(v) ? BOOK_COUNT : BOOK_RATIO;
}

void book_width(struct book_page *p, unsigned column, unsigned characters) {
    worksheet_set_column(p->sheet, (lxw_col_t)column, (lxw_col_t)column, characters, NULL);
}

void book_freeze(struct book_page *p, unsigned column) {
    worksheet_freeze_panes(p->sheet, 1, (lxw_col_t)column);
    worksheet_repeat_rows(p->sheet, 0, 0);
    if (p->columns && p->row > 1)
        worksheet_autofilter(p->sheet, 0, 0, p->row - 1, (lxw_col_t)(p->columns - 1));
}

void book_one_sheet(struct book_page *p) {
    worksheet_fit_to_pages(p->sheet, 1, 1);
}

int book_index(struct book *b, const char *title, const struct book_entry *entry, size_t count,
               struct err *e) {
    enum { WIDTH_NAME = 16, WIDTH_WHAT = 100 };
    struct book_page p;
    int rc = book_begin(&p, b, "index", e);
    if (rc) return rc;
    book_width(&p, 0, WIDTH_NAME);
    book_width(&p, 1, WIDTH_WHAT);
    book_text(&p, BOOK_LABEL, title);
    for (size_t i = 0; i < count; i++) {
        char at[48];
        book_next_row(&p);
        snprintf(at, sizeof at, "internal:'%s'!A1", entry[i].name);
        worksheet_write_url_opt(p.sheet, p.row, next_column(&p), at, b->style[BOOK_LINK], entry[i].name,
                                NULL);
        book_text(&p, BOOK_WRAP, entry[i].what);
    }
    return 0;
}
