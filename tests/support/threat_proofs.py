"""What the page on threats claims, clause by clause, and the tests that follow each."""

CONVERT = "tests/mmconvert"
SCORE = "tests/mmscore"

FILES: dict[str, tuple[str, ...]] = {
    "Nothing is evaluated": ("tests/test_layout.py::test_no_dangerous_or_dishonest_call",),
    "of a repository only tables and images are read": (
        f"{CONVERT}/storage/test_hub_fs.py::test_a_script_of_a_repository_is_neither_run_nor_fetched",
    ),
    "Lists are JSON or plain literals of texts and numbers": (
        "tests/test_policy_pages.py::test_what_the_page_claims_is_so",
    ),
    "pickles are not read": ("tests/test_layout.py::test_no_dangerous_or_dishonest_call",),
    "YAML is read as plain data": (
        "tests/test_layout.py::test_no_dangerous_or_dishonest_call",
        f"{CONVERT}/core/text/test_yaml.py::test_a_tag_that_makes_an_object_is_refused",
    ),
    "a formula makes its row invalid, or stays text in a column that is not used": (
        f"{CONVERT}/formats/test_mmbench.py::test_hostile_workbooks_end_as_the_policy_says",
        "tests/test_policy_pages.py::test_what_the_page_claims_is_so",
    ),
    "After links are followed, a path must lie inside an image root and be a plain file": (
        f"{CONVERT}/images/test_loader.py::test_nothing_outside_the_root_is_read",
    ),
    "in a store, below its folder": (
        f"{CONVERT}/storage/test_object_store.py::test_images_of_a_store_are_held_to_the_rules_of_a_folder",
    ),
    "The resolved path is opened one folder at a time, and none of its names may be a link at that time": (
        f"{CONVERT}/storage/test_beneath.py::test_no_link_is_followed_wherever_it_stands",
    ),
    "a folder that is replaced by a link while it is read gives no file away": (
        f"{CONVERT}/images/test_loader.py::test_a_folder_that_is_swapped_for_a_link_gives_no_file_away",
        f"{CONVERT}/storage/test_folders.py::test_of_a_dataset_whose_folder_is_swapped_all_the_time_nothing_gets_out",
    ),
    "A file of a folder must lie in it after links are followed (a file that you name yourself may be a link)": (
        f"{CONVERT}/storage/test_folders.py::test_a_converted_folder_with_a_link_out_of_it_is_refused",
        f"{SCORE}/analysis/test_bundle.py::test_a_link_out_of_the_folder_is_refused_and_one_that_is_named_is_followed",
    ),
    "only the file that was found there is read": (
        f"{CONVERT}/storage/test_folders.py::test_a_folder_that_is_swapped_for_a_link_behind_its_listing_is_not_converted",
    ),
    "a bundle contains only the files that the score was read from and names the others": (
        f"{SCORE}/analysis/test_bundle.py::test_only_what_a_score_depends_on_comes_along_and_the_rest_is_named",
    ),
    "Size, modification time and inode of every table, joined file and image are compared before the "
    "first read and after the last one": (
        f"{CONVERT}/pipeline/test_changed_sources.py::test_a_table_that_changes_is_not_published",
        f"{CONVERT}/pipeline/test_changed_sources.py::test_a_file_that_a_format_reads_beside_may_not_change_either",
        f"{CONVERT}/pipeline/test_changed_sources.py::test_an_image_that_was_read_and_changes_then_is_not_published",
    ),
    "objects of a store are compared by ETag": (
        f"{CONVERT}/storage/test_object_store.py::test_an_object_that_changes_before_the_dataset_is_published_is_refused",
    ),
    "the Hub is read at one commit": (
        f"{CONVERT}/storage/test_hub_fs.py::test_a_push_while_a_dataset_is_read_changes_nothing_of_it",
    ),
    "if they differ, nothing is published": (
        f"{SCORE}/scoring/test_changed_sources.py::test_nothing_is_written_of_files_that_change",
        f"{SCORE}/scoring/test_changed_sources.py::test_every_command_that_writes_a_result_looks_again",
    ),
    "Names of what is written are digests and counters": (
        "tests/test_policy_pages.py::test_names_of_what_is_written_are_none_of_the_file",
    ),
    "a name is kept only on request and only if it is a plain name": (
        "tests/test_policy_pages.py::test_a_name_that_leads_out_of_the_folder_is_not_kept",
    ),
    "Datasets hold bytes and never a local path": (
        f"{CONVERT}/dataset/test_hub_upload.py::test_paths_of_this_machine_stay_here",
    ),
    "`push` checks every image before it sends anything": (
        f"{CONVERT}/dataset/test_hub_upload.py::test_an_image_that_cannot_be_published_is_named",
    ),
    "Nothing is downloaded": (
        f"{CONVERT}/storage/test_http.py::test_by_default_loopback_is_refused_and_nothing_connects",
    ),
    "With `--allow-remote` only http and https are used, with hosts on the public internet and those of "
    "`--allow-host` (never a metadata service, whatever its name): each name is looked up once and "
    "connected to by that address, each redirect is checked again, three at most, with limits on bytes "
    "and time": (
        f"{CONVERT}/storage/test_url_safety.py::test_hosts_inside_are_refused_in_every_spelling",
        f"{CONVERT}/storage/test_url_safety.py::test_no_named_host_is_a_metadata_service",
        f"{CONVERT}/storage/test_url_safety.py::test_a_named_host_is_one_name_on_its_ports",
        f"{CONVERT}/storage/test_http.py::test_a_second_answer_of_the_name_server_changes_nothing",
        f"{CONVERT}/storage/test_http.py::test_a_redirect_is_checked_like_the_first_address",
        f"{CONVERT}/storage/test_http.py::test_redirects_are_followed_three_times_at_most",
        f"{CONVERT}/storage/test_http.py::test_too_many_bytes_are_refused",
        f"{CONVERT}/storage/test_http.py::test_a_slow_answer_ends_at_the_limit_whatever_its_pace",
    ),
    "Sizes are checked before anything is decoded or unpacked, also those of a parquet file's pages": (
        f"{CONVERT}/images/test_loader.py::test_a_header_that_claims_too_many_pixels_is_refused_before_decoding",
        f"{CONVERT}/io/test_parquet_unfolding.py::test_a_page_that_unfolds_to_too_much_is_not_read",
    ),
    "a parquet footer that would end the process is refused": (
        f"{CONVERT}/io/test_parquet_footer.py::test_statistics_that_do_not_fit_a_column_refuse_the_file",
    ),
    "rows, values and what a file decompresses to [have limits](bad-input.md#the-rules-of-size)": (
        "tests/test_policy_pages.py::test_sizes_are_those_that_the_tests_of_each_reader_try",
        "tests/test_unfolded_size.py::test_every_file_that_unfolds_to_much_ends_in_a_sentence",
    ),
    "running out of memory gives one message": (
        "tests/test_memory_ends.py::test_memory_that_runs_out_is_told_in_one_sentence",
    ),
    "aliases may repeat 100,000 values": (
        f"{CONVERT}/core/text/test_yaml.py::test_refuses_aliases_that_stand_for_billions_of_values",
    ),
    "a local model decodes 768 MiB of images of a sample at most, and groups of samples of 384 MiB": (
        "tests/mmscore/infer/test_images.py::test_a_record_whose_images_do_not_fit_the_memory_is_refused",
        "tests/mmscore/infer/test_images.py::test_records_with_giant_images_go_in_smaller_groups",
    ),
    "with `--workers` each process has these limits of its own": (
        "tests/test_unfolded_size.py::test_each_of_several_workers_decodes_giant_images_under_a_gibibyte",
    ),
    "no message builds more of a value than it shows": (
        f"{CONVERT}/core/test_errors.py::test_builds_no_more_than_it_shows",
    ),
    "the malicious test files end in 20 seconds and under 1 GB": (
        "tests/test_badinput.py::test_a_bad_input_does_what_the_policy_says",
        "tests/test_fuzz.py::test_many_damaged_files_are_read_honestly",
        "tests/test_fuzz.py::test_a_broken_promise_is_seen",
    ),
    "Videos are decoded only with `--frames` or `--fps`, only from containers that hold their frames "
    "themselves, each in a separate process that has given up opening files and connections before it "
    "reads a byte, knows none of your keys, and has limits of time and memory": (
        f"{CONVERT}/images/test_video.py::test_without_a_number_of_frames_the_message_says_what_to_type",
        f"{CONVERT}/images/test_video.py::test_a_file_that_names_others_opens_none_of_them",
        f"{CONVERT}/images/test_frame_process.py::test_only_containers_that_hold_their_frames_are_opened",
        f"{CONVERT}/images/test_frame_process.py::test_the_process_may_open_nothing",
        f"{CONVERT}/images/test_video.py::test_the_process_is_told_no_key",
        f"{CONVERT}/images/test_video.py::test_a_video_that_takes_too_long_is_given_up",
        f"{CONVERT}/images/test_video.py::test_a_video_that_takes_too_much_memory_is_given_up",
    ),
    "it can return only images, which are checked like any other": (
        f"{CONVERT}/images/test_video.py::test_a_process_that_breaks_down_or_talks_nonsense_costs_the_row",
    ),
    "The structure is read to its end": (f"{CONVERT}/images/test_loader.py::test_every_cut_is_found",),
    "`--verify decode`, `check` and `push` decode every pixel": (
        f"{CONVERT}/images/test_prefetch.py::test_a_damaged_image_refuses_its_row_by_name_and_in_its_place",
        "tests/test_policy_pages.py::test_check_decodes_every_image",
        f"{CONVERT}/dataset/test_hub_upload.py::test_an_image_that_cannot_be_published_is_named",
    ),
    "Every invalid row is reported": (
        "tests/test_policy_pages.py::test_a_file_has_one_of_the_outcomes_that_the_page_lists",
        "tests/test_fuzz.py::test_damaged_files_are_read_honestly",
    ),
    "only an empty cell is missing": ("tests/test_policy_pages.py::test_what_the_page_claims_is_so",),
    "Control and direction characters are shown as escapes": (
        f"{CONVERT}/core/text/test_printable.py::test_data_cannot_drive_the_terminal",
        f"{CONVERT}/cli/test_errors.py::test_a_name_that_would_drive_the_terminal_is_escaped",
    ),
    "A page's texts are data in a block that no browser runs, and are inserted as text": (
        f"{CONVERT}/viewer/test_page.py::test_hostile_text_is_shown_as_text_everywhere",
        f"{CONVERT}/viewer/test_page.py::test_the_data_stand_in_lines_that_no_text_can_leave",
        f"{CONVERT}/cli/test_preview.py::test_a_hostile_file_stays_text",
        f"{SCORE}/reporting/html/test_browser.py::test_hostile_text_is_shown_as_text",
    ),
    "its policy allows its own scripts by their digests, and no request at all": (
        f"{CONVERT}/viewer/test_page.py::test_no_other_script_runs",
        f"{CONVERT}/cli/test_preview.py::test_an_image_at_an_address_is_named_and_never_asked_for",
    ),
    "It is served only on 127.0.0.1 and only with a token": (
        f"{SCORE}/reporting/live/test_server.py::test_the_view_is_served_on_this_machine_alone",
        f"{SCORE}/reporting/live/test_server.py::test_without_the_token_nothing_is_given",
    ),
    "other host names are rejected": (
        f"{SCORE}/reporting/live/test_server.py::test_another_name_for_this_machine_is_refused",
    ),
    "only runs found below the folder can be opened": (
        f"{SCORE}/reporting/live/test_server.py::test_no_other_file_can_be_asked_for",
    ),
    "links are not followed": (
        f"{SCORE}/reporting/live/test_runs.py::test_links_hidden_folders_datasets_and_other_tables_are_no_runs",
        f"{SCORE}/reporting/live/test_runs.py::test_a_file_that_was_swapped_for_a_link_is_not_given_out",
    ),
    "HTML of the folder is never served": (
        f"{SCORE}/reporting/live/test_server.py::test_pages_of_the_folder_are_never_served",
    ),
    "Tables for people put an apostrophe in front": (
        f"{CONVERT}/core/text/test_csv_injection.py::test_what_a_spreadsheet_would_run_is_a_text_and_nothing_is_lost",
    ),
    "exports do so with `--csv-safe`, because it changes the data": (
        f"{CONVERT}/core/text/test_csv_injection.py::test_safe_tables_escape_texts_and_leave_numbers",
    ),
    "Locks are opened without following links, temporary files are always new files": (
        f"{CONVERT}/storage/test_locks.py::test_links_at_the_names_of_locks_lead_nowhere",
        f"{SCORE}/llm/test_cache_lock.py::test_a_lock_that_is_a_link_is_refused_and_its_target_kept",
    ),
    "Every file's sha256 is in the manifest, every page has a checksum": (
        f"{CONVERT}/dataset/test_verify.py::test_a_single_changed_bit_is_found_wherever_it_is",
    ),
    "`mmconvert verify` reads all of it": (f"{CONVERT}/dataset/test_verify.py::test_a_file_that_was_cut_is_found",),
}
"""Claim of the table, word for word -> tests."""

