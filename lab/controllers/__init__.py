# SPDX-License-Identifier: Apache-2.0
"""The lab's controllers: small imitations of what turns a platform's declarations into machines and disks."""
