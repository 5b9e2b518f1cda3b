/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <ctype.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/url.h"
#include "base/words.h"
#include "conf/conf_freq.h"
#include "conf/conf_internal.h"
#include "conf/conf_license.h"
#include "conf/conf_sets.h"

#define GATHER_DEFAULT_SEC 30
#define HEALTH_TIMEOUT_SEC 60
#define SOCKET_DIR_MAX 90 /* bytes: with "/slurmd-NODE" it must fit in a socket address */

static const struct conf_value *written_value(const struct conf_loader *l, enum conf_key_id key)
{
    return &l->priv->written[key];
}

/* Parses "name(addr)" or "name". */
static int host_parse(struct conf_loader *l, const char *key, const struct conf_value *v,
                      struct conf_host *out, struct err *err)
{
    char *text = arena_strdup(&l->priv->arena, v->text);
    char *open = strchr(text, '('), *close = open ? strchr(open, ')') : NULL;

    if (!*text || open == text)
        return conf_fail(v->at, err, "%s=%s: expected NAME or NAME(ADDRESS)", key, v->text);
    if (open && (!close || close[1] || close == open + 1))
        return conf_fail(v->at, err, "%s=%s: expected NAME(ADDRESS)", key, v->text);
    if (open) {
        *open = *close = '\0';
        out->own_addr = open + 1;
        out->in_brackets = true;
    } else
        out->own_addr = text;
    for (const char *p = text; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("-_.:", *p))
            return conf_fail(v->at, err, "%s=%s: not the name of one host", key, v->text);
    out->name = text;
    return 0;
}

static int host_add(struct conf_loader *l, const char *key, const struct conf_value *v,
                    const char *addr, struct err *err)
{
    struct conf_host host = {0};
    int rc = host_parse(l, key, v, &host, err);

    if (rc < 0)
        return rc;
    assert(host.name);
    if (addr && *addr) {
        host.own_addr = addr;
        host.in_brackets = true;
    }
    host.addr = host.own_addr;
    host.rank = (unsigned)l->conf->controllers.len;
    vec_foreach (&l->conf->controllers, other)
        if (!strcasecmp(other->name, host.name)) {
            return conf_fail(v->at, err, "%s=%s: this host is named twice", key, v->text);
        }
    vec_push(&l->conf->controllers, host);
    return 0;
}

