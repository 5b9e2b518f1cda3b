/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/users.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "base/vec.h"

#define CACHE_MAX 64 /* number of users in the cache */
#define ANSWER_MAX (1u << 20)

struct kept {
    struct user user;
    int64_t at_ms;
};

struct question;

struct user_cache {
    struct loop *loop;
    char *program;
    VEC(struct kept *) kept;
    VEC(struct question *) open;
};

/* A running lookup. */
struct question {
    struct user_cache *cache;
    uid_t uid;
    gid_t gid;
    int fd; /* descriptor of the answer; -1: closed */
    struct loop_fd *watch;
    struct str text;
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

static void question_free(struct question *q)
{
    if (q->watch)
        loop_fd_free(q->watch);
    if (q->fd >= 0)
        close(q->fd);
    str_done(&q->text);
    free(q);
}

struct user_cache *users_new(struct loop *l, const char *program)
{
    struct user_cache *c = mem_new(struct user_cache);

    c->loop = l;
    c->program = mem_strdup(program);
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
    vec_foreach (&c->open, q)
        question_free(*q);
    vec_done(&c->open);
    free(c->program);
    free(c);
}

static struct kept *find_entry(struct user_cache *c, uid_t uid, gid_t gid)
{
    for (size_t i = 0; i < c->kept.len; i++) {
        struct kept *k = c->kept.data[i];

        if (k->user.uid == uid && k->user.gid == gid)
            return k;
    }
    return NULL;
}

static void keep_user(struct user_cache *c, struct user *u)
{
    struct kept *k = find_entry(c, u->uid, u->gid);

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

/* Frees the question. */
static void on_users_answer(struct question *q)
{
    struct user_cache *c = q->cache;
    struct user user = {.uid = q->uid, .gid = q->gid};
    struct err err = {0};

    for (size_t i = 0; i < c->open.len; i++)
        if (c->open.data[i] == q) {
            vec_remove(&c->open, i);
            break;
        }
    if (users_parse(str_cstr(&q->text), q->text.len, &user, &err)) {
        q->done(q->ctx, q->tag, NULL, &err);
    } else {
        keep_user(c, &user);
        q->done(q->ctx, q->tag, &find_entry(c, q->uid, q->gid)->user, NULL);
    }
    question_free(q);
}

static void on_readable(void *ctx, int fd, unsigned ready)
{
    struct question *q = ctx;
    char chunk[4096];
    ssize_t n = read(fd, chunk, sizeof(chunk));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0 && q->text.len < ANSWER_MAX)
        str_append(&q->text, chunk, (size_t)n);
    else
        on_users_answer(q);
}

static void on_lookup_exited(void *ctx, pid_t pid, int wait_status)
{
    /* The end of the child's output is what matters; here it is only reaped. */
}

static int spawn_lookup(const struct user_cache *c, const char *who, int fd, pid_t *pid)
{
    char *const argv[] = {"slurmd", "--" USERS_OPTION, (char *)who, NULL};
    char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    posix_spawn_file_actions_t actions;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, fd, 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_RDWR, 0);
    return child_start(pid, c->program, &actions, false, argv, env);
}

static int start_lookup(struct user_cache *c, struct question *q, struct err *err)
{
    _cleanup_free_ char *who = mem_printf("%u:%u", (unsigned)q->uid, (unsigned)q->gid);
    int ends[2], rc;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC))
        return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    rc = spawn_lookup(c, who, ends[1], &pid);
    close(ends[1]);
    if (rc) {
        close(ends[0]);
        return err_set(err, -rc, "cannot run %s: %s", c->program, strerror(rc));
    }
    loop_child(c->loop, pid, on_lookup_exited, NULL);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    q->fd = ends[0];
    q->watch = loop_fd_new(c->loop, q->fd, LOOP_READ, on_readable, q);
    vec_push(&c->open, q);
    return 0;
}

