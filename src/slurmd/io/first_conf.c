/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "slurmd/io/configless.h"
#include "slurmd/io/first_conf.h"
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
    return rc || o->print_gres ? rc : load_key(d, d->conf->path, d->conf->slurm_uid, err);
}

#define KEYS_MAX 4000

/* Whether the line has the word "key=...". */
static bool has_key(const char *line, const char *key)
{
    size_t len = strlen(key);

    for (const char *at = line; at && *at;) {
        at += strspn(at, " ");
        if (!strncasecmp(at, key, len) && at[len] == '=')
            return true;
        at += strcspn(at, " ");
    }
    return false;
}

static int check_given(const char *given, struct err *err)
{
    if (strlen(given) > KEYS_MAX)
        return err_set(err, -ERR_TOO_BIG, "--conf: more than %d bytes", KEYS_MAX);
    for (const char *p = given; *p; p++)
        if (iscntrl((unsigned char)*p) || strchr("#\\", *p))
            return err_set(err, -ERR_PARSE, "--conf: no control characters, # or \\ are allowed");
    if (has_key(given, "NodeName"))
        return err_set(err, -ERR_PARSE, "--conf: the name of the node is given by -N");
    if (has_key(given, "State"))
        return err_set(err, -ERR_PARSE, "--conf: State is that of a node that is there");
    return 0;
}

int first_conf_make_keys(const struct hw *hw, const char *given, struct str *out, struct err *err)
{
    static const char *const shape[] = {"CPUs",          "Procs",           "Boards",
                                        "Sockets",       "SocketsPerBoard", "CoresPerSocket",
                                        "ThreadsPerCore"};
    bool shaped = false;
    int rc = given ? check_given(given, err) : 0;

    if (rc)
        return rc;
    for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
        shaped = shaped || has_key(given, shape[i]);
    if (!shaped)
        str_printf(out, "CPUs=%u Boards=%u SocketsPerBoard=%u CoresPerSocket=%u ThreadsPerCore=%u ",
                   hw->cpus, hw->boards, hw->sockets, hw->cores, hw->threads);
    if (!has_key(given, "RealMemory"))
        str_printf(out, "RealMemory=%llu ", (unsigned long long)hw->real_memory_mib);
    str_puts(out, given);
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    return 0;
}

int first_conf_make_line(struct slurmd *d, const char *node, const char *keys, struct err *err)
{
    struct str line = STR_INIT;
    struct hw hw = {0};
    int rc = hw_detect("/tmp", d->parameters, &hw, err);

    if (!rc)
        rc = first_conf_make_keys(&hw, keys, &line, err);
    if (rc) {
        str_done(&line);
        return rc;
    }
    d->name = mem_strdup(node ? node : d->host);
    d->dynamic = str_take(&line);
    d->own_line = mem_printf("NodeName=%s %s\n", d->name, d->dynamic);
    return 0;
}
