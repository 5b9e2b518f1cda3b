/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/mem.h"
#include "base/path.h"
#include "cli/cmd.h"
#include "cmd/sluice/sluice.h"
#include "loop/loop.h"
#include "proto/node.pb-c.h"

#define POLL_MIN_MS 2
#define POLL_MAX_MS 100
#define SLUICE_CONF_MAX (16u << 20)

struct up {
    const struct sluice_options *o;
    struct conf *conf;
    char *made_from; /* the first directory of the path that was missing; NULL: all existed */
    bool made_conf;
    /* Before this call, without daemons that have ended since; now. */
    struct daemon_list before, running;
    VEC(struct daemon_start) starts;
};

static void show_progress(const char *text)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[Ksluice: %s", text);
}

static void progress_end(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static int spawn_missing(struct up *u, const char *program, const char *node, struct err *err)
{
    _cleanup_free_ char *name = node ? mem_printf("%s-%s", program, node) : mem_strdup(program);
    if (daemon_find(&u->running, name))
        return 0;
    struct daemon_start d = {0};
    int rc = daemon_spawn(program, u->o->dir, node, !node && u->o->clean, &d, err);
    if (rc == 0)
        vec_push(&u->starts, d);
    return rc;
}

static int wait_starts(struct up *u, struct err *err)
{
    int rc = 0;
    vec_foreach (&u->starts, d) {
        if (rc == 0)
            rc = daemon_wait(d, err);
        daemon_start_done(d);
    }
    vec_clear(&u->starts);
    return rc;
}

/* Starts all daemons that do not run yet, the controller first: the nodes would wait for it. */
static int start_daemons(struct up *u, struct err *err)
{
    daemon_list(u->o->dir, &u->running);
    show_progress("starting slurmctld");
    int rc = spawn_missing(u, "slurmctld", NULL, err);
    if (rc == 0)
        rc = wait_starts(u, err);
    show_progress("starting the nodes");
    vec_foreach (&u->conf->nodes, n)
        if (rc == 0 && place_expects(u->conf, n))
            rc = spawn_missing(u, "slurmd", n->name, err);
    int ended = wait_starts(u, rc == 0 ? err : NULL);
    daemon_list_done(&u->running);
    return rc ? rc : ended;
}

/* The number of nodes in service, and of nodes that have registered but are down for a reason. */
struct census {
    const struct conf *conf;
    size_t expected, ready, down;
    char *missing, *why; /* a node that is not in service, and the reason */
};

static void count_node(struct census *s, const Pb__NodeRecord *n)
{
    long index = conf_find_node(s->conf, n->name);
    if (index < 0 || !place_expects(s->conf, &s->conf->nodes.data[index]))
        return;
    bool up = n->state == PB__NODE_BASE__NODE_IDLE || n->state == PB__NODE_BASE__NODE_ALLOCATED ||
              n->state == PB__NODE_BASE__NODE_MIXED;
    bool has_reason = n->reason && *n->reason;
    s->expected++;
    if (up && !n->no_respond) {
        s->ready++;
        return;
    }
    s->down += n->state == PB__NODE_BASE__NODE_DOWN && has_reason && !n->no_respond;
    if (s->missing)
        return;
    s->missing = mem_strdup(n->name);
    s->why = mem_strdup(has_reason ? n->reason
                        : up       ? "it does not answer"
                                   : "it has not registered");
}

static int on_part(void *ctx, const ProtobufCMessage *part, struct err *err)
{
    const Pb__NodeList *list = (const Pb__NodeList *)part;
    for (size_t i = 0; i < list->n_nodes; i++)
        count_node(ctx, list->nodes[i]);
    return 0;
}

static void census_done(struct census *s)
{
    free(s->missing);
    free(s->why);
}

/* Returns 1: ask again; 0: final; negative: failed. */
static int check_census(const struct up *u, const struct census *s, int64_t waited_ms,
                        struct err *err)
{
    if (s->ready == s->expected)
        return 0;
    /* Nodes of an existing cluster that an operator has set down stay down, and are named. */
    bool settled = s->ready + s->down == s->expected && waited_ms > SLUICE_SETTLE_MS;
    if (settled && !u->made_conf) {
        cmd_say("%zu of %zu nodes are down, %s: %s", s->down, s->expected, s->missing, s->why);
        return 0;
    }
    if (!settled && waited_ms < SLUICE_START_MS)
        return 1;
    _cleanup_free_ char *tail = daemon_log_tail(u->o->dir, s->missing);
    return err_set(err, -ERR_TIMEOUT, "node %s is not up: %s\n%s", s->missing, s->why, tail);
}

/* Asks until every node is in service. */
static int wait_nodes(struct up *u, struct err *err)
{
    struct rpc_client *client = rpc_client_new(u->conf);
    Pb__NodeFilter all = PB__NODE_FILTER__INIT;
    int64_t began_ms = loop_mono_ms();
    int pause_ms = POLL_MIN_MS, rc = 1;
    while (rc > 0) {
        struct census s = {.conf = u->conf};
        rc = rpc_call_stream(client, RPC_NODE_LIST, &all.base, on_part, &s, err);
        if (rc == 0) {
            char text[64];
            snprintf(text, sizeof(text), "%zu of %zu node%s up", s.ready, s.expected,
                     s.expected == 1 ? " is" : "s are");
            show_progress(text);
            rc = check_census(u, &s, loop_mono_ms() - began_ms, err);
        }
        census_done(&s);
        if (rc > 0)
            poll(NULL, 0, pause_ms);
        pause_ms = pause_ms * 2 > POLL_MAX_MS ? POLL_MAX_MS : pause_ms * 2;
    }
    rpc_client_free(client);
    progress_end();
    return rc;
}

/* The existing controller was ending, as after a kill, and no longer answers. */
static bool wait_for_ending_controller(struct up *u)
{
    pid_t pid = daemon_find(&u->before, "slurmctld");
    if (!pid || !daemon_ends(pid, SLUICE_KILL_MS))
        return false;
    daemon_drop_gone(&u->before);
    return true;
}

static int start_cluster(struct up *u, struct err *err)
{
    int rc;
    do {
        rc = start_daemons(u, err);
        if (rc == 0)
            rc = wait_nodes(u, err);
    } while (rc == -ERR_CONNECT && wait_for_ending_controller(u));
    return rc;
}

static int refuse_contradiction(const struct up *u, struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse_contradiction(const struct up *u, struct err *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    err_vset(err, -ERR_CONFIG, fmt, ap);
    va_end(ap);
    err_prefix(err, "%s/slurm.conf", u->o->dir);
    struct err why = *err;
    return err_set(err, -ERR_CONFIG, "%s; give --renew to have it written again, or another --dir",
                   why.text);
}

/* Whether the file has this line of --set in the form that write_cluster() writes. */
static bool has_line(const char *text, const char *line)
{
    size_t len = strlen(line);
    for (const char *s = text; (s = strstr(s, line)) != NULL; s++)
        if ((s == text || s[-1] == '\n') && (s[len] == '\n' || !s[len]))
            return true;
    return false;
}

static int check_lines(const struct up *u, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    int rc = u->o->set.len ? path_read_file(u->conf->path, SLUICE_CONF_MAX, &text, err) : 0;
    vec_foreach (&u->o->set, line)
        if (rc == 0 && !has_line(str_cstr(&text), *line))
            rc = refuse_contradiction(u, err, "has no line '%s'", *line);
    return rc;
}

/* An existing cluster is used unchanged; options that contradict it are errors. */
static int check_given(const struct up *u, struct err *err)
{
    const struct sluice_options *o = u->o;
    const struct conf *conf = u->conf;
    if (o->nodes && o->nodes != conf->nodes.len)
        return refuse_contradiction(u, err, "has %zu nodes, not %u", conf->nodes.len, o->nodes);
    if (o->cluster && !str_eq(o->cluster, conf->cluster_name))
        return refuse_contradiction(u, err, "has ClusterName=%s, not %s", conf->cluster_name,
                                    o->cluster);
    if (o->port_base && o->port_base != conf->slurmctld_port)
        return refuse_contradiction(u, err, "has ports from %u, not %u", conf->slurmctld_port,
                                    o->port_base);
    vec_foreach (&conf->node_rows, row) {
        if (o->cpus && o->cpus != row->cpus)
            return refuse_contradiction(u, err, "has nodes of %u CPUs, not %u", row->cpus, o->cpus);
        if (o->memory_mib && o->memory_mib != row->real_memory_mib)
            return refuse_contradiction(u, err, "has nodes of %llu MiB, not %llu",
                                        (unsigned long long)row->real_memory_mib,
                                        (unsigned long long)o->memory_mib);
    }
    return check_lines(u, err);
}

static void print_warnings(const struct conf_report *report)
{
    _cleanup_str_ struct str text = STR_INIT;
    conf_report_format(report, &text);
    for (char *rest = text.data, *line; (line = strsep(&rest, "\n")) != NULL;)
        if (*line)
            cmd_say("%s", line);
}

/* For AuthAltTypes=auth/jwt. The user has to create a key file outside the directory. */
static int make_jwt_key(const struct up *u, struct err *err)
{
    const char *path = u->conf->auth_alt.jwt_key_path, *dir = u->o->dir;
    if (!u->conf->auth_alt.jwt || !str_starts(path, dir) || path[strlen(dir)] != '/' ||
        !access(path, F_OK))
        return 0;
    return auth_key_create(path, geteuid(), (gid_t)-1, err);
}

static int prepare_place(struct up *u, struct err *err)
{
    const struct sluice_options *o = u->o;
    bool there = place_has_cluster(o->dir);
    if (!there || o->renew) {
        int rc = write_cluster(o, err);
        if (rc)
            return rc;
        u->made_conf = !there;
    }
    struct conf_report report = {0};
    int rc = place_load(o->dir, &u->conf, &report, err);
    if (rc == 0)
        print_warnings(&report);
    conf_report_done(&report);
    if (rc == 0 && there && !o->renew)
        rc = check_given(u, err);
    return rc == 0 ? make_jwt_key(u, err) : rc;
}

/* Stops the daemons that this call started, and removes the files that it created. */
static void undo_start(struct up *u)
{
    struct daemon_list now = {0}, ours = {0};
    daemon_list(u->o->dir, &now);
    vec_foreach (&now.all, d)
        if (!daemon_find(&u->before, d->name)) {
            struct daemon_pid mine = {.pid = d->pid, .name = mem_strdup(d->name)};
            vec_push(&ours.all, mine);
        }
    daemon_kill(&ours, SIGTERM);
    if (daemon_wait_gone(&ours, SLUICE_KILL_MS)) {
        daemon_kill(&ours, SIGKILL);
        daemon_wait_gone(&ours, SLUICE_KILL_MS);
    }
    daemon_list_done(&now);
    daemon_list_done(&ours);
    if (u->made_conf || u->made_from)
        place_remove(u->o->dir, u->made_from);
    if (!place_has_cluster(u->o->dir))
        place_lock_remove(u->o->dir);
}

static void print_ready(const struct up *u, int64_t took_ms)
{
    size_t count = place_count(u->conf);
    const struct conf_node_row *row = &u->conf->node_rows.data[u->conf->nodes.data[0].row];
    cmd_say("cluster %s is up: %zu node%s of %u CPUs and %llu MiB, in %s (%lld.%02lld s)",
            u->conf->cluster_name, count, count == 1 ? "" : "s", row->cpus,
            (unsigned long long)row->real_memory_mib, u->o->dir, (long long)(took_ms / 1000),
            (long long)(took_ms % 1000 / 10));
    _cleanup_free_ char *standard = place_default();
    bool is_standard = str_eq(u->o->dir, standard);
    cmd_say("to use it:   eval \"$(sluice env%s%s)\"", is_standard ? "" : " --dir ",
            is_standard ? "" : u->o->dir);
    cmd_say("to stop it:  sluice down%s%s", is_standard ? "" : " --dir ",
            is_standard ? "" : u->o->dir);
}

int sluice_up(const struct sluice_options *o, const char *const *operand)
{
    struct up u = {.o = o};
    struct err err = {0};
    int64_t began_ms = loop_mono_ms();
    u.made_from = place_first_missing(o->dir);
    int rc = place_check(o->dir, u.made_from, &err);
    if (rc == 0)
        rc = path_mkdirs(o->dir, 0755, &err);
    _cleanup_close_ int lock = -1;
    if (rc == 0) {
        lock = place_lock(o->dir, &err);
        rc = lock < 0 ? lock : 0;
        daemon_list(o->dir, &u.before);
        if (rc == 0 && o->renew && u.before.all.len)
            rc =
                err_set(&err, -ERR_BUSY, "the cluster in %s is up; 'sluice down' it first", o->dir);
        if (rc == 0)
            rc = prepare_place(&u, &err);
        if (rc == 0)
            rc = start_cluster(&u, &err);
        progress_end();
        if (rc && lock >= 0)
            undo_start(&u);
    }
    if (rc)
        cmd_error("%s", err.text);
    else
        print_ready(&u, loop_mono_ms() - began_ms);
    vec_foreach (&u.starts, d)
        daemon_start_done(d);
    vec_done(&u.starts);
    daemon_list_done(&u.before);
    conf_free(u.conf);
    free(u.made_from);
    return rc ? 1 : 0;
}
