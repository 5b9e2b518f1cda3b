/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/io/configless.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "slurmd/io/uplink.h"
#include "slurmd/node/script.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

#define SERVERS_MAX 64
#define FETCH_MS 5000        /* time for a controller to answer at start */
#define FETCH_CACHED_MS 3000 /* the same if there is a cached file */
#define CACHE "conf-cache"
#define RUN_LINK "/run/slurm/conf" /* where commands look for it, see conf_path() */
#define SPOOL_DEFAULT "/var/spool/slurmd"
#define HEADER "# Sluice configuration "
#define CACHE_MAX (17u << 20)

struct configless {
    struct rpc_target *servers;
    size_t count;
    char *text; /* the servers as given on the command line */
    char *link; /* path of the link to the cache, beside the cluster key */
    char *node; /* NULL: found by the host name */
    bool from_cache, asked;
    uint64_t refused; /* hash of a configuration that this node has rejected */
    struct loop_timer *retry;
};

/* --- whom to ask ------------------------------------------------------------------------------ */

/* Parses "HOST", "HOST:PORT", "[ADDRESS]:PORT", or "ADDRESS" with colons; modifies text. */
static int parse_target(char *text, struct rpc_target *out, struct err *err)
{
    char *colon = strrchr(text, ':'), *close = strrchr(text, ']');
    _cleanup_free_ char *as_given = mem_strdup(text);
    long long port = CONFIGLESS_PORT;
    bool many = colon && strchr(text, ':') != colon && !close;
    bool good = !many && colon && colon > close;

    if (good) {
        *colon = '\0';
        if (str_parse_i64(colon + 1, 1, 65535, &port))
            return err_set(err, -ERR_PARSE, "--conf-server %s: '%s' is not a port (1 to 65535)",
                           as_given, colon + 1);
    }
    if (text[0] == '[' && close && !close[1]) {
        *close = '\0';
        text++;
    }
    if (!*text || strpbrk(text, "[]/() \t"))
        return err_set(err, -ERR_PARSE, "--conf-server '%s': expected HOST or HOST:PORT", as_given);
    *out = (struct rpc_target){mem_strdup(text), (uint16_t)port};
    return 0;
}

static void free_targets(struct rpc_target *targets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((char *)targets[i].addr);
    free(targets);
}

int configless_parse(const char *servers, struct rpc_target **out, size_t *count, struct err *err)
{
    _cleanup_free_ char *copy = mem_strdup(servers);
    struct rpc_target *targets = mem_new_array(struct rpc_target, SERVERS_MAX);
    size_t n = 0;
    int rc = 0;

    for (char *at = copy; rc == 0; n++) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma = '\0';
        if (n == SERVERS_MAX)
            rc = err_set(err, -ERR_PARSE, "--conf-server: more than %d hosts", SERVERS_MAX);
        else
            rc = parse_target(str_trim(at), &targets[n], err);
        if (rc || !comma)
            break;
        at = comma + 1;
    }
    if (rc) {
        free_targets(targets, n);
        return rc;
    }
    *out = targets;
    *count = n + 1;
    return 0;
}

int configless_new(const char *servers, const char *key_dir, const char *node,
                   struct configless **out, struct err *err)
{
    struct configless *c = mem_new(struct configless);
    int rc = configless_parse(servers, &c->servers, &c->count, err);

    if (rc) {
        free(c);
        return rc;
    }
    c->text = mem_strdup(servers);
    c->node = mem_strdup(node);
    c->link = mem_printf("%s/" CACHE "%s%s", key_dir, node ? "." : "", node ? node : "");
    *out = c;
    return 0;
}

void configless_free(struct configless *c)
{
    if (!c)
        return;
    free_targets(c->servers, c->count);
    if (c->retry)
        loop_timer_free(c->retry);
    free(c->text);
    free(c->link);
    free(c->node);
    free(c);
}

/* --- the file --------------------------------------------------------------------------------- */

