/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/users.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

#define CACHE_MAX 64 /* users kept */
#define BUFFER 65536 /* of one passwd entry */

struct kept {
    struct user user;
    int64_t at_ms;
};

struct user_cache {
    struct loop *loop;
    VEC(struct kept *) kept;
};

/* A look-up under way; the worker touches uid, gid, user and err only. */
struct question {
    struct user_cache *cache;
    uid_t uid;
    gid_t gid;
    struct user user;
    struct err err;
    users_fn *done;
    void *ctx;
    uint64_t tag;
};

static void user_free(struct user *u)
{
    free(u->name);
    free(u->home);
    free(u->shell);
    free(u->groups);
}

struct user_cache *users_new(struct loop *l)
{
    struct user_cache *c = mem_new(struct user_cache);

    c->loop = l;
    return c;
}

void users_free(struct user_cache *c)
{
    if (!c)
        return;
    vec_foreach (&c->kept, k) {
        user_free(&(*k)->user);
        free(*k);
    }
    vec_done(&c->kept);
    free(c);
}

static int groups_of(const char *name, gid_t gid, struct user *u, struct err *err)
{
    int count = 64;

    for (;;) {
        int given = count;

        u->groups = mem_realloc(u->groups, (size_t)count * sizeof(gid_t));
        if (getgrouplist(name, gid, u->groups, &count) >= 0)
            break;
        if (count <= given || count > USERS_GROUPS_MAX)
            return err_set(err, -ERR_USER, "cannot get the groups of user %s", name);
    }
    u->group_count = (size_t)count;
    return 0;
}

static int look_up(uid_t uid, gid_t gid, struct user *u, struct err *err)
{
    _cleanup_free_ char *buffer = mem_alloc(BUFFER);
    struct passwd entry, *found = NULL;
    int rc = getpwuid_r(uid, &entry, buffer, BUFFER, &found);

    if (!found)
        return err_set(err, -ERR_USER, "user id %u is not known on this node%s%s", (unsigned)uid,
                       rc ? ": " : "", rc ? strerror(rc) : "");
    u->uid = uid;
    u->gid = gid;
    u->name = mem_strdup(entry.pw_name);
    u->home = mem_strdup(entry.pw_dir);
    u->shell = mem_strdup(entry.pw_shell && *entry.pw_shell ? entry.pw_shell : "/bin/sh");
    return groups_of(entry.pw_name, gid, u, err);
}

static void on_worker(void *arg)
{
    struct question *q = arg;

    look_up(q->uid, q->gid, &q->user, &q->err);
}

static struct kept *find(struct user_cache *c, uid_t uid, gid_t gid)
{
    for (size_t i = 0; i < c->kept.len; i++) {
        struct kept *k = c->kept.data[i];

        if (k->user.uid == uid && k->user.gid == gid)
            return k;
    }
    return NULL;
}

static void keep(struct user_cache *c, struct user *u)
{
    struct kept *k = find(c, u->uid, u->gid);

    if (k) {
        user_free(&k->user);
    } else {
        if (c->kept.len >= CACHE_MAX) {
            user_free(&c->kept.data[0]->user);
            free(c->kept.data[0]);
            vec_remove(&c->kept, 0);
        }
        k = mem_new(struct kept);
        vec_push(&c->kept, k);
    }
    k->user = *u;
    k->at_ms = loop_mono_ms();
}

static void answered(void *arg)
{
    struct question *q = arg;
    struct user_cache *c = q->cache;

    if (q->err.code) {
        q->done(q->ctx, q->tag, NULL, &q->err);
        user_free(&q->user);
    } else {
        keep(c, &q->user);
        q->done(q->ctx, q->tag, &find(c, q->uid, q->gid)->user, NULL);
    }
    free(q);
}

void users_ask(struct user_cache *c, uid_t uid, gid_t gid, users_fn *done, void *ctx, uint64_t tag)
{
    struct kept *k = find(c, uid, gid);
    struct question *q;

    if (k && loop_mono_ms() - k->at_ms < USERS_TTL_MS) {
        done(ctx, tag, &k->user, NULL);
        return;
    }
    q = mem_new(struct question);
    *q =
        (struct question){.cache = c, .uid = uid, .gid = gid, .done = done, .ctx = ctx, .tag = tag};
    loop_work_post(c->loop, 0, on_worker, answered, q);
}
