/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/node/constraint.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"

#define DEPTH_MAX 16 /* nesting of parentheses */
#define DIGITS_MAX 9 /* digits of a count */
/* Counts outside of brackets, where a node may serve several of them. */
#define FREE_COUNTS_MAX 2
#define SHOWN_MAX 200 /* bytes of an expression in messages */
#define SPECIAL "&|,[]()*"

enum op_kind { OP_NAME, OP_AND, OP_OR, OP_ANY, OP_PICK, OP_COUNTED };

/* An operation of a postfix program over a stack of truth values. */
struct op {
    enum op_kind kind; /* ANY: true; PICK: the selected alternative; COUNTED: one of the counts */
    const char *name;
    size_t len;
};

struct part_of { /* a part of the expression, separate from the program */
    VEC(struct op) ops;
    uint32_t nodes; /* its count; 0: none */
};

struct constraint {
    uint32_t holders;
    char *text;
    VEC(struct op) ops;
    VEC(struct part_of) parts; /* the alternatives in brackets, or the counts outside of brackets */
    bool counts, brackets;     /* the parts have counts; the parts are in brackets */
};

void constraint_free(struct constraint *con)
{
    if (!con || --con->holders > 0)
        return;
    vec_foreach (&con->parts, p)
        vec_done(&p->ops);
    vec_done(&con->parts);
    vec_done(&con->ops);
    free(con->text);
    free(con);
}

struct constraint *constraint_share(struct constraint *con)
{
    if (con)
        con->holders++;
    return con;
}

/* --- parser ------------------------------------------------------------------------------------
 */

struct reader {
    struct constraint *con;
    const char *option, *at;
    struct part_of *to; /* receives the operations; NULL: the program */
    size_t names;
    bool ored; /* a | occurs outside of brackets and parentheses */
    struct err *err;
};

static int refuse_constraint(struct reader *r, const char *why)
{
    const char *text = r->con->text;
    int shown = strlen(text) > SHOWN_MAX ? SHOWN_MAX : (int)strlen(text);
    return err_set(r->err, -ERR_FEATURE, "%s: %s%.*s: %s", err_text(ERR_FEATURE), r->option, shown,
                   text, why);
}

static void emit_op(struct reader *r, struct op op)
{
    if (r->to)
        vec_push(&r->to->ops, op);
    else
        vec_push(&r->con->ops, op);
}

static int read_name(struct reader *r)
{
    size_t len = strcspn(r->at, SPECIAL);
    if (len == 0)
        return refuse_constraint(
            r, *r->at == ']' || *r->at == ')' ? "a closing bracket without its beginning, "
                                                "or nothing before it"
               : *r->at == '['                ? "one group [ ] only, and not inside another or ( )"
                               : "a name is missing where & | or * stand, or at the end");
    if (++r->names > CONSTRAINT_NAMES_MAX)
        return refuse_constraint(r, "more than 64 names");
    emit_op(r, (struct op){OP_NAME, r->at, len});
    r->at += len;
    return 0;
}

static int read_joined(struct reader *r, unsigned depth);

/* Parses a name, or an expression in parentheses. */
static int read_operand(struct reader *r, unsigned depth)
{
    if (*r->at != '(')
        return read_name(r);
    if (depth == DEPTH_MAX)
        return refuse_constraint(r, "more than 16 levels of parentheses");
    r->at++;
    int rc = read_joined(r, depth + 1);
    if (rc == 0 && *r->at != ')')
        return refuse_constraint(r, *r->at == '*'
                                        ? "a count inside parentheses: it belongs behind them"
                                        : "a parenthesis is not closed");
    r->at++;
    return rc;
}

static bool is_and(char c)
{
    return c == '&' || c == ',';
}

/* Parses an expression in parentheses. */
static int read_joined(struct reader *r, unsigned depth)
{
    int rc = read_operand(r, depth);
    while (rc == 0 && (is_and(*r->at) || *r->at == '|')) {
        enum op_kind kind = *r->at == '|' ? OP_OR : OP_AND;
        r->at++;
        rc = read_operand(r, depth);
        emit_op(r, (struct op){.kind = kind});
    }
    return rc;
}

/* Parses "*4" behind a part, or nothing. */
static int read_count(struct reader *r, uint32_t *nodes)
{
    *nodes = 0;
    if (*r->at != '*')
        return 0;
    size_t len = strspn(++r->at, "0123456789");
    if (len > DIGITS_MAX)
        return refuse_constraint(r, "a count beyond all numbers of nodes");
    *nodes = (uint32_t)strtoul(r->at, NULL, 10);
    r->at += len;
    return *nodes && strchr("&|,[])", *r->at)
               ? 0
               : refuse_constraint(r, "* takes a number of nodes, from 1");
}