/* Handles ControlMachine and BackupController with their addresses. */
static int hosts_old(struct conf_loader *l, struct err *err)
{
    static const char *const keys[] = {"ControlMachine", "BackupController"};

    if (!l->control[0].text && l->control[1].text)
        return conf_fail(l->control[1].at, err,
                         "BackupController without ControlMachine; use SlurmctldHost lines");
    for (int i = 0; i < 2; i++) {
        if (!l->control[i].text)
            continue;
        int rc = host_add(l, keys[i], &l->control[i], l->control_addr[i].text, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int hosts_check(struct conf_loader *l, struct err *err)
{
    int rc = 0;

    if (l->hosts.len && l->control[0].text)
        conf_warn(l, l->control[0].at, "ControlMachine is ignored: SlurmctldHost is given");
    if (!l->hosts.len)
        rc = hosts_old(l, err);
    vec_foreach (&l->hosts, v)
        if (rc == 0)
            rc = host_add(l, "SlurmctldHost", v, NULL, err);
    if (rc < 0)
        return rc;
    if (!l->conf->controllers.len)
        return conf_fail((struct conf_place){l->conf->path, 1}, err,
                         "no SlurmctldHost line; it names the host of the controller");
    if (l->conf->slurmctld_addr) /* an address that moves with the lead */
        vec_foreach (&l->conf->controllers, host)
            host->addr = l->conf->slurmctld_addr;
    return 0;
}

/* Parses a user name or number. root needs no lookup. */
static int user_check(struct conf_loader *l, enum conf_key_id key, const char *user, uid_t *uid,
                      const char **name, struct err *err)
{
    struct conf_place at = written_value(l, key)->at;
    struct passwd entry, *found = NULL;
    _cleanup_free_ char *buf = NULL;
    const size_t room = 65536;
    long long number;

    *name = user;
    if (!user || !strcmp(user, "root")) {
        *name = "root";
        *uid = 0;
        return 0;
    }
    bool numeric = str_parse_i64(user, 0, UINT32_MAX - 1, &number) == 0;
    if (numeric)
        *uid = (uid_t)number;
    if (numeric && l->scope == CONF_CLIENT)
        return 0;
    buf = mem_alloc(room);
    if (numeric)
        (void)getpwuid_r((uid_t)number, &entry, buf, room, &found);
    else
        (void)getpwnam_r(user, &entry, buf, room, &found);
    if (!found && !numeric)
        return conf_fail(at, err, "%s=%s: no such user on this host", conf_keys[key].name, user);
    if (found) {
        *uid = entry.pw_uid;
        *name = arena_strdup(&l->priv->arena, entry.pw_name);
    }
    return 0;
}

/* An unknown user is only a warning, because it may be added to the host later; the other users in
   the list may read metrics anyway. */
static void check_metrics_users(struct conf_loader *l)
{
    const struct conf_value *v = written_value(l, CONF_KEY_metrics_auth_users);

    if (l->scope == CONF_CLIENT)
        return;
    words_foreach (v->text, w) {
        _cleanup_free_ char *user = word_dup(w);
        struct err why = {0};
        const char *name = NULL;
        uid_t uid;
        if (*user && user_check(l, CONF_KEY_metrics_auth_users, user, &uid, &name, &why) < 0)
            conf_fault(l, v->at, "MetricsAuthUsers: '%s' is no user of this host", user);
    }
}

static int users_check(struct conf_loader *l, struct err *err)
{
    struct conf *c = l->conf;

    check_metrics_users(l);
    int rc = user_check(l, CONF_KEY_slurm_user, c->slurm_user, &c->slurm_uid,
                        &l->priv->slurm_user_name, err);

    return rc < 0 ? rc
                  : user_check(l, CONF_KEY_slurmd_user, c->slurmd_user, &c->slurmd_uid,
                               &l->priv->slurmd_user_name, err);
}

/* Accepts "0-0", meaning any port, or two ports. */
static int srun_ports_check(struct conf_loader *l, struct err *err)
{
    const struct conf_value *v = written_value(l, CONF_KEY_srun_port_range);
    _cleanup_free_ char *text = v->text ? mem_strdup(v->text) : NULL;
    char *dash = text ? strchr(text, '-') : NULL;
    long long low, high;

    if (!text || str_eq(text, "0-0"))
        return 0;
    if (dash)
        *dash = '\0';
    if (!dash || str_parse_i64(text, 1, UINT16_MAX, &low) ||
        str_parse_i64(dash + 1, low, UINT16_MAX, &high))
        return conf_fail(v->at, err, "SrunPortRange=%s: expected FIRST-LAST, up to %d, or 0-0",
                         v->text, UINT16_MAX);
    return 0;
}

/* SlurmctldPort=FIRST-LAST; SlurmdPort accepts no range. */
static int ports_check(struct conf_loader *l, struct err *err)
{
    static const enum conf_key_id single[] = {CONF_KEY_slurmd_port,
                                              CONF_KEY_accounting_storage_port};
    struct conf *c = l->conf;
    const struct conf_value *v = written_value(l, CONF_KEY_slurmctld_port);
    const char *dash = v->text ? strchr(v->text, '-') : NULL;
    long long last = c->slurmctld_port;

    if (dash && str_parse_i64(dash + 1, c->slurmctld_port, 65535, &last) < 0)
        return conf_fail(v->at, err, "SlurmctldPort=%s: expected FIRST-LAST, FIRST not above LAST",
                         v->text);
    c->slurmctld_port_last = (uint16_t)last;
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
        v = written_value(l, single[i]);
        if (v->text && strchr(v->text, '-'))
            return conf_fail(v->at, err, "%s=%s: expected one port", conf_keys[single[i]].name,
                             v->text);
    }
    if (c->slurmd_port >= c->slurmctld_port && c->slurmd_port <= c->slurmctld_port_last)
        conf_warn(l,
                  written_value(l, CONF_KEY_slurmd_port)->text
                      ? written_value(l, CONF_KEY_slurmd_port)->at
                      : written_value(l, CONF_KEY_slurmctld_port)->at,
                  "SlurmdPort %u is a port of SlurmctldPort, too: they cannot run on one host",
                  c->slurmd_port);
    return 0;
}

static int select_check(struct conf_loader *l, struct err *err)
{
    struct conf *c = l->conf;

    c->select = !strcmp(c->select_type, "select/linear") ? CONF_SELECT_LINEAR : CONF_SELECT_CONS;
    if (c->select_type_parameters) {
        int bits = conf_cr_parse(c->select_type_parameters,
                                 written_value(l, CONF_KEY_select_type_parameters)->at, err);
        if (bits < 0)
            return bits;
        c->cr = (unsigned)bits;
        conf_cr_warn(l, c->select_type_parameters,
                     written_value(l, CONF_KEY_select_type_parameters)->at);
        if (c->select == CONF_SELECT_LINEAR &&
            c->cr & (CONF_CR_CPU | CONF_CR_CORE | CONF_CR_SOCKET))
            conf_warn(
                l, written_value(l, CONF_KEY_select_type_parameters)->at,
                "SelectTypeParameters=%s: select/linear allocates whole nodes: use CR_Memory, "
                "or SelectType=select/cons_tres",
                c->select_type_parameters);
    }
    if (c->select == CONF_SELECT_CONS &&
        !(c->cr & (CONF_CR_CPU | CONF_CR_CORE | CONF_CR_SOCKET | CONF_CR_MEMORY)))
        c->cr |= CONF_CR_CORE | CONF_CR_MEMORY;
    return 0;
}

/* Skips a directory that is too long for a socket address, or that depends on the node, since a
 * client on the node's host cannot know it. */
static void socket_dir_add(struct conf_loader *l, const char *dir)
{
    struct conf *c = l->conf;

    if (dir[0] != '/' || strchr(dir, '%') || strlen(dir) > SOCKET_DIR_MAX)
        return;
    for (size_t i = 0; i < c->socket_dir_count; i++)
        if (!strcmp(c->socket_dirs[i], dir))
            return;
    assert(c->socket_dir_count < CONF_SOCKET_DIRS);
    c->socket_dirs[c->socket_dir_count++] = dir;
}

static void add_socket_dir_beside(struct conf_loader *l, const char *path)
{
    const char *end = path + strlen(path);

    while (end > path && end[-1] == '/')
        end--;
    while (end > path && end[-1] != '/')
        end--;
    socket_dir_add(l, arena_printf(&l->priv->arena, "%.*ssluice-%s-%u", (int)(end - path), path,
                                   l->conf->cluster_name, l->conf->slurmctld_port));
}

static int socket_dir_check(struct conf_loader *l, struct err *err)
{
    struct conf *c = l->conf;
    struct arena *arena = &l->priv->arena;
    _cleanup_free_ char *dir = c->auth_info ? conf_list_value(c->auth_info, "socketdir") : NULL;
    struct conf_place at = written_value(l, CONF_KEY_auth_info)->at;

    if (dir && dir[0] != '/')
        return conf_fail(at, err, "AuthInfo: socketdir=%s is not an absolute path", dir);
    if (dir && strlen(dir) > SOCKET_DIR_MAX)
        return conf_fail(at, err, "AuthInfo: socketdir=%s is longer than %d bytes", dir,
                         SOCKET_DIR_MAX);
    c->socket_dirs[0] =
        dir ? arena_strdup(arena, dir)
            : arena_printf(arena, "/run/sluice/%s-%u", c->cluster_name, c->slurmctld_port);
    c->socket_dir_count = 1;
    if (dir)
        return 0;
    add_socket_dir_beside(l, c->slurmctld_pid_file);
    add_socket_dir_beside(l, c->slurmd_pid_file);
    add_socket_dir_beside(l, c->state_save_location);
    socket_dir_add(l, arena_printf(arena, "%s/sockets", c->state_save_location));
    return 0;
}

/* Resolves scripts that may be beside slurm.conf. */
static void resolve_scripts(struct conf_loader *l)
{
    static const enum conf_key_id keys[] = {CONF_KEY_prolog, CONF_KEY_epilog, CONF_KEY_task_prolog,
                                            CONF_KEY_task_epilog};
    struct conf *c = l->conf;
    const char *slash = strrchr(c->path, '/');

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct conf_value *v = &l->priv->written[keys[i]];
        _cleanup_str_ struct str paths = STR_INIT;
        const char *rest = v->text;
        char *path;
        if (!slash || !v->text || !*v->text)
            continue;
        while ((path = conf_script_next(&rest)) != NULL) {
            str_puts(&paths, paths.len ? "\n" : "");
            if (*path != '/')
                str_printf(&paths, "%.*s/", (int)(slash - c->path), c->path);
            str_puts(&paths, path);
            free(path);
        }
        v->text = arena_strdup(&l->priv->arena, str_cstr(&paths));
        *(const char **)((char *)c + conf_keys[keys[i]].offset) = v->text;
    }
}

static bool is_absolute(const char *paths)
{
    bool all = true;
    char *path;

    while ((path = conf_script_next(&paths)) != NULL) {
        all = all && *path == '/';
        free(path);
    }
    return all;
}

/* Daemons run as root in any directory: relative paths are refused. */
static int paths_check(struct conf_loader *l, struct err *err)
{
    resolve_scripts(l);
    for (size_t i = 0; i < CONF_KEYS; i++) {
        const struct conf_value *v = &l->priv->written[i];
        if (conf_keys[i].type == CONF_T_PATH && conf_keys[i].effect && v->text &&
            !is_absolute(v->text))
            return conf_fail(v->at, err, "%s=%s: expected an absolute path", conf_keys[i].name,
                             v->text);
    }
    return 0;
}

/* Every user who runs commands can read the file, so a password in it causes a warning. */
static int state_store_check(struct conf_loader *l, struct err *err)
{
    static const char *const schemes[] = {"postgresql://", "postgres://", NULL};
    const struct conf_value *v = written_value(l, CONF_KEY_state_save_store);
    const char *url = l->conf->state_save_store;
    struct err inner = {0};

    if (!url)
        return 0;
    if (url_check(url, schemes, &inner) < 0)
        return conf_fail(v->at, err, "StateSaveStore: %s", inner.text);
    if (url_has_secret(url))
        conf_warn(l, v->at,
                  "StateSaveStore holds a password that every reader of this file sees: put it in "
                  "a file of SlurmUser's and write ?passfile=FILE at the end of the URL");
    return 0;
}

/* Parses "1-9,18": exit codes after which a job is requeued. */
static int exit_codes_check(struct conf_loader *l, struct err *err)
{
    static const enum conf_key_id keys[] = {CONF_KEY_requeue_exit, CONF_KEY_requeue_exit_hold};
    for (size_t i = 0; i < 2; i++) {
        const struct conf_value *v = written_value(l, keys[i]);
        for (const char *s = v->text; s && *s; s += *s == ',') {
            char *end;
            long from = *s >= '0' && *s <= '9' ? strtol(s, &end, 10) : -1, to = from;
            if (from >= 0 && *end == '-' && end[1] >= '0' && end[1] <= '9')
                to = strtol(end + 1, &end, 10);
            if (from < 0 || to < from || to > 255 || (*end && (*end != ',' || !end[1])))
                return conf_fail(v->at, err, "%s=%s: expected exit codes of 0 to 255, as 1-9,18",
                                 conf_keys[keys[i]].name, v->text);
            s = end;
        }
    }
    return 0;
}

static int licenses_check(struct conf_loader *l, struct err *err)
{
    const struct conf_value *v = written_value(l, CONF_KEY_licenses);
    struct conf_licenses parsed;
    struct err inner = {0};
    if (conf_licenses_parse(l->conf->licenses, &parsed, &inner) < 0)
        return conf_fail(v->at, err, "Licenses: %s", inner.text);
    conf_licenses_done(&parsed);
    return 0;
}

static int gather_check(struct conf_loader *l, struct err *err)
{
    const struct conf_value *v = written_value(l, CONF_KEY_job_acct_gather_frequency);
    const char *text = l->conf->job_acct_gather_frequency;
    struct err inner = {0};

    l->conf->job_acct_gather_sec = GATHER_DEFAULT_SEC;
    if (conf_gather_parse(text, &l->conf->job_acct_gather_sec, &inner) < 0)
        return conf_fail(v->at, err, "JobAcctGatherFrequency=%s: %s", text, inner.text);
    return 0;
}

/* Accepts "ports=12000-12999"; options of other MPI plugins have no effect. */
static int mpi_params_check(struct conf_loader *l, struct err *err)
{
    const struct conf_value *v = written_value(l, CONF_KEY_mpi_params);
    const char *text = l->conf->mpi_params;
    long long low, high;

    l->conf->mpi_port_low = l->conf->mpi_port_high = 0;
    words_foreach (text, w) {
        _cleanup_free_ char *word = word_dup(w);
        char *dash = strchr(word, '-');
        if (strncasecmp(word, "ports=", 6) != 0) {
            conf_warn(l, v->at, "MpiParams: '%s' has no effect", word);
            continue;
        }
        if (dash)
            *dash = '\0';
        if (!dash || str_parse_i64(word + 6, 1, UINT16_MAX, &low) ||
            str_parse_i64(dash + 1, low, UINT16_MAX, &high))
            return conf_fail(v->at, err, "MpiParams=%s: expected ports=LOW-HIGH, up to %d",
                             l->conf->mpi_params, UINT16_MAX);
        l->conf->mpi_port_low = (uint32_t)low;
        l->conf->mpi_port_high = (uint32_t)high;
    }
    return 0;
}

static int cluster_check(struct conf_loader *l, struct err *err)
{
    const struct conf_value *v = written_value(l, CONF_KEY_cluster_name);
    const char *name = l->conf->cluster_name;

    if (!name)
        return conf_fail(v->at, err, "ClusterName is empty");
    if (strlen(name) > 40)
        return conf_fail(v->at, err, "ClusterName=%s: longer than 40 bytes", name);
    for (const char *p = name; *p; p++) /* the name is used in paths */
        if (!isalnum((unsigned char)*p) && !strchr("-_.", *p))
            return conf_fail(v->at, err, "ClusterName=%s: letters, digits, - _ . only", name);
    return 0;
}

static int limits_check(struct conf_loader *l, struct err *err)
{
    struct conf *c = l->conf;

    if (c->first_job_id > c->max_job_id)
        return conf_fail(written_value(l, CONF_KEY_first_job_id)->text
                             ? written_value(l, CONF_KEY_first_job_id)->at
                             : written_value(l, CONF_KEY_max_job_id)->at,
                         err, "FirstJobId=%u exceeds MaxJobId=%u", c->first_job_id, c->max_job_id);
    if (c->def_mem_per_cpu_mib && c->def_mem_per_node_mib) {
        conf_warn(l, written_value(l, CONF_KEY_def_mem_per_node_mib)->at,
                  "DefMemPerCPU and DefMemPerNode exclude each other; DefMemPerCPU holds");
        c->def_mem_per_node_mib = 0;
    }
    if (c->job_defaults) {
        int rc =
            conf_job_defaults_parse(c->job_defaults, written_value(l, CONF_KEY_job_defaults)->at,
                                    &c->def_cpu_per_gpu, &c->def_mem_per_gpu_mib, err);
        if (rc < 0)
            return rc;
    }
    if (c->max_mem_per_cpu_mib && c->max_mem_per_node_mib) {
        conf_warn(l, written_value(l, CONF_KEY_max_mem_per_node_mib)->at,
                  "MaxMemPerCPU and MaxMemPerNode exclude each other; MaxMemPerCPU holds");
        c->max_mem_per_node_mib = 0;
    }
    if (c->enforce_part_limits && !strcasecmp(c->enforce_part_limits, "YES"))
        c->enforce_part_limits = "ALL";
    return 0;
}

/* Decides whether a node's registration or its line takes precedence. */
static void overrides_check(struct conf_loader *l)
{
    struct conf *c = l->conf;
    const struct conf_value *v = written_value(l, CONF_KEY_fast_schedule);

    c->config_overrides =
        c->slurmd_parameters && conf_list_has(c->slurmd_parameters, "config_overrides");
    if (c->slurmd_parameters && conf_list_has(c->slurmd_parameters, "l3cache_as_socket") &&
        conf_list_has(c->slurmd_parameters, "numa_node_as_socket"))
        conf_warn(l, written_value(l, CONF_KEY_slurmd_parameters)->at,
                  "SlurmdParameters: l3cache_as_socket and numa_node_as_socket exclude each other; "
                  "l3cache_as_socket is used");
    if (c->fast_schedule == 2)
        conf_warn(l, v->at, "FastSchedule=2 is now called SlurmdParameters=config_overrides");
    else if (v->text && c->fast_schedule == 1)
        conf_warn(l, v->at, "FastSchedule=1 is what is done without it");
    else if (v->text && c->config_overrides)
        conf_warn(l, v->at, "FastSchedule=0 has no effect with SlurmdParameters=config_overrides");
    c->schedule_actual = c->fast_schedule == 0 && !c->config_overrides;
    c->config_overrides = c->config_overrides || c->fast_schedule == 2;
}

static void prolog_flags_check(struct conf_loader *l)
{
    struct conf *c = l->conf;
    bool x11 = conf_list_has(c->prolog_flags, "X11");

    c->prolog_serial = conf_list_has(c->prolog_flags, "Serial");
    c->prolog_contain = x11 || conf_list_has(c->prolog_flags, "Contain");
    c->prolog_at_alloc = c->prolog_contain || conf_list_has(c->prolog_flags, "Alloc") ||
                         conf_list_has(c->prolog_flags, "NoHold");
    if (x11)
        conf_warn(l, written_value(l, CONF_KEY_prolog_flags)->at,
                  "PrologFlags: 'X11' is treated as 'Contain'; srun --x11 does not depend on it");
}

static void over_memory_check(struct conf_loader *l)
{
    const char *list = l->conf->job_acct_gather_params;
    bool wanted = conf_list_has(list, "OverMemoryKill") && !conf_list_has(list, "NoOverMemoryKill");

    l->conf->over_memory_kill = wanted && l->conf->cr & CONF_CR_MEMORY;
    if (wanted && !l->conf->over_memory_kill)
        conf_warn(l, written_value(l, CONF_KEY_job_acct_gather_params)->at,
                  "JobAcctGatherParams=OverMemoryKill: no job is given memory that it could exceed "
                  "without one of CR_Memory, CR_CPU_Memory, CR_Core_Memory, CR_Socket_Memory in "
                  "SelectTypeParameters");
}

static int propagation_check(struct conf_loader *l, struct err *err)
{
    const struct conf_value *list = written_value(l, CONF_KEY_propagate_resource_limits);
    const struct conf_value *except = written_value(l, CONF_KEY_propagate_resource_limits_except);

    if (list->text && *list->text && except->text && *except->text)
        return conf_fail(except->at, err,
                         "PropagateResourceLimits and PropagateResourceLimitsExcept exclude each "
                         "other");
    return 0;
}

/* Sets defaults that depend on other keys, or on this host. */
static int defaults_check(struct conf_loader *l, struct err *err)
{
    struct conf *c = l->conf;
    int64_t patience_sec = 5 * c->message_timeout_sec;

    (void)err;
    if (!written_value(l, CONF_KEY_unkillable_step_timeout_sec)->text &&
        c->unkillable_step_timeout_sec < patience_sec)
        c->unkillable_step_timeout_sec = patience_sec;
    if (!written_value(l, CONF_KEY_mail_prog)->text && access(c->mail_prog, F_OK) < 0 &&
        access("/usr/bin/mail", F_OK) == 0)
        c->mail_prog = "/usr/bin/mail";
    return 0;
}

static int freq_check(struct conf_loader *l, struct err *err)
{
    const char *given = l->conf->cpu_freq_def;
    _cleanup_free_ char *path = conf_list_value(l->conf->slurmd_parameters, "cpufreq_path");
    struct conf_freq f;
    struct err why = {0};

    if (given && *given && conf_freq_parse(given, &f, &why) < 0)
        return conf_fail(written_value(l, CONF_KEY_cpu_freq_def)->at, err, "CpuFreqDef=%s",
                         why.text);
    if (path && *path != '/')
        return conf_fail(written_value(l, CONF_KEY_slurmd_parameters)->at, err,
                         "SlurmdParameters=cpufreq_path=%s: it is an absolute path", path);
    return 0;
}

struct number { /* a WORD=NUMBER entry of a list */
    const char *word;
    uint32_t *to, min, max, fallback;
};

static int read_numbers(struct conf_loader *l, enum conf_key_id key, const char *list,
                        const struct number *numbers, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *text = conf_list_value(list, numbers[i].word);
        long long value = numbers[i].fallback;
        if (text && str_parse_i64(text, numbers[i].min, numbers[i].max, &value) < 0)
            return conf_fail(written_value(l, key)->at, err,
                             "%s: %s=%s: a number from %u to %u is expected", conf_keys[key].name,
                             numbers[i].word, text, numbers[i].min, numbers[i].max);
        *numbers[i].to = (uint32_t)value;
    }
    return 0;
}

