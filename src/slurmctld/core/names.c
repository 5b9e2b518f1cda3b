/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/core/names.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"

#define LANE 4 /* lane of the loop's workers */
#define UNKNOWN_MS 1000
#define BUFFER_FIRST 4096
#define BUFFER_MAX (4u << 20) /* bytes; enough for a group of 200,000 members */

enum sort { USER, GROUP, MEMBERS, IDS, SORTS };

/* A result of the name service. */
struct answer {
    bool known;         /* for members and ids; negative results are cached, too */
    char *name;         /* of a user or a group; NULL: unknown */
    uint32_t uid, gid;  /* of a user: the primary group; of a member list: the group's gid */
    VEC(uint32_t) uids; /* of members, sorted */
};

struct entry {
    struct answer answer;
    bool has_answer, asked; /* asked: a lookup is running */
    int64_t at_ms;
    UT_hash_handle hh;
    size_t key_len;
    char key[]; /* the id, or the name of the group or user */
};

struct names {
    struct loop *loop;
    loop_fn *on_news;
    void *ctx;
    struct entry *table[SORTS];
    uint64_t age[SORTS]; /* number of times the cache was cleared */
    int64_t max_age_ms;  /* 0: entries never expire */
    unsigned asking;
    bool freed; /* freed while a worker's answer is outstanding */
};

/* A lookup by a worker thread. */
struct question {
    struct names *names;
    enum sort sort;
    uint64_t age;
    struct answer answer;
    size_t key_len;
    char key[];
};

struct names *names_new(struct loop *l, loop_fn *on_news, void *ctx)
{
    struct names *n = mem_new(struct names);
    n->loop = l;
    n->on_news = on_news;
    n->ctx = ctx;
    n->max_age_ms = NAMES_MAX_AGE_MS;
    return n;
}

void names_set_max_age(struct names *n, int64_t max_age_ms)
{
    n->max_age_ms = max_age_ms;
}

static void answer_done(struct answer *a)
{
    free(take_ptr(a->name));
    vec_done(&a->uids);
}

static void forget_oldest(struct names *n, enum sort sort)
{
    struct entry *e, *next;
    HASH_ITER (hh, n->table[sort], e, next) {
        HASH_DEL(n->table[sort], e);
        answer_done(&e->answer);
        free(e);
    }
    n->age[sort]++;
}

void names_forget(struct names *n)
{
    for (int sort = 0; sort < SORTS; sort++)
        forget_oldest(n, (enum sort)sort);
}

void names_free(struct names *n)
{
    if (!n)
        return;
    names_forget(n);
    n->freed = true;
    if (!n->asking)
        free(n);
}

static void look_up_user(uint32_t id, struct answer *a)
{
    char buffer[BUFFER_FIRST];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(id, &entry, buffer, sizeof(buffer), &found) == 0 && found) {
        a->name = mem_strdup(found->pw_name);
        a->gid = found->pw_gid;
    }
}

/* A group's member list has no limit, so the buffer grows. */
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

static void look_up_group(uint32_t id, struct answer *a)
{
    _cleanup_free_ char *buffer = NULL;
    struct group entry, *found = group_entry(NULL, id, &entry, &buffer);
    if (found)
        a->name = mem_strdup(found->gr_name);
}

static int uid_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void look_up_members(const char *name, struct answer *a)
{
    _cleanup_free_ char *buffer = NULL;
    struct group entry, *found = group_entry(name, 0, &entry, &buffer);
    a->known = found != NULL;
    if (!found)
        return;
    a->gid = found->gr_gid;
    for (char **member = found->gr_mem; *member; member++) {
        char text[BUFFER_FIRST];
        struct passwd user, *is = NULL;
        if (getpwnam_r(*member, &user, text, sizeof(text), &is) == 0 && is)
            vec_push(&a->uids, (uint32_t)is->pw_uid);
    }
    if (a->uids.len > 1)
        qsort(a->uids.data, a->uids.len, sizeof(a->uids.data[0]), uid_order);
}

static void look_up_ids(const char *name, struct answer *a)
{
    char buffer[BUFFER_FIRST];
    struct passwd entry, *found = NULL;
    if (getpwnam_r(name, &entry, buffer, sizeof(buffer), &found) || !found)
        return;
    a->known = true;
    a->uid = found->pw_uid;
    a->gid = found->pw_gid;
}

static void look_up(enum sort sort, const char *key, struct answer *a)
{
    uint32_t id = 0;
    if (sort == IDS) {
        look_up_ids(key, a);
        return;
    }
    if (sort == MEMBERS) {
        look_up_members(key, a);
        return;
    }
    memcpy(&id, key, sizeof(id));
    if (sort == USER)
        look_up_user(id, a);
    else
        look_up_group(id, a);
}