/* Makes the link point to the directory, atomically. */
static int point_link(const char *link, const char *directory)
{
    _cleanup_free_ char *temp = mem_printf("%s.new", link);
    struct stat st;
    char now[PATH_MAX];
    ssize_t len = readlink(link, now, sizeof(now) - 1);

    if (len >= 0 && (now[len] = '\0', str_eq(now, directory)))
        return 0;
    if (len < 0 && !lstat(link, &st))
        return -EEXIST; /* a file of somebody else */
    unlink(temp);
    if (symlink(directory, temp) || rename(temp, link))
        return -errno;
    return 0;
}

/* Several nodes on one host would overwrite each other's link, so a node with -N makes no link for
   commands. */
static void point_commands(const struct configless *c, const char *directory)
{
    if (c->node || geteuid() != 0)
        return;
    if (path_mkdirs("/run/slurm", 0755, NULL) || point_link(RUN_LINK, directory))
        log_error("cannot make " RUN_LINK ": commands on this host find the configuration only "
                  "with SLURM_CONF=%s/slurm.conf",
                  directory);
}

static int make_directory(const struct conf *conf, const char *path, struct err *err)
{
    int rc = path_mkdirs(path, 0755, err);

    return rc ? rc : conf_trust_path(conf, "SlurmdSpoolDir", path, err);
}

/* Stores the additional files that were sent, and removes all others. */
static int store_extra(const struct conf *conf, const char *directory, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < CONF_EXTRA_FILES && rc == 0; i++) {
        const char *text;
        size_t len;
        const char *name = conf_extra_file(conf, i, &text, &len);
        _cleanup_free_ char *path = mem_printf("%s/%s", directory, name);

        if (text)
            rc = path_write_file(path, text, len, 0644, err);
        else if (unlink(path) && errno != ENOENT)
            rc = err_set(err, -errno, "cannot remove %s: %s", path, strerror(errno));
    }
    return rc;
}

/* Stores the configuration, which 'conf' was read from, in the spool directory. */
static int store_cache(const struct configless *c, const struct conf *conf, const char *spool,
                       const Pb__NodeConfig *m, const char *from, struct err *err)
{
    _cleanup_free_ char *directory = mem_printf("%s/" CACHE, spool);
    _cleanup_free_ char *path = mem_printf("%s/slurm.conf", directory);
    _cleanup_str_ struct str text = STR_INIT;
    int rc = make_directory(conf, spool, err);

    if (!rc)
        rc = make_directory(conf, directory, err);
    if (rc)
        return rc;
    str_printf(&text, HEADER "%016llx from %s; slurmd writes this file anew\n",
               (unsigned long long)conf->hash, from);
    str_append(&text, m->text.data, m->text.len);
    rc = store_extra(conf, directory, err);
    if (!rc)
        rc = path_write_file(path, text.data, text.len, 0644, err);
    if (rc)
        return rc;
    rc = point_link(c->link, directory);
    if (rc)
        log_error("cannot make the link %s: %s; slurmd will not start while no controller answers, "
                  "unless SlurmdSpoolDir is " SPOOL_DEFAULT,
                  c->link, strerror(-rc));
    point_commands(c, directory);
    return 0;
}

/* Reads the received configuration as far as it concerns this node. */
static int read_sent(const struct slurmd *d, const char *node, const Pb__NodeConfig *m,
                     struct conf **out, struct err *err)
{
    int rc = conf_load_again((const char *)m->text.data, m->text.len, "the controller's slurm.conf",
                             d->own_line, CONF_NODE, d->own_line ? d->name : node, out, err);

    if (!rc && m->has_hash && (*out)->hash != m->hash)
        rc = err_set(err, -ERR_PROTOCOL, "the controller's slurm.conf has come garbled");
    if (!rc)
        rc = script_check_conf(*out, err);
    if (rc)
        conf_free(take_ptr(*out));
    return rc;
}

/* --- at the start ----------------------------------------------------------------------------- */

struct fetch {
    struct slurmd *d;
    struct loop *loop;
    struct rpc_session *session;
    struct loop_timer *limit, *retry_timer;
    size_t failures;
    int rc;       /* 1: no result yet */
    bool refused; /* by a server that was reachable */
    bool cached;
    char *path, *host;
    struct err *err;
};

/* Whether the controller is unreachable or not ready; otherwise it has refused this node. */
static bool is_passing(int code)
{
    switch (code) {
    case -ERR_AUTH:
    case -ERR_SKEW:
    case -ERR_PROTOCOL:
    case -ERR_NOT_SUPPORTED:
    case -ERR_TOO_BIG:
    case -ERR_ACCESS:
        return false;
    default:
        return true;
    }
}