/* Checks against the kernel's maximum values. */
static int keepalive_check(struct conf_loader *l, struct err *err)
{
    struct conf_keepalive *k = &l->conf->keepalive;
    const struct number numbers[] = {
        {"keepalivetime", &k->idle_sec, 1, 32767, (uint32_t)l->conf->keep_alive_time_sec},
        {"keepaliveinterval", &k->every_sec, 1, 32767, 0},
        {"keepaliveprobes", &k->probes, 1, 127, 0},
    };

    return read_numbers(l, CONF_KEY_communication_parameters, l->conf->communication_parameters,
                        numbers, sizeof(numbers) / sizeof(numbers[0]), err);
}

static int rate_check(struct conf_loader *l, struct err *err)
{
    const char *list = l->conf->slurmctld_parameters;
    struct conf_rate *r = &l->conf->rate;
    const struct number numbers[] = {
        {"rl_bucket_size", &r->bucket, 1, 1000000, 30},
        {"rl_refill_rate", &r->refill, 1, 1000000, 2},
        {"rl_refill_period", &r->period_sec, 1, 86400, 1},
        {"rl_table_size", &r->users, 1, 1000000, 8192},
    };

    r->enable = conf_list_has(list, "rl_enable");
    return read_numbers(l, CONF_KEY_slurmctld_parameters, list, numbers,
                        sizeof(numbers) / sizeof(numbers[0]), err);
}