static struct entry *find_entry(struct names *n, enum sort sort, const void *key, size_t len)
{
    struct entry *e;
    HASH_FIND(hh, n->table[sort], key, len, e);
    if (e)
        return e;
    if (HASH_COUNT(n->table[sort]) >= NAMES_MAX)
        forget_oldest(n, sort);
    e = mem_alloc(sizeof(*e) + len + 1);
    memset(e, 0, sizeof(*e));
    e->key_len = len;
    memcpy(e->key, key, len);
    e->key[len] = '\0';
    HASH_ADD_KEYPTR(hh, n->table[sort], e->key, len, e);
    return e;
}

static void store_answer(struct entry *e, struct answer *a)
{
    answer_done(&e->answer);
    e->answer = *a;
    e->has_answer = true;
    e->at_ms = loop_mono_ms();
}

static void on_run(void *arg)
{
    struct question *q = arg;
    look_up(q->sort, q->key, &q->answer);
}

/* If the cache was cleared meanwhile, the entry may be asked for again; then only the new answer
   is used. */
static void on_names_done(void *arg)
{
    struct question *q = arg;
    struct names *n = q->names;
    struct entry *e = NULL;
    n->asking--;
    if (q->age == n->age[q->sort])
        HASH_FIND(hh, n->table[q->sort], q->key, q->key_len, e);
    if (e) {
        e->asked = false;
        store_answer(e, &q->answer);
    } else {
        answer_done(&q->answer);
    }
    free(q);
    if (!n->freed)
        n->on_news(n->ctx);
    else if (!n->asking)
        free(n);
}

static void ask_worker(struct names *n, enum sort sort, struct entry *e)
{
    struct question *q;
    if (e->asked)
        return;
    e->asked = true;
    q = mem_alloc(sizeof(*q) + e->key_len + 1);
    *q = (struct question){.names = n, .sort = sort, .age = n->age[sort], .key_len = e->key_len};
    memcpy(q->key, e->key, e->key_len + 1);
    n->asking++;
    loop_work_post(n->loop, LANE, on_run, on_names_done, q);
}

static bool has_fresh_answer(struct names *n, enum sort sort, const void *key, size_t len)
{
    struct entry *e = find_entry(n, sort, key, len);
    int64_t age_ms = loop_mono_ms() - e->at_ms;
    bool is_old = n->max_age_ms && age_ms >= n->max_age_ms;
    if (sort == IDS && !e->answer.known && age_ms >= UNKNOWN_MS)
        e->has_answer = false; /* the user may have been created meanwhile */
    if (!e->has_answer || is_old)
        ask_worker(n, sort, e);
    return e->has_answer;
}

bool names_has_user(struct names *n, uint32_t uid)
{
    return has_fresh_answer(n, USER, &uid, sizeof(uid));
}

bool names_has_group(struct names *n, uint32_t gid)
{
    return has_fresh_answer(n, GROUP, &gid, sizeof(gid));
}

bool names_has_members(struct names *n, const char *group)
{
    return has_fresh_answer(n, MEMBERS, group, strlen(group));
}

bool names_has_ids(struct names *n, const char *user)
{
    return has_fresh_answer(n, IDS, user, strlen(user));
}

static const struct answer *get_answer(struct names *n, enum sort sort, const void *key, size_t len)
{
    struct entry *e = find_entry(n, sort, key, len);
    if (!e->has_answer) {
        struct answer a = {0};
        look_up(sort, e->key, &a);
        store_answer(e, &a);
    }
    return &e->answer;
}

const char *names_user(struct names *n, uint32_t uid)
{
    return get_answer(n, USER, &uid, sizeof(uid))->name;
}

const char *names_group(struct names *n, uint32_t gid)
{
    return get_answer(n, GROUP, &gid, sizeof(gid))->name;
}

bool names_ids(struct names *n, const char *user, uint32_t *uid, uint32_t *gid)
{
    const struct answer *a = get_answer(n, IDS, user, strlen(user));
    if (!a->known)
        return false;
    *uid = a->uid;
    *gid = a->gid;
    return true;
}

bool names_in_group(struct names *n, uint32_t uid, const char *group)
{
    const struct answer *m = get_answer(n, MEMBERS, group, strlen(group));
    if (!m->known)
        return false;
    if (m->uids.len && bsearch(&uid, m->uids.data, m->uids.len, sizeof(m->uids.data[0]), uid_order))
        return true;
    const struct answer *user = get_answer(n, USER, &uid, sizeof(uid));
    return user->name && user->gid == m->gid;
}