static void fetch_end(struct fetch *f, int rc)
{
    f->rc = rc;
    loop_stop(f->loop);
}

static void on_fetch_open(void *ctx, struct rpc_session *s)
{
    Pb__NodeConfigAsk ask = PB__NODE_CONFIG_ASK__INIT;

    rpc_session_send(s, RPC_NODE_CONFIG_ASK, &ask.base);
}

static void on_fetch_again(void *ctx)
{
    struct fetch *f = ctx;

    on_fetch_open(f, f->session);
}

/* The result is known once every server has been tried. */
static void on_fetch_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct fetch *f = ctx;

    if (!f->refused)
        *f->err = *why;
    f->refused = f->refused || !is_passing(why->code);
    if (++f->failures >= f->d->configless->count && (f->cached || f->refused))
        fetch_end(f, f->err->code ? f->err->code : -ERR_CLOSED);
}

static void on_fetch_limit(void *ctx)
{
    struct fetch *f = ctx;

    if (!f->failures)
        err_set(f->err, -ERR_TIMEOUT, "%s: no answer within %d seconds", f->d->configless->text,
                (f->cached ? FETCH_CACHED_MS : FETCH_MS) / 1000);
    fetch_end(f, f->err->code ? f->err->code : -ERR_TIMEOUT);
}

/* The configuration names the directory that it is to be stored in. */
static int install_fetched(struct fetch *f, const Pb__NodeConfig *m, struct err *err)
{
    struct configless *c = f->d->configless;
    _cleanup_(conf_freep) struct conf *conf = NULL;
    int rc = read_sent(f->d, c->node, m, &conf, err);

    if (rc)
        return rc;
    _cleanup_free_ char *spool =
        path_expand(conf->slurmd_spool_dir, f->host, conf->nodes.data[0].name);
    rc = store_cache(c, conf, spool, m, rpc_session_peer(f->session), err);
    if (!rc)
        f->path = mem_printf("%s/" CACHE "/slurm.conf", spool);
    return rc;
}

static void on_fetch_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                             const ProtobufCMessage *body)
{
    struct fetch *f = ctx;
    const Pb__NodeConfig *m = (const Pb__NodeConfig *)body;
    struct err why = {0};
    int rc;

    if (rpc->number != RPC_NODE_CONFIG || f->rc <= 0)
        return;
    if (m->has_retry_ms) {
        loop_timer_set(f->retry_timer, m->retry_ms);
        loop_timer_set(f->limit, (int64_t)m->retry_ms + FETCH_MS);
        return;
    }
    if (m->has_text)
        rc = install_fetched(f, m, &why);
    else
        rc = err_set(&why, m->has_code && m->code < 0 ? m->code : -ERR_NOT_SUPPORTED, "%s",
                     m->error ? m->error : "it sends no configuration");
    if (rc) {
        err_prefix(&why, "%s", rpc_session_peer(s));
        *f->err = why;
        f->refused = true;
    }
    fetch_end(f, rc);
}

/* Returns 0, or the reason why no configuration was fetched: a temporary failure, or a refusal. */
static int fetch_conf(struct fetch *f, struct err *err)
{
    struct configless *c = f->d->configless;
    _cleanup_free_ char *name = mem_printf("@%.*s", AUTH_NAME_MAX - 1, f->d->host);
    struct rpc_session_events events = {.accepts = RPC_WHO_NODE,
                                        .on_open = on_fetch_open,
                                        .on_message = on_fetch_message,
                                        .on_close = on_fetch_close,
                                        .ctx = f};

    f->err = err;
    f->rc = 1;
    f->host = f->d->host;
    f->loop = loop_new(1);
    f->limit = loop_timer_new(f->loop, on_fetch_limit, f);
    f->retry_timer = loop_timer_new(f->loop, on_fetch_again, f);
    loop_timer_set(f->limit, f->cached ? FETCH_CACHED_MS : FETCH_MS);
    f->session =
        rpc_session_connect(f->loop, &f->d->key, name, c->servers, c->count, true, &events);
    loop_run(f->loop);
    rpc_session_free(f->session);
    loop_timer_free(f->limit);
    loop_timer_free(f->retry_timer);
    loop_free(f->loop);
    return f->rc;
}