/* cred_expire in Slurm: the lifetime of a credential, and the default delay of a requeued job. */
static int cred_expire_check(struct conf_loader *l, struct err *err)
{
    struct conf *c = l->conf;
    _cleanup_free_ char *text = c->auth_info ? conf_list_value(c->auth_info, "cred_expire") : NULL;
    _cleanup_free_ char *given =
        c->scheduler_parameters ? conf_list_value(c->scheduler_parameters, "requeue_delay") : NULL;
    long long sec;

    if (!text)
        return 0;
    if (str_parse_i64(text, 0, 31536000, &sec) < 0)
        return conf_fail(written_value(l, CONF_KEY_auth_info)->at, err,
                         "AuthInfo: invalid cred_expire '%s': use a number of seconds", text);
    if (!given)
        c->sched.requeue_delay = sec;
    return 0;
}

/* Warns of weights of factors that are 0 without accounting. */
static void weights_check(struct conf_loader *l)
{
    static const enum conf_key_id keys[] = {CONF_KEY_priority_weight_assoc,
                                            CONF_KEY_priority_weight_fairshare,
                                            CONF_KEY_priority_weight_qos};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const struct conf_value *v = written_value(l, keys[i]);
        if (v->text && strtol(v->text, NULL, 10) != 0)
            conf_warn(l, v->at, "%s has no effect: its factor is 0 without accounting",
                      conf_keys[keys[i]].name);
    }
}

