/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup/internal.h"

static const struct {
    const char *v1, *v2; /* NULL: version 2 has it without a controller */
} names[CGROUP_PARTS] = {
    [CGROUP_PROCS] = {"freezer", NULL},     [CGROUP_CPUACCT] = {"cpuacct", NULL},
    [CGROUP_CPUSET] = {"cpuset", "cpuset"}, [CGROUP_MEMORY] = {"memory", "memory"},
    [CGROUP_DEVICES] = {"devices", NULL},   [CGROUP_IO] = {NULL, "io"},
    [CGROUP_PIDS] = {NULL, "pids"},         [CGROUP_RDMA] = {NULL, "rdma"},
    [CGROUP_HUGETLB] = {NULL, "hugetlb"},   [CGROUP_MISC] = {NULL, "misc"},
};

const char *cgroup_part_name(enum cgroup_part part, enum cgroup_version version)
{
    return version == CGROUP_V2 && names[part].v2 ? names[part].v2 : names[part].v1;
}

static void put_slice(const char *slice, struct str *out)
{
    for (const char *dash = strchr(slice, '-'); dash; dash = strchr(dash + 1, '-'))
        str_printf(out, "%.*s.slice/", (int)(dash - slice), slice);
    str_puts(out, slice);
}

char *cgroup_base(enum cgroup_version version, const char *slice, const char *node)
{
    _cleanup_str_ struct str path = STR_INIT;

    if (version != CGROUP_V2)
        return node ? mem_printf("slurm_%s", node) : mem_strdup("slurm");
    put_slice(slice ? slice : "system.slice", &path);
    return mem_printf("%s/%s%sslurmstepd.scope", str_cstr(&path), node ? node : "",
                      node ? "_" : "");
}

static unsigned find_extra(const char *word)
{
    if (!strcasecmp(word, "all"))
        return CGROUP_EXTRA;
    for (int i = CGROUP_IO; i < CGROUP_PARTS; i++)
        if (!strcasecmp(word, names[i].v2))
            return CGROUP_BIT(i);
    return 0;
}

int cgroup_parse_extra(const char *list, unsigned *parts, struct err *err)
{
    _cleanup_free_ char *copy = mem_strdup(list ? list : "");
    char *save;

    *parts = 0;
    for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        unsigned part = find_extra(word);

        if (!part)
            return err_set(err, -ERR_PARSE, "unknown controller '%s'", word);
        *parts |= part;
    }
    return 0;
}

/* --- mounted file systems --------------------------------------------------------------------- */

static bool is_there(const char *mount, const char *file)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", mount, file);

    return !access(path, F_OK);
}

static bool has_v1(const char *mount)
{
    for (int i = 0; i < CGROUP_PARTS; i++) {
        _cleanup_free_ char *file = names[i].v1 ? mem_printf("%s/cgroup.procs", names[i].v1) : NULL;

        if (file && is_there(mount, file))
            return true;
    }
    return false;
}

/* A hybrid machine, which has version 2 without controllers beside version 1, counts as version 1
 * unless 2 is requested. */
int cgroup_detect(const char *mount, enum cgroup_version wanted, enum cgroup_version *found,
                  struct err *err)
{
    bool two = is_there(mount, "cgroup.controllers");
    bool beside = is_there(mount, "unified/cgroup.controllers");
    bool one = wanted != CGROUP_V2 && has_v1(mount);

    if (wanted != CGROUP_V1 && (two || (beside && (wanted == CGROUP_V2 || !one))))
        *found = CGROUP_V2;
    else if (one)
        *found = CGROUP_V1;
    else
        return err_set(err, -ENOENT, "no cgroup file system%s is mounted at %s",
                       wanted == CGROUP_V1   ? " of version 1"
                       : wanted == CGROUP_V2 ? " of version 2"
                                             : "",
                       mount);
    return 0;
}

/* --- the base --------------------------------------------------------------------------------- */

static int make_dir(int parent, const char *name)
{
    return mkdirat(parent, name, 0755) && errno != EEXIST ? -errno : cgroup_open_dir(parent, name);
}

static unsigned enabled_for(const char *list)
{
    unsigned parts = 0;

    for (int i = 0; i < CGROUP_PARTS; i++)
        if (names[i].v2 && cgroup_word_in(list, names[i].v2))
            parts |= CGROUP_BIT(i);
    return parts;
}

int cgroup_enable(int dir, unsigned parts, struct err *err)
{
    _cleanup_str_ struct str have = STR_INIT;
    int rc = cgroup_file_read(dir, "cgroup.subtree_control", &have);

    parts &= ~enabled_for(str_cstr(&have));
    for (int i = 0; i < CGROUP_PARTS && !rc; i++) {
        if (!(parts & CGROUP_BIT(i)) || !names[i].v2)
            continue;
        _cleanup_free_ char *text = mem_printf("+%s", names[i].v2);

        rc = cgroup_file_write(dir, "cgroup.subtree_control", text);
        if (rc)
            return err_set(err, rc, "cannot enable the %s controller: %s", names[i].v2,
                           strerror(-rc));
    }
    return rc;
}

