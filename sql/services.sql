-- What each service does needlessly: program, cause and the variable that a remedy changes, with the number of hosts.
SELECT service,
       program,
       cause,
       variable,
       count(DISTINCT host) AS hosts,
       CAST(floor(sum(needless * sample_scale) + 0.5) AS BIGINT) AS needless_calls,
       sum(saves_ns * sample_scale) / 1e9 AS saves_seconds
FROM needless_rows
WHERE fate IN ('needless', 'perhaps')
GROUP BY service, program, cause, variable
ORDER BY saves_seconds DESC, needless_calls DESC, service NULLS LAST, program NULLS LAST, cause, variable NULLS LAST;
