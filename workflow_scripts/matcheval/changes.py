"""What version 0.2 had and this one has not, with what to do instead.

Error messages name it, and so does docs/from-0.2.md (`make settings` writes its table).
"""

# Keys of study files.
KEYS = {
    "accuracy_prediction.view_methods": "all `methods` are used; name fewer in a study of its own",
    "hard_images.compare_size": "leave it out, it had no effect",
}
# Commands and flags of `matched-eval`.
FLAGS = {
    "matched-eval completion": "`shtab matcheval.cli.parser.build_parser` prints the same",
}
