/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/bcast.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "cast/block.h"
#include "cast/feed.h"
#include "cli/cmd.h"
#include "launch/libs.h"
#include "show/job_ids.h"

#define HOST_MAX 256
#define RETRY_MS 1000     /* for a job that accepts no files at the moment */
#define STATUS_SOURCE 255 /* as in Slurm, for a file that cannot be read */

/* --- settings -----------------------------------------------------------------------------------
 */

static void set_text(char **to, const char *text, size_t len)
{
    free(*to);
    *to = len ? mem_strndup(text, len) : NULL;
}

void bcast_set_compress(struct bcast_settings *b, const char *value)
{
    if (value && *value == '=') /* -C=lz4 */
        value++;
    b->pack = !value || !*value || str_case_eq(value, "lz4");
    if (value && *value && !b->pack && !str_case_eq(value, "none"))
        cmd_error("Compression type '%s' unknown, disabling compression support.", value);
    if (b->pack && !cast_block_can_pack()) {
        cmd_error("lz4 compression is not in this build (it had no liblz4-dev), disabling "
                  "compression support.");
        b->pack = false;
    }
}

void bcast_set_libs(struct bcast_settings *b, const char *value)
{
    if (!value || !*value || str_case_eq(value, "yes"))
        b->send_libs = true;
    else if (str_case_eq(value, "no"))
        b->send_libs = false;
    else
        cmd_error("Ignoring unrecognized --send-libs value '%s'", value);
}

void bcast_set_exclude(struct bcast_settings *b, const char *value)
{
    set_text(&b->exclude, value, str_case_eq(value, "none") ? 0 : strlen(value));
}

void bcast_set_width(struct bcast_settings *b, const char *value)
{
    long long n;

    if (str_case_eq(value, "off"))
        b->width = CAST_WIDTH_MAX;
    else if (str_parse_i64(value, 0, INT32_MAX, &n))
        cmd_error("invalid --fanout '%s' is ignored", value);
    else if (n)
        b->width = n > CAST_WIDTH_MAX ? CAST_WIDTH_MAX : (uint32_t)n;
}

void bcast_set_block(struct bcast_settings *b, const char *value)
{
    unsigned long long n;
    char *end;
    unsigned shift = 0;

    n = strtoull(value, &end, 10);
    if (end != value && strchr("kKmM", *end) && *end) {
        shift = *end == 'k' || *end == 'K' ? 10 : 20;
        end++;
    }
    if (end == value || *end || *value == '-' || n > UINT32_MAX)
        cmd_line("size specification is invalid, ignored");
    else
        b->block = cast_block_round(n << shift);
}

void bcast_set_timeout(struct bcast_settings *b, const char *value)
{
    long long n;

    if (str_parse_i64(value, 0, CAST_TIMEOUT_MAX_MS / 1000, &n))
        cmd_error("--timeout=%s is not a number of seconds up to %d, ignored", value,
                  (int)(CAST_TIMEOUT_MAX_MS / 1000));
    else if (n)
        b->timeout_ms = n * 1000;
}

static void set_parameter(struct bcast_settings *b, const char *word, size_t len)
{
    _cleanup_free_ char *text = mem_strndup(word, len);

    if (!strncasecmp(text, "DestDir=", 8))
        set_text(&b->dest_dir, text + 8, strlen(text + 8));
    else if (!strncasecmp(text, "Compression=", 12))
        bcast_set_compress(b, text + 12);
    else if (str_case_eq(text, "send_libs"))
        b->send_libs = true;
    else
        cmd_error("slurm.conf: unknown BcastParameters=%s is ignored", text);
}

void bcast_settings_init(struct bcast_settings *b, const struct conf *conf)
{
    const char *at = conf->bcast_parameters ? conf->bcast_parameters : "";

    *b = (struct bcast_settings){.width =
                                     conf->tree_width < CAST_WIDTH ? conf->tree_width : CAST_WIDTH,
                                 .block = CAST_BLOCK,
                                 .timeout_ms = conf->message_timeout_sec * 1000};
    bcast_set_exclude(b, conf->bcast_exclude ? conf->bcast_exclude : "none");
    while (*at) {
        size_t len = strcspn(at, ",");

        if (len)
            set_parameter(b, at, len);
        at += len + (at[len] == ',');
    }
}

void bcast_settings_done(struct bcast_settings *b)
{
    free(b->dest_dir);
    free(b->exclude);
}

