#include "doors/console_private.h"
#include "doors/console_files.h"

enum { FILES = sizeof files / sizeof *files };

static Str type_of(Str name) {
    if (str_ends(name, STR(".html"))) return STR("text/html; charset=utf-8");
    if (str_ends(name, STR(".css"))) return STR("text/css; charset=utf-8");
    if (str_ends(name, STR(".js"))) return STR("text/javascript; charset=utf-8");
    return STR("image/svg+xml");
}

bool console_page(HttpServerRequest *q, Str path) {
    Str name = str_eq(path, STR("/")) ? STR("index.html") : str_sub(path, 1, path.n);
    for (size_t i = 0; i < FILES; i++) {
        if (!str_eq(name, str_from(files[i].name))) continue;
        Buf body = { 0 };
        buf_add(&body, (Str){ (const char *)files[i].at, files[i].n });
        http_server_answer(q, 200, &(HttpServerHeader){ STR("Content-Type"), type_of(name) }, 1, &body);
        return true;
    }
    return false;
}
