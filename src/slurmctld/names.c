/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/names.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/mem.h"
#include "base/vec.h"
#include "loop/loop.h"

#define BUFFER_FIRST 4096
#define BUFFER_MAX (4u << 20) /* a group of 200,000 members */

struct id_name {
    uint32_t id;
    uint32_t gid;  /* of a user: the primary group */
    char *name;    /* NULL: unknown, which is remembered too */
    int64_t at_ms; /* of the look-up */
    UT_hash_handle hh;
};

struct group_members {
    bool known;
    uint32_t gid;
    VEC(uint32_t) uids; /* sorted */
    int64_t at_ms;
    UT_hash_handle hh;
    char name[];
};

struct names {
    struct id_name *users, *groups;
    struct group_members *members;
};

struct names *names_new(void)
{
    return mem_new(struct names);
}

static void ids_forget(struct id_name **table)
{
    struct id_name *e, *next;
    HASH_ITER (hh, *table, e, next) {
        HASH_DEL(*table, e);
        free(e->name);
        free(e);
    }
}

static void members_forget(struct names *n)
{
    struct group_members *m, *next;
    HASH_ITER (hh, n->members, m, next) {
        HASH_DEL(n->members, m);
        vec_done(&m->uids);
        free(m);
    }
}

void names_forget(struct names *n)
{
    ids_forget(&n->users);
    ids_forget(&n->groups);
    members_forget(n);
}

void names_free(struct names *n)
{
    if (!n)
        return;
    names_forget(n);
    free(n);
}

static void look_up_user(struct id_name *e)
{
    char buffer[BUFFER_FIRST];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(e->id, &entry, buffer, sizeof(buffer), &found) == 0 && found) {
        e->name = mem_strdup(found->pw_name);
        e->gid = found->pw_gid;
    }
}

/* A group's list of members has no bound; the buffer grows with it. */
static struct group *group_entry(const char *name, uint32_t gid, struct group *entry, char **buffer)
{
    for (size_t room = BUFFER_FIRST; room <= BUFFER_MAX; room *= 4) {
        struct group *found = NULL;
        *buffer = mem_realloc(*buffer, room);
        int rc = name ? getgrnam_r(name, entry, *buffer, room, &found)
                      : getgrgid_r(gid, entry, *buffer, room, &found);
        if (rc != ERANGE)
            return rc == 0 ? found : NULL;
    }
    return NULL;
}

static void look_up_group(struct id_name *e)
{
    _cleanup_free_ char *buffer = NULL;
    struct group entry, *found = group_entry(NULL, e->id, &entry, &buffer);
    if (found)
        e->name = mem_strdup(found->gr_name);
}

static const struct id_name *id_get(struct id_name **table, uint32_t id,
                                    void (*look_up)(struct id_name *))
{
    struct id_name *e;
    int64_t now_ms = loop_mono_ms();
    HASH_FIND(hh, *table, &id, sizeof(id), e);
    if (e && now_ms - e->at_ms < NAMES_MAX_AGE_MS)
        return e;
    if (!e) {
        if (HASH_COUNT(*table) >= NAMES_MAX)
            ids_forget(table);
        e = mem_new(struct id_name);
        e->id = id;
        HASH_ADD(hh, *table, id, sizeof(e->id), e);
    }
    free(take_ptr(e->name));
    e->at_ms = now_ms;
    look_up(e);
    return e;
}

const char *names_user(struct names *n, uint32_t uid)
{
    return id_get(&n->users, uid, look_up_user)->name;
}

const char *names_group(struct names *n, uint32_t gid)
{
    return id_get(&n->groups, gid, look_up_group)->name;
}

static int uid_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void look_up_members(struct group_members *m)
{
    _cleanup_free_ char *buffer = NULL;
    struct group entry, *found = group_entry(m->name, 0, &entry, &buffer);
    vec_clear(&m->uids);
    m->known = found != NULL;
    if (!found)
        return;
    m->gid = found->gr_gid;
    for (char **name = found->gr_mem; *name; name++) {
        char text[BUFFER_FIRST];
        struct passwd user, *is = NULL;
        if (getpwnam_r(*name, &user, text, sizeof(text), &is) == 0 && is)
            vec_push(&m->uids, (uint32_t)is->pw_uid);
    }
    if (m->uids.len > 1)
        qsort(m->uids.data, m->uids.len, sizeof(m->uids.data[0]), uid_order);
}

static const struct group_members *members_get(struct names *n, const char *group)
{
    struct group_members *m;
    int64_t now_ms = loop_mono_ms();
    size_t len = strlen(group);
    HASH_FIND(hh, n->members, group, len, m);
    if (m && now_ms - m->at_ms < NAMES_MAX_AGE_MS)
        return m;
    if (!m) {
        if (HASH_COUNT(n->members) >= NAMES_MAX)
            members_forget(n);
        m = mem_alloc(sizeof(*m) + len + 1);
        memcpy(m->name, group, len + 1);
        HASH_ADD_KEYPTR(hh, n->members, m->name, len, m);
    }
    m->at_ms = now_ms;
    look_up_members(m);
    return m;
}

bool names_in_group(struct names *n, uint32_t uid, uint32_t gid, const char *group)
{
    const struct group_members *m = members_get(n, group);
    if (!m->known)
        return false;
    if (m->gid == gid)
        return true;
    if (m->uids.len && bsearch(&uid, m->uids.data, m->uids.len, sizeof(m->uids.data[0]), uid_order))
        return true;
    const struct id_name *user = id_get(&n->users, uid, look_up_user);
    return user->name && user->gid == m->gid;
}
