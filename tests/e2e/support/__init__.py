"""What the end-to-end cases stand on."""

from .case import EARLY, LATE, Skip, case, error_of, not_before, now  # noqa: F401
from .certificates import authority, self_signed  # noqa: F401
from .gateway import PATIENT_POOL, configuration  # noqa: F401
from .message import (CHUNKED_HEAD, LAST_CHUNK, Fault, check, chunk_bytes, has_last_chunk, request_bytes,  # noqa: F401
                      response_bytes)
from .tls import client_context, server_context, tls_listen  # noqa: F401
from .upstream import free_port  # noqa: F401
from .wire import PATIENCE, connect  # noqa: F401