REPLIES: dict[str, tuple[str, ...]] = {
    "The response stands in brackets that contain a hash of it, which it cannot imitate": (
        f"{SCORE}/judges/test_own.py::test_an_answer_cannot_leave_its_marks_nor_give_itself_credit",
        f"{SCORE}/judges/test_evalscope.py::test_an_answer_cannot_leave_its_marks_nor_give_itself_credit",
    ),
    "the verdict is read from the judge's response only, in one form: a quoted one, a second one, one "
    "that is out of range or none at all is `judge_failed`, never full marks": (
        f"{SCORE}/judges/test_own.py::test_a_reply_that_is_not_one_verdict_is_none",
        f"{SCORE}/judges/test_evalscope.py::test_a_reply_without_a_verdict_is_a_failure_and_no_score",
        f"{SCORE}/judges/test_evalscope.py::test_a_number_out_of_range_is_a_failure_and_is_not_cut",
    ),
    "The files of a batch count for the requests of that batch alone, the first line of each": (
        f"{SCORE}/scoring/judging/test_batch.py::test_lines_in_any_order_twice_or_of_nobody_change_nothing",
    ),
    "names of files and batches that could be paths are refused": (
        f"{SCORE}/scoring/judging/test_batch.py::test_a_response_that_is_no_batch_is_named_and_the_file_is_sent_once",
    ),
    "An API server's output is read so that nonsense (a number of 400 digits, a pause until the year "
    "10^20, control characters in a redirect) costs one sample": (
        f"{SCORE}/llm/test_hostile_service.py::test_hostile_numbers_and_pauses_cost_one_row",
        f"{SCORE}/llm/test_hostile_service.py::test_a_reply_is_read_or_a_fault",
        f"{SCORE}/llm/test_hostile_service.py::test_a_redirect_is_described_on_one_line",
    ),
    "a rejected key, an unknown model, a long pause, and a redirect before any response end the run": (
        f"{SCORE}/llm/test_client.py::test_what_every_question_would_meet_stops_at_once",
        f"{SCORE}/llm/test_client.py::test_a_long_pause_stops_the_run",
        f"{SCORE}/llm/test_client.py::test_a_redirect_is_not_followed_and_stops",
    ),
    "An error message of an API server is not a response": (
        f"{SCORE}/cli/test_predict_faults.py::test_a_fault_costs_a_try_a_row_or_a_run_but_never_a_wrong_answer",
    ),
    "A sample without a response is marked as failed, and no recipe scores it": (
        f"{SCORE}/infer/test_runner.py::test_a_failed_row_has_a_state_and_a_reason_but_no_text",
        f"{SCORE}/cli/test_predict_faults.py::test_mixed_faults_end_with_the_table_of_a_service_without_faults",
    ),
    "one that contains a trigger, a view or a foreign table is rejected": (
        f"{SCORE}/llm/test_response_cache.py::test_a_strangers_schema_is_refused_and_left_alone",
    ),
    "a damaged response is requested again, and the others stay": (
        f"{SCORE}/llm/test_response_cache.py::test_a_damaged_cell_is_asked_again_and_costs_none_beside_it",
    ),
}