/* Opens each directory from the mount point down; on version 2 enables the available controllers
   at each level. */
static int open_path(int root, const char *path, unsigned enable)
{
    _cleanup_free_ char *copy = mem_strdup(path);
    int dir = root;
    char *save;

    for (char *name = strtok_r(copy, "/", &save); name && dir >= 0;
         name = strtok_r(NULL, "/", &save)) {
        int next;

        if (!strcmp(name, ".") || !strcmp(name, ".."))
            next = -EINVAL;
        else {
            for (int i = 0; i < CGROUP_PARTS; i++)
                if (enable & CGROUP_BIT(i))
                    cgroup_enable(dir, CGROUP_BIT(i), NULL); /* the result is checked below */
            next = make_dir(dir, name);
        }
        close(dir);
        dir = next;
    }
    return dir;
}

static int open_root(const char *mount, const char *below, struct err *err)
{
    _cleanup_free_ char *path = mem_printf("%s%s%s", mount, *below ? "/" : "", below);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? err_set(err, -errno, "no %s controller at %s: %s", below, path, strerror(errno))
                  : fd;
}

static int open_v1(const struct cgroup_place *p, enum cgroup_part part, struct cgroup *c,
                   struct err *err)
{
    int root = open_root(p->mount, names[part].v1, err), dir;

    if (root < 0)
        return root;
    dir = open_path(fcntl(root, F_DUPFD_CLOEXEC, 0), p->base, 0);
    if (dir >= 0 && part == CGROUP_CPUSET)
        cgroup_fill_cpuset(root, dir);
    close(root);
    if (dir < 0)
        return err_set(err, dir, "cannot make %s/%s/%s: %s", p->mount, names[part].v1, p->base,
                       strerror(-dir));
    c->fd[part] = dir;
    c->parts |= CGROUP_BIT(part);
    return 0;
}

static void take_v2(const struct cgroup_place *p, enum cgroup_part part, unsigned there,
                    struct cgroup *c, struct err *err)
{
    int dir = c->fd[CGROUP_PROCS];

    if (names[part].v2 && !(there & CGROUP_BIT(part)))
        err_set(err, -ENOENT, "no %s controller in cgroup.controllers of %s/%s", names[part].v2,
                p->mount, p->base);
    else if (names[part].v2 && cgroup_enable(dir, CGROUP_BIT(part), err))
        err_prefix(err, "%s/%s", p->mount, p->base);
    else if (part != CGROUP_DEVICES || !cgroup_check_devices(c, err))
        c->parts |= CGROUP_BIT(part);
}

static int open_v2(const struct cgroup_place *p, struct cgroup *c, struct err *why, struct err *err)
{
    _cleanup_str_ struct str list = STR_INIT;
    bool beside = !is_there(p->mount, "cgroup.controllers");
    int root = open_root(p->mount, beside ? "unified" : "", err);
    int dir = root < 0 ? root : open_path(root, p->base, p->enable_above ? p->parts : 0);

    if (dir < 0)
        return root < 0
                   ? root
                   : err_set(err, dir, "cannot make %s/%s: %s", p->mount, p->base, strerror(-dir));
    c->fd[CGROUP_PROCS] = dir;
    cgroup_file_read(dir, "cgroup.controllers", &list);
    for (int i = 0; i < CGROUP_PARTS; i++)
        if (p->parts & CGROUP_BIT(i))
            take_v2(p, (enum cgroup_part)i, enabled_for(str_cstr(&list)), c, why ? &why[i] : NULL);
    return 0;
}

int cgroup_open(const struct cgroup_place *place, struct cgroup *out, struct err *why,
                struct err *err)
{
    struct cgroup_place p = *place;
    _cleanup_(cgroup_close) struct cgroup c = {0};
    _cleanup_free_ char *base = NULL;
    struct err last = {0};
    int rc = cgroup_detect(p.mount, p.version, &c.version, err);

    if (rc) {
        c.version = CGROUP_NONE;
        return rc;
    }
    for (int i = 0; i < CGROUP_PARTS; i++)
        c.fd[i] = -1;
    if (!p.base) {
        base = cgroup_base(c.version, NULL, NULL);
        p.base = base;
    }
    c.path = mem_strdup(p.base);
    if (c.version == CGROUP_V2)
        rc = open_v2(&p, &c, why, err);
    for (int i = 0; i < CGROUP_PARTS && c.version == CGROUP_V1; i++)
        if (names[i].v1 && p.parts & CGROUP_BIT(i) && open_v1(&p, (enum cgroup_part)i, &c, &last) &&
            why)
            why[i] = last;
    if (rc)
        return rc;
    if (!c.parts)
        return err_set(err, -ENOENT, "none of what is needed of cgroups is at %s", p.mount);
    *out = c;
    c = (struct cgroup){0};
    return 0;
}

void cgroup_close(struct cgroup *c)
{
    for (int i = 0; i < CGROUP_PARTS && c->version != CGROUP_NONE; i++)
        if (c->fd[i] >= 0)
            close(c->fd[i]);
    free(c->path);
    *c = (struct cgroup){0};
}
