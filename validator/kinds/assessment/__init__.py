"""Assessments: a bundle goes out, a signed attestation comes back, compared with truth and group (SPEC 3 to 7)."""
