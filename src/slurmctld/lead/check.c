/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <glob.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/trust.h"
#include "conf/conf_container.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/files.h"
#include "slurmctld/core/job_comp.h"
#include "slurmctld/lead/check.h"
#include "slurmctld/script/burst_lua.h"
#include "slurmctld/submit/submit_env.h"

#define REACH_MS 1000 /* time limit for a connection to another controller */

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

/* Whether a name or an address belongs to an interface of this host. */
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

static bool address_is_shared(const struct conf_host *a, const struct conf_host *b)
{
    struct addrinfo *of_a = NULL, *of_b = NULL, hints = {.ai_socktype = SOCK_STREAM};
    bool match = false;
    if (getaddrinfo(a->own_addr, NULL, &hints, &of_a) == 0 &&
        getaddrinfo(b->own_addr, NULL, &hints, &of_b) == 0)
        for (const struct addrinfo *x = of_a; x && !match; x = x->ai_next)
            for (const struct addrinfo *y = of_b; y && !match; y = y->ai_next)
                match = same_address(x->ai_addr, y->ai_addr);
    if (of_a)
        freeaddrinfo(of_a);
    if (of_b)
        freeaddrinfo(of_b);
    return match;
}

static bool is_this_host(const struct conf_host *h)
{
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    size_t name_len = strcspn(h->name, "."), host_len = strcspn(host, ".");
    if (str_case_eq(h->name, host) || str_case_eq(h->name, "localhost"))
        return true;
    /* A short name on one side matches the long one on the other. */
    if ((!h->name[name_len] || !host[host_len]) && name_len == host_len &&
        !strncasecmp(h->name, host, name_len))
        return true;
    return address_is_ours(h->own_addr);
}

/* --as: the name must be in the list, whatever this host is called. */
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

/* --check. Every check adds its findings to the report, and later checks run in any case. */

static void add_finding(struct conf_report *report, bool fault, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void add_finding(struct conf_report *report, bool fault, const char *fmt, ...)
{
    _cleanup_str_ struct str text = STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    conf_report_add(report, fault, str_cstr(&text));
}

static void check_key(const struct conf *conf, struct conf_report *report)
{
    size_t len = (size_t)(strrchr(conf->path, '/') - conf->path);
    _cleanup_free_ char *dir = mem_strndup(conf->path, len);
    _cleanup_free_ char *key = mem_printf("%s/slurm.key", dir);
    struct err err = {0};
    if (access(key, F_OK)) {
        bool can = !access(dir, W_OK);
        add_finding(
            report, !can,
            can ? "cluster key '%s' is missing: slurmctld creates one when it starts; copy the "
                  "key to every host of the cluster"
                : "cluster key '%s' is missing and slurmctld cannot create one there: run "
                  "'" AUTH_KEY_COMMAND "', set mode 0600, and copy the key to every "
                  "host of the cluster",
            key, key);
    } else if (path_check_secret(key, conf->slurm_uid, &err))
        add_finding(report, true, "%s", err.text);
}

static void check_jwt_key(const struct conf *conf, struct conf_report *report)
{
    struct err err = {0};
    int rc = files_check_jwt_key(conf, &err);
    if (rc == -EACCES && geteuid() != 0)
        add_finding(report, false,
                    "AuthAltTypes=auth/jwt: uid %u cannot check the key file '%s': run slurmctld "
                    "--check as root",
                    (unsigned)geteuid(), conf->auth_alt.jwt_key_path);
    else if (rc)
        add_finding(report, true, "%s", err.text);
}

/* Checks a key's value: a program, or a pattern for several programs. elsewhere: the hosts that
 * need it, which may not include this one; NULL: the controller runs it. */
static void check_program(const char *key, const char *path, const char *elsewhere,
                          struct conf_report *report)
{
    glob_t found = {0};
    bool here = !elsewhere;
    int rc = glob(path, GLOB_NOSORT, NULL, &found);
    if (rc)
        add_finding(report, here, "%s=%s: %s%s%s%s", key, path,
                    rc == GLOB_NOMATCH ? "no such file" : "cannot be read",
                    here ? "" : " on this host; ", here ? "" : elsewhere, here ? "" : " needs it");
    for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++) {
        const char *file = found.gl_pathv[i];
        struct stat st;
        if (stat(file, &st))
            add_finding(report, here, "%s=%s: %s", key, file, strerror(errno));
        else if (!S_ISREG(st.st_mode) || access(file, X_OK))
            add_finding(report, here, "%s=%s: not an executable file: run 'chmod +x %s'", key, file,
                        file);
    }
    globfree(&found);
}

/* Programs that the controller runs must exist here; programs of nodes and commands may be
   elsewhere. */
