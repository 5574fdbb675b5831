-- The agents: the version that each host had last, since when, and when the host was last heard of.
SELECT version, host, labels, first_window, last_window, windows
FROM (
    SELECT version,
           host,
           labels,
           min(window_start) AS first_window,
           max(window_end) AS last_window,
           count(DISTINCT window_start) AS windows,
           row_number() OVER (PARTITION BY host ORDER BY max(window_end) DESC, version DESC, labels DESC) AS place
    FROM needless_rows
    GROUP BY version, host, labels
) AS of_host
WHERE place = 1
ORDER BY version, last_window, host;