bool bcast_is_excluded(const char *list, const char *path)
{
    while (list && *list) {
        size_t len = strcspn(list, ","), dir = len;

        while (dir > 1 && list[dir - 1] == '/')
            dir--;
        if (dir && !strncmp(path, list, dir) && (path[dir] == '/' || list[dir - 1] == '/'))
            return true;
        list += len + (list[len] == ',');
    }
    return false;
}

/* --- the items to send --------------------------------------------------------------------------
 */

struct item {
    char *source, *path, *behind;
    bool in_dir;
};

/* Failures and their nodes, in the order of the first node. */
struct failures {
    VEC(struct failure {
        char *text;
        struct hostlist *nodes;
    })
    list;
};

struct bcast {
    struct bcast_request r;
    struct bcast_settings settings;
    VEC(struct item) items; /* the program is last */
    size_t next;
    struct cast_source source;
    struct rpc_async *ask;
    struct loop_timer *retry; /* NULL: no wait so far */
    struct arena arena;
    Pb__CastGrant *grant; /* for the current item */
    struct cast_send *send;
    struct failures failures; /* for the current item */
    mode_t umask;
};

static struct failure *find_failure(struct failures *g, const char *text)
{
    struct failure one;

    vec_foreach (&g->list, at)
        if (!strcmp(at->text, text))
            return at;
    one = (struct failure){.text = mem_strdup(text), .nodes = hostlist_new()};
    vec_push(&g->list, one);
    return &vec_last(&g->list);
}

static void add_failure(struct failures *g, const char *node, const char *text)
{
    hostlist_push(find_failure(g, text)->nodes, node);
}

static void drop_failures(struct failures *g)
{
    vec_foreach (&g->list, at) {
        free(at->text);
        hostlist_free(at->nodes);
    }
    vec_done(&g->list);
}

static void report_failures(struct failures *g,
                            void (*fn)(void *ctx, const char *nodes, const char *text), void *ctx)
{
    vec_foreach (&g->list, at) {
        _cleanup_str_ struct str nodes = STR_INIT;

        hostlist_uniq(at->nodes);
        hostlist_format(at->nodes, &nodes);
        fn(ctx, str_cstr(&nodes), at->text);
    }
    drop_failures(g);
}

/* The last component of the name, by which the loader searches. */
static const char *base_of(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash ? slash + 1 : name;
}

static bool is_library_listed(const struct bcast *b, const char *base)
{
    vec_foreach (&b->items, i)
        if (str_eq(base_of(i->behind ? i->behind : i->path), base))
            return true;
    return false;
}

static void add_lib(struct bcast *b, const struct libs *libs, const struct lib *lib)
{
    const char *base = base_of(lib->name);
    struct item item = {.in_dir = true};

    if (!lib->path) {
        cmd_error("%s, which %s needs, was not found and is not sent", lib->name,
                  libs->list.data[lib->by].name);
        return;
    }
    if (bcast_is_excluded(b->settings.exclude, lib->path) || is_library_listed(b, base))
        return;
    item.source = mem_strdup(lib->path);
    if (b->r.per_node) {
        item.path = mem_strdup(b->r.dest);
        item.behind = mem_printf(BCAST_LIBS "/%s", base);
    } else {
        item.path = mem_printf("%s" BCAST_LIBS "/%s", b->r.dest, base);
    }
    vec_push(&b->items, item);
}

static void add_libs(struct bcast *b)
{
    struct libs libs = {0};
    struct err err = {0};

    if (libs_find(b->r.source, &libs, &err))
        cmd_detail(1, "%s: no libraries are sent with it: %s", b->r.source, err.text);
    for (size_t i = 1; i < libs.list.len; i++)
        add_lib(b, &libs, &libs.list.data[i]);
    libs_done(&libs);
}

bool bcast_has_libs(const struct bcast *b)
{
    return b->items.len > 1;
}

/* --- the sequence -------------------------------------------------------------------------------
 */

/* The node is printed anyway, and with its address each message would be different. */
static const char *without_address(const char *text)
{
    const char *behind = str_starts(text, "session with ") ? strstr(text, "): ") : NULL;

    return behind ? behind + 3 : text;
}

static void on_node(void *ctx, const char *node, int code, const char *text)
{
    struct bcast *b = ctx;

    (void)code;
    add_failure(&b->failures, node, without_address(text));
}

