/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "conf/conf_submit.h"
#include "slurmctld/start.h"

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (!a || !b || a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return !memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr,
                       &((const struct sockaddr_in *)(const void *)b)->sin_addr, 4);
    if (a->sa_family == AF_INET6)
        return !memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                       &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr, 16);
    return false;
}

/* Whether a name or an address is one of this host's interfaces. */
static bool address_is_ours(const char *name)
{
    struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM};
    struct ifaddrs *ours = NULL;
    bool match = false;
    if (getaddrinfo(name, NULL, &hints, &found) == 0 && getifaddrs(&ours) == 0)
        for (const struct addrinfo *f = found; f && !match; f = f->ai_next)
            for (const struct ifaddrs *i = ours; i && !match; i = i->ifa_next)
                match = same_address(f->ai_addr, i->ifa_addr);
    if (ours)
        freeifaddrs(ours);
    if (found)
        freeaddrinfo(found);
    return match;
}

static bool is_this_host(const struct conf_host *h)
{
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    size_t name_len = strcspn(h->name, "."), host_len = strcspn(host, ".");
    if (str_case_eq(h->name, host) || str_case_eq(h->name, "localhost"))
        return true;
    /* A short name on one side stands for the long one on the other. */
    if ((!h->name[name_len] || !host[host_len]) && name_len == host_len &&
        !strncasecmp(h->name, host, name_len))
        return true;
    return address_is_ours(h->own_addr);
}

/* --as: a name of the list, wherever this is. */
static int find_named(const struct conf *conf, const char *as, size_t *me, struct err *err)
{
    const struct conf_host *found = conf_find_controller(conf, as);
    if (found) {
        *me = found->rank;
        return 0;
    }
    _cleanup_str_ struct str names = STR_INIT;
    vec_foreach (&conf->controllers, h)
        str_printf(&names, "%s%s", names.len ? ", " : "", h->name);
    return err_set(err, -ERR_CONFIG, "--as %s: %s has no such SlurmctldHost; there is: %s", as,
                   conf->path, str_cstr(&names));
}

int check_host(const struct conf *conf, const char *as, size_t *me, struct err *err)
{
    if (as)
        return find_named(conf, as, me, err);
    vec_foreach (&conf->controllers, h) {
        if (is_this_host(h)) {
            *me = h->rank;
            return 0;
        }
    }
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    return err_set(err, -ERR_CONFIG,
                   "%s: SlurmctldHost is %s, but this host is %s: start slurmctld there, or write "
                   "SlurmctldHost=%s",
                   conf->path, conf->controllers.data[0].name, host, host);
}

/* What would stop a start besides the file itself. */
static int check_surroundings(const struct conf *conf, struct err *err)
{
    int rc = conf_trust_files(conf, err);
    if (rc == 0)
        rc = conf_submit_check(conf, err);
    if (rc)
        return rc;
    _cleanup_free_ char *dir =
        mem_strndup(conf->path, (size_t)(strrchr(conf->path, '/') - conf->path));
    _cleanup_free_ char *key = mem_printf("%s/slurm.key", dir);
    if (access(key, F_OK) && access(dir, W_OK))
        return err_set(err, -ERR_CONFIG, "%s: there is no cluster key, and %s is not writable", key,
                       dir);
    return access(key, F_OK) ? 0 : path_check_secret(key, conf->slurm_uid, err);
}

/* A file may be checked anywhere; what it says of this host's files matters on the controller's
 * host alone. */
static bool check_elsewhere(const struct conf *conf)
{
    struct err err = {0};
    size_t me;
    return check_host(conf, NULL, &me, &err) != 0;
}

int check_run(const struct ctld_options *o)
{
    _cleanup_free_ char *path =
        o->conf_path ? mem_strdup(o->conf_path) : conf_path_daemon("slurmctld");
    struct conf *conf = NULL;
    struct conf_report report = {0};
    struct err err = {0};
    int rc = conf_load(path, CONF_FULL, NULL, &conf, &report, &err);
    size_t me;
    if (rc == 0 && o->as)
        rc = check_host(conf, o->as, &me, &err);
    if (rc == 0)
        rc = check_elsewhere(conf) ? 0 : check_surroundings(conf, &err);
    vec_foreach (&report.warnings, w)
        fprintf(stderr, "%s:%d: %s: %s\n", w->file, w->line, w->fault ? "error" : "warning",
                w->text);
    if (rc)
        fprintf(stderr, "error: %s\n", err.text);
    else
        fprintf(stderr, "%s: %zu nodes, %zu partitions, %zu warnings\n", path, conf->nodes.len,
                conf->parts.len, report.warnings.len);
    bool fails = rc || conf_report_fails(&report);
    conf_report_done(&report);
    conf_free(conf);
    return fails;
}
