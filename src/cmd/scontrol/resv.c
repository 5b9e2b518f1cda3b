/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/scontrol/resv.h"

#include <string.h>

#include "base/hostlist.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/words.h"
#include "cli/cmd.h"
#include "cmd/scontrol/fields.h"
#include "cmd/scontrol/scontrol.h"
#include "proto/resv.pb-c.h"
#include "show/names.h"

#define ENTITY "reservation"
#define NAME_KEY "ReservationName"
#define LEAST 3 /* minimum length of an abbreviation */

struct request {
    Pb__ResvUpdate update;
    Pb__ResvRecord set;
    struct arena arena;
    struct str given, edited; /* keys of the request, and those of them with a sign */
    struct str add, take, cores, licenses, gres, gres_per_node;
    int changes;
};

static bool is_begin_of(const char *whole, const char *text, size_t len)
{
    return len >= LEAST && len <= strlen(whole) && strncasecmp(whole, text, len) == 0;
}

bool resv_is_meant(const char *arg)
{
    size_t len = strcspn(arg, "=");
    return arg[len] ? is_begin_of(NAME_KEY, arg, len) : is_begin_of(ENTITY, arg, len);
}

static int refuse_argument(const char *arg, const char *why)
{
    cmd_line("%s%s%s\nRequest aborted", arg, why ? ": " : "", why ? why : "");
    return -1;
}

#define WHY_NO_NODES "not a number of nodes"

/* "4", "2k", "2k,2k"; false: invalid. */
static bool take_node_count(struct request *r, const char *value)
{
    uint64_t sum = 0;
    words_foreach (value, w) {
        _cleanup_free_ char *word = word_dup(w);
        uint64_t n;
        if (size_parse_count(word, INT32_MAX, &n, NULL) < 0 || n == 0 || sum + n > INT32_MAX)
            return false;
        sum += n;
    }
    if (!sum)
        return false;
    r->set.has_node_count = true;
    r->set.node_count = (uint32_t)sum;
    return true;
}

static int set_node_count(struct request *r, const char *value)
{
    return take_node_count(r, value) ? 0 : refuse_argument(value, WHY_NO_NODES);
}

/* --- TRES ------------------------------------------------------------------------------------
 */

static void put_word(struct str *list, const char *name, const char *number)
{
    str_printf(list, "%s%s%s%s", list->len ? "," : "", name, *name ? ":" : "", number);
}

#define WHY_NO_GRES "expected a count, as 2 or 1k"

static const char *take_cpus(struct request *r, const char *name, const char *number)
{
    (void)name;
    put_word(&r->cores, "", number);
    return NULL;
}

static const char *take_tres_nodes(struct request *r, const char *name, const char *number)
{
    (void)name;
    return take_node_count(r, number) ? NULL : WHY_NO_NODES;
}

static const char *take_license(struct request *r, const char *name, const char *number)
{
    put_word(&r->licenses, name, number);
    return NULL;
}

static const char *take_gres(struct request *r, const char *name, const char *number)
{
    uint64_t count;
    if (size_parse_count(number, INT64_MAX, &count, NULL) < 0)
        return WHY_NO_GRES;
    put_word(&r->gres, name, number);
    return NULL;
}

static const char *take_cpus_per_node(struct request *r, const char *name, const char *number)
{
    uint64_t count;
    (void)name;
    if (size_parse_count(number, INT32_MAX, &count, NULL) < 0 || count == 0)
        return "expected a number of cores, from 1 on";
    r->set.has_cores_per_node = true;
    r->set.cores_per_node = (uint32_t)count;
    return NULL;
}

static const char *take_gres_per_node(struct request *r, const char *name, const char *number)
{
    uint64_t count;
    if (size_parse_count(number, INT64_MAX, &count, NULL) < 0)
        return WHY_NO_GRES;
    put_word(&r->gres_per_node, name, number);
    return NULL;
}

/* The resource kinds of TRES= and TRESPerNode=. NULL: not supported there. Each function returns
 * why the count is invalid, or NULL. */
static const struct tres_kind {
    const char *word; /* a '/' at the end: a name follows */
    const char *(*take)(struct request *r, const char *name, const char *number);
    const char *(*take_per_node)(struct request *r, const char *name, const char *number);
} tres_kinds[] = {
    {"cpu", take_cpus, take_cpus_per_node},
    {"node", take_tres_nodes, NULL},
    {"license/", take_license, NULL},
    {"gres/", take_gres, take_gres_per_node},
};
#define TRES_KINDS (sizeof tres_kinds / sizeof tres_kinds[0])