static void check_programs(const struct conf *conf, struct conf_report *report)
{
    static const char node[] = "each node", host[] = "each host that runs srun";
    const struct {
        const char *key, *path, *elsewhere;
    } programs[] = {
        {"PrologSlurmctld", conf->prolog_slurmctld, NULL},
        {"EpilogSlurmctld", conf->epilog_slurmctld, NULL},
        {"ResvProlog", conf->resv_prolog, NULL},
        {"ResvEpilog", conf->resv_epilog, NULL},
        {"SlurmctldPrimaryOnProg", conf->slurmctld_primary_on_prog, NULL},
        {"SlurmctldPrimaryOffProg", conf->slurmctld_primary_off_prog, NULL},
        {"JobCompLoc", job_comp_program(conf), NULL},
        {"Prolog", conf->prolog, node},
        {"Epilog", conf->epilog, node},
        {"TaskProlog", conf->task_prolog, node},
        {"TaskEpilog", conf->task_epilog, node},
        {"HealthCheckProgram", conf->health_check_program, node},
        {"UnkillableStepProgram", conf->unkillable_step_program, node},
        {"SrunProlog", conf->srun_prolog, host},
        {"SrunEpilog", conf->srun_epilog, host},
    };
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        const char *rest = programs[i].path;
        char *path;
        while ((path = conf_script_next(&rest)) != NULL) {
            check_program(programs[i].key, path, programs[i].elsewhere, report);
            free(path);
        }
    }
}

/* Files without which the daemons and commands still run, mostly. */
static void check_files(const struct conf *conf, struct conf_report *report)
{
    const struct {
        const char *key, *path;
    } written[] = {{"SlurmctldLogFile", conf->slurmctld_log_file},
                   {"JobCompLoc", job_comp_path(conf)}};
    for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++) {
        const char *path = written[i].path, *slash = path ? strrchr(path, '/') : NULL;
        if (!slash || slash == path)
            continue;
        _cleanup_free_ char *dir = mem_strndup(path, (size_t)(slash - path));
        if (access(dir, F_OK))
            add_finding(report, false,
                        "%s=%s: no directory '%s': create it, writable for SlurmUser %s",
                        written[i].key, path, dir, conf->slurm_user);
    }
    if (conf->plugstack_config && *conf->plugstack_config && access(conf->plugstack_config, F_OK))
        add_finding(
            report, false,
            "PlugStackConfig=%s: no such file on this host; each node and each host that runs srun "
            "needs it",
            conf->plugstack_config);
    if (!str_eq(conf->mail_prog, "/bin/mail") && access(conf->mail_prog, X_OK))
        add_finding(report, false, "MailProg=%s: %s: no mail is sent", conf->mail_prog,
                    strerror(errno));
}

/* A controller starts without it; jobs with burst buffers wait or are rejected. */
static void check_burst_script(const struct conf *conf, struct conf_report *report)
{
    const uid_t owners[] = {conf->slurm_uid, conf->slurmd_uid};
    struct err err = {0};
    if (!conf->burst.enabled)
        return;
    int rc = trust_check(conf->burst.script, owners, 2, &err);
    if (rc == -ENOENT)
        err_set(&err, rc, "%s does not exist", conf->burst.script);
    if (rc == 0)
        rc = burst_lua_check(conf->burst.script, &err);
    if (rc)
        add_finding(report, true, "BurstBufferType=burst_buffer/lua: %s", err.text);
}

/* Only node daemons read job_container.conf, and do not start with errors in it; their hosts may
 * have another file. */
static void check_containers(const struct conf *conf, struct conf_report *report)
{
    static const char node[] = "each node";
    struct err err = {0};
    int rc = 0;
    for (size_t i = 0; conf_container_wanted(conf) && i < conf->nodes.len && rc == 0; i++) {
        struct conf_container c = {0};
        rc = conf_container_load(conf, conf->nodes.data[i].name, &c, &err);
        const struct {
            const char *key, *path;
        } scripts[] = {{"InitScript", c.init_script},
                       {"CloneNSScript", c.clone_script},
                       {"CloneNSEpilog", c.clone_epilog}};
        for (size_t k = 0; k < sizeof scripts / sizeof scripts[0] && i == 0; k++)
            if (scripts[k].path)
                check_program(scripts[k].key, scripts[k].path, node, report);
        conf_container_done(&c);
    }
    if (rc == -ENOENT)
        add_finding(report, false, "%s: each node needs it", err.text);
    else if (rc)
        add_finding(report, true, "%s", err.text);
}

/* Checks for obstacles to a start, or to a job, outside of the file. */
static void check_surroundings(const struct conf *conf, struct conf_report *report)
{
    struct err err = {0};
    if (conf_trust_files(conf, &err))
        add_finding(report, true, "%s", err.text);
    if (submit_env_check(conf, &err))
        add_finding(report, true, "%s", err.text);
    check_burst_script(conf, report);
    check_containers(conf, report);
    check_key(conf, report);
    check_jwt_key(conf, report);
    check_programs(conf, report);
    check_files(conf, report);
}

