/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/step_id.h"

#include "cgroup/internal.h"

/* --- names ------------------------------------------------------------------------------------ */

const char *cgroup_name_uid(uid_t uid, char buf[CGROUP_NAME_MAX])
{
    snprintf(buf, CGROUP_NAME_MAX, "uid_%u", (unsigned)uid);
    return buf;
}

static const char *name_attempt(const char *kind, uint32_t job_id, uint32_t restarts,
                                char buf[CGROUP_NAME_MAX])
{
    if (restarts)
        snprintf(buf, CGROUP_NAME_MAX, "%s_%u.%u", kind, job_id, restarts);
    else
        snprintf(buf, CGROUP_NAME_MAX, "%s_%u", kind, job_id);
    return buf;
}

const char *cgroup_name_job(uint32_t job_id, uint32_t restarts, char buf[CGROUP_NAME_MAX])
{
    return name_attempt("job", job_id, restarts, buf);
}

const char *cgroup_name_stepd(uint32_t job_id, uint32_t restarts, char buf[CGROUP_NAME_MAX])
{
    return name_attempt("stepd", job_id, restarts, buf);
}

const char *cgroup_name_step(uint32_t step_id, char buf[CGROUP_NAME_MAX])
{
    char name[STEP_ID_NAME_MAX];
    snprintf(buf, CGROUP_NAME_MAX, "step_%s", step_id_name(step_id, name));
    return buf;
}

static int parse_attempt(const char *kind, const char *name, uint32_t *job_id, uint32_t *restarts)
{
    const char *numbers = strchr(name, '_');
    char canonical[CGROUP_NAME_MAX];
    unsigned id = 0, round = 0;
    int n = numbers ? sscanf(numbers, "_%u.%u", &id, &round) : 0;

    if (n < 1 || strcmp(name_attempt(kind, id, n == 2 ? round : 0, canonical), name) != 0)
        return -ERR_PARSE;
    *job_id = id;
    *restarts = n == 2 ? round : 0;
    return 0;
}

int cgroup_parse_job(const char *name, uint32_t *job_id, uint32_t *restarts)
{
    return parse_attempt("job", name, job_id, restarts);
}

int cgroup_parse_stepd(const char *name, uint32_t *job_id, uint32_t *restarts)
{
    return parse_attempt("stepd", name, job_id, restarts);
}

/* --- directories ------------------------------------------------------------------------------ */

static int fill_one(int parent, int dir, const char *file, const char *otherwise)
{
    _cleanup_str_ struct str have = STR_INIT, above = STR_INIT;

    if (!cgroup_file_read(dir, file, &have) && have.len && have.data[0] != '\n')
        return 0;
    if (cgroup_file_read(parent, file, &above) || !above.len || above.data[0] == '\n') {
        str_clear(&above);
        cgroup_file_read(parent, otherwise, &above);
    }
    return cgroup_file_write(dir, file, str_cstr(&above));
}

int cgroup_fill_cpuset(int parent, int dir)
{
    int rc = fill_one(parent, dir, "cpuset.mems", "cpuset.effective_mems");

    return rc ? rc : fill_one(parent, dir, "cpuset.cpus", "cpuset.effective_cpus");
}

static void init_below(const struct cgroup *parent, const char *name, struct cgroup *c)
{
    *c = (struct cgroup){.version = parent->version};
    for (int i = 0; i < CGROUP_PARTS; i++)
        c->fd[i] = -1;
    c->path = mem_printf("%s/%s", parent->path, name);
}

static int make_subdirectory(int parent, const char *name)
{
    return mkdirat(parent, name, 0755) && errno != EEXIST ? -errno : cgroup_open_dir(parent, name);
}

static int make_v1(const struct cgroup *parent, const char *name, struct cgroup *c, int part)
{
    int rc = c->fd[part] = make_subdirectory(parent->fd[part], name);

    if (rc >= 0 && part == CGROUP_CPUSET)
        rc = cgroup_fill_cpuset(parent->fd[part], c->fd[part]);
    return rc < 0 ? rc : 0;
}