static const struct tres_kind *find_tres(const char *name)
{
    for (size_t i = 0; i < TRES_KINDS; i++) {
        size_t len = strlen(tres_kinds[i].word);
        bool named = tres_kinds[i].word[len - 1] == '/';
        if (strncasecmp(name, tres_kinds[i].word, len) == 0 && (named ? name[len] : !name[len]))
            return &tres_kinds[i];
    }
    return NULL;
}

static int take_tres(struct request *r, const char *word, bool per_node)
{
    const char *equal = strchr(word, '=');
    _cleanup_free_ char *name = mem_strndup(word, equal ? (size_t)(equal - word) : strlen(word));
    const struct tres_kind *kind = find_tres(name);
    if (!equal || !equal[1])
        return refuse_argument(word, "expected NAME=COUNT");
    if (strncasecmp(name, "bb/", 3) == 0)
        return refuse_argument(word, "a reservation cannot hold space of burst buffers");
    if (kind && per_node && !kind->take_per_node)
        return refuse_argument(word, "of a node a reservation has cpu and gres/NAME: use TRES=");
    if (!kind)
        return refuse_argument(
            word, "TRES of a reservation are cpu, node, gres/NAME and license/NAME: for memory "
                  "reserve the nodes that have it (Nodes=, Features=)");
    const char *of = name + strlen(kind->word);
    const char *why = (per_node ? kind->take_per_node : kind->take)(r, of, equal + 1);
    if (!why)
        return 0;
    _cleanup_free_ char *given = mem_printf("%s=%s", per_node ? "TRESPerNode" : "TRES", word);
    return refuse_argument(given, why);
}

/* "cpu=2,2,1,node=4,license/iop1=2": numbers without a name belong to the preceding cpu. An empty
 * TRESPerNode clears the counts per node. */
static int set_tres(struct request *r, const char *value, bool per_node)
{
    bool of_cpu = false;
    int rc = 0;
    if (per_node) {
        r->set.has_cores_per_node = true;
        r->set.gres_per_node = (char *)"";
    } else if (!*value) {
        r->set.gres = (char *)"";
    }
    words_foreach (value, w) {
        _cleanup_free_ char *word = word_dup(w);
        if (rc != 0 || !w.len)
            break;
        of_cpu = !per_node && (strncasecmp(word, "cpu=", 4) == 0 || (of_cpu && !strchr(word, '=')));
        if (of_cpu && !strchr(word, '='))
            put_word(&r->cores, "", word);
        else
            rc = take_tres(r, word, per_node);
    }
    if (r->cores.len)
        r->set.core_count = (char *)str_cstr(&r->cores);
    if (r->licenses.len)
        r->set.licenses = (char *)str_cstr(&r->licenses);
    if (r->gres.len)
        r->set.gres = (char *)str_cstr(&r->gres);
    if (r->gres_per_node.len)
        r->set.gres_per_node = (char *)str_cstr(&r->gres_per_node);
    return rc;
}

static bool is_key(const char *arg, size_t len, const char *key, size_t least)
{
    return len >= least && len <= strlen(key) && strncasecmp(arg, key, len) == 0;
}

static void note_field(struct str *list, const char *field)
{
    str_printf(list, "%s%s", list->len ? "," : "", field);
}