static int sched_check(struct conf_loader *l, struct err *err)
{
    int rc =
        conf_sched_read(l, l->conf->scheduler_parameters,
                        written_value(l, CONF_KEY_scheduler_parameters)->at, &l->conf->sched, err);
    return rc == 0 ? cred_expire_check(l, err) : rc;
}

/* SLURM_DEBUG_FLAGS overrides the file. */
static int debug_check(struct conf_loader *l, struct err *err)
{
    const struct conf_value *v = written_value(l, CONF_KEY_debug_flags);
    const char *forced = getenv("SLURM_DEBUG_FLAGS");
    struct err why = {0};

    if (conf_debug_parse(v->text, &l->conf->debug, &why) < 0)
        return conf_fail(v->at, err, "DebugFlags=%s: %s", v->text, why.text);
    for (int i = 0; i < CONF_DEBUG_COUNT; i++)
        if (l->conf->debug >> i & 1 && !conf_debug_has_effect(i)) {
            _cleanup_str_ struct str name = STR_INIT;
            conf_debug_format(UINT64_C(1) << i, &name);
            conf_warn(l, v->at, "DebugFlags: '%s' has no effect", str_cstr(&name));
        }
    if (forced && *forced && conf_debug_parse(forced, &l->conf->debug, &why) < 0)
        return err_set(err, -ERR_CONFIG, "SLURM_DEBUG_FLAGS=%s: %s", forced, why.text);
    return 0;
}

