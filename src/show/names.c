/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/names.h"

#include <grp.h>
#include <pwd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

struct name {
    uint32_t id;
    char *text;
};
struct names {
    VEC(struct name) list;
    size_t last; /* hit: listings name the same user many times in a row */
};
static struct names users, groups;

static const char *find_name(struct names *n, uint32_t id)
{
    if (n->last < n->list.len && n->list.data[n->last].id == id)
        return n->list.data[n->last].text;
    for (size_t i = 0; i < n->list.len; i++) {
        if (n->list.data[i].id == id) {
            n->last = i;
            return n->list.data[i].text;
        }
    }
    return NULL;
}

static const char *add_name(struct names *n, uint32_t id, const char *text)
{
    struct name name = {id, text ? mem_strdup(text) : mem_printf("%u", id)};
    n->last = n->list.len;
    vec_push(&n->list, name);
    return name.text;
}

const char *names_user(uint32_t uid)
{
    const char *known = find_name(&users, uid);
    if (known)
        return known;
    struct passwd *pw = getpwuid(uid);
    return add_name(&users, uid, pw ? pw->pw_name : NULL);
}

const char *names_group(uint32_t gid)
{
    const char *known = find_name(&groups, gid);
    if (known)
        return known;
    struct group *gr = getgrgid(gid);
    return add_name(&groups, gid, gr ? gr->gr_name : NULL);
}

int names_find_user(const char *name, uint32_t *uid)
{
    struct passwd *pw = getpwnam(name);
    long long number;
    if (pw)
        *uid = pw->pw_uid;
    else if (str_parse_i64(name, 0, UINT32_MAX - 1, &number) == 0)
        *uid = (uint32_t)number;
    else
        return -1;
    return 0;
}