void users_ask(struct user_cache *c, uid_t uid, gid_t gid, users_fn *done, void *ctx, uint64_t tag)
{
    struct kept *k = find_entry(c, uid, gid);
    struct err err = {0};
    struct question *q;

    if (k && loop_mono_ms() - k->at_ms < USERS_TTL_MS) {
        done(ctx, tag, &k->user, NULL);
        return;
    }
    q = mem_new(struct question);
    *q = (struct question){
        .cache = c, .uid = uid, .gid = gid, .fd = -1, .done = done, .ctx = ctx, .tag = tag};
    if (!start_lookup(c, q, &err))
        return;
    question_free(q);
    done(ctx, tag, NULL, &err);
}

/* Format of the answer: "U", name, home, shell and the groups in decimal, or "E" and the reason;
 * each field ends with a NUL. */

int users_parse(const char *text, size_t len, struct user *u, struct err *err)
{
    const char *field[3], *at = text, *end = text + len;
    VEC(gid_t) groups = {0};
    long long gid;

    if (!len)
        return err_set(err, -ERR_USER,
                       "the look-up of user id %u ended without an answer; it may take %d s",
                       (unsigned)u->uid, USERS_LIMIT_SEC);
    if (text[len - 1] || (*at != 'U' && *at != 'E') || at[1])
        return err_set(err, -ERR_USER, "the look-up of user id %u gave no sense", (unsigned)u->uid);
    at += 2;
    if (*text == 'E')
        return err_set(err, -ERR_USER, "%s", at < end ? at : "");
    for (int i = 0; i < 3; i++, at += strlen(at) + 1) {
        if (at >= end || (i != 1 && !*at))
            return err_set(err, -ERR_USER, "the look-up of user id %u gave too little",
                           (unsigned)u->uid);
        field[i] = at;
    }
    for (; at < end; at += strlen(at) + 1) {
        if (groups.len >= USERS_GROUPS_MAX || str_parse_i64(at, 0, UINT32_MAX, &gid)) {
            vec_done(&groups);
            return err_set(err, -ERR_USER, "cannot use the groups of user %s", field[0]);
        }
        vec_push(&groups, (gid_t)gid);
    }
    u->name = mem_strdup(field[0]);
    u->home = mem_strdup(field[1]);
    u->shell = mem_strdup(field[2]);
    u->groups = groups.data;
    u->group_count = groups.len;
    return 0;
}

static void put_field(struct str *out, const char *text)
{
    str_append(out, text, strlen(text) + 1);
}

/* The child process, which may load libraries and hang as long as it likes. */

static int put_groups(const struct passwd *entry, gid_t gid, struct str *out, struct err *err)
{
    _cleanup_free_ gid_t *groups = NULL;
    int count = 64;

    for (;;) {
        int given = count;

        groups = mem_realloc(groups, (size_t)count * sizeof(gid_t));
        if (getgrouplist(entry->pw_name, gid, groups, &count) >= 0)
            break;
        if (count <= given || count > USERS_GROUPS_MAX)
            return err_set(err, -ERR_USER, "cannot get the groups of user %s", entry->pw_name);
    }
    for (int i = 0; i < count; i++) {
        str_printf(out, "%u", (unsigned)groups[i]);
        str_putc(out, '\0');
    }
    return 0;
}

static int read_user(uid_t uid, gid_t gid, struct str *out, struct err *err)
{
    const struct passwd *entry;

    errno = 0;
    entry = getpwuid(uid);
    if (!entry)
        return err_set(err, -ERR_USER, "unknown user id %u on this node%s%s", (unsigned)uid,
                       errno ? ": " : "", errno ? strerror(errno) : "");
    put_field(out, "U");
    put_field(out, entry->pw_name);
    put_field(out, entry->pw_dir ? entry->pw_dir : "");
    put_field(out, entry->pw_shell && *entry->pw_shell ? entry->pw_shell : "/bin/sh");
    return put_groups(entry, gid, out, err);
}

int users_look_up(const char *who)
{
    _cleanup_str_ struct str out = STR_INIT;
    struct err err = {0};
    unsigned uid, gid;
    int used = 0;

    if (sscanf(who, "%u:%u%n", &uid, &gid, &used) != 2 || who[used])
        return 1;
    alarm(USERS_LIMIT_SEC);
    if (read_user(uid, gid, &out, &err)) {
        str_clear(&out);
        put_field(&out, "E");
        put_field(&out, err.text);
    }
    return path_write_all(STDOUT_FILENO, out.data, out.len) != 0;
}
