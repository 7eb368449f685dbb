"""What everything is built from: records, models, bodies, policies, checks, files, threads."""
