/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/io/first_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "slurmd/io/configless.h"
#include "slurmd/node/script.h"

/* The default path of slurm.conf; the cluster key is in the same directory. */
static char *usual_path(const struct slurmd_options *o)
{
    return o->conf_file ? path_absolute(o->conf_file, NULL) : conf_path_daemon("slurmd");
}

/* In Slurm's order: the option, an explicitly named file, the default file, the environment
   variable. */
static const char *conf_servers(const struct slurmd_options *o)
{
    const char *named = getenv("SLURM_CONF"), *server = getenv("SLURM_CONF_SERVER");

    if (o->conf_server || o->conf_file || (named && *named) || !server || !*server)
        return o->conf_server;
    _cleanup_free_ char *path = usual_path(o);
    return access(path, F_OK) ? server : NULL;
}

static int load_conf(struct slurmd *d, const struct slurmd_options *o, const char *path,
                     struct err *err)
{
    struct conf_report report = {0};
    const char *name = d->own_line ? d->name : o->node;
    int rc = conf_load_with(path, d->own_line, CONF_NODE, name, &d->conf, &report, err);

    vec_foreach (&report.warnings, w)
        fprintf(stderr, "slurmd: warning: %s: %s\n", w->place, w->text);
    conf_report_done(&report);
    if (rc)
        return rc;
    if (d->conf->nodes.len != 1)
        return err_set(err, -ERR_NO_NODE, "%s: no node of it is this host", path);
    if (d->conf->slurmd_uid != geteuid())
        return err_set(err, -EPERM, "SlurmdUser is %s (uid %u), but slurmd was started by uid %u",
                       d->conf->slurmd_user, (unsigned)d->conf->slurmd_uid, (unsigned)geteuid());
    rc = script_check_conf(d->conf, err);
    if (rc)
        return rc;
    d->node = &d->conf->nodes.data[0];
    free(d->name);
    d->name = mem_strdup(d->node->name);
    d->spool = path_expand(d->conf->slurmd_spool_dir, d->host, d->name);
    return 0;
}

static int load_key(struct slurmd *d, const char *conf_path, uid_t owner, struct err *err)
{
    const char *slash = strrchr(conf_path, '/');
    _cleanup_free_ char *path =
        mem_printf("%.*s/slurm.key", (int)(slash ? slash - conf_path : 0), conf_path);

    if (access(path, F_OK))
        return err_set(err, -errno,
                       errno == ENOENT ? "cluster key '%s' is missing: copy it from the controller"
                                       : "cluster key '%s': %s",
                       path, strerror(errno));
    return auth_key_load(path, owner, &d->key, err);
}

/* For a node without its own file. SlurmUser is not known yet, so the key must belong to our own
   user. */
static int load_configless(struct slurmd *d, const struct slurmd_options *o, const char *servers,
                           struct err *err)
{
    _cleanup_free_ char *usual = usual_path(o), *path = NULL;
    _cleanup_free_ char *key_dir = mem_strndup(usual, (size_t)(strrchr(usual, '/') - usual));
    int rc = configless_new(servers, key_dir, o->node, &d->configless, err);

    if (!rc)
        rc = load_key(d, usual, geteuid(), err);
    if (!rc)
        rc = configless_begin(d, &path, err);
    if (!rc)
        rc = load_conf(d, o, path, err);
    if (!rc)
        rc = configless_check(d, err);
    if (rc)
        configless_free(take_ptr(d->configless));
    return rc;
}

int first_conf_load(struct slurmd *d, const struct slurmd_options *o, struct err *err)
{
    const char *servers = conf_servers(o);
    _cleanup_free_ char *path = usual_path(o);

    if (servers)
        return load_configless(d, o, servers, err);
    int rc = load_conf(d, o, path, err);
    return rc ? rc : load_key(d, d->conf->path, d->conf->slurm_uid, err);
}
