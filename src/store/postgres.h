/* libpq, loaded on first use. Private to src/store/. */
#pragma once
#include <postgresql/libpq-fe.h>
#include "base/error.h"

/* X(name without PQ) */
#define POSTGRES_FUNCTIONS(X) \
    X(connectStartParams) X(connectPoll) X(finish) X(status) X(socket) X(errorMessage) X(setnonblocking) X(sendQueryParams) X(sendPrepare) \
    X(sendQueryPrepared) X(flush) X(consumeInput) X(isBusy) X(getResult) X(clear) X(resultStatus) X(resultErrorField) X(ntuples) X(getvalue) X(getlength) \
    X(getisnull) X(cmdTuples) X(serverVersion) X(backendPID) X(conninfoParse) X(conninfoFree) X(freemem) X(setNoticeProcessor) X(notifies)

typedef struct Postgres {
#define X(name) __typeof__(PQ##name) *name;
    POSTGRES_FUNCTIONS(X)
#undef X
} Postgres;

const Postgres *postgres_load(Error *err);               /* NULL with ERR_IO that names what is missing */