static void tell_failure(void *ctx, const char *nodes, const char *text)
{
    (void)ctx;
    cmd_error("REQUEST_FILE_BCAST(%s): %s", nodes, text);
}

static void ask_next(struct bcast *b);

static void finish_bcast(struct bcast *b, int status)
{
    b->r.done(b->r.ctx, status); /* b may have been freed */
}

/* Reports a copy that is not on all nodes, with its path, so that a caller can continue without the
 * other nodes. */
static void tell_where(const struct item *item, bool committed, const struct hostlist *nodes)
{
    _cleanup_str_ struct str text = STR_INIT;

    hostlist_format(nodes, &text);
    if (!committed)
        cmd_error("`%s` was not copied: no node has it", item->source);
    else if (text.len)
        cmd_error("`%s` is on %s only, as %s", item->source, str_cstr(&text), item->path);
    else
        cmd_error("`%s` was copied, and no node could say so: look for %s", item->source,
                  item->path);
}

static void tell_placed(const struct bcast *b, const struct item *item)
{
    _cleanup_str_ struct str part = STR_INIT;

    if (b->r.id && (b->r.id->has_set_offset || b->r.id->has_step_id)) {
        str_puts(&part, " of ");
        job_ids_put_asked(b->r.id, &part);
    }
    if (b->r.id && b->r.nodes)
        cmd_detail(1, "`%s` is on %s%s as %s", item->source, b->r.nodes, str_cstr(&part),
                   item->path);
    else
        cmd_detail(1, "`%s` is on all nodes%s as %s", item->source, str_cstr(&part), item->path);
}

static void on_bcast_done(void *ctx, size_t failed, bool committed, const struct err *err)
{
    struct bcast *b = ctx;
    const struct item *item = &b->items.data[b->next];
    const struct err why = *err; /* the text is freed with the item */
    _cleanup_hostlist_ struct hostlist *placed = hostlist_new();

    cast_send_placed(b->send, placed);
    cast_send_free(take_ptr(b->send));
    cast_source_close(&b->source);
    report_failures(&b->failures, tell_failure, NULL);
    if (why.code)
        cmd_error("%s", why.text);
    if (why.code || failed) {
        tell_where(item, committed, placed);
        finish_bcast(b, 1);
        return;
    }
    tell_placed(b, item);
    b->next++;
    ask_next(b);
}

static int open_source(struct bcast *b)
{
    struct err err = {0};

    if (cast_source_open(b->items.data[b->next].source, &b->source, &err) == 0)
        return 0;
    cmd_error("%s", err.text);
    return -1;
}

static void send_next(struct bcast *b)
{
    const struct item *item = &b->items.data[b->next];
    struct cast_send_options o = {.loop = b->r.loop,
                                  .conf = b->r.conf,
                                  .grant = b->grant,
                                  .source = &b->source,
                                  .file = PB__CAST_FILE__INIT,
                                  .preserve = b->settings.preserve,
                                  .umask = b->umask,
                                  .width = b->settings.width,
                                  .block = b->settings.block,
                                  .pack = b->settings.pack,
                                  .timeout_ms = b->settings.timeout_ms,
                                  .on_node = on_node,
                                  .on_done = on_bcast_done,
                                  .ctx = b};

    o.file.path = item->path;
    o.file.has_per_node = o.file.has_make_dir = o.file.has_force = true;
    o.file.per_node = b->r.per_node;
    o.file.behind = item->behind;
    o.file.make_dir = item->in_dir;
    o.file.force = b->settings.force;
    b->send = cast_send_start(&o);
}

/* --nodelist: removes the other nodes from the grant. */
static int keep_nodes(Pb__CastGrant *grant, const char *nodes, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *wanted = NULL;
    size_t kept = 0;
    int rc = hostlist_parse(nodes, &wanted, err);

    if (rc)
        return rc;
    hostlist_uniq(wanted);
    for (size_t i = 0; i < grant->n_nodes; i++) {
        if (hostlist_find(wanted, grant->nodes[i]->node) < 0)
            continue;
        if (i < grant->n_bcast_addr)
            grant->bcast_addr[kept] = grant->bcast_addr[i];
        grant->nodes[kept++] = grant->nodes[i];
    }
    grant->n_bcast_addr = grant->n_bcast_addr < kept ? grant->n_bcast_addr : kept;
    grant->n_nodes = kept;
    if (kept && kept == hostlist_count(wanted))
        return 0;
    return err_set(err, -ERR_NO_NODE, "%s: --nodelist=%s %s job %u", err_text(ERR_NO_NODE), nodes,
                   kept ? "has nodes that are not of" : "names no node of", grant->job_id);
}

