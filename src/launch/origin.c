/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/origin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cli/opt.h"

#define REQUEST_ID_SIZE 16
#define HOST_MAX 255
#define DIGITS_MAX 4 /* "0022" */

/* An absolute path does not need the working directory. */
int origin_work_dir(struct arena *a, const char *chdir, char **out, struct err *err)
{
    _cleanup_free_ char *cwd = NULL, *path = NULL;

    if (chdir != NULL && *chdir == '/') {
        *out = arena_strdup(a, chdir);
        return 0;
    }
    cwd = getcwd(NULL, 0);
    if (cwd == NULL)
        return err_set(err, -errno, "getcwd failed: %s", strerror(errno));
    path = path_absolute(chdir != NULL ? chdir : ".", cwd);
    *out = arena_strdup(a, chdir != NULL ? path : cwd);
    return 0;
}

/* Partition keys, one per component. */
struct keys {
    const char *leader;
    struct Pb__JobSpec *const *components;
    size_t count;
};

static bool is_key(const struct keys *keys, const char *text)
{
    bool found = keys->leader && str_eq(text, keys->leader);

    for (size_t i = 0; i < keys->count && !found; i++)
        found =
            keys->components[i]->partition_key && str_eq(text, keys->components[i]->partition_key);
    return found;
}

/* Appends an argument without a partition's key, since everybody can read the line. */
static void put_argument(struct str *line, const char *text, const struct keys *keys)
{
    const char *value = text[0] == '-' ? strchr(text, '=') : NULL;

    if (is_key(keys, text))
        str_puts(line, "...");
    else if (value && is_key(keys, value + 1))
        str_printf(line, "%.*s...", (int)(value + 1 - text), text);
    else
        str_puts(line, text);
}

static char *format_submit_line(struct arena *a, int argc, char *const argv[],
                                const struct keys *keys)
{
    struct str line = STR_INIT_CAP(ORIGIN_LINE_MAX);
    char *copy;

    for (int i = 0; i < argc && !line.overflow; i++) {
        if (i > 0)
            str_putc(&line, ' ');
        put_argument(&line, argv[i], keys);
    }
    copy = arena_strdup(a, str_cstr(&line));
    str_done(&line);
    return copy;
}

/* Removes the keys from the environment: the user of the job and its programs may not have the key.
 */
static void forget_keys(void)
{
    static const char *const names[] = {"SBATCH_PARTITION_KEY", "SALLOC_PARTITION_KEY",
                                        "SLURM_PARTITION_KEY"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
}

int origin_fill_set(struct arena *a, int argc, char *const argv[], const char *chdir,
                    struct Pb__JobSpec *leader, struct Pb__JobSpec *const components[],
                    size_t count, struct err *err)
{
    const struct keys keys = {leader->partition_key, components, count};
    char host[HOST_MAX + 1] = "";
    int code = origin_work_dir(a, chdir, &leader->work_dir, err);

    if (code < 0)
        return code;
    gethostname(host, HOST_MAX);
    leader->alloc_host = arena_strdup(a, host);
    leader->has_alloc_sid = 1;
    leader->alloc_sid = (uint32_t)getsid(0);
    leader->submit_line = format_submit_line(a, argc, argv, &keys);
    forget_keys();
    for (size_t i = 0; i < count; i++) {
        components[i]->work_dir = leader->work_dir;
        components[i]->alloc_host = leader->alloc_host;
        components[i]->has_alloc_sid = 1;
        components[i]->alloc_sid = leader->alloc_sid;
        components[i]->submit_line = leader->submit_line;
    }
    leader->has_request_id = 1;
    leader->request_id.len = REQUEST_ID_SIZE;
    leader->request_id.data = arena_alloc(a, REQUEST_ID_SIZE);
    if (getrandom(leader->request_id.data, REQUEST_ID_SIZE, 0) != REQUEST_ID_SIZE)
        return err_set(err, -errno, "getrandom: %s", strerror(errno));
    return 0;
}

/* The mask that the user has set for this process; NULL: none. */
static const char *find_wanted_mask(void)
{
    const char *text = getenv("SLURM_UMASK"), *marked = getenv(ORIGIN_MASK_TOLD);
    return text && (!*text || (marked && str_eq(text, marked))) ? NULL : text;
}

int origin_take_mask(struct err *err)
{
    const char *text = find_wanted_mask();
    if (!text)
        return 0;
    size_t digits = strspn(text, "01234567");
    unsigned long mask = strtoul(text, NULL, 8);
    if (!digits || digits > DIGITS_MAX || text[digits] || mask > 0777)
        return err_set(err, -ERR_RANGE,
                       "Invalid value for SLURM_UMASK: '%s' is not an octal number from 0 to 0777",
                       text);
    umask((mode_t)mask);
    return 0;
}

void origin_forget_mask(struct envlist *e)
{
    if (!find_wanted_mask() && str_eq(envlist_get(e, "SLURM_UMASK"), getenv("SLURM_UMASK")))
        envlist_unset(e, "SLURM_UMASK");
    envlist_unset(e, ORIGIN_MASK_TOLD);
}

static const struct {
    const char *name;
    __rlimit_resource_t resource;
} limits[] = {
    {"AS", RLIMIT_AS},         {"CORE", RLIMIT_CORE},   {"CPU", RLIMIT_CPU},
    {"DATA", RLIMIT_DATA},     {"FSIZE", RLIMIT_FSIZE}, {"MEMLOCK", RLIMIT_MEMLOCK},
    {"NOFILE", RLIMIT_NOFILE}, {"NPROC", RLIMIT_NPROC}, {"RSS", RLIMIT_RSS},
    {"STACK", RLIMIT_STACK},
};
_Static_assert(sizeof(limits) / sizeof(limits[0]) == ORIGIN_LIMITS_MAX, "a row per limit");

static bool is_propagated(const char *limit, const char *given, const struct conf *conf)
{
    if (!given && conf->propagate_resource_limits_except)
        return !opt_propagates(conf->propagate_resource_limits_except, limit);
    return opt_propagates(given ? given : conf->propagate_resource_limits, limit);
}

void origin_limits_init(struct origin_limits *l, const char *given, const struct conf *conf)
{
    l->count = 0;
    for (size_t i = 0; i < ORIGIN_LIMITS_MAX; i++) {
        struct Pb__Rlimit *item = &l->items[l->count];
        struct rlimit now;

        if (!is_propagated(limits[i].name, given, conf) || getrlimit(limits[i].resource, &now) < 0)
            continue;
        pb__rlimit__init(item);
        item->resource = (uint32_t)limits[i].resource;
        item->soft = now.rlim_cur == RLIM_INFINITY ? UINT64_MAX : now.rlim_cur;
        item->hard = now.rlim_max == RLIM_INFINITY ? UINT64_MAX : now.rlim_max;
        l->list[l->count++] = item;
    }
}

void origin_put_limits(struct envlist *e)
{
    for (size_t i = 0; i < ORIGIN_LIMITS_MAX; i++) {
        _cleanup_free_ char *name = mem_printf("SLURM_RLIMIT_%s", limits[i].name);
        struct rlimit now;

        if (getrlimit(limits[i].resource, &now) < 0)
            continue;
        envlist_setf(e, name, "%lld",
                     now.rlim_cur == RLIM_INFINITY ? -1LL : (long long)now.rlim_cur);
    }
}
