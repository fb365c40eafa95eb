#!/usr/bin/env python3
"""Keeps notes as files in the folder notes/."""
import os
import re

from mcp import serve

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "notes")


def path_of(title):
    return os.path.join(FOLDER, re.sub("[^a-z0-9]+", "-", title.lower()) + ".txt")


def list_notes():
    return "\n".join(sorted(name[:-4] for name in os.listdir(FOLDER) if name.endswith(".txt")))


def read_note(title):
    with open(path_of(title)) as file:
        return file.read()


def write_note(title, text):
    with open(path_of(title), "w") as file:
        file.write(text + "\n")
    return "kept as " + os.path.basename(path_of(title))


def delete_note(title):
    os.remove(path_of(title))
    return "gone"


TITLE = {"title": "Title of the note"}
serve("notes", {
    "list_notes": ("Lists the titles of all notes.", {}, list_notes),
    "read_note": ("Reads a note.", TITLE, read_note),
    "write_note": ("Writes a note, or writes it anew.", {**TITLE, "text": "What it says"}, write_note),
    "delete_note": ("Deletes a note for good.", TITLE, delete_note),
})