static void request_grant(void *ctx);

/* A suspended job, or one whose nodes are being configured, accepts files later. */
static void wait_for_job(struct bcast *b, const struct err *why)
{
    if (!b->retry)
        cmd_say("%s: waiting", why->text);
    if (!b->retry)
        b->retry = loop_timer_new(b->r.loop, request_grant, b);
    loop_timer_set(b->retry, RETRY_MS);
}

static void on_grant(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct bcast *b = ctx;
    _cleanup_str_ struct str bytes = STR_INIT;
    struct err why = {0};

    b->ask = NULL;
    if (code == -ERR_NODES_BUSY) {
        wait_for_job(b, err);
        return;
    }
    if (code < 0) {
        _cleanup_str_ struct str job = STR_INIT;
        if (b->r.id)
            job_ids_put_asked(b->r.id, &job);
        cmd_error("Can't get the credential for %s %s: %s", b->r.id ? "job" : "nodes",
                  b->r.id ? str_cstr(&job) : b->r.nodes, err->text);
        finish_bcast(b, 1);
        return;
    }
    arena_reset(&b->arena, 0);
    pb_pack(reply, &bytes); /* freed after the callback */
    b->grant = arena_unpack(&b->arena, &pb__cast_grant__descriptor, bytes.data, bytes.len);
    if (b->r.id && b->r.nodes && keep_nodes(b->grant, b->r.nodes, &why) < 0) {
        cmd_error("%s", why.text);
        finish_bcast(b, 1);
        return;
    }
    send_next(b);
}

static void request_grant(void *ctx)
{
    struct bcast *b = ctx;
    Pb__CastUnallocated unallocated = PB__CAST_UNALLOCATED__INIT;
    Pb__CastAsk of_job = PB__CAST_ASK__INIT;
    char host[HOST_MAX] = "";

    gethostname(host, sizeof(host) - 1);
    of_job.id = (Pb__StepId *)b->r.id;
    of_job.has_or_component = of_job.or_component = b->r.or_component;
    of_job.host = host;
    unallocated.nodes = (char *)b->r.nodes;
    b->ask =
        rpc_async_controller(b->r.loop, b->r.conf, b->r.id ? RPC_CAST_ASK : RPC_CAST_UNALLOCATED,
                             b->r.id ? &of_job.base : &unallocated.base, 0, on_grant, b);
}

static void ask_next(struct bcast *b)
{
    if (b->next == b->items.len) {
        finish_bcast(b, 0);
        return;
    }
    if (b->source.fd < 0 && open_source(b)) {
        finish_bcast(b, STATUS_SOURCE);
        return;
    }
    request_grant(b);
}

/* The program is sent last, but an unreadable file is reported first. */
static int check_copied_program(const struct bcast *b)
{
    struct cast_source source;
    struct err err = {0};

    if (cast_source_open(b->r.source, &source, &err)) {
        cmd_error("%s", err.text);
        return -1;
    }
    cast_source_close(&source);
    return 0;
}

struct bcast *bcast_start(const struct bcast_request *r)
{
    struct bcast *b = mem_new(struct bcast);

    b->r = *r;
    b->settings = *r->settings;
    b->source.fd = -1;
    b->umask = umask(0);
    umask(b->umask);
    if (b->settings.send_libs)
        add_libs(b);
    vec_push(&b->items,
             ((struct item){.source = mem_strdup(r->source), .path = mem_strdup(r->dest)}));
    arena_init(&b->arena, 0);
    if (check_copied_program(b)) {
        bcast_free(b);
        return NULL;
    }
    ask_next(b);
    return b;
}

void bcast_free(struct bcast *b)
{
    if (!b)
        return;
    if (b->ask)
        rpc_async_drop(b->ask);
    loop_timer_free(b->retry);
    cast_send_free(b->send);
    cast_source_close(&b->source);
    arena_done(&b->arena);
    vec_foreach (&b->items, i) {
        free(i->source);
        free(i->path);
        free(i->behind);
    }
    vec_done(&b->items);
    drop_failures(&b->failures);
    free(b);
}