/* Parses a part of its own, which is moved out of the program. */
static int read_part(struct reader *r)
{
    vec_push(&r->con->parts, ((struct part_of){0}));
    r->to = &vec_last(&r->con->parts);
    int rc = read_operand(r, 0);
    rc = rc == 0 ? read_count(r, &r->to->nodes) : rc;
    r->to = NULL;
    return rc;
}

/* Parses "[a|b]" or "[a*2&b*4]". */
static int read_brackets(struct reader *r)
{
    struct constraint *con = r->con;
    if (con->brackets)
        return refuse_constraint(r, "one group [ ] only, and not inside another or ( )");
    if (con->parts.len)
        return refuse_constraint(r, "either [ ] or counts outside of it, not both");
    con->brackets = true;
    char join = 0;
    do {
        r->at++;
        int rc = read_part(r);
        if (rc != 0)
            return rc;
        char c = is_and(*r->at) ? '&' : *r->at;
        if (c == '[')
            return refuse_constraint(r, "one group [ ] only, and not inside another or ( )");
        if (c != ']' && join && c != join)
            return refuse_constraint(r, "inside [ ] either | or & joins; ( ) may hold the other");
        join = c == ']' ? join : c;
    } while (is_and(*r->at) || *r->at == '|');
    if (*r->at != ']')
        return refuse_constraint(r, "[ is not closed");
    r->at++;
    con->counts = vec_last(&con->parts).nodes > 0;
    vec_foreach (&con->parts, p)
        if ((p->nodes > 0) != con->counts || (join == '&' && !p->nodes))
            return refuse_constraint(r, "inside [ ] & joins counts of nodes: [a*1&b*2]");
    if (join == '|' && con->counts)
        return refuse_constraint(r, "inside [ ] a count goes with &, not with |");
    if (con->counts && con->parts.len > CONSTRAINT_COUNTS_MAX)
        return refuse_constraint(r, "more than 8 counts of nodes");
    emit_op(r, (struct op){.kind = con->counts ? OP_COUNTED : OP_PICK});
    return 0;
}

/* Parses an operand outside of brackets and parentheses: its operations go into the program, unless
 * it has a count. */
static int read_outer(struct reader *r)
{
    struct constraint *con = r->con;
    if (*r->at == '[')
        return read_brackets(r);
    int rc = read_part(r);
    if (rc != 0)
        return rc;
    struct part_of *part = &vec_last(&con->parts);
    if (!part->nodes) {
        vec_foreach (&part->ops, op)
            emit_op(r, *op);
        vec_done(&part->ops);
        con->parts.len--;
        return 0;
    }
    if (con->brackets)
        return refuse_constraint(r, "either [ ] or counts outside of it, not both");
    if (con->parts.len > FREE_COUNTS_MAX)
        return refuse_constraint(r, "more than two counts of nodes outside of [ ]");
    con->counts = true;
    emit_op(r, (struct op){.kind = OP_ANY});
    return 0;
}

static int read_constraint(struct reader *r)
{
    int rc = read_outer(r);
    while (rc == 0 && *r->at) {
        if (!is_and(*r->at) && *r->at != '|')
            return refuse_constraint(r, *r->at == '[' || *r->at == '('
                                            ? "& or | is missing before a bracket"
                                            : "a closing bracket without its "
                                              "beginning, or & or | is missing");
        enum op_kind kind = *r->at == '|' ? OP_OR : OP_AND;
        r->ored = r->ored || kind == OP_OR;
        r->at++;
        rc = read_outer(r);
        emit_op(r, (struct op){.kind = kind});
    }
    if (rc == 0 && r->ored && r->con->counts)
        return refuse_constraint(r, "what has a count is joined by & to the rest");
    return rc;
}

int constraint_parse(const char *expr, const char *option, struct constraint **out, struct err *err)
{
    struct constraint *con = mem_new(struct constraint);
    con->holders = 1;
    con->text = mem_strdup(expr);
    struct reader r = {.con = con, .option = option, .at = con->text, .err = err};
    int rc = read_constraint(&r);
    if (rc == 0)
        *out = con;
    else
        constraint_free(con);
    return rc;
}

/* --- evaluation --------------------------------------------------------------------------------
 */

static bool has_counted(const struct constraint *con, const char *features)
{
    return constraint_counted(con, features) != 0;
}

static bool evaluate_ops(const struct constraint *con, const struct op *ops, size_t n,
                         const char *features, uint32_t which)
{
    bool stack[CONSTRAINT_NAMES_MAX + 1] = {false};
    size_t top = 0;
    for (const struct op *op = ops; op < ops + n; op++) {
        if (op->kind == OP_AND || op->kind == OP_OR) {
            assert(top >= 2);
            bool b = stack[--top], a = stack[top - 1];
            stack[top - 1] = op->kind == OP_AND ? a && b : a || b;
            continue;
        }
        const struct part_of *pick = op->kind == OP_PICK ? &con->parts.data[which] : NULL;
        stack[top++] = op->kind == OP_NAME ? node_features_have(features, op->name, op->len)
                       : pick ? evaluate_ops(con, pick->ops.data, pick->ops.len, features, 0)
                              : op->kind == OP_ANY || has_counted(con, features);
    }
    return stack[0];
}

