/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/job/jobtmp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/trust.h"
#include "conf/conf_container.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/node/scriptenv.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define ASIDE ".left." /* and a number, after the job's directory name */
#define ASIDE_TRIES 100

struct jobtmp {
    struct conf_container conf;
    char *base;
};

static void free_all(struct jobtmp *t)
{
    if (!t)
        return;
    conf_container_done(&t->conf);
    free(t->base);
    free(t);
}

static bool is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

/* Tasks need these directories, which the mounts would hide. */
static int check_spool(const struct slurmd *d, const struct jobtmp *t, struct err *err)
{
    vec_foreach (&t->conf.dirs, dir)
        if (is_below(d->spool, *dir))
            return err_set(err, -ERR_CONFIG,
                           "job_container.conf: SlurmdSpoolDir=%s is in %s, of which each job has "
                           "one of its own: batch scripts could not be read",
                           d->spool, *dir);
    return 0;
}

static int check_scripts(const struct slurmd *d, const struct conf_container *c, struct err *err)
{
    int rc = conf_trust_path(d->conf, "InitScript", c->init_script, err);

    if (rc == 0)
        rc = conf_trust_path(d->conf, "CloneNSScript", c->clone_script, err);
    return rc ? rc : conf_trust_path(d->conf, "CloneNSEpilog", c->clone_epilog, err);
}

/* Mounts the directory on itself as a private mount, because only there can a file hold a
 * namespace. An existing private mount of an earlier daemon is kept, since it holds the namespaces
 * of running jobs. */
static int make_private(const char *base, struct err *err)
{
    struct statx st;

    if (statx(AT_FDCWD, base, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &st))
        return err_set(err, -errno, "BasePath=%s: %s", base, strerror(errno));
    if (!(st.stx_attributes & STATX_ATTR_MOUNT_ROOT) && mount(base, base, NULL, MS_BIND, NULL))
        return err_set(err, -errno, "BasePath=%s cannot be mounted: %s", base, strerror(errno));
    if (mount(NULL, base, NULL, MS_PRIVATE, NULL))
        return err_set(err, -errno, "BasePath=%s cannot be made private: %s", base,
                       strerror(errno));
    return 0;
}

static int prepare_base(const struct jobtmp *t, struct err *err)
{
    int rc = 0;

    if (t->conf.auto_base_path)
        rc = path_mkdirs(t->base, 0755, err);
    if (rc == 0)
        rc = trust_check(t->base, NULL, 0, err);
    if (rc < 0)
        return err_prefix(err, "BasePath%s", rc == -ENOENT ? " (AutoBasePath=true makes it)" : "");
    return make_private(t->base, err);
}

int jobtmp_open(struct slurmd *d, struct err *err)
{
    struct jobtmp *t;
    int rc;

    if (!conf_container_wanted(d->conf))
        return 0;
    if (geteuid() != 0)
        return err_set(err, -EPERM, "JobContainerType=job_container/tmpfs: only root can do that");
    t = mem_new(struct jobtmp);
    rc = conf_container_load(d->conf, d->name, &t->conf, err);
    if (rc == 0 && !t->conf.base_path) { /* not configured for this node */
        free_all(t);
        return 0;
    }
    if (rc == 0) {
        t->base = path_expand(t->conf.base_path, d->host, d->name);
        rc = check_spool(d, t, err);
    }
    if (rc == 0)
        rc = check_scripts(d, &t->conf, err);
    if (rc == 0)
        rc = prepare_base(t, err);
    if (rc < 0) {
        free_all(t);
        return rc;
    }
    if (t->conf.entire_step)
        log_info("job_container.conf: EntireStepInNS has no effect: all that is the user's is in "
                 "the namespace, slurmstepd is not");
    d->jobtmp = t;
    return 0;
}

/* The mounts stay, because jobs continue to run. */
void jobtmp_close(struct slurmd *d)
{
    free_all(take_ptr(d->jobtmp));
}

