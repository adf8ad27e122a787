#include "engine/move/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "engine/move/transfer_inside.h"

/* Names a finding once: of an operation the first block that is wrong. */

static void stamp_words(const struct payload_stamp *s, struct buf *out) {
    char key[CACHE_KEY_TEXT_MAX];
    cache_key_text((struct cache_key){.hi = s->key_hi, .lo = s->key_lo}, key, sizeof key);
    for (char *c = key; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) *c = '?'; /* it may be anybody's bytes */
    buf_addf(out, "entry %s generation %" PRIu64 " block %" PRIu64 " seed %" PRIu64, key, s->generation,
             s->block, s->seed);
}

static bool same_content(const struct payload_stamp *a, const struct payload_stamp *b) {
    return a->key_hi == b->key_hi && a->key_lo == b->key_lo && a->generation == b->generation &&
           a->block == b->block && a->seed == b->seed;
}

/* "zeroes", what begins it, or the stamp; with the right one, what else is wrong. */
static void found_words(const uint8_t *block, uint64_t len, const struct payload_stamp *want, const char *why,
                        struct buf *out) {
    struct payload_stamp got;
    uint64_t zeroes = 0;
    while (zeroes < len && block[zeroes] == 0) zeroes++;
    if (zeroes == len) {
        buf_add(out, "zeroes");
    } else if (!payload_stamp_read(block, len, &got)) {
        buf_add(out, "no stamp; it begins with ");
        for (unsigned i = 0; i < 8 && i < len; i++) buf_addf(out, "%02x", block[i]);
    } else {
        stamp_words(&got, out);
        if (same_content(&got, want)) buf_addf(out, "; %s", why);
    }
}

/* "byte 8192 of FILE", where the tier can tell. */
static void place_words(struct mover *m, const struct transfer *t, uint64_t offset, struct buf *out) {
    int tier = t->leg[KVF_DIR_READ].tier;
    const struct tier_ops *ops = m->setup.tiers[tier]->ops;
    char where[500] = "";
    if (ops->where) ops->where(m->queue[tier], t->op->from_place, offset, where, sizeof where);
    if (where[0])
        buf_addf(out, " (%s)", where);
    else
        buf_addf(out, " (byte %" PRIu64 " of the entry)", offset);
}

/* The block as it was found, in a file of its own; nothing that is there is overwritten. */
static void dump_block(struct verify_dump *d, int tier, uint64_t nth, const uint8_t *block, uint64_t len,
                       struct buf *out) {
    if (!d || !d->dir) return;
    unsigned n = atomic_fetch_add(&d->kept, 1);
    if (n >= VERIFY_DUMPS) {
        atomic_store(&d->kept, VERIFY_DUMPS);
        return;
    }
    struct buf path = {0};
    buf_addf(&path, "%s/kvfall-%016" PRIx64 "-%02u-%s-block%" PRIu64 ".bin", d->dir, d->tag, n,
             tier_name((enum kvf_tier)tier), nth);
    int fd = open(buf_text(&path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    errno = fd < 0 ? errno : 0;
    bool whole = fd >= 0 && write(fd, block, len) == (ssize_t)len;
    int error = errno ? errno : ENOSPC;
    if (fd >= 0 && close(fd) != 0 && whole) {
        whole = false;
        error = errno;
    }
    if (whole)
        buf_addf(out, "; the block is kept in %s", buf_text(&path));
    else
        buf_addf(out, "; the block could not be kept in %s: %s", buf_text(&path), strerror(error));
    buf_free(&path);
}

/* The sentence behind "the data is not what was written". */
static void finding(struct mover *m, struct transfer *t, struct buf *text) {
    if (!t->finding)
        t->finding = text->data;
    else
        buf_free(text);
    transfer_fail(t, KVF_DIR_READ, EBADMSG);
    (void)m;
}

void verify_chunk(struct mover *m, struct transfer *t, const struct staging *s) {
    enum tier_check check = transfer_check(m);
    if (check == TIER_CHECK_NONE) return;
    struct payload_id id = transfer_content(m, t);
    struct counters *c = m->setup.counters;
    int tier = t->leg[KVF_DIR_READ].tier;
    char why[PAYLOAD_WHY];
    uint64_t first_bad, first = s->chunk.offset / PAYLOAD_BLOCK;
    uint64_t bad =
        payload_verify(m->setup.payload, s->chunk.buf, s->chunk.len, &id, first,
                       check == TIER_CHECK_FULL ? PAYLOAD_CHECK_FULL : PAYLOAD_CHECK_HEADER, &first_bad, why);
    counters_add(&c->verified[tier], (s->chunk.len + PAYLOAD_BLOCK - 1) / PAYLOAD_BLOCK);
    counters_add(&c->mismatched[tier], bad);
    if (bad == 0) return;
    uint64_t base, at = (first_bad - first) * PAYLOAD_BLOCK;
    const uint8_t *block = (const uint8_t *)s->chunk.buf + at;
    uint64_t len = s->chunk.len - at < PAYLOAD_BLOCK ? s->chunk.len - at : PAYLOAD_BLOCK;
    struct payload_stamp want = payload_stamp_of(m->setup.payload, &id, &base);
    struct buf text = {0};
    (void)payload_stamp_read(&want, sizeof want, &want);
    want.block = first_bad;
    place_words(m, t, s->chunk.offset + at, &text);
    buf_add(&text, ": expected ");
    stamp_words(&want, &text);
    buf_add(&text, ", found ");
    found_words(block, len, &want, why, &text);
    if (!t->finding) dump_block(m->setup.dump, tier, first_bad, block, len, &text);
    finding(m, t, &text);
}

void verify_device(struct mover *m, struct transfer *t, const struct tier_chunk *c) {
    struct buf text = {0};
    place_words(m, t, c->offset, &text);
    buf_addf(&text, ": %" PRIu64 " of %" PRIu64 " blocks from there on are wrong, expected ", c->bad_blocks,
             (c->len + PAYLOAD_BLOCK - 1) / PAYLOAD_BLOCK);
    uint64_t base;
    struct payload_stamp want = payload_stamp_of(m->setup.payload, &c->id, &base);
    (void)payload_stamp_read(&want, sizeof want, &want);
    want.block = c->offset / PAYLOAD_BLOCK;
    stamp_words(&want, &text);
    buf_add(&text, " and on; they were checked in the device's memory");
    finding(m, t, &text);
}
