/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/node_state.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/size.h"

/* Flags rank in listings as Slurm's state numbers do. */
#define RANK_MAINT 0x100
#define RANK_DRAIN 0x200
#define RANK_COMPLETING 0x400
#define RANK_NO_RESPOND 0x800
#define RANK_FAIL 0x2000
#define RANK_REBOOT_REQUESTED 0x10000
#define RANK_REBOOT_ISSUED 0x40000
#define RANK_BLOCKED 0x80000
#define RANK_PLANNED 0x200000

static const char *const bases[] = {
    [PB__NODE_BASE__NODE_UNKNOWN] = "UNKNOWN", [PB__NODE_BASE__NODE_DOWN] = "DOWN",
    [PB__NODE_BASE__NODE_IDLE] = "IDLE",       [PB__NODE_BASE__NODE_ALLOCATED] = "ALLOCATED",
    [PB__NODE_BASE__NODE_MIXED] = "MIXED",     [PB__NODE_BASE__NODE_FUTURE] = "FUTURE",
    [PB__NODE_BASE__NODE_ERROR] = "ERROR",
};

const char *node_state_active_features(const Pb__NodeRecord *node)
{
    const char *active = node->active_features ? node->active_features : node->features;
    return active && *active ? active : NULL;
}

const char *node_state_base(const Pb__NodeRecord *n)
{
    return n->state < sizeof(bases) / sizeof(bases[0]) ? bases[n->state] : "UNKNOWN";
}

bool node_state_is_allocated(const Pb__NodeRecord *n)
{
    return n->state == PB__NODE_BASE__NODE_ALLOCATED || n->state == PB__NODE_BASE__NODE_MIXED;
}

bool node_state_is_usable(const Pb__NodeRecord *n)
{
    return !n->drain && (n->state == PB__NODE_BASE__NODE_IDLE || node_state_is_allocated(n));
}

/* Any other state than this hides "maint" and the words below it. */
static bool is_plainly_idle(const Pb__NodeRecord *n)
{
    return !n->drain && !n->fail && !n->completing && n->state == PB__NODE_BASE__NODE_IDLE;
}

static bool is_maint(const Pb__NodeRecord *n)
{
    return n->maint && is_plainly_idle(n);
}

/* A node that does not respond is "idle*" instead. */
static bool is_reserved(const Pb__NodeRecord *n)
{
    return n->reserved && !n->no_respond && is_plainly_idle(n);
}

/* Nothing starts on the node, because a job on other nodes has the block or switch exclusively. */
static bool is_blocked(const Pb__NodeRecord *n)
{
    return n->blocked && is_plainly_idle(n);
}

static bool is_planned(const Pb__NodeRecord *n)
{
    return n->planned && is_plainly_idle(n);
}

/* The word of the state stays, followed by "-". */
static bool is_planned_mixed(const Pb__NodeRecord *n)
{
    return n->planned && !n->completing && n->state == PB__NODE_BASE__NODE_MIXED;
}

static bool is_busy(const Pb__NodeRecord *n)
{
    return node_state_is_allocated(n) || n->completing;
}

/* As in Slurm, a failing node is allocated as a whole or completing. Mixed nodes are not. */
static bool is_failing(const Pb__NodeRecord *n)
{
    return n->state == PB__NODE_BASE__NODE_ALLOCATED || n->completing;
}

/* Gets the long and the short word for the state. */
static void get_state_words(const Pb__NodeRecord *n, const char **full, const char **brief)
{
    if (is_maint(n)) {
        *full = *brief = "maint";
    } else if (is_reserved(n)) {
        *full = "reserved";
        *brief = "resv";
    } else if (is_blocked(n)) {
        *full = "blocked";
        *brief = "block";
    } else if (is_planned(n)) {
        *full = "planned";
        *brief = "plnd";
    } else if (n->drain) {
        *full = is_busy(n) ? "draining" : "drained";
        *brief = is_busy(n) ? "drng" : "drain";
    } else if (n->fail) {
        *full = is_failing(n) ? "failing" : "fail";
        *brief = is_failing(n) ? "failg" : "fail";
    } else if (n->completing &&
               (n->state == PB__NODE_BASE__NODE_IDLE || n->state == PB__NODE_BASE__NODE_MIXED)) {
        *full = "completing";
        *brief = "comp";
    } else {
        switch (n->state) {
        case PB__NODE_BASE__NODE_DOWN:
            *full = *brief = "down";
            break;
        case PB__NODE_BASE__NODE_IDLE:
            *full = *brief = "idle";
            break;
        case PB__NODE_BASE__NODE_ALLOCATED:
            *full = n->completing && !n->maint ? "allocated+" : "allocated";
            *brief = n->completing && !n->maint ? "alloc+" : "alloc";
            break;
        case PB__NODE_BASE__NODE_MIXED:
            *full = "mixed";
            *brief = "mix";
            break;
        case PB__NODE_BASE__NODE_FUTURE:
            *full = "future";
            *brief = "futr";
            break;
        case PB__NODE_BASE__NODE_ERROR:
            *full = "error";
            *brief = "err";
            break;
        default:
            *full = "unknown";
            *brief = "unk";
            break;
        }
    }
}