uint32_t constraint_alternatives(const struct constraint *con)
{
    return con && con->brackets && !con->counts ? (uint32_t)con->parts.len : 1;
}

bool constraint_match(const struct constraint *con, const char *features, uint32_t which)
{
    return !con || evaluate_ops(con, con->ops.data, con->ops.len, features, which);
}

bool constraint_match_any(const struct constraint *con, const char *features)
{
    for (uint32_t i = 0; i < constraint_alternatives(con); i++)
        if (constraint_match(con, features, i))
            return true;
    return false;
}

uint32_t constraint_counts(const struct constraint *con)
{
    return con && con->counts ? (uint32_t)con->parts.len : 0;
}

uint32_t constraint_count(const struct constraint *con, uint32_t number)
{
    return con->parts.data[number].nodes;
}

uint8_t constraint_counted(const struct constraint *con, const char *features)
{
    uint8_t mask = 0;
    for (uint32_t i = 0; i < constraint_counts(con); i++) {
        const struct part_of *p = &con->parts.data[i];
        assert(p);
        if (evaluate_ops(con, p->ops.data, p->ops.len, features, 0))
            mask |= (uint8_t)(1u << i);
    }
    return mask;
}

bool constraint_counts_apart(const struct constraint *con)
{
    return con && con->counts && con->brackets;
}

uint32_t constraint_least_nodes(const struct constraint *con)
{
    uint64_t least = 0;
    for (uint32_t i = 0; i < constraint_counts(con); i++) {
        uint32_t nodes = con->parts.data[i].nodes;
        least = con->brackets ? least + nodes : nodes > least ? nodes : least;
    }
    return least > UINT32_MAX ? UINT32_MAX : (uint32_t)least;
}

static bool is_active(const struct cluster *c, const struct op *op)
{
    vec_foreach (&c->pool.kinds, k)
        if (node_features_have(k->features, op->name, op->len))
            return true;
    return false;
}

static bool is_available(const struct cluster *c, const struct op *op)
{
    vec_foreach (&c->nodes, n)
        if ((*n)->active && node_features_have((*n)->features, op->name, op->len))
            return true;
    return false;
}

static int check_names(const struct cluster *c, const struct op *ops, size_t n, struct err *err)
{
    for (const struct op *op = ops; op < ops + n; op++)
        if (op->kind == OP_NAME && !is_active(c, op))
            return err_set(err, -ERR_FEATURE, "%s: %.*s: no node has this feature%s",
                           err_text(ERR_FEATURE), op->len > SHOWN_MAX ? SHOWN_MAX : (int)op->len,
                           op->name, is_available(c, op) ? " active" : "");
    return 0;
}

int constraint_check(const struct cluster *c, const struct constraint *con, struct err *err)
{
    int rc = con ? check_names(c, con->ops.data, con->ops.len, err) : 0;
    for (size_t i = 0; con && i < con->parts.len && rc == 0; i++)
        rc = check_names(c, con->parts.data[i].ops.data, con->parts.data[i].ops.len, err);
    return rc;
}

/* --- of one node -------------------------------------------------------------------------------
 */

static bool has_name(const struct op *ops, size_t count, const struct op *name)
{
    for (size_t i = 0; i < count; i++)
        if (ops[i].kind == OP_NAME && ops[i].len == name->len &&
            strncmp(ops[i].name, name->name, name->len) == 0)
            return true;
    return false;
}

static bool has_feature(const struct constraint *con, const struct op *name)
{
    if (!con)
        return false;
    bool found = has_name(con->ops.data, con->ops.len, name);
    vec_foreach (&con->parts, p)
        found = found || has_name(p->ops.data, p->ops.len, name);
    return found;
}

int constraint_check_host(const struct constraint *con, const struct constraint *all,
                          struct err *err)
{
    if (con->counts || con->brackets)
        return err_set(err, -ERR_FEATURE,
                       "%s: --batch=%.*s: it is about one node: no counts and no [ ]",
                       err_text(ERR_FEATURE), SHOWN_MAX, con->text);
    vec_foreach (&con->ops, op)
        if (op->kind == OP_NAME && !has_feature(all, op))
            return err_set(err, -ERR_FEATURE,
                           "%s: --batch=%.*s: %.*s is not among the features of --constraint",
                           err_text(ERR_FEATURE), SHOWN_MAX, con->text,
                           op->len > SHOWN_MAX ? SHOWN_MAX : (int)op->len, op->name);
    return 0;
}
