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
#define LEAST 3 /* letters of an abbreviation */

struct request {
    Pb__ResvUpdate update;
    Pb__ResvRecord set;
    struct arena arena;
    struct str add, take, cores;
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

/* "4", "2k", "2k,2k" */
static int set_node_count(struct request *r, const char *value)
{
    uint64_t sum = 0;
    words_foreach (value, w) {
        _cleanup_free_ char *word = word_dup(w);
        uint64_t n;
        if (size_parse_count(word, INT32_MAX, &n, NULL) < 0 || n == 0 || sum + n > INT32_MAX)
            return refuse_argument(value, "not a number of nodes");
        sum += n;
    }
    if (!sum)
        return refuse_argument(value, "not a number of nodes");
    r->set.has_node_count = true;
    r->set.node_count = (uint32_t)sum;
    return 0;
}

/* "cpu=2,2,1,node=4,license/iop1=2": numbers without a name belong to the one before. */
static int set_tres(struct request *r, const char *value)
{
    struct str licenses = STR_INIT;
    bool of_cpu = false;
    int rc = 0;
    for (const char *s = value; *s && rc == 0;) {
        size_t len = strcspn(s, ","), name = strcspn(s, ",=");
        _cleanup_free_ char *number =
            mem_strndup(s + name + (name < len), len - name - (name < len));
        _cleanup_free_ char *word = mem_strndup(s, len);
        bool cpu = name < len && name == 3 && strncasecmp(s, "cpu", 3) == 0;
        if (cpu || (name == len && of_cpu)) {
            str_printf(&r->cores, "%s%s", r->cores.len ? "," : "", cpu ? number : word);
        } else if (name < len && name == 4 && strncasecmp(s, "node", 4) == 0) {
            rc = set_node_count(r, number);
        } else if (name < len && name > 8 && strncasecmp(s, "license/", 8) == 0) {
            str_printf(&licenses, "%s%.*s:%s", licenses.len ? "," : "", (int)(name - 8), s + 8,
                       number);
        } else {
            rc = refuse_argument(
                word, "TRES of a reservation are cpu, node and license/NAME: for memory, GRES and "
                      "burst buffers reserve the nodes that have them (Nodes=, Features=)");
        }
        of_cpu = cpu || (of_cpu && name == len);
        s += len + (s[len] == ',');
    }
    if (r->cores.len)
        r->set.core_count = (char *)str_cstr(&r->cores);
    if (licenses.len)
        r->set.licenses = arena_strdup(&r->arena, str_cstr(&licenses));
    str_done(&licenses);
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

/* "Users+=a": which field it is. */
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
    return refuse_argument(arg, "only lists and Duration can be added to or taken from");
}

static int set_one(struct request *r, const char *arg)
{
    struct err err = {0};
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
        return set_tres(r, value);
    const struct field *f = field_find(fields_resv, arg, key);
    if (!f)
        return refuse_argument(arg, "Update of this parameter is not supported");
    if (sign && set_sign(r, arg, f, sign) < 0)
        return -1;
    if (field_set(f, value, &r->set, &r->arena, &err) < 0)
        return refuse_argument(err.text, NULL);
    return 0;
}

/* Every name is somebody's. */
static int check_users(const char *list)
{
    words_foreach (list, w) {
        size_t skip = *w.at == '-';
        _cleanup_free_ char *name = mem_strndup(w.at + skip, w.len - (w.len ? skip : 0));
        uint32_t uid;
        if (w.len && names_find_user(name, &uid) < 0) {
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
    str_done(&r.add);
    str_done(&r.take);
    str_done(&r.cores);
    arena_done(&r.arena);
    return status;
}
