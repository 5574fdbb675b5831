-- On which hosts a cause is found, since when, and what it costs there.
SELECT cause,
       host,
       labels,
       count(DISTINCT service) AS services,
       CAST(floor(sum(needless * sample_scale) + 0.5) AS BIGINT) AS needless_calls,
       sum(saves_ns * sample_scale) / 1e9 AS saves_seconds,
       min(window_start) AS first_window,
       max(window_end) AS last_window
FROM needless_rows
WHERE fate IN ('needless', 'perhaps')
GROUP BY cause, host, labels
ORDER BY cause, saves_seconds DESC, needless_calls DESC, host, labels;
