"""The live view: runs below a folder, their progress and scores, on a page that this machine alone can open."""
