/* A shell command as a tree: what the guard looks at. Made by guard_parse.c, read by guard_judge.c. In an arena. */
#pragma once
#include "base/arena.h"
#include "base/str.h"

typedef struct GuardNode GuardNode;
typedef struct GuardWord GuardWord;

/* A word is a row of elements: characters as they will reach the program (quotes are gone), and expansions. */
typedef enum {
    GUARD_CHAR,
    GUARD_UNKNOWN,                      /* something that is not known before it runs: arithmetic, a hole in a text */
    GUARD_VARIABLE,                     /* $name, ${name}, ${name:-word} */
    GUARD_SUBSTITUTION,                 /* $(…), `…` */
    GUARD_PROCESS,                      /* <(…), >(…) */
} GuardElemKind;

typedef struct GuardPart { Str name; GuardWord *otherwise; GuardNode *script; } GuardPart;
typedef struct GuardElem { GuardElemKind kind; bool quoted; char c; const GuardPart *part; } GuardElem;
struct GuardWord { GuardElem *at; size_t n; bool quoted; /* some of it, perhaps nothing, stands in quotes */ bool assigns; GuardWord *items; size_t items_n; /* x=(items) */ };

/* In a text that is parsed again (sh -c, eval) this byte stands for what is not known of it. */
enum { GUARD_HOLE = 1 };

typedef enum { GUARD_IN, GUARD_OUT, GUARD_INOUT, GUARD_HEREDOC, GUARD_HERESTRING, GUARD_COPY /* >&3 */ } GuardRedirectKind;
typedef struct GuardRedirect { GuardRedirectKind kind; int fd; GuardWord word; /* the target, or the text */ } GuardRedirect;

typedef enum {
    GUARD_SIMPLE,                       /* words, redirects */
    GUARD_PIPELINE,                     /* children: its commands */
    GUARD_LIST,                         /* children, one after the other */
    GUARD_GROUP,                        /* children: ( … ), { … }, if, case: in whatever order and number */
    GUARD_LOOP,                         /* first child: the condition (empty for (( ;; ))), second: the body */
    GUARD_FOR,                          /* name, words; child: the body */
    GUARD_FUNCTION,                     /* name; child: the body */
    GUARD_WORDS,                        /* words that are only expanded: [[ … ]], case patterns, (( … )) */
    GUARD_MAYBE,                        /* children: what another shell would run here */
} GuardNodeKind;

struct GuardNode {
    GuardNodeKind kind;
    bool background;
    bool forever;                       /* a loop without a condition */
    Str name;
    GuardWord *words;
    size_t words_n;
    GuardRedirect *redirects;
    size_t redirects_n;
    GuardNode **children;
    size_t children_n;
};

typedef struct GuardScript {
    GuardNode *node;                    /* what could be read, also when there is an error */
    const char *error;                  /* NULL: all of it was read, and without doubt */
} GuardScript;

GuardScript guard_parse(Str text, unsigned depth, Arena *arena);
