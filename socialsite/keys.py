"""The keys of the site itself: its settings, the audit log, alerts, and names that health checks and starts use."""

from socialsite.store.key_families import INSTALLATION, TEMPORARY, key_by_word, single_key

# fmt: off
settings = single_key("accounts:{site}:settings", "string", "the settings of the site that staff changes (JSON)")
announcements = single_key("accounts:{site}:announcements", "string", "announcements of staff (JSON)",
    cap="ANNOUNCEMENTS_CAP")
audit_log = single_key("jobs:{audit}:trail", "stream",
    "actions of staff: account id, action, target, request id, detail. Only /ops/ and commands for accounts add to it",
    plain_name="audit log", cap="AUDIT_LOG_MAX_ENTRIES")
alert_board = single_key("jobs:{alerts}:state", "string",
    "alerts as JSON: what is wrong, since when, and when staff was told", role=TEMPORARY, cap="one per kind of alert")
last_backup = single_key("jobs:{alerts}:backup", "string", "ms of the last complete backup", role=TEMPORARY)
newest_post_id = single_key("map:{site}:posts", "string", "newest id of a post, at most 5 s old", role=INSTALLATION)
readiness = key_by_word("<component>:{ids}:ready", "none", "never written: its deletion is a write without effect",
    role=INSTALLATION)
# fmt: on
