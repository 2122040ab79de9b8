"""Django's mail backend of a site without MAIL_URL: each mail is a file, so that everything works on a laptop."""

import time
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend


class FileBackend(BaseEmailBackend):
    """Writes each mail as `<time>-<random>.eml` into the folder settings.EMAIL_FILE_PATH."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        folder = Path(settings.EMAIL_FILE_PATH)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for message in email_messages:
            file = folder / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{token_hex(4)}.eml"
            unfinished = file.with_suffix(".new")
            unfinished.touch(0o600)
            unfinished.write_bytes(message.message().as_bytes())
            unfinished.replace(file)
        return len(email_messages)
