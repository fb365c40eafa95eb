/* One request to one server and its response, on libcurl. net/client.h adds redirects. */
#pragma once
#include "net/client.h"
#include "net/curl.h"

enum { EXCHANGE_HEADERS_MAX = 1000 };

/* A multi handle with its connection cache, and the easy handle that uses it. Used by one thread at a time. */
typedef struct Lane Lane;
struct Lane {
    const CurlLibrary *lib;
    CURLM *multi;
    CURL *easy;
    Target last;                         /* last host: its connection may still be open */
    Lane *next;
};

Lane *lane_new(const CurlLibrary *lib, Error *err);    /* NULL on failure */
void lane_free(Lane *l);

/* The request for the current hop. */
typedef struct Exchange {
    const ClientRequest *request;
    CURLU *url;                          /* its host is target.host */
    Target target;
    bool https;
    Str method;                          /* NUL-terminated */
    bool has_body, bare;                 /* bare: the origin changed, so credentials are dropped */
    /* the response */
    int status;
    bool sent, head_done;
    size_t head_bytes, head_lines, body_bytes;
    Buf head;                            /* header lines of the last head */
    Buf body;
    bool failed;                         /* one of our own checks failed; the reason */
    Error why;
    Cancel *cancel;
    Address pinned;                      /* the only address that a socket may connect to */
} Exchange;

bool exchange_headers_ok(const ClientRequest *request, Error *err);
/* Connects to the target at one of `addresses`, in order until one accepts, and exchanges the request. */
bool exchange_run(Exchange *x, Lane *lane, const Addresses *addresses, Cancel *cancel, Error *err);
void exchange_clear(Exchange *x);        /* clears the response; not url */
Str exchange_header(const Exchange *x, const char *lower_name);      /* the first of that name; "" when absent */
bool exchange_next_header(Str *rest, Str *name, Str *value);         /* iterates over `head` */