/* As in Slurm, 0 means the default. */
static int health_check(struct conf_loader *l, struct err *err)
{
    struct conf *c = l->conf;

    (void)err;
    if (c->health_check_timeout_sec == 0)
        c->health_check_timeout_sec = HEALTH_TIMEOUT_SEC;
    if (c->health_check_program && c->health_check_interval_sec &&
        c->health_check_timeout_sec >= c->health_check_interval_sec)
        conf_warn(
            l, written_value(l, CONF_KEY_health_check_interval_sec)->at,
            "HealthCheckInterval=%lld is not longer than HealthCheckTimeout=%lld: a check may "
            "still run when the next one is due",
            (long long)c->health_check_interval_sec, (long long)c->health_check_timeout_sec);
    return 0;
}

static int job_comp_check(struct conf_loader *l, struct err *err)
{
    const struct conf_value *v = written_value(l, CONF_KEY_job_comp_loc);
    bool to_file = str_eq(l->conf->job_comp_type, "jobcomp/filetxt");
    bool to_script = str_eq(l->conf->job_comp_type, "jobcomp/script");

    if (to_script && (!v->text || !*v->text))
        return conf_fail(written_value(l, CONF_KEY_job_comp_type)->at, err,
                         "JobCompType=jobcomp/script: JobCompLoc= names no program");
    if ((to_file || to_script) && v->text && *v->text && *v->text != '/')
        return conf_fail(v->at, err, "JobCompLoc=%s: expected an absolute path", v->text);
    return 0;
}