/* As in Slurm, "$" of a reservation for maintenance hides the other suffixes, unless the word of
 * the state is "maint". */
static const char *suffix_of(const Pb__NodeRecord *n)
{
    if (n->maint && !is_maint(n))
        return "$";
    if (n->reboot_issued || n->reboot_requested)
        return n->reboot_issued ? "^" : "@";
    return n->no_respond ? "*" : is_planned_mixed(n) ? "-" : "";
}

void node_state_put_long(const Pb__NodeRecord *n, struct str *out)
{
    const char *full, *brief;
    get_state_words(n, &full, &brief);
    str_printf(out, "%s%s", full, suffix_of(n));
}

void node_state_put_short(const Pb__NodeRecord *n, struct str *out)
{
    const char *full, *brief;
    get_state_words(n, &full, &brief);
    str_printf(out, "%s%s", brief, suffix_of(n));
}

void node_state_put_flags(const Pb__NodeRecord *n, struct str *out)
{
    str_puts(out, node_state_base(n));
    if (n->cloud)
        str_puts(out, "+CLOUD");
    if (n->dynamic)
        str_puts(out, "+DYNAMIC_NORM");
    if (n->blocked)
        str_puts(out, "+BLOCKED");
    if (n->completing)
        str_puts(out, "+COMPLETING");
    if (n->drain)
        str_puts(out, "+DRAIN");
    if (n->fail)
        str_puts(out, "+FAIL");
    if (n->maint)
        str_puts(out, "+MAINTENANCE");
    if (n->maint || n->reserved)
        str_puts(out, "+RESERVED");
    if (n->planned)
        str_puts(out, "+PLANNED");
    if (n->reboot_requested)
        str_puts(out, "+REBOOT_REQUESTED");
    if (n->reboot_issued)
        str_puts(out, "+REBOOT_ISSUED");
    if (n->no_respond)
        str_puts(out, "+NOT_RESPONDING");
}

int64_t node_state_rank(const Pb__NodeRecord *n)
{
    static const int order[] = {
        [PB__NODE_BASE__NODE_UNKNOWN] = 0, [PB__NODE_BASE__NODE_DOWN] = 1,
        [PB__NODE_BASE__NODE_IDLE] = 2,    [PB__NODE_BASE__NODE_ALLOCATED] = 3,
        [PB__NODE_BASE__NODE_ERROR] = 4,   [PB__NODE_BASE__NODE_MIXED] = 5,
        [PB__NODE_BASE__NODE_FUTURE] = 6,
    };
    int base = n->state < sizeof(order) / sizeof(order[0]) ? order[n->state] : 0;
    /* A flag that replaces the word of the state hides the base state. */
    if (n->drain)
        base = is_busy(n) ? 3 : 2;
    else if (n->fail)
        base = is_failing(n) ? 3 : 2;
    else if (n->completing && base != order[PB__NODE_BASE__NODE_ALLOCATED])
        base = 2;
    return base + (n->drain ? RANK_DRAIN : 0) + (n->completing && !n->drain ? RANK_COMPLETING : 0) +
           (is_maint(n) || is_reserved(n) ? RANK_MAINT : 0) +
           (n->no_respond ? RANK_NO_RESPOND : 0) + (is_blocked(n) ? RANK_BLOCKED : 0) +
           (is_planned(n) || is_planned_mixed(n) ? RANK_PLANNED : 0) +
           (n->reboot_requested ? RANK_REBOOT_REQUESTED : 0) +
           (n->reboot_issued ? RANK_REBOOT_ISSUED : 0) + (n->fail && !n->drain ? RANK_FAIL : 0);
}

