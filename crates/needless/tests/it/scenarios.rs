//! Ways to start a program, with real daemons in a systemd that the tests boot: for each the truth is known, and compared
//! with what `origin` says, what `fix` writes or why it refuses, the value in the new process, the calls before and
//! after, and every byte after `undo`, with systemd in step.
//!
//! A scenario of this folder is an entry of a list in its module, found by its name in quotes. The others are tests of
//! other files of `tests/`, and of the crate `environment`.
//!
//! # Reports, and what they may change
//! A report of another user: `places::a_strangers_report_changes_nothing`, `strangers::the_report_of_another_is_not_believed`.
//! Values of a report: `strangers::no_variable_is_set_as_a_report_says`, `strangers::what_a_rule_advises_is_worked_out_here`.
//! A process that came later, with the same id: `strangers::a_process_that_came_later_is_another`.
//! A report of a unit is put right: `places::a_report_of_a_unit_is_put_right`; of several: `changes::a_report_of_several_services`.
//!
//! # Daemons that fork, or that a helper starts (`forking`)
//! "nginx", "dnsmasq" (and with a file that its helper sources), "ssh", "php8.2-fpm" (Debian 13: "php8.4-fpm"), "xinetd", "rsyslog", "postfix@-", "apache2"; the unit postfix, which runs
//! nothing; init scripts "unexported", "exported", "sysv"; starters of an administrator "forks", "bare", "unlooked".
//!
//! # What stands between a unit and its program (`wrappers`)
//! "env-u", "env-i", "env-tz", "sh-c", "unsets", "exports", "sources", "conditional", "hides", "another-script", "envdir", "becomes", "nice",
//! "timeout", "oneshot", "own", "title", "runuser", "setpriv", "su".
//!
//! # Units (`units`)
//! "plain", "set", "order", "every", "reset", "last", "removed", "quoted", "missing", "export", "glob", "made", "big", "inst@x",
//! "default", "pass", "given", "alias", "user", "pam", "closed", "transient"; a file of two units "first"; units whose
//! jobs have an environment of their own (cron, atd), whose restart ends sessions (dbus, logind), that are masked.
//! A generator: `sources::what_systemd_knows_and_the_files_of_a_unit_do_not_show`. A unit of a user, and environment.d:
//! `daemons::a_unit_of_a_users_systemd`; one that forks: `user_units::a_users_unit_that_forks`. Another /etc: `daemons::units_with_mounts_of_their_own`.
//!
//! # Sessions and jobs
//! su, su -: `places::su_and_su_with_a_login_shell`. sudo: `places::sudo_which_drops_what_it_does_not_trust`. cron.d:
//! `places::cron_which_hands_on_nothing_of_its_own`. sshd: `places::ssh_with_a_command`, `changes::sshd_without_pam`,
//! `changes::a_set_env_that_is_there`, `changes::sshd_has_the_last_word`. at: `daemons::a_job_of_at`. pam_env.conf,
//! ~/.profile after profile.d, `su -w`, `sudo -E … env -u`, environment= of a key, SendEnv: `sources::what_a_session_gets`.
//! An ordinary user asks: `sources::launchers_of_root_for_an_ordinary_user`. Who sees what:
//! `places::who_sees_what`. In `sessions`: "login", "sources", "not-roots", "su", "sudo",
//! "blank", "preserved".
//!
//! # Containers, with podman (`containers`)
//! A quadlet "quadlet", "bare", "by-file"; podman in a unit "env-file", "option", "nothing"; podman by hand "image",
//! "typed", "typed-file".
//!
//! # Other launchers
//! supervisord: `places::a_program_of_supervisord`. envdir: `places::a_run_script_with_an_environment_directory`. runit
//! and s6: `daemons::runit_and_s6`. OpenRC: `daemons::a_service_of_openrc`. A pool of php-fpm:
//! `places::a_worker_of_php_fpm`. PostgreSQL: `daemons::postgresql_whose_starter_clears_the_environment`. CGI programs of
//! Apache: `daemons::apache_and_its_cgi_programs`. An init script of service(8): `places::an_init_script_that_service_starts`.
//! A program that sets its own variable, or writes over its block: `origin::set_unset_and_changed_after_the_start`,
//! `origin::a_block_that_was_written_over`. Which program dropped it: `origin::the_very_program_that_dropped_it_is_named`.
//!
//! # Files, and changes that are taken back (`files`)
//! `files_that_are_not_changed`: a link, a directory that is a link, a masked drop-in, a hard link, a file that others
//! may write, Ansible's, not UTF-8, a mount, read-only, a full disk, names and values of more than a line, no zone.
//! `changes_are_taken_back`: twelve in a row, one below another, ten at once, an immutable file, one that was edited.
//! A file of another user: `environment/journal::the_file_of_another_is_refused`. A comment on the changed line:
//! `environment/formats::a_comment_on_the_line_is_kept`. Locales: `changes::a_locale_that_is_missing_is_built_into_the_archive`.
//! Secrets beside a change: `places::secrets_beside_a_change_are_not_shown`. `undo --list` only reads:
//! `environment/journal::the_list_is_only_read`.
//!
//! # Kills
//! At each system call of a change and its undoing: `environment/journal::killed_at_any_of_a_thousand_calls_the_next_run_ends_it`.
//! Between the file and systemd: `places::what_a_killed_run_did_not_announce_is_announced`.

mod containers;
mod files;
mod forking;
mod scenario;
mod sessions;
mod units;
mod wrappers;
