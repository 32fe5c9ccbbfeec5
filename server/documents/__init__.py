"""Documents: sentences that are context for each other, translated, stored, corrected and continued.

`service` is what the API calls. Queued documents: `job_runner` claims a document, `job` reads and saves it under its
lease (`leases`), `batches` and `translate` translate its sentences, `feeds` publishes updates to listeners. Requests
that wait: `appending` and `correcting`, in a `workspace`. What a sentence sees: `visibility` decides it,
`sentence_states` provides the states (`state_cache`, `encoding_cache`, `append_states`, `drafts`), `attention_weights`
computes how much of them was used. `two_stage`: two models.
"""
