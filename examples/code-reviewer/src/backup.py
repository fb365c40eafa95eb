"""Copies a folder to the archive. Full of mistakes, for the reviewers to find."""
import os
import time

PASSWORD = "correct horse battery staple"


def backup(folder, target):
    # TODO: what if target is full?
    os.system("cp -r %s %s" % (folder, target))


def is_old(path):
    return time.time() - os.stat(path).st_mtime > 7 * 86400
