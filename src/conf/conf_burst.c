/* SPDX-License-Identifier: GPL-3.0-or-later */
/* burst_buffer.conf, beside slurm.conf. */
#include <ctype.h>
#include <pwd.h>
#include <string.h>
#include <strings.h>

#include "conf/conf_burst_file.h"
#include "conf/conf_internal.h"

#define DIRECTIVE_MAX 32
#define SEPARATORS ",:" /* the manual uses commas for AllowUsers, and colons for DenyUsers */

static const struct {
    const char *word;
    unsigned flag;
} flags[] = {
    {"DisablePersistent", CONF_BURST_DISABLE_PERSISTENT}, {"EmulateCray", CONF_BURST_EMULATE_CRAY},
    {"EnablePersistent", CONF_BURST_ENABLE_PERSISTENT},   {"PrivateData", CONF_BURST_PRIVATE_DATA},
    {"TeardownFailure", CONF_BURST_TEARDOWN_FAILURE},
};
#define FLAGS (sizeof(flags) / sizeof(flags[0]))

bool conf_burst_may_use(const struct conf_burst *b, uid_t uid)
{
    bool named = false;

    for (size_t i = 0; i < b->n_users; i++)
        named = named || b->users[i] == uid;
    return named != (b->deny_users != NULL) || (!b->allow_users && !b->deny_users);
}

void conf_burst_format_flags(const struct conf_burst *b, struct str *out)
{
    size_t before = out->len;

    for (size_t i = 0; i < FLAGS; i++)
        if (b->flags & flags[i].flag)
            str_printf(out, "%s%s", out->len > before ? "," : "", flags[i].word);
}

/* --- values ----------------------------------------------------------------------------------- */

static int check_directive(const struct conf_burst *b, const struct conf_value *v, struct err *err)
{
    const char *word = b->directive ? b->directive : "";

    for (const char *c = word; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-')
            return conf_fail(
                v->at, err, "Directive=%s: expected a word of letters, digits and _, without the #",
                word);
    if (strlen(word) > DIRECTIVE_MAX)
        return conf_fail(v->at, err, "Directive=%s: longer than %d characters", word,
                         DIRECTIVE_MAX);
    if (!strcasecmp(word, "SBATCH") || !strcasecmp(word, "EXCLUDED"))
        return conf_fail(v->at, err, "Directive=%s: the word has another meaning in job scripts",
                         word);
    return 0;
}

static int take_flags(struct conf_burst *b, const struct conf_value *v, struct err *err)
{
    const char *list = b->flag_list;

    while (list && *list) {
        size_t len = strcspn(list, ","), i = 0;

        while (i < FLAGS && (strncasecmp(flags[i].word, list, len) != 0 || flags[i].word[len]))
            i++;
        if (i == FLAGS)
            return conf_fail(v->at, err,
                             "Flags=%s: unknown flag '%.*s'; expected DisablePersistent, "
                             "EmulateCray, EnablePersistent, PrivateData or TeardownFailure",
                             b->flag_list, (int)len, list);
        b->flags |= flags[i].flag;
        list += len + (list[len] == ',');
    }
    if (!(b->flags & CONF_BURST_ENABLE_PERSISTENT)) /* as shown by Slurm */
        b->flags |= CONF_BURST_DISABLE_PERSISTENT;
    if (b->private_data)
        b->flags |= CONF_BURST_PRIVATE_DATA;
    return 0;
}

static int find_burst_user(const char *key, const char *name, struct conf_place at, uid_t *uid,
                           struct err *err)
{
    const size_t room = 65536;
    _cleanup_free_ char *buf = mem_alloc(room);
    struct passwd entry, *found = NULL;
    long long number;

    if (str_parse_i64(name, 0, UINT32_MAX - 1, &number) == 0) {
        *uid = (uid_t)number;
        return 0;
    }
    (void)getpwnam_r(name, &entry, buf, room, &found);
    if (!found)
        return conf_fail(at, err, "%s: no user '%s' on this host", key, name);
    *uid = found->pw_uid;
    return 0;
}

static int take_users(struct conf_loader *l, enum conf_burst_key id, const char *list,
                      const struct conf_value *v, struct err *err)
{
    struct conf_burst *b = &l->conf->burst;
    uid_t *users = arena_alloc(&l->priv->arena, sizeof(*users) * (strlen(list) + 1));

    b->users = users;
    while (*list) {
        size_t len = strcspn(list, SEPARATORS);
        _cleanup_free_ char *name = mem_strndup(list, len);
        int rc =
            len ? find_burst_user(conf_burst_keys[id].name, name, v->at, &users[b->n_users], err)
                : 0;

        if (rc < 0)
            return rc;
        b->n_users += len > 0;
        list += len + (list[len] != '\0');
    }
    return 0;
}

static int check_burst(struct conf_loader *l, const struct conf_value *written, struct err *err)
{
    struct conf_burst *b = &l->conf->burst;
    const struct conf_value *allow = &written[CONF_BURST_KEY_allow_users];
    const struct conf_value *deny = &written[CONF_BURST_KEY_deny_users];
    int rc = check_directive(b, &written[CONF_BURST_KEY_directive], err);

    if (rc == 0)
        rc = take_flags(b, &written[CONF_BURST_KEY_flag_list], err);
    if (rc == 0 && b->allow_users && b->deny_users)
        return conf_fail(deny->at, err,
                         "DenyUsers: AllowUsers is given on line %d; only one of them may be",
                         allow->at.line);
    if (rc == 0 && b->allow_users)
        rc = take_users(l, CONF_BURST_KEY_allow_users, b->allow_users, allow, err);
    if (rc == 0 && b->deny_users)
        rc = take_users(l, CONF_BURST_KEY_deny_users, b->deny_users, deny, err);
    if (rc == 0 && b->validate_timeout_sec >= l->conf->message_timeout_sec)
        conf_fault(l,
                   written[CONF_BURST_KEY_validate_timeout_sec].text
                       ? written[CONF_BURST_KEY_validate_timeout_sec].at
                       : l->priv->written[CONF_KEY_message_timeout_sec].at,
                   "ValidateTimeout=%u is not below MessageTimeout=%lld: submissions may time out",
                   b->validate_timeout_sec, (long long)l->conf->message_timeout_sec);
    return rc;
}

int conf_burst_build(struct conf_loader *l, struct err *err)
{
    struct conf_burst *b = &l->conf->burst;
    struct conf_value written[CONF_BURST_KEYS] = {0};
    const char *slash = l->conf->path ? strrchr(l->conf->path, '/') : NULL;

    conf_value_defaults(conf_burst_keys, CONF_BURST_KEYS, b);
    b->enabled = l->scope == CONF_FULL && str_eq(l->conf->burst_buffer_type, "burst_buffer/lua");
    _cleanup_free_ char *script =
        mem_printf("%.*sburst_buffer.lua", slash ? (int)(slash - l->conf->path + 1) : 0,
                   l->conf->path ? l->conf->path : "");
    b->script = arena_strdup(&l->priv->arena, script);
    if (!b->enabled)
        return 0;
    int rc = conf_rows_take_last(l, &l->burst, &l->conf->burst, written, err);
    return rc == 0 ? check_burst(l, written, err) : rc;
}

int conf_burst_read(struct conf_loader *l, const char *path, struct err *err)
{
    const char *plugin = l->priv->written[CONF_KEY_burst_buffer_type].text;

    if (l->scope != CONF_FULL || !plugin || !strcasestr(plugin, "lua"))
        return 0;
    return conf_lines_read_beside(l, path, "burst_buffer.conf", CONF_BURST_PREFIX, err);
}