NETWORK: dict[str, tuple[str, ...]] = {
    "Converting, checking, exporting and scoring files open no connection": (
        f"{CONVERT}/cli/test_convert_remote.py::test_the_watch_would_see_a_connection",
        "tests/test_badinput.py::test_a_bad_input_does_what_the_policy_says",
        "tests/test_threat_page.py::test_files_are_checked_exported_and_scored_without_a_connection",
    ),
    "A name that looks like a Hub id (`USER/REPO`) is looked up on the Hub only if no local path of that name exists": (
        f"{CONVERT}/storage/test_hub_fs.py::test_a_local_path_wins_over_the_hub",
    ),
    "`HF_HUB_OFFLINE=1` applies to all of it": (
        f"{CONVERT}/storage/test_hub_fs.py::test_without_a_network_the_cache_is_asked_and_the_next_step_is_said",
        f"{CONVERT}/dataset/test_hub_upload.py::test_a_hub_that_cannot_be_asked_is_said_so",
    ),
    "A [benchmark's name](benchmarks.md) is looked up so where its data is on the Hub": (
        f"{CONVERT}/pipeline/test_hub_benchmarks.py::test_config_and_split_are_those_of_the_framework",
        f"{CONVERT}/pipeline/test_benchmark_files.py::test_a_file_or_folder_of_the_name_wins",
    ),
    "its table at an https address is downloaded only with `--allow-remote`": (
        f"{CONVERT}/pipeline/test_benchmark_files.py::test_without_permission_it_is_said_what_to_fetch_and_where",
    ),
    "and used only with the MD5 that its framework publishes": (
        f"{CONVERT}/pipeline/test_benchmark_files.py::test_a_wrong_md5_leaves_nothing",
    ),
    "Keys come from the environment (`--api-key-env NAME`), never from the command line": (
        f"{SCORE}/llm/test_client.py::test_the_key_comes_from_the_environment_only",
        "tests/test_threat_page.py::test_no_option_takes_a_key",
    ),
    "appear in no file, no message and no cache": (
        f"{SCORE}/cli/test_key_stays.py::test_the_key_is_in_no_file_and_on_no_screen",
        f"{SCORE}/llm/test_client.py::test_the_key_stands_in_no_message",
    ),
    "if an API server repeats the key in a response, an error or a redirect, `***` is written instead": (
        f"{SCORE}/cli/test_key_stays.py::test_the_key_is_in_no_file_and_on_no_screen",
    ),
    "An API server's response is limited in bytes and time and read strictly": (
        f"{SCORE}/llm/test_client.py::test_a_reply_that_is_too_large_fails_and_is_not_kept",
        f"{SCORE}/llm/test_client.py::test_a_reply_that_trickles_ends_with_the_total_of_time",
        f"{SCORE}/llm/test_hostile_service.py::test_bytes_are_read_or_a_fault",
    ),
    "A redirect ends the run, so that a key goes to no other host": (
        f"{SCORE}/llm/test_client.py::test_a_redirect_is_not_followed_and_stops",
    ),
}

NO_PROMISES = (
    "A change that restores size and time is not detected",
    "A model can write for the judge",
    "a framework's own prompt has no place",
    "may be untrusted too",
    "`predict`, judges and the classifiers of `--recipe-options` connect to the API server that you name",
    "A key that an API server encodes or spells differently is not recognised",
)
"""Sentences of these sections that say what is at stake, or what is not covered."""
