/* Keys created for these tests and used nowhere else; and a signature by the openssl program with the first:
 * {"iss":"joe"} under {"alg":"RS256"}. */
#pragma once

static const char key_rsa[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDIBNnZ2i+sa2LM\n"
    "/Xo2ebYVtHwYjFLNA4HAGXdB96LUWjz900a2w7ytudxH79lfBSeXTgXK+8MG3eD0\n"
    "oVAAMN+kJ9+sOH74P08XYYWSqIdoMYdprFl7HtgcA+LE9zTNr+FrL74NN+Z2DcxR\n"
    "M5o3i2+yvw4bQ7284ZUEumpiq9otIAAN7FtjUFpjwbP2FDovpXe/AT4lCEEVWX22\n"
    "BuSadGZOApIWbcEkJ6KjbHLzHCkwO/nZiex3km2WKT71LDIFQOFN+F5TPRD/DrsL\n"
    "IOIdWq8oGpYYgpnhcHKGd8nX6c+56LADU+CM8Z1sbOSEd0PsKPmmHTBnWIx214sw\n"
    "3rtaN5vlAgMBAAECggEAHAi+BfA0RVzJvMR8OB1n/XPN/tzQECcBLQ0Er4zHWC8L\n"
    "pGHT4/LcQ5csvjJqS4yb53OKkVAnHhPEH1VqspQnDEmAapGCjkXFTpgfEhan390t\n"
    "Rwzef8irboXG52dkkb2ogQ7wesbOeNZnQCxU3Zsf/TQVBJJCijIt4jtEhO7kRfWa\n"
    "J44Yx90Hy2NsSo4UAWcNed/n23JlY57hRf5QdT31WgGi9hY0CtnT2EqIdjiXkdsP\n"
    "rEqSQE82brrqsIosDhipNuJCx9LyE+FG9cf6A3lJJguIUnXkuKM04XUPX7S6TCsn\n"
    "AXXT8q8KJjnvEcurBl3Mw8mSnZ2N4eVMrel0/4ogIQKBgQDyWRZSKx5xn8pv15kd\n"
    "iNMQH4QJuxWbM/UTIav0mZGAA/ZoAeBIK6RgE5HV1+49usbG5JB+/vK3JvLy7cMe\n"
    "J7E74G8xnVZi9rth0j6npUHWKJibuh9Jn4XkB6rdBS/imzYGGfzPHdHInICcYjpJ\n"
    "Ql4IHOVgkPkeTCFoC7mY3YI7cQKBgQDTSVWdli2LDgnO/vasA/nNa5WgWDcoMz0t\n"
    "pS+vQoXE8Zo0bYJVukTIrtzdNswLza07HO7grNpxIyGT706HXYGecffFr8qPzGUp\n"
    "c41FuuETizN8XlqkD87W4hM7XguuzjJfiYcTpkBm7WEXNyl2EhnlRVE31D/6paQa\n"
    "cZpGXrBltQKBgGNX85dxR4SKXSClv4Vk3ihg0u5uO3gov1C9X9Df1s4kUbDm+/p5\n"
    "sWMVApYncujpFKzZawY0GmjL1ZGRt4c3/CYwZURwW8YroDqERdzRGIDimVRU4ph6\n"
    "hRcpsXfytWNt/qJXqtN4RNO4m9v/RCddxlALEFgadZRe3t7Y15b7TnRxAoGBAIqM\n"
    "WS8IDn9TykzJVjnANatlc+18S1b6GpD29AjqB0v43hSpBsFubrJmMACDcVQAICtW\n"
    "MrJzxp5P2jHmx8juIRQkScSBHMQk1OVUl3v1KqilLDLOsINKtmikQNY6OlD7d368\n"
    "cS4KY8rauEL/8hkxj3ePd82zSezzd2O7wN2KNAPNAoGAUoAoBERhvd8Z25xRajJ9\n"
    "KZrpqoYYAN8dgZWjiu043NEPIi5M7xAW7sG+hlcUY5ssYyPPv/sHQJen1Bna9qsN\n"
    "d0u03sshhLB8bT67E9MEXzYIF+mgRhw6F0W45djZaSvMYjRrxjY85AChow9Pp/zW\n"
    "LlY2sdnTP8aXLRFwQ1xdS6w=\n"
    "-----END PRIVATE KEY-----\n";
static const char key_p384[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDDeviYlLCIEFPsv3JN6\n"
    "KZ4/HqWutYmnMShKuZAdcy9YHmrdAGqofThudZDFOL5igdehZANiAATHqSI3bM/E\n"
    "LNbTgTM/J1mjnmaBW0Es86S3F/otxtg9x2Q/cXJFTMl9MUVwXGDuoe+bc9lWj7zh\n"
    "oT1MTD3GgaP7NGfs8cMMRiWsD80S2Qh+E9J6HnyVkqqJvXpl7IE/qTQ=\n"
    "-----END PRIVATE KEY-----\n";
static const char key_ed[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIOEnzVr5Zr3qsuMW+Cwfnvew8/8X7NkJoUaKtCKjhYRH\n"
    "-----END PRIVATE KEY-----\n";
static const char key_enc[] =
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
    "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjdpzFNAdiROQICCAAw\n"
    "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEBLZIr5jmrmiFXsMN95kPXwEgZBR\n"
    "CZWVnmd4S7ZZxpBte44lm+5imkUtqikY7VoldFMLkMCwB2vVCtqPNwytVW+sxRkc\n"
    "a+jtJMK0Ypa1RZTwrsnytDkIY7c1UxQ0fSSF3wS1LgENlObHNtO2AxKNkJEFwIQd\n"
    "RknVHbcQ2YqkjKzNpBuC6kB+6KNylBa7KDy96nyYj7WpxhNlWayrZ1zFsbbLHkI=\n"
    "-----END ENCRYPTED PRIVATE KEY-----\n";
static const char signed_by_rsa[] =
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UifQ.loPpeONBEiEHMtFULcjTwpanXhg8Bc5eHWPENoJZZSC5Abb8oG_D7FVC6R0G"
    "vS0wL-MYdQ8tGH37zlm8HsYlCsBiQ4e6QqXeKs19Td144glzAv_YTHEiqnocCwRvWIezM0xJT44UBmjCTLB-eCNtggoocjzd6LGQ"
    "zNQInZNitvX2fQkuho1epoltEpuxV0dM7FdmgPJCYoOeaSyK6qnbXrBDOtbFsssGnGVnXyGei4h9sLshsdmYbUiaMBXdFjkvF1ev"
    "vg3A7Pb1eH4xwBVEdJ6LYtkNF8XYP8yRBMoZIvPyRUrDr1FQiHmUsdzZnV2eRqKkvvT0hCwxMFfrFBdYXg";