/* Writes the sums by name: "gpu:a100:4(S:0),nic:2" becomes ",gres/gpu=4,gres/nic=2". */
static void put_gres_tres(const char *list, struct str *out)
{
    char last[64] = "";
    uint64_t sum = 0;
    for (const char *at = list ? list : "";;) {
        size_t len = strcspn(at, ",("), name = strcspn(at, ":,(");
        bool same = *last && strlen(last) == name && memcmp(last, at, name) == 0;
        if (!same && *last && sum)
            str_printf(out, ",gres/%s=%llu", last, (unsigned long long)sum);
        if (!*at)
            break;
        if (!same) {
            snprintf(last, sizeof last, "%.*s", (int)name, at);
            sum = 0;
        }
        size_t number = len;
        while (number > name && at[number - 1] != ':')
            number--;
        _cleanup_free_ char *text = mem_strndup(at + number, len - number);
        uint64_t count = 1;
        if (number > name && size_parse_count(text, UINT64_MAX / 2, &count, NULL) < 0)
            count = 1;
        sum += count;
        at += len;
        if (*at == '(')
            at += strcspn(at, ")") + (strchr(at, ')') != NULL);
        at += *at == ',';
    }
}

void node_state_put_tres(const Pb__NodeRecord *n, bool in_use, struct str *out)
{
    uint32_t cpus = in_use ? n->alloc_cpus : n->cpus;
    uint64_t mib = in_use ? n->alloc_mem_mib : n->real_memory_mib - n->mem_spec_mib;
    char size[SIZE_TEXT_MAX];
    if (in_use && !cpus)
        return;
    str_printf(out, "cpu=%u", cpus);
    if (mib || !in_use)
        str_printf(out, ",mem=%s", size_format_mib(mib, size));
    if (!in_use)
        str_printf(out, ",billing=%u", cpus);
    put_gres_tres(in_use ? n->gres_used : n->gres, out);
}

void node_state_put_spec_cpus(const Pb__NodeRecord *n, struct str *out)
{
    if (n->spec_list)
        str_puts(out, n->spec_list);
    else if (n->spec_cpus > 1)
        str_printf(out, "%u-%u", n->cpus - n->spec_cpus, n->cpus - 1);
    else if (n->spec_cpus)
        str_printf(out, "%u", n->cpus - 1);
}

enum wanted {
    WANT_ALL = 1 << 0,
    WANT_DOWN = 1 << 1,
    WANT_IDLE = 1 << 2,
    WANT_ALLOC = 1 << 3,
    WANT_MIXED = 1 << 4,
    WANT_DRAIN = 1 << 5,
    WANT_DRAINED = 1 << 6,
    WANT_DRAINING = 1 << 7,
    WANT_COMPLETING = 1 << 8,
    WANT_NO_RESPOND = 1 << 9,
    WANT_FAIL = 1 << 10,
    WANT_FUTURE = 1 << 11,
    WANT_UNKNOWN = 1 << 12,
    WANT_ERROR = 1 << 13,
    WANT_MAINT = 1 << 15,
    WANT_RESERVED = 1 << 16,
    WANT_CLOUD = 1 << 17,
    WANT_REBOOT_REQUESTED = 1 << 18,
    WANT_REBOOT_ISSUED = 1 << 19,
    WANT_BLOCKED = 1 << 20,
    WANT_PLANNED = 1 << 21,
    WANT_NOTHING = 1 << 14, /* states that nodes never have in Sluice */
};

