# awk: the schema promises {"numbers": [...]} with numbers alone, so what stands between the brackets can be split at commas.
BEGIN { RS = "\001" }
{
    sub(/^[^[]*\[/, ""); sub(/\].*$/, "")
    n = split($0, x, ",")
    least = greatest = x[1] + 0
    for (i = 1; i <= n; i++) {
        sum += x[i]
        if (x[i] + 0 < least) least = x[i] + 0
        if (x[i] + 0 > greatest) greatest = x[i] + 0
    }
    printf "{\"count\": %d, \"sum\": %.15g, \"mean\": %.15g, \"least\": %.15g, \"greatest\": %.15g}\n", n, sum, sum / n, least, greatest
}
