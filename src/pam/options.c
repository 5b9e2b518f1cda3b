/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pam/options.h"

#include <string.h>
#include <strings.h>
#include <syslog.h>

#include <security/pam_ext.h>

#define BIT(action) (1u << (action))
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *word;
    enum action action;
} actions[] = {
    {"ignore", ACTION_IGNORE},
    {"allow", ACTION_ALLOW},
    {"deny", ACTION_DENY},
    {"newest", ACTION_NEWEST},
};

static const struct {
    const char *word;
    int level;
} levels[] = {
    {"quiet", -1},         {"fatal", LOG_CRIT},   {"error", LOG_ERR},    {"info", LOG_INFO},
    {"verbose", LOG_INFO}, {"debug", LOG_DEBUG},  {"debug2", LOG_DEBUG}, {"debug3", LOG_DEBUG},
    {"debug4", LOG_DEBUG}, {"debug5", LOG_DEBUG},
};

static bool take_action(const char *value, unsigned allowed, enum action *out)
{
    for (size_t i = 0; i < COUNT(actions); i++)
        if (!strcasecmp(value, actions[i].word) && allowed & BIT(actions[i].action)) {
            *out = actions[i].action;
            return true;
        }
    return false;
}

static bool take_level(const char *value, int *out)
{
    for (size_t i = 0; i < COUNT(levels); i++)
        if (!strcasecmp(value, levels[i].word) ||
            (value[0] >= '0' && value[0] <= '9' && !value[1] && i == (size_t)(value[0] - '0'))) {
            *out = levels[i].level;
            return true;
        }
    return false;
}

static bool take_bool(const char *value, bool *out)
{
    bool yes = !strcasecmp(value, "true") || !strcasecmp(value, "yes") || !strcmp(value, "1");

    *out = yes;
    return yes || !strcasecmp(value, "false") || !strcasecmp(value, "no") || !strcmp(value, "0");
}

static bool take_text(const char *value, const char **out)
{
    *out = value;
    return *value && strcmp(value, "-") != 0;
}

static bool has_name(const char *arg, const char *name, const char **value)
{
    size_t len = strlen(name);

    if (strncasecmp(arg, name, len) != 0 || arg[len] != '=')
        return false;
    *value = arg + len + 1;
    return true;
}

static bool take_option(pam_handle_t *pam, const char *arg, struct options *o)
{
    const unsigned three = BIT(ACTION_IGNORE) | BIT(ACTION_ALLOW) | BIT(ACTION_DENY);
    const char *value;
    bool unused;

    if (has_name(arg, "action_no_jobs", &value))
        return take_action(value, BIT(ACTION_IGNORE) | BIT(ACTION_DENY), &o->no_jobs);
    if (has_name(arg, "action_unknown", &value))
        return take_action(value, BIT(ACTION_NEWEST) | BIT(ACTION_ALLOW) | BIT(ACTION_DENY),
                           &o->unknown);
    if (has_name(arg, "action_adopt_failure", &value))
        return take_action(value, BIT(ACTION_ALLOW) | BIT(ACTION_DENY), &o->adopt_failure);
    if (has_name(arg, "action_generic_failure", &value))
        return take_action(value, three, &o->generic_failure);
    if (has_name(arg, "log_level", &value))
        return take_level(value, &o->log_level);
    if (has_name(arg, "nodename", &value))
        return take_text(value, &o->node);
    if (has_name(arg, "service", &value))
        return take_text(value, &o->service);
    if (has_name(arg, "conf", &value))
        return take_text(value, &o->conf) && *value == '/';
    if (has_name(arg, "join_container", &value))
        return take_bool(value, &o->join_container);
    if (!has_name(arg, "disable_x11", &value) || !take_bool(value, &unused))
        return false;
    pam_syslog(pam, LOG_DEBUG, "disable_x11 has no effect: DISPLAY is never changed");
    return true;
}

void options_parse(pam_handle_t *pam, int argc, const char **argv, struct options *out)
{
    *out = (struct options){.no_jobs = ACTION_DENY,
                            .unknown = ACTION_NEWEST,
                            .adopt_failure = ACTION_DENY,
                            .generic_failure = ACTION_DENY,
                            .join_container = true,
                            .log_level = LOG_INFO,
                            .service = "sshd"};
    for (int i = 0; i < argc; i++)
        if (!take_option(pam, argv[i], out)) {
            pam_syslog(pam, LOG_ERR,
                       "unknown option '%s', or invalid value: nobody "
                       "but root is let in",
                       argv[i]);
            out->bad = true;
        }
}
