/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/trust.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define LINKS_MAX 40 /* the same limit as in the kernel */

struct walk {
    const char *path; /* as given, for messages */
    const uid_t *owners;
    size_t count;
    struct str at;   /* without symbolic links; "": the root directory */
    struct str rest; /* the rest of the path */
    bool loose;      /* 'at' is a sticky directory: any user may own files in it */
    uid_t root_owner;
    unsigned links;
};

static void cut_text(struct str *s, size_t len)
{
    s->len = len;
    if (s->data)
        s->data[len] = '\0';
}

/* In a container "/" may belong to a user without an id here: that user controls everything
   anyway. */
static bool is_trusted(const struct walk *w, uid_t uid)
{
    if (uid == 0 || uid == w->root_owner)
        return true;
    for (size_t i = 0; i < w->count; i++)
        if (uid == w->owners[i])
            return true;
    return false;
}

static int refuse_owner(const struct walk *w, uid_t uid, bool last, struct err *err)
{
    const char *at = w->at.len ? str_cstr(&w->at) : "/";

    if (last)
        return err_set(err, -ERR_ACCESS,
                       "%s belongs to uid %u, who could change it; run: chown root %s", at,
                       (unsigned)uid, at);
    return err_set(err, -ERR_ACCESS,
                   "%s: %s belongs to uid %u, who could put something else in its place; run: "
                   "chown root %s",
                   w->path, at, (unsigned)uid, at);
}

static int refuse_mode(const struct walk *w, mode_t mode, bool last, struct err *err)
{
    const char *at = w->at.len ? str_cstr(&w->at) : "/";

    if (last)
        return err_set(err, -ERR_ACCESS,
                       "%s has mode %04o: others may write to it; run: chmod go-w %s", at,
                       (unsigned)mode & 07777, at);
    return err_set(err, -ERR_ACCESS,
                   "%s: %s has mode %04o: others could put something else in its place; run: "
                   "chmod go-w %s",
                   w->path, at, (unsigned)mode & 07777, at);
}

/* Checks 'at', which is not a symbolic link. */
static int check_path_entry(struct walk *w, const struct stat *st, struct err *err)
{
    bool last = w->rest.len == 0;
    /* Root's group is trusted. */
    bool open = st->st_mode & S_IWOTH || (st->st_mode & S_IWGRP && st->st_gid != 0);

    if (!is_trusted(w, st->st_uid))
        return refuse_owner(w, st->st_uid, last, err);
    w->loose = open && S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX && !last;
    if (open && !w->loose)
        return refuse_mode(w, st->st_mode, last, err);
    return 0;
}

/* 'at' is a symbolic link: prepends its target to the rest of the path. */
static int follow_link(struct walk *w, const struct stat *st, size_t parent_len, struct err *err)
{
    char target[PATH_MAX];
    ssize_t n;

    if (w->loose && !is_trusted(w, st->st_uid))
        return refuse_owner(w, st->st_uid, false, err);
    if (++w->links > LINKS_MAX)
        return err_set(err, -ELOOP, "%s: %s", w->path, err_text(-ELOOP));
    n = readlink(str_cstr(&w->at), target, sizeof(target) - 1);
    if (n < 0)
        return err_set(err, -errno, "%s: %s", w->path, err_text(-errno));
    target[n] = '\0';
    _cleanup_free_ char *rest = mem_strdup(str_cstr(&w->rest));
    str_clear(&w->rest);
    str_printf(&w->rest, "%s/%s", target, rest);
    cut_text(&w->at, target[0] == '/' ? 0 : parent_len);
    return 0;
}

/* Splits off the next name of the rest; empty: there is none. */
static char *next_name(struct walk *w)
{
    const char *rest = str_cstr(&w->rest);
    size_t skip = strspn(rest, "/"), len = strcspn(rest + skip, "/"), after;
    char *name = mem_strndup(rest + skip, len);

    after = skip + len;
    after += strspn(rest + after, "/");
    str_consume(&w->rest, after);
    return name;
}

static int step_into(struct walk *w, const char *name, struct err *err)
{
    size_t parent_len = w->at.len;
    struct stat st;

    if (str_eq(name, ".") || !*name)
        return 0;
    if (str_eq(name, "..")) {
        const char *slash = w->at.len ? strrchr(str_cstr(&w->at), '/') : NULL;
        cut_text(&w->at, slash ? (size_t)(slash - w->at.data) : 0);
        w->loose = false;
        return 0;
    }
    str_printf(&w->at, "/%s", name);
    if (lstat(str_cstr(&w->at), &st) < 0)
        return err_set(err, -errno, "%s: %s", str_cstr(&w->at), err_text(-errno));
    return S_ISLNK(st.st_mode) ? follow_link(w, &st, parent_len, err)
                               : check_path_entry(w, &st, err);
}

int trust_check(const char *path, const uid_t *owners, size_t count, struct err *err)
{
    struct walk w = {.path = path, .owners = owners, .count = count};
    struct stat st;
    int rc = 0;

    if (path[0] != '/')
        return err_set(err, -ERR_ACCESS, "%s is not an absolute path", path);
    if (stat("/", &st) < 0)
        return err_set(err, -errno, "/: %s", err_text(-errno));
    w.root_owner = st.st_uid;
    str_puts(&w.rest, path);
    rc = check_path_entry(&w, &st, err);
    while (w.rest.len && rc == 0) {
        _cleanup_free_ char *name = next_name(&w);
        rc = step_into(&w, name, err);
    }
    str_done(&w.at);
    str_done(&w.rest);
    return rc;
}
