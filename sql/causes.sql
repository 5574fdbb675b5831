-- Which causes cost most, and on how many hosts.
SELECT cause,
       count(DISTINCT host) AS hosts,
       count(DISTINCT service) AS services,
       CAST(floor(sum(needless * sample_scale) + 0.5) AS BIGINT) AS needless_calls,
       CAST(floor(sum(CASE WHEN fate = 'perhaps' THEN needless * sample_scale ELSE 0 END) + 0.5) AS BIGINT) AS of_them_perhaps,
       sum(saves_ns * sample_scale) / 1e9 AS saves_seconds
FROM needless_rows
WHERE fate IN ('needless', 'perhaps')
GROUP BY cause
HAVING sum(needless) > 0
ORDER BY saves_seconds DESC, needless_calls DESC, cause;
