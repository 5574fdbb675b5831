-- What a service does needlessly, call by call, on how many hosts and since when.
SELECT service,
       program,
       cause,
       variable,
       call,
       count(DISTINCT host) AS hosts,
       CAST(floor(sum(needless * sample_scale) + 0.5) AS BIGINT) AS needless_calls,
       sum(saves_ns * sample_scale) / 1e9 AS saves_seconds,
       min(window_start) AS first_window,
       max(window_end) AS last_window
FROM needless_rows
WHERE fate IN ('needless', 'perhaps')
GROUP BY service, program, cause, variable, call
ORDER BY saves_seconds DESC, needless_calls DESC, service NULLS LAST, program NULLS LAST, cause, variable NULLS LAST, call NULLS LAST;