int cgroup_make(const struct cgroup *parent, const char *name, struct cgroup *out, struct err *err)
{
    _cleanup_(cgroup_close) struct cgroup c = {0};
    int rc = 0;

    init_below(parent, name, &c);
    c.parts = parent->parts;
    if (c.version == CGROUP_V2) {
        rc = cgroup_enable(parent->fd[CGROUP_PROCS], parent->parts, err);
        if (rc)
            return rc;
        rc = c.fd[CGROUP_PROCS] = make_subdirectory(parent->fd[CGROUP_PROCS], name);
    }
    for (int i = 0; i < CGROUP_PARTS && c.version == CGROUP_V1 && rc >= 0; i++)
        if (c.parts & CGROUP_BIT(i))
            rc = make_v1(parent, name, &c, i);
    if (rc < 0)
        return err_set(err, rc, "cannot make cgroup %s: %s", c.path, strerror(-rc));
    *out = c;
    c = (struct cgroup){0};
    return 0;
}

int cgroup_find(const struct cgroup *parent, const char *name, struct cgroup *out)
{
    _cleanup_(cgroup_close) struct cgroup c = {0};
    int trees = parent->version == CGROUP_V2 ? 1 : CGROUP_PARTS;

    init_below(parent, name, &c);
    for (int i = 0; i < trees; i++)
        if (parent->fd[i] >= 0) {
            int dir = cgroup_open_dir(parent->fd[i], name);

            if (dir < 0)
                continue;
            c.fd[i] = dir;
            c.parts |= c.version == CGROUP_V2 ? parent->parts : CGROUP_BIT(i);
        }
    if (!c.parts)
        return -ENOENT;
    *out = c;
    c = (struct cgroup){0};
    return 0;
}

/* --- subdirectories --------------------------------------------------------------------------- */

struct names {
    VEC(char *) list;
};

static void free_names(struct names *n)
{
    vec_foreach (&n->list, name)
        free(*name);
    vec_done(&n->list);
}

static void add_name(struct names *n, const char *name)
{
    vec_foreach (&n->list, have)
        if (!strcmp(*have, name))
            return;
    vec_push(&n->list, mem_strdup(name));
}

/* Copies the list, because callbacks may change the directory. */
static void read_names(int dir, struct names *n)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    struct stat st;

    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(d)))
        if (entry->d_name[0] != '.' &&
            (entry->d_type == DT_DIR ||
             (entry->d_type == DT_UNKNOWN &&
              !fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode))))
            add_name(n, entry->d_name);
    closedir(d);
}

void cgroup_each(const struct cgroup *c, cgroup_each_fn *fn, void *ctx)
{
    _cleanup_(free_names) struct names all = {0};

    for (int i = 0; i < CGROUP_PARTS && c->version != CGROUP_NONE; i++)
        if (c->fd[i] >= 0)
            read_names(c->fd[i], &all);
    vec_foreach (&all.list, name)
        fn(ctx, *name);
}

static int remove_subdirectory(int parent, const char *name, int depth)
{
    _cleanup_(free_names) struct names below = {0};
    _cleanup_close_ int dir = -1;

    if (!unlinkat(parent, name, AT_REMOVEDIR) || errno == ENOENT)
        return 0;
    if ((errno != EBUSY && errno != ENOTEMPTY) || depth >= CGROUP_DEPTH_MAX)
        return -errno;
    dir = cgroup_open_dir(parent, name);
    if (dir < 0)
        return dir == -ENOENT ? 0 : dir;
    read_names(dir, &below);
    vec_foreach (&below.list, n)
        remove_subdirectory(dir, *n, depth + 1);
    return unlinkat(parent, name, AT_REMOVEDIR) && errno != ENOENT ? -errno : 0;
}

int cgroup_remove_empty(const struct cgroup *parent, const char *name)
{
    int worst = 0;

    for (int i = 0; i < CGROUP_PARTS && parent->version != CGROUP_NONE; i++)
        if (parent->fd[i] >= 0 && unlinkat(parent->fd[i], name, AT_REMOVEDIR) && errno != ENOENT)
            worst = -errno;
    return worst;
}

int cgroup_remove(const struct cgroup *parent, const char *name)
{
    int worst = 0;

    for (int i = 0; i < CGROUP_PARTS && parent->version != CGROUP_NONE; i++)
        if (parent->fd[i] >= 0) {
            int rc = remove_subdirectory(parent->fd[i], name, 0);

            worst = rc ? rc : worst;
        }
    return worst;
}
