/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <unistd.h>

#include "base/trust.h"
#include "conf/conf_internal.h"

static int check_owner(const struct conf *c, const char *path, struct err *err)
{
    const uid_t owners[] = {c->slurm_uid, c->slurmd_uid};

    return trust_check(path, owners, 2, err);
}

/* Whether a root process uses the configuration: this process, or node daemons that fetch it from
   this controller. */
static bool root_follows(const struct conf *c)
{
    return geteuid() == 0 || (geteuid() == c->slurm_uid && c->slurmd_uid == 0);
}

int conf_trust_files(const struct conf *c, struct err *err)
{
    if (!root_follows(c))
        return 0;
    vec_foreach (&c->priv->files, file) {
        int rc = check_owner(c, *file, err);
        if (rc < 0)
            return err_prefix(err, "root follows no configuration that others can change");
    }
    return 0;
}

int conf_trust_path(const struct conf *c, const char *key, const char *path, struct err *err)
{
    int rc = path && geteuid() == 0 ? check_owner(c, path, err) : 0;

    return rc < 0 ? err_prefix(err, "%s", key) : 0;
}

char *conf_script_next(const char **rest)
{
    size_t len = *rest ? strcspn(*rest, "\n") : 0;
    char *path = len ? mem_strndup(*rest, len) : NULL;

    if (path)
        *rest += len + ((*rest)[len] == '\n');
    return path;
}