Pb__StepTmp *jobtmp_order(const struct slurmd *d, uint32_t job_id, const struct user *user,
                          struct arena *arena)
{
    const struct jobtmp *t = d->jobtmp;
    Pb__StepTmp *out;

    if (!t)
        return NULL;
    out = arena_alloc(arena, sizeof(*out));
    pb__step_tmp__init(out);
    out->place = t->base;
    out->dirs = t->conf.dirs.data;
    out->n_dirs = t->conf.dirs.len;
    out->has_shared = true;
    out->shared = t->conf.shared;
    out->init_script = t->conf.init_script;
    out->clone_script = t->conf.clone_script;
    out->has_script_sec = true;
    out->script_sec = t->conf.clone_script_sec;
    out->job_id = job_id;
    out->uid = user->uid;
    out->gid = user->gid;
    out->user_name = user->name;
    out->node = d->name;
    out->conf_path = (char *)d->conf->path;
    out->cluster = (char *)d->conf->cluster_name;
    return out;
}

char *jobtmp_namespace(const struct slurmd *d, uint32_t job_id)
{
    return d->jobtmp ? mem_printf("%s/%u/.ns", d->jobtmp->base, job_id) : NULL;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void remove_dir(struct slurmd *d, const char *dir, const Pb__NodeAttempt *about,
                       script_fn *done)
{
    const struct script script = {.what = "Removal",
                                  .path = dir,
                                  .host = d->stepd_path,
                                  .verb = "remove",
                                  .job_id = about->job_id,
                                  .restarts = about->restarts};
    const struct jobtmp *t = d->jobtmp;
    char **env = scriptenv_epilog(d, about);

    if (t->conf.clone_epilog)
        env = scriptenv_add(env, mem_printf("CLONE_NS_EPILOG=%u:%s", t->conf.clone_epilog_sec,
                                            t->conf.clone_epilog));
    script_run(d, &script, env, done, d);
}

bool jobtmp_remove(struct attempt *a, script_fn *done)
{
    struct slurmd *d = a->d;
    _cleanup_free_ char *dir = NULL;

    if (!d->jobtmp)
        return false;
    dir = mem_printf("%s/%u", d->jobtmp->base, a->key.id);
    if (access(dir, F_OK))
        return false;
    remove_dir(d, dir, a->note.about, done);
    return true;
}

static void on_swept(void *ctx, uint32_t job_id, uint32_t restarts, int wait_status,
                     const char *text)
{
    if (text)
        log_error("what is left of job %u: %s", job_id, text);
}

/* Renames the directory, unless it is in use, because a job with the same number may start before
   the directory is removed. */
static char *set_aside(char *path)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    for (unsigned i = 1; fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && i <= ASIDE_TRIES; i++) {
        char *aside = mem_printf("%s" ASIDE "%u", path, i);

        if (!rename(path, aside)) { /* rename() only replaces an empty directory */
            free(path);
            return aside;
        }
        free(aside);
    }
    return path;
}

static void sweep_one(struct slurmd *d, const char *name)
{
    Pb__NodeAttempt about = PB__NODE_ATTEMPT__INIT;
    const char *mark = strstr(name, ASIDE);
    _cleanup_free_ char *number = mem_strndup(name, mark ? (size_t)(mark - name) : strlen(name));
    _cleanup_free_ char *path = NULL;
    long long id;

    if (str_parse_i64(number, 1, UINT32_MAX, &id) < 0 ||
        (!mark && attempt_of_job_exists(d, (uint32_t)id)))
        return;
    path = mem_printf("%s/%s", d->jobtmp->base, name);
    if (!mark)
        path = set_aside(path);
    about.job_id = (uint32_t)id;
    remove_dir(d, path, &about, on_swept);
}

void jobtmp_sweep(struct slurmd *d)
{
    DIR *dir = d->jobtmp ? opendir(d->jobtmp->base) : NULL;
    VEC(char *) names = {0};
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        vec_push(&names, mem_strdup(entry->d_name));
    if (dir)
        closedir(dir);
    vec_foreach (&names, name) {
        sweep_one(d, *name);
        free(*name);
    }
    vec_done(&names);
}