/* Parses node_reg_mem_percent=90. */
static int reg_mem_check(struct conf_loader *l, struct err *err)
{
    _cleanup_free_ char *text =
        conf_list_value(l->conf->slurmctld_parameters, "node_reg_mem_percent");
    char *end = text;
    double percent = text ? strtod(text, &end) : 100;

    if (text && (end == text || *end || !(percent > 0 && percent <= 100)))
        return conf_fail(written_value(l, CONF_KEY_slurmctld_parameters)->at, err,
                         "SlurmctldParameters: node_reg_mem_percent=%s: it is more than 0, and at "
                         "most 100",
                         text);
    l->conf->node_reg_mem_percent = percent;
    return 0;
}

int conf_check(struct conf_loader *l, struct err *err)
{
    static int (*const checks[])(struct conf_loader *, struct err *) = {
        cluster_check,    hosts_check,     users_check,        ports_check,      select_check,
        paths_check,      limits_check,    socket_dir_check,   conf_words_check, state_store_check,
        exit_codes_check, licenses_check,  gather_check,       mpi_params_check, rate_check,
        conf_tres_check,  sched_check,     conf_preempt_check, freq_check,       debug_check,
        health_check,     job_comp_check,  propagation_check,  defaults_check,   conf_sets_check,
        reg_mem_check,    keepalive_check, srun_ports_check,   conf_auth_check,
    };

    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        int rc = conf_go_on(l, checks[i](l, err), err);
        if (rc < 0)
            return rc;
    }
    overrides_check(l);
    l->conf->enable_configless = conf_list_has(l->conf->slurmctld_parameters, "enable_configless");
    l->conf->allow_user_triggers =
        conf_list_has(l->conf->slurmctld_parameters, "allow_user_triggers");
    prolog_flags_check(l);
    over_memory_check(l);
    weights_check(l);
    return 0;
}