/* "Users+=a": sets the member for a change of the field. */
static int set_sign(struct request *r, const char *arg, const struct field *f, char sign)
{
    static const struct {
        const char *key, *field;
    } lists[] = {
        {"Users", "users"}, {"Accounts", "accounts"}, {"Groups", "groups"},
        {"Flags", "flags"}, {"Duration", "duration"}, {"AllowedPartitions", "allowed_partitions"},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (str_eq(f->key, lists[i].key)) {
            note_field(sign == '+' ? &r->add : &r->take, lists[i].field);
            return 0;
        }
    return refuse_argument(arg, "only lists, Nodes and Duration can be added to or taken from");
}

static bool has_key(const struct str *list, const char *key)
{
    words_foreach (str_cstr(list), w)
        if (word_case_eq(w, key))
            return true;
    return false;
}

/* A reservation takes only one change of each list: of two, one would be lost. */
static int check_repeated(struct request *r, const char *arg, const struct field *f, char sign)
{
    bool is_lost = has_key(&r->given, f->key) && (sign || has_key(&r->edited, f->key));

    if (is_lost)
        return refuse_argument(arg, "this parameter is given more than once");
    note_field(&r->given, f->key);
    if (sign)
        note_field(&r->edited, f->key);
    return 0;
}

static int set_one(struct request *r, const char *arg)
{
    struct err err = {0};
    char *nodes = NULL;
    size_t len = strcspn(arg, "=");
    if (str_case_eq(arg, "skip")) {
        r->update.has_skip = r->update.skip = true;
        r->changes++;
        return 0;
    }
    if (!arg[len])
        return refuse_argument(arg, "Key=value is expected");
    const char *value = arg + len + 1;
    char sign = len > 1 && (arg[len - 1] == '+' || arg[len - 1] == '-') ? arg[len - 1] : 0;
    size_t key = len - (sign != 0);
    r->changes++;
    if (!sign && (is_key(arg, key, "NodeCnt", 5) || is_key(arg, key, "NodeCount", 5)) &&
        strncasecmp(arg, "nodes", key) != 0)
        return set_node_count(r, value);
    if (!sign && is_key(arg, key, "TRES", 4))
        return set_tres(r, value, false);
    if (!sign && is_key(arg, key, "TRESPerNode", 5))
        return set_tres(r, value, true);
    const struct field *f = field_find(fields_resv, arg, key);
    if (!f)
        return refuse_argument(arg, "Update of this parameter is not supported");
    if (str_eq(f->key, "Nodes")) {
        if (field_join_nodes(r->set.nodes, sign, value, &r->arena, &nodes, &err) < 0)
            return refuse_argument(err.text, NULL);
    } else if (check_repeated(r, arg, f, sign) < 0 || (sign && set_sign(r, arg, f, sign) < 0)) {
        return -1;
    }
    if (field_set(f, nodes ? nodes : value, &r->set, &r->arena, &err) < 0)
        return refuse_argument(err.text, NULL);
    return 0;
}

/* Checks that all names are users. */
static int check_users(const char *list)
{
    words_foreach (list, w) {
        size_t skip = w.len && (*w.at == '-' || *w.at == '+');
        _cleanup_free_ char *name = mem_strndup(w.at + skip, w.len - skip);
        uint32_t uid;
        if (*name && names_find_user(name, &uid) < 0) {
            cmd_line("Invalid user id: %s", name);
            return -1;
        }
    }
    return 0;
}

static int read_arguments(struct request *r, int argc, char **argv, enum resv_how how)
{
    for (int i = 0; i < argc; i++) {
        size_t len = strcspn(argv[i], "=");
        if (argv[i][len] && is_begin_of(NAME_KEY, argv[i], len)) {
            r->set.name = argv[i] + len + 1;
        } else if (i == 0 && resv_is_meant(argv[i])) {
            if (how != RESV_CREATE && i + 1 < argc && !strchr(argv[i + 1], '='))
                r->set.name = argv[++i];
        } else if (how == RESV_DELETE) {
            return refuse_argument(argv[i], "delete takes a name and no more");
        } else if (set_one(r, argv[i]) < 0) {
            return -1;
        }
    }
    if (how != RESV_CREATE && !*r->set.name)
        return refuse_argument(ENTITY, "which? ReservationName=NAME");
    if (how == RESV_CHANGE && !r->changes) {
        cmd_line("No changes specified");
        return -1;
    }
    return check_users(r->set.users);
}

static int send_delete(struct request *r)
{
    Pb__ResvDelete m = PB__RESV_DELETE__INIT;
    struct err err = {0};
    m.name = r->set.name;
    if (cmd_call(RPC_RESV_DELETE, &m.base, NULL, &err) == 0)
        return 0;
    cmd_line("slurm_delete_reservation error: %s", err.text);
    return 1;
}

static int send_request(struct request *r, enum resv_how how)
{
    Pb__ResvReply *reply = NULL;
    struct err err = {0};
    if (how == RESV_DELETE)
        return send_delete(r);
    r->update.set = &r->set;
    r->update.has_create = r->update.create = how == RESV_CREATE;
    r->update.add = r->add.len ? (char *)str_cstr(&r->add) : NULL;
    r->update.take = r->take.len ? (char *)str_cstr(&r->take) : NULL;
    if (cmd_call(RPC_RESV_UPDATE, &r->update.base, &reply, &err) < 0) {
        cmd_line("Error %s the reservation: %s", how == RESV_CREATE ? "creating" : "updating",
                 err.text);
        return 1;
    }
    if (how == RESV_CREATE)
        str_printf(cmd_out(), "Reservation created: %s\n", reply->name);
    else
        str_puts(cmd_out(), "Reservation updated.\n");
    return 0;
}

int resv_command(int argc, char **argv, enum resv_how how)
{
    struct request r = {.update = PB__RESV_UPDATE__INIT, .set = PB__RESV_RECORD__INIT};
    arena_init(&r.arena, 0);
    r.set.name = (char *)"";
    int status = read_arguments(&r, argc, argv, how) < 0 ? 1 : send_request(&r, how);
    str_done(&r.given);
    str_done(&r.edited);
    str_done(&r.add);
    str_done(&r.take);
    str_done(&r.cores);
    str_done(&r.licenses);
    str_done(&r.gres);
    str_done(&r.gres_per_node);
    arena_done(&r.arena);
    return status;
}
