/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/vec.h"
#include "slurmd/attempt/revoked.h"

#define FILE_MAX (4 * (size_t)REVOKED_MAX) /* entries */

struct entry {
    uint32_t job_id, restarts;
};

struct revoked {
    char *path;
    int fd;
    size_t written; /* number of entries in the file, including old ones */
    VEC(struct entry) list;
};

/* Reads the last entries of the file and drops a partial entry at its end. */
static int load_revoked(struct revoked *r, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    size_t count, skip;
    int rc = path_read_file(r->path, FILE_MAX * sizeof(struct entry), &text, err);

    if (rc)
        return rc;
    count = text.len / sizeof(struct entry);
    skip = count > REVOKED_MAX ? count - REVOKED_MAX : 0;
    for (size_t i = skip; i < count; i++) {
        struct entry e;

        memcpy(&e, text.data + i * sizeof(e), sizeof(e));
        vec_push(&r->list, e);
    }
    r->written = count;
    if (ftruncate(r->fd, (off_t)(count * sizeof(struct entry))))
        return err_set(err, -errno, "cannot shorten %s: %s", r->path, strerror(errno));
    return 0;
}

int revoked_open(const char *path, struct revoked **out, struct err *err)
{
    struct revoked *r = mem_new(struct revoked);
    int rc;

    r->path = mem_strdup(path);
    r->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    rc = r->fd < 0 ? err_set(err, -errno, "cannot open %s: %s", path, strerror(errno))
                   : load_revoked(r, err);
    if (rc) {
        revoked_close(r);
        return rc;
    }
    *out = r;
    return 0;
}

void revoked_close(struct revoked *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    vec_done(&r->list);
    free(r->path);
    free(r);
}

void revoked_clear(struct revoked *r)
{
    vec_clear(&r->list);
    if (ftruncate(r->fd, 0) == 0)
        r->written = 0;
}

/* Drops the older half of the list and rewrites the file. */
static void shorten_file(struct revoked *r)
{
    size_t keep = r->list.len < REVOKED_MAX ? r->list.len : REVOKED_MAX;
    int fd;

    memmove(r->list.data, r->list.data + r->list.len - keep, keep * sizeof(r->list.data[0]));
    r->list.len = keep;
    fd = path_write_open(r->path, r->list.data, r->list.len * sizeof(r->list.data[0]), 0600, NULL);
    if (fd < 0)
        return;
    fcntl(fd, F_SETFL, O_APPEND);
    close(r->fd);
    r->fd = fd;
    r->written = r->list.len;
}

bool revoked_has(const struct revoked *r, uint32_t job_id, uint32_t restarts)
{
    for (size_t i = r->list.len; i > 0; i--)
        if (r->list.data[i - 1].job_id == job_id && r->list.data[i - 1].restarts == restarts)
            return true;
    return false;
}

/* The entry is lost if the disk is full, or if the file cannot be rewritten for a long time; it
 * only guards against a late repeat. A partial entry is removed, since it would shift all later
 * entries. */
static bool append_entry(struct revoked *r, const struct entry *e)
{
    if (r->written >= FILE_MAX)
        return false;
    if (path_write_all(r->fd, e, sizeof(*e)) == 0)
        return true;
    (void)!ftruncate(r->fd, (off_t)(r->written * sizeof(*e)));
    return false;
}

void revoked_add(struct revoked *r, uint32_t job_id, uint32_t restarts)
{
    struct entry e = {job_id, restarts};

    if (revoked_has(r, job_id, restarts))
        return;
    vec_push(&r->list, e);
    if (append_entry(r, &e))
        r->written++;
    if (r->list.len >= 2 * REVOKED_MAX || r->written >= 3 * REVOKED_MAX)
        shorten_file(r);
}

bool cancelled_has(const struct cancelled *c, const struct cancelled_step *s)
{
    for (size_t i = 0; i < c->list.len; i++)
        if (!memcmp(&c->list.data[i], s, sizeof(*s)))
            return true;
    return false;
}

bool cancelled_add(struct cancelled *c, const struct cancelled_step *s)
{
    if (cancelled_has(c, s))
        return false;
    if (c->list.len < CANCELLED_MAX) {
        vec_push(&c->list, *s);
    } else {
        assert(c->next < c->list.len);
        c->list.data[c->next] = *s;
        c->next = (c->next + 1) % CANCELLED_MAX;
    }
    return true;
}

void cancelled_done(struct cancelled *c)
{
    vec_done(&c->list);
}