/* Returns the path of the previous file; NULL: there is none. */
static char *cached_path(const struct slurmd *d)
{
    _cleanup_free_ char *path = mem_printf("%s/slurm.conf", d->configless->link);
    _cleanup_free_ char *usual = mem_strdup(SPOOL_DEFAULT "/" CACHE "/slurm.conf");

    if (!access(path, R_OK))
        return realpath(path, NULL);
    return !d->configless->node && !access(usual, R_OK) ? take_ptr(usual) : NULL;
}

int configless_begin(struct slurmd *d, char **path, struct err *err)
{
    _cleanup_free_ char *kept = cached_path(d);
    struct fetch f = {.d = d, .cached = kept};
    struct configless *c = d->configless;
    int rc = fetch_conf(&f, err);

    if (!rc) {
        *path = f.path;
        return 0;
    }
    if (f.refused || !kept)
        return err_prefix(err, "no configuration from --conf-server %s", c->text);
    log_error("no configuration from --conf-server %s (%s): going on with that of the last time, "
              "%s",
              c->text, err->text, kept);
    *err = (struct err){0};
    c->from_cache = true;
    *path = take_ptr(kept);
    return 0;
}

int configless_check(struct slurmd *d, struct err *err)
{
    const char *path = d->conf->path;
    _cleanup_str_ struct str text = STR_INIT;
    unsigned long long hash = 0;
    int rc = path_read_file(path, CACHE_MAX, &text, err);

    if (rc || !d->configless->from_cache)
        return rc;
    if (sscanf(str_cstr(&text), HEADER "%16llx ", &hash) == 1 && hash == d->conf->hash)
        return 0;
    return err_set(err, -ERR_CONFIG,
                   "%s is not as the controller sent it; remove it, and start slurmd when a "
                   "controller answers",
                   path);
}

/* --- later ------------------------------------------------------------------------------------ */

void configless_ask(struct slurmd *d)
{
    Pb__NodeConfigAsk ask = PB__NODE_CONFIG_ASK__INIT;

    if (!d->controller || !rpc_session_is_open(d->controller)) {
        log_info("the controller does not answer: its configuration is compared when it does");
        return;
    }
    ask.has_have = true;
    ask.have = d->conf->hash;
    d->configless->asked = true;
    rpc_session_send(d->controller, RPC_NODE_CONFIG_ASK, &ask.base);
}

static void on_configless_retry(void *ctx)
{
    configless_ask(ctx);
}

void configless_compare(struct slurmd *d, uint64_t hash)
{
    struct configless *c = d->configless;

    if (hash == d->conf->hash)
        c->refused = 0;
    else if (hash != c->refused && !c->asked)
        configless_ask(d);
}

void configless_closed(struct slurmd *d)
{
    d->configless->asked = false;
}

static void follow_conf(struct slurmd *d, const Pb__NodeConfig *m)
{
    struct configless *c = d->configless;
    _cleanup_(conf_freep) struct conf *conf = NULL;
    struct err err = {0};

    if (m->hash == d->conf->hash) {
        log_verbose("the controller's configuration is the one in force");
        c->refused = 0;
        uplink_refuse_conf(d, NULL);
        return;
    }
    if (read_sent(d, d->name, m, &conf, &err) ||
        store_cache(c, conf, d->spool, m, rpc_session_peer(d->controller), &err)) {
        c->refused = m->hash;
        uplink_refuse_conf(d, err.text);
        return;
    }
    c->refused = 0;
    uplink_reconfigure(d);
}

void configless_take(struct slurmd *d, const Pb__NodeConfig *m)
{
    struct configless *c = d->configless;

    c->asked = false;
    if (m->has_retry_ms) {
        if (!c->retry)
            c->retry = loop_timer_new(d->loop, on_configless_retry, d);
        loop_timer_set(c->retry, m->retry_ms);
    } else if (m->has_text && m->has_hash) {
        follow_conf(d, m);
    } else {
        log_error("the configuration in force stays: %s",
                  m->error ? m->error : "the controller sends none");
    }
}
