# SPDX-License-Identifier: Apache-2.0
"""CDI's upload: an aggregated API that gives tokens, and an HTTPS proxy that takes the bytes of a disk."""
