"""One file a kit whose model classes are taken as they are."""