/* Two names for one address: both controllers would use the same port, and each would take the
 * other for itself. */
static void check_aliases(const struct conf *conf, struct conf_report *report)
{
    for (size_t i = 1; i < conf->controllers.len; i++)
        for (size_t k = 0; k < i; k++) {
            const struct conf_host *a = &conf->controllers.data[k];
            const struct conf_host *b = &conf->controllers.data[i];
            if (str_case_eq(a->own_addr, b->own_addr) || address_is_shared(a, b))
                add_finding(
                    report, true,
                    "SlurmctldHost=%s is another name of SlurmctldHost=%s: both have the address "
                    "%s; remove one of the lines, or give each controller an address of its own",
                    b->name, a->name, b->own_addr);
        }
}

/* Returns the reason why no connection is accepted there within a second; NULL: one is
   accepted. */
static const char *find_unreachable(const struct addrinfo *to, uint32_t port)
{
    struct sockaddr_storage addr = {0};
    int code = 0;
    socklen_t len = sizeof code;
    memcpy(&addr, to->ai_addr, to->ai_addrlen);
    if (to->ai_family == AF_INET)
        ((struct sockaddr_in *)(void *)&addr)->sin_port = htons((uint16_t)port);
    else if (to->ai_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)&addr)->sin6_port = htons((uint16_t)port);
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return strerror(errno);
    if (connect(fd, (struct sockaddr *)&addr, to->ai_addrlen) != 0)
        code = errno;
    if (code == EINPROGRESS) {
        if (poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, REACH_MS) != 1)
            code = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len))
            code = errno;
    }
    close(fd);
    return code ? strerror(code) : NULL;
}

/* On a controller's host the addresses of the other controllers must be known; they need not be
   running. */
static void check_controllers(const struct conf *conf, bool elsewhere, struct conf_report *report)
{
    vec_foreach (&conf->controllers, h) {
        struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM};
        int rc = getaddrinfo(h->own_addr, NULL, &hints, &found);
        if (rc) {
            add_finding(
                report, !elsewhere,
                "SlurmctldHost=%s: the address of '%s' is unknown: %s: add the name to DNS or to "
                "/etc/hosts, or write SlurmctldHost=%s(ADDRESS)",
                h->name, h->own_addr, gai_strerror(rc), h->name);
            continue;
        }
        const char *why =
            elsewhere || is_this_host(h) ? NULL : find_unreachable(found, conf->slurmctld_port);
        if (why)
            add_finding(report, false,
                        "SlurmctldHost=%s: no slurmctld can be reached at %s port %u: %s", h->name,
                        h->own_addr, conf->slurmctld_port, why);
        freeaddrinfo(found);
    }
}

/* Whether the file is checked on a host that is no controller: checks of local files then matter
 * less. */
static bool check_elsewhere(const struct conf *conf)
{
    struct err err = {0};
    size_t me;
    return check_host(conf, NULL, &me, &err) != 0;
}

static void print_report(const struct conf_report *report)
{
    vec_foreach (&report->warnings, w) {
        if (w->place)
            fprintf(stderr, "%s: %s: %s\n", w->place, w->fault ? "error" : "warning", w->text);
        else
            fprintf(stderr, "%s: %s\n", w->fault ? "error" : "warning", w->text);
    }
}

int check_run(const struct ctld_options *o)
{
    _cleanup_free_ char *path =
        o->conf_path ? mem_strdup(o->conf_path) : conf_path_daemon("slurmctld");
    struct conf *conf = NULL;
    struct conf_report report = {.every_error = true};
    struct err err = {0};
    _cleanup_str_ struct str summary = STR_INIT;
    size_t me, errors = 0;
    int rc = conf_load(path, CONF_FULL, NULL, &conf, &report, &err);
    if (rc && !conf) /* the file itself is unreadable */
        conf_report_add(&report, true, err.text);
    if (conf && o->as && check_host(conf, o->as, &me, &err))
        conf_report_add(&report, true, err.text);
    if (conf) {
        check_aliases(conf, &report);
        bool elsewhere = !conf->controllers.len || check_elsewhere(conf);
        check_controllers(conf, elsewhere, &report);
        if (!elsewhere)
            check_surroundings(conf, &report);
    }
    print_report(&report);
    vec_foreach (&report.warnings, w)
        errors += w->fault;
    if (conf && !errors) {
        conf_summarise(conf, &summary);
        str_puts(&summary, summary.len ? "\n" : "");
        conf_put_counts(conf, path, report.warnings.len, &summary);
        fputs(str_cstr(&summary), stderr);
    } else if (errors > 1)
        fprintf(stderr, "%s: %zu errors\n", path, errors);
    conf_report_done(&report);
    conf_free(conf);
    return errors > 0;
}
