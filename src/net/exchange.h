/* One request to one server and its response, on libcurl: the part of net/client.h without redirects. */
#pragma once
#include "net/client.h"
#include "net/curl.h"

enum { EXCHANGE_HEADERS_MAX = 1000 };

/* A multi handle with the connections it keeps, and the easy handle that uses them. Belongs to one thread at a time. */
typedef struct Lane Lane;
struct Lane {
    const CurlLibrary *lib;
    CURLM *multi;
    CURL *easy;
    Target last;                         /* whom it spoke to: it may still have the connection */
    Lane *next;
};

Lane *lane_new(const CurlLibrary *lib, Error *err);    /* NULL: failed */
void lane_free(Lane *l);

/* The request as it is after redirects. */
typedef struct Exchange {
    const ClientRequest *request;
    CURLU *url;                          /* its host is target.host */
    Target target;
    bool https;
    Str method;                          /* NUL-terminated */
    bool has_body, bare;                 /* bare: another origin than the first, credentials stay behind */
    /* the response */
    int status;
    bool sent, head_done;
    size_t head_bytes, head_lines, body_bytes;
    Buf head;                            /* header lines of the last head */
    Buf body;
    bool failed;                         /* by one of our own checks: why */
    Error why;
    Cancel *cancel;
    Address pinned;                      /* the one address that a socket may be opened to */
} Exchange;

bool exchange_headers_ok(const ClientRequest *request, Error *err);
/* Speaks to the target at one of `addresses`, trying them in order until one takes the connection. */
bool exchange_run(Exchange *x, Lane *lane, const Addresses *addresses, Cancel *cancel, Error *err);
void exchange_clear(Exchange *x);        /* the response; not url */
Str exchange_header(const Exchange *x, const char *lower_name);      /* the first of that name; "" when absent */
bool exchange_next_header(Str *rest, Str *name, Str *value);         /* over `head` */
