/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conf/conf_license.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "conf/conf.h"
#include "conf/conf_hres.h"

#define COUNT_MAX_TEXT "1000000000"
static_assert(CONF_LICENSE_COUNT_MAX == 1000000000, "as the text says");
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@/"

void conf_licenses_done(struct conf_licenses *l)
{
    vec_foreach (&l->list, one) {
        free(one->name);
        free(one->variable);
        free(one->nodes);
    }
    vec_done(&l->list);
}

static void add_count(struct conf_licenses *l, struct conf_license *new)
{
    vec_foreach (&l->list, one) {
        if (strcmp(one->name, new->name) != 0)
            continue;
        uint64_t sum = (uint64_t)one->count + new->count;
        one->count = sum < CONF_LICENSE_COUNT_MAX ? (uint32_t)sum : CONF_LICENSE_COUNT_MAX;
        free(new->name);
        return;
    }
    vec_push(&l->list, *new);
}

/* Parses the text after the name. False: neither a count nor a variable. */
static bool read_count(const char *text, bool may_be_variable, struct conf_license *one)
{
    long long count;
    if (str_parse_i64(text, 1, CONF_LICENSE_COUNT_MAX, &count) == 0) {
        one->count = (uint32_t)count;
        return true;
    }
    if (!may_be_variable || !conf_hres_is_name(text) || !text[strspn(text, "0123456789")])
        return false;
    one->variable = mem_strdup(text);
    return true;
}

static bool read_one(struct conf_licenses *l, char *word, bool item)
{
    struct conf_license one = {.count = 1};
    size_t len = strspn(word, NAME_CHARS);
    char *rest = word + len, *end = item && *rest == '(' ? strchr(rest, ')') : NULL;
    if (end) {
        one.nodes = mem_strndup(rest + 1, (size_t)(end - rest - 1));
        rest = end + 1;
    }
    if (!len || (*rest && *rest != ':') || (*rest && !read_count(rest + 1, item, &one))) {
        free(one.nodes);
        return false;
    }
    one.name = mem_strndup(word, len);
    if (item)
        vec_push(&l->list, one);
    else
        add_count(l, &one);
    return true;
}

/* Whether the word is NAME:COUNT or NAME(NODES):COUNT, with a number that is not counted. */
static bool has_excessive_count(const char *word)
{
    size_t len = strspn(word, NAME_CHARS);
    const char *nodes_end = word[len] == '(' ? strchr(word, ')') : NULL,
               *colon = nodes_end ? nodes_end + 1 : word + len, *count = colon + (*colon == ':'),
               *digits = count + (*count == '-');
    long long number;
    return len && count > colon && *digits && !digits[strspn(digits, "0123456789")] &&
           str_parse_i64(count, 1, CONF_LICENSE_COUNT_MAX, &number) != 0;
}

/* Returns the length up to the next comma or | outside of parentheses. */
static size_t item_length(const char *s)
{
    size_t len = 0;
    for (int depth = 0; s[len] && (depth > 0 || !strchr(",|", s[len])); len++)
        depth += s[len] == '(' || s[len] == '[' ? 1 : s[len] == ')' || s[len] == ']' ? -1 : 0;
    return len;
}

static int refuse_list(struct conf_licenses *out, struct err *err, const char *what, const char *of)
{
    conf_licenses_done(out);
    *out = (struct conf_licenses){0};
    return err_set(err, -ERR_LICENSE, "%s: \"%.80s\" %s", err_text(ERR_LICENSE), of, what);
}

static int parse_list(const char *text, bool item, struct conf_licenses *out, struct err *err)
{
    char between = '\0';
    *out = (struct conf_licenses){0};
    if (!item && text && strchr(text, '|'))
        return refuse_list(out, err, "has a |, which is for the requests of jobs", text);
    for (const char *s = text; s && *s;) {
        size_t len = item ? item_length(s) : strcspn(s, ",");
        _cleanup_free_ char *word = mem_strndup(s, len);
        bool is_last = !s[len];
        if (has_excessive_count(str_trim(word)))
            return refuse_list(out, err, "has a count outside 1 to " COUNT_MAX_TEXT,
                               str_trim(word));
        if (!read_one(out, str_trim(word), item) || (!is_last && !s[len + 1]))
            return refuse_list(out, err, "is not NAME or NAME:COUNT", is_last ? word : text);
        if (!is_last && between && s[len] != between)
            return refuse_list(out, err,
                               "has both a comma, for licenses that are all needed, and a |, for "
                               "alternatives",
                               text);
        between = s[len];
        out->any = out->any || between == '|';
        s += len + !is_last;
    }
    return 0;
}

int conf_licenses_parse(const char *text, struct conf_licenses *out, struct err *err)
{
    return parse_list(text, false, out, err);
}

int conf_license_items_parse(const char *text, struct conf_licenses *out, struct err *err)
{
    return parse_list(text, true, out, err);
}

bool conf_license_names_nodes(const char *text)
{
    return strchr(text, '(') != NULL;
}

bool conf_license_is_known(const struct conf *c, const char *name)
{
    struct conf_licenses all;
    bool found = false;
    if (conf_licenses_parse(c->licenses, &all, NULL) == 0)
        vec_foreach (&all.list, license)
            found = found || strcasecmp(license->name, name) == 0;
    conf_licenses_done(&all);
    vec_foreach (&c->hres.list, resource)
        found = found || strcasecmp(resource->name, name) == 0;
    return found;
}