static const struct {
    const char *word;
    uint32_t want;
} state_words[] = {
    {"all", WANT_ALL},
    {"alloc", WANT_ALLOC},
    {"allocated", WANT_ALLOC},
    {"block", WANT_BLOCKED},
    {"blocked", WANT_BLOCKED},
    {"cloud", WANT_CLOUD},
    {"comp", WANT_COMPLETING},
    {"completing", WANT_COMPLETING},
    {"down", WANT_DOWN},
    {"drain", WANT_DRAIN},
    {"drained", WANT_DRAINED},
    {"draining", WANT_DRAINING},
    {"drng", WANT_DRAINING},
    {"err", WANT_ERROR},
    {"error", WANT_ERROR},
    {"fail", WANT_FAIL},
    {"failing", WANT_FAIL},
    {"future", WANT_FUTURE},
    {"futr", WANT_FUTURE},
    {"idle", WANT_IDLE},
    {"inval", WANT_NOTHING},
    {"maint", WANT_MAINT},
    {"mix", WANT_MIXED},
    {"mixed", WANT_MIXED},
    {"no_respond", WANT_NO_RESPOND},
    {"npc", WANT_NOTHING},
    {"perfctrs", WANT_NOTHING},
    {"planned", WANT_PLANNED},
    {"plnd", WANT_PLANNED},
    {"power_down", WANT_NOTHING},
    {"powered_down", WANT_NOTHING},
    {"powering_down", WANT_NOTHING},
    {"powering_up", WANT_NOTHING},
    {"power_up", WANT_NOTHING},
    {"reboot", WANT_REBOOT_REQUESTED | WANT_REBOOT_ISSUED},
    {"reboot_issued", WANT_REBOOT_ISSUED},
    {"reboot_requested", WANT_REBOOT_REQUESTED},
    {"resv", WANT_RESERVED},
    {"reserved", WANT_RESERVED},
    {"run", WANT_ALLOC},
    {"unk", WANT_UNKNOWN},
    {"unknown", WANT_UNKNOWN},
};

int node_states_parse(const char *list, struct node_states *states, struct err *err)
{
    for (const char *s = list; *s;) {
        size_t len = strcspn(s, ",&+"), i = 0;
        _cleanup_free_ char *copy = mem_strndup(s, len);
        char *word = str_trim(copy);
        bool negated = *word == '~';
        for (; i < sizeof(state_words) / sizeof(state_words[0]); i++)
            if (str_case_eq(word + negated, state_words[i].word))
                break;
        if (i == sizeof(state_words) / sizeof(state_words[0])) {
            _cleanup_str_ struct str known = STR_INIT;
            for (size_t k = 0; k < i; k++)
                str_printf(&known, "%s%s", k ? "," : "", state_words[k].word);
            return err_set(err, -ERR_PARSE, "Bad state string: \"%s\"\nvalid states: %s", word,
                           str_cstr(&known));
        }
        *(negated ? &states->unwanted : &states->wanted) |= state_words[i].want;
        states->all_of = states->all_of || s[len] == '&' || s[len] == '+';
        s += len + (s[len] != 0);
    }
    return 0;
}

/* Words match as in Slurm. Base states match despite flags, so that a drained node may be idle too.
 * A mixed node matches "allocated", and "mixed" unless it is drained. */
bool node_states_match(const struct node_states *states, const Pb__NodeRecord *n)
{
    uint32_t is = WANT_ALL;
    is |= n->completing ? WANT_COMPLETING : 0;
    is |= n->no_respond ? WANT_NO_RESPOND : 0;
    is |= n->fail ? WANT_FAIL : 0;
    is |= n->reboot_requested ? WANT_REBOOT_REQUESTED : 0;
    is |= n->reboot_issued ? WANT_REBOOT_ISSUED : 0;
    is |= n->maint ? WANT_MAINT : 0;
    is |= n->blocked ? WANT_BLOCKED : 0;
    is |= n->planned ? WANT_PLANNED : 0;
    is |= n->reserved || n->maint ? WANT_RESERVED : 0;
    is |= n->cloud ? WANT_CLOUD : 0;
    is |= n->drain ? WANT_DRAIN : 0;
    is |= n->drain ? (node_state_is_allocated(n) ? WANT_DRAINING : WANT_DRAINED) : 0;
    switch (n->state) {
    case PB__NODE_BASE__NODE_DOWN:
        is |= WANT_DOWN;
        break;
    case PB__NODE_BASE__NODE_IDLE:
        is |= WANT_IDLE;
        break;
    case PB__NODE_BASE__NODE_ALLOCATED:
        is |= WANT_ALLOC;
        break;
    case PB__NODE_BASE__NODE_MIXED:
        is |= WANT_ALLOC | (n->drain ? 0 : WANT_MIXED);
        break;
    case PB__NODE_BASE__NODE_FUTURE:
        is |= WANT_FUTURE;
        break;
    case PB__NODE_BASE__NODE_ERROR:
        is |= WANT_ERROR;
        break;
    default:
        is |= WANT_UNKNOWN;
        break;
    }
    if (states->all_of)
        return (states->wanted & is) == states->wanted && !(states->unwanted & is);
    return states->wanted & is || states->unwanted & ~is;
}
