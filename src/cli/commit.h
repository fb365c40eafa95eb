/* The commit this program was built from. Generated at build time (cmake/commit.cmake). */
#pragma once

extern const char commit_id[];                         /* 12 hexadecimal digits, or "unknown" */
