/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Usage of steps as columns: the available columns, and a line for a step. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "proto/step.pb-c.h"
#include "proto/usage.pb-c.h"

#define USAGE_COLUMNS_DEFAULT                                                                      \
    "JobID,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,MaxRSSTask,AveRSS,"   \
    "MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,MinCPUNode,MinCPUTask,AveCPU,NTasks,"      \
    "AveCPUFreq,ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov,ConsumedEnergy,MaxDiskRead,"             \
    "MaxDiskReadNode,MaxDiskReadTask,AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,"  \
    "AveDiskWrite,TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,TRESUsageInMaxTask,"            \
    "TRESUsageInMin,TRESUsageInMinNode,TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutAve,"         \
    "TRESUsageOutMax,TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutMin,"                     \
    "TRESUsageOutMinNode,TRESUsageOutMinTask,TRESUsageOutTot"
#define USAGE_COLUMNS_PIDS "JobID,Nodelist,Pids"
#define USAGE_COLUMNS_WIDTH_MAX 4096

struct usage_columns_view {
    const Pb__StepRecord *step;
    const Pb__Usage *usage;
    const char *nodes, *pids;
    const char *first_node; /* for values without a node of their own */
    bool no_convert;
};

struct usage_field;
struct usage_columns_column {
    const struct usage_field *field;
    int width; /* negative: left-justified */
};
struct usage_columns {
    VEC(struct usage_columns_column) columns;
    bool divided, closed; /* separated by '|', and ended by '|' */
};

/* Adds the columns of a comma-separated list; -ERR_PARSE names an unknown one. */
int usage_columns_add(struct usage_columns *f, const char *list, struct err *err);
void usage_columns_done(struct usage_columns *f);

void usage_columns_print_header(const struct usage_columns *f, struct str *out);
void usage_columns_print(const struct usage_columns *f, const struct usage_columns_view *v,
                         struct str *out);
void usage_columns_print_names(struct str *out); /* for --helpformat */
